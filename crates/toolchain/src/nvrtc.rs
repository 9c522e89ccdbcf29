//! Compiles with NVRTC, the compiler of a CUDA release as a library. `nvrtc.py` calls it in a separate process.
//!
//! NVRTC takes device code alone. A source with host code is compiled in several steps: as it is; without host functions and with empty
//! headers in place of those that NVRTC does not have; and as long as what it refuses stands in something that does not belong to the
//! device, without that, too ([`device_part`](super::device_part)). Headers of the source's own are treated in the same way. Host code that is
//! left out can't instantiate templates any more: what it launches is asked for by name (NVRTC user guide, "Accessing Lowered Names").

use super::device_part::{HostParts, instances};
use super::nvcc::{ARCH, CompileError, CompileOptions, Optimisation, further};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = include_str!("nvrtc.py");

/// Steps in which host code is left out, at most.
const STEPS: usize = 24;

/// Compiles one file to PTX with the NVRTC of a folder.
///
/// # Errors
///
/// As [`super::Nvcc::compile`].
pub(super) fn compile(
    root: &Path,
    file: &Path,
    optimisation: Optimisation,
    options: &CompileOptions,
) -> Result<String, CompileError> {
    let start = |error| CompileError::Start {
        program: "python3".into(),
        error,
    };
    let refused = |messages: String| CompileError::Refused {
        file: file.to_owned(),
        build: optimisation.name(),
        messages,
    };
    if let Optimisation::Level(_) = optimisation {
        return Err(refused(
            "NVRTC supports only levels 0 and 3; levels 1 and 2 need nvcc (CUDA 13.0 or later)"
                .into(),
        ));
    }
    let folder = tempfile::tempdir().map_err(start)?;
    let mut job = Job {
        root,
        file,
        folder: folder.path(),
        arguments: arguments(root, file, optimisation, options)?,
        source: None,
        headers: BTreeMap::new(),
        own: BTreeMap::new(),
        instances: Vec::new(),
    };
    let mut compiled = job.compile(Job::run).map_err(start)?;
    if compiled.is_ok() && job.source.is_some() {
        compiled = job.instantiate(compiled).map_err(start)?;
    }
    compiled.map_err(|Messages(text)| refused(text))
}

fn arguments(
    root: &Path,
    file: &Path,
    optimisation: Optimisation,
    options: &CompileOptions,
) -> Result<Vec<String>, CompileError> {
    let mut arguments = vec![match optimisation {
        Optimisation::Unoptimised => "-G".to_owned(),
        _ => "-lineinfo".to_owned(),
    }];
    let target = options.arch.as_deref().unwrap_or(ARCH);
    arguments.push(format!(
        "--gpu-architecture={}",
        target.replacen("sm_", "compute_", 1)
    ));
    arguments.push(format!(
        "-std={}",
        options.std.as_deref().unwrap_or("c++17")
    ));
    for option in &options.further {
        arguments.push(further(option)?.to_owned());
    }
    arguments.extend(options.defines.iter().map(|define| format!("-D{define}")));
    // A `.cu` file finds files in its own folder without an option.
    let beside = file.parent().map(Path::to_owned);
    let own =
        ["nvidia/cuda_runtime/include", "nvidia/cuda_cccl/include"].map(|folder| root.join(folder));
    let includes = options.includes.iter().cloned().chain(beside).chain(own);
    arguments.extend(includes.map(|include| format!("-I{}", include.display())));
    Ok(arguments)
}

/// What the compiler said of a source that it refused.
#[derive(Debug)]
struct Messages(String);

/// One compilation, as far as it has come.
struct Job<'j> {
    root: &'j Path,
    file: &'j Path,
    folder: &'j Path,
    arguments: Vec<String>,
    /// The source without host code.
    source: Option<HostParts>,
    /// Headers that are empty here.
    headers: BTreeMap<String, ()>,
    /// Headers of the user's without host code, by path.
    own: BTreeMap<PathBuf, HostParts>,
    /// Templates with their arguments, of which code is wanted.
    instances: Vec<String>,
}

impl Job<'_> {
    /// Compiles with less and less host code, until the compiler takes it or there is nothing new to try; then its messages. `run` compiles
    /// what is left.
    fn compile(
        &mut self,
        mut run: impl FnMut(&Self) -> std::io::Result<Result<String, Messages>>,
    ) -> std::io::Result<Result<String, Messages>> {
        let mut last = run(self)?;
        for _ in 0..STEPS {
            let Err(Messages(messages)) = &last else {
                break;
            };
            if !self.leave_out(messages) {
                break;
            }
            last = run(self)?;
        }
        Ok(last)
    }

    /// Compiles again with the templates that the host code launches: all of them, or those that the compiler takes one by one. `without` is what
    /// came of the source without them.
    fn instantiate(
        &mut self,
        without: Result<String, Messages>,
    ) -> std::io::Result<Result<String, Messages>> {
        let whole = std::fs::read_to_string(self.file)?;
        let all = instances(&whole);
        if all.is_empty() {
            return Ok(without);
        }
        self.instances = all.clone();
        let with = self.run()?;
        if with.is_ok() {
            return Ok(with);
        }
        let mut taken = Vec::new();
        for one in all.into_iter().take(STEPS) {
            self.instances = vec![one.clone()];
            if self.run()?.is_ok() {
                taken.push(one);
            }
        }
        self.instances = taken;
        let with = self.run()?;
        Ok(if with.is_ok() { with } else { without })
    }

    /// Compiles what is left; the messages where it is refused.
    fn run(&self) -> std::io::Result<Result<String, Messages>> {
        let (script, ptx) = (self.folder.join("nvrtc.py"), self.folder.join("out.ptx"));
        std::fs::write(&script, SCRIPT)?;
        let source = match &self.source {
            None => self.file.display().to_string(),
            Some(parts) => {
                let copy = self.folder.join("device.cu");
                std::fs::write(&copy, parts.text())?;
                format!("{}={}", copy.display(), self.file.display())
            }
        };
        let mut command = Command::new("python3");
        command
            .arg(&script)
            .arg(self.root.join("nvidia/cuda_nvrtc/lib"))
            .arg(source)
            .arg(&ptx);
        command.args(self.headers.keys().map(|name| format!("header={name}=")));
        for (number, (path, parts)) in self.own.iter().enumerate() {
            let copy = self.folder.join(format!("header{number}"));
            std::fs::write(&copy, parts.text())?;
            // NVRTC looks a header up by the words that it is included by: its name, perhaps with folders.
            let parts: Vec<_> = path.iter().collect();
            for words in 1..=parts.len().min(4) {
                let name: PathBuf = parts[parts.len() - words..].iter().collect();
                command.arg(format!("header={}={}", name.display(), copy.display()));
            }
        }
        command.args(self.instances.iter().map(|one| format!("instance={one}")));
        command.args(&self.arguments);
        let output = command.output()?;
        if output.status.success() {
            return std::fs::read_to_string(&ptx).map(Ok);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Ok(Err(Messages(said.trim_end().to_owned())))
    }

    /// Leaves out what the compiler's messages name, as far as it is no device code. Gives whether there is anything new to try.
    fn leave_out(&mut self, messages: &str) -> bool {
        // Without these there is no device code to compile.
        if missing(messages).into_iter().any(is_of_device_code) {
            return false;
        }
        let mut new = false;
        let source = match &mut self.source {
            Some(source) => source,
            None => {
                let Ok(text) = std::fs::read_to_string(self.file) else {
                    return false;
                };
                let mut parts = HostParts::new(&text);
                parts.blank_functions();
                new = parts.text() != text;
                self.source.insert(parts)
            }
        };
        for name in missing(messages) {
            new |= self.headers.insert(name.to_owned(), ()).is_none();
        }
        for (file, line) in places(messages) {
            // A header that was given in place of a file is called by the words that it is included by.
            let own = self.own.keys().find(|own| own.ends_with(file)).cloned();
            let path = own.as_deref().unwrap_or(Path::new(file));
            if path == self.file {
                new |= source.blank_at(line);
            } else if !path.starts_with(self.root) {
                new |= match self.own.get_mut(path) {
                    Some(parts) => parts.blank_at(line),
                    None => std::fs::read_to_string(path).is_ok_and(|text| {
                        let mut parts = HostParts::new(&text);
                        parts.blank_functions();
                        let changed = parts.text() != text || parts.blank_at(line);
                        self.own.insert(path.to_owned(), parts);
                        changed
                    }),
                };
            }
        }
        new
    }
}

/// Whether a header is one of the toolkit's own libraries for device code.
fn is_of_device_code(name: &str) -> bool {
    let first = name.split(['/', '.']).next().unwrap_or_default();
    ["cuda", "cub", "cooperative_groups"].contains(&first) && name != "cuda.h"
}

/// The headers that messages say are not there: `cannot open source file "vector"`.
fn missing(messages: &str) -> impl Iterator<Item = &str> {
    let mentions = messages.split("open source file \"").skip(1);
    mentions.filter_map(|rest| rest.split('"').next())
}

/// The places of errors: `kernel.cu(12): error: …`.
fn places(messages: &str) -> impl Iterator<Item = (&str, u32)> {
    messages.lines().filter_map(|line| {
        let (place, rest) = line.split_once("): ")?;
        let (file, number) = place.rsplit_once('(')?;
        let error = rest.contains("error");
        Some((file, number.parse().ok()?)).filter(|_| error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with host code and what NVRTC 12.4 said of it, step by step: each step's messages are of what the step before left.
    #[test]
    fn libraries_for_device_code_are_not_left_out() {
        for name in ["cuda/atomic", "cub/cub.cuh", "cooperative_groups.h"] {
            assert!(is_of_device_code(name), "{name}");
        }
        for name in [
            "cuda.h",
            "vector",
            "cuda_runtime_api.h",
            "helper_cuda.h",
            "thrust/sort.h",
        ] {
            assert!(!is_of_device_code(name), "{name}");
        }
    }

    #[test]
    fn host_code_is_left_out_step_by_step() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvrtc");
        let recorded = std::fs::read_to_string(folder.join("messages-12.4.txt")).unwrap();
        let recorded = recorded.replace("FOLDER", folder.to_str().unwrap());
        let steps: Vec<&str> = recorded.split("//// step\n").skip(1).collect();
        let file = folder.join("program.cu");
        let mut job = Job {
            root: Path::new("/nowhere"),
            file: &file,
            folder: &folder,
            arguments: Vec::new(),
            source: None,
            headers: BTreeMap::new(),
            own: BTreeMap::new(),
            instances: Vec::new(),
        };
        let whole = std::fs::read_to_string(&file).unwrap();
        let mut next = 0;
        let compiled = job.compile(|job| {
            let sent = job.source.as_ref().map_or(&whole[..], HostParts::text);
            let reply = steps.get(next).copied();
            next += 1;
            // The recording is of this very source: what it complains of is still there.
            for (place, line) in reply.into_iter().flat_map(places) {
                if Path::new(place) == file {
                    let text = sent.lines().nth(line as usize - 1).unwrap();
                    assert!(
                        !text.trim().is_empty(),
                        "step {next}: line {line} was left out"
                    );
                }
            }
            Ok(match reply {
                Some(messages) => Err(Messages(messages.to_owned())),
                None => Ok("PTX".to_owned()),
            })
        });
        assert_eq!(compiled.unwrap().unwrap(), "PTX");
        assert_eq!(next, steps.len() + 1);
        let sent = job.source.unwrap();
        let kept: Vec<&str> = sent.text().lines().map(str::trim).collect();
        assert_eq!(kept.len(), whole.lines().count());
        for device in ["constexpr int BLOCK = 128;", "out[i] = twice(in[i]);"] {
            assert!(kept.contains(&device), "{device}");
        }
        for host in ["int main()", "std::vector", "cudaFree"] {
            assert!(!kept.iter().any(|line| line.contains(host)), "{host}");
        }
        let header = job.own.values().next().unwrap().text();
        assert!(header.contains("int lane()") && !header.contains("chrono::steady_clock"));
        let missing: Vec<&str> = job.headers.keys().map(String::as_str).collect();
        // `cstdio` is built in.
        assert_eq!(missing, ["algorithm", "chrono", "vector"]);
    }

    #[test]
    fn messages_name_headers_and_lines() {
        let messages = "k.cu(1): catastrophic error: cannot open source file \"vector\"\n\nk.cu(7): warning #1: x\n\
                        k.cu(9): error: identifier \"cudaMalloc\" is undefined\n";
        assert_eq!(missing(messages).collect::<Vec<_>>(), ["vector"]);
        assert_eq!(
            places(messages).collect::<Vec<_>>(),
            [("k.cu", 1), ("k.cu", 9)]
        );
    }
}
