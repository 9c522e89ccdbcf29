//! Compiles with NVRTC, the compiler of a CUDA release as a library. `nvrtc.py` calls it in a separate process.
//!
//! NVRTC takes device code alone. A source with host code is compiled in several steps: as it is; without host functions and with empty
//! headers in place of those that NVRTC does not have; and as long as what it refuses stands in something that does not belong to the
//! device, without that, too ([`device_part`](super::device_part)). Headers of the source's own are treated in the same way.

use super::device_part::HostParts;
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
    };
    let first = match job.run().map_err(start)? {
        Ok(ptx) => return Ok(ptx),
        Err(messages) => messages,
    };
    let mut messages = first.clone();
    for _ in 0..STEPS {
        if !job.leave_out(&messages) {
            break;
        }
        messages = match job.run().map_err(start)? {
            Ok(ptx) => return Ok(ptx),
            Err(messages) => messages,
        };
    }
    Err(refused(messages))
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
}

impl Job<'_> {
    /// Compiles what is left; the messages where it is refused.
    fn run(&self) -> std::io::Result<Result<String, String>> {
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
        command.args(&self.arguments);
        let output = command.output()?;
        if output.status.success() {
            return std::fs::read_to_string(&ptx).map(Ok);
        }
        Ok(Err(String::from_utf8_lossy(&output.stderr)
            .trim_end()
            .to_owned()))
    }

    /// Leaves out what the compiler's messages name, as far as it is no device code. Gives whether there is anything new to try.
    fn leave_out(&mut self, messages: &str) -> bool {
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
            let path = Path::new(file);
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
