//! Reads the file to check and makes PTX of it.

use super::error::{Error, ErrorKind};
use super::request::{Progress, Request, Source, Watch};
use ptx::ast::{Item, Module};
use ptx::{self, ParseErrorKind};
use report::{SourceFile, Sources};
use session::explore::parallel;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolchain::cuda_text::CudaText;
use toolchain::sandbox::Confined;
use toolchain::{ARCH, CompileError, CompileOptions, Nvcc, Optimisation, Searched};

/// Largest file that is read: larger PTX than compilers write; its tree takes some fifty times as much memory.
const FILE_BYTES: u64 = 32 << 20;

/// One PTX module to run.
#[derive(Debug)]
pub struct Build {
    /// `optimised`, `unoptimised`; `None` where the input is PTX.
    pub name: Option<&'static str>,
    /// Its text.
    pub ptx: Arc<SourceFile>,
    /// Its tree.
    pub module: Module,
}

/// The file, compiled where it had to be.
#[derive(Debug)]
pub struct Input {
    /// As the user wrote it.
    pub path: String,
    /// CUDA source, for names.
    pub source: Option<CudaText>,
    /// How far the compiler was confined, where it was called.
    pub confined: Option<Confined>,
    /// The modules to run, at least one.
    pub builds: Vec<Build>,
}

/// Reads the request's source; `sources` gets the texts that diagnostics may quote.
///
/// # Errors
///
/// Whatever is wrong with the file, with its place.
pub fn read(request: &Request, sources: &mut Sources, watch: &dyn Watch) -> Result<Input, Error> {
    let options = &request.compiler;
    let path = match &request.source {
        Source::Ptx { name, text } => {
            return ptx_input(name, text.clone(), options, sources);
        }
        Source::File(path) => path,
    };
    let shown = path.display().to_string();
    let bytes = read_bytes(path, &shown)?;
    // What is shown lies beside the file, or in a folder that was named.
    let folders = path.parent().into_iter();
    for folder in folders.chain(options.includes.iter().map(PathBuf::as_path)) {
        sources.look_in(folder);
    }
    if !is_cuda(path) {
        return ptx_input(&shown, text_of(&shown, &bytes)?, options, sources);
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(Error::new(
            ErrorKind::Input,
            format!("`{shown}` is not a text file, so it cannot be CUDA source"),
        )
        .help("give a `.cu` file with CUDA source, or a `.ptx` file"));
    };
    sources.add(&shown, &text);
    let nvcc = Nvcc::find().map_err(no_compiler)?;
    // The two builds take as long as all else together: side by side.
    let limited = CompileOptions {
        time: request.budgets.time,
        ..options.clone()
    };
    let both = [Optimisation::Optimised, Optimisation::Unoptimised];
    let compiled = parallel(both.len(), request.budgets.jobs, &|index| {
        watch.progress(Progress::Compiling {
            file: &shown,
            build: both[index].name(),
        });
        nvcc.compile(path, both[index], &limited)
    });
    let mut builds = Vec::new();
    for (optimisation, ptx) in both.into_iter().zip(compiled) {
        let ptx = ptx.map_err(|error| match (newer_gpu(&error, options), refused(error)) {
            (Some(help), failure) => failure.help(help),
            (None, failure) => failure,
        })?;
        let name = format!("{shown} ({} PTX)", optimisation.name());
        builds.push(build(Some(optimisation.name()), &name, ptx)?);
    }
    Ok(Input {
        path: shown,
        confined: Some(Nvcc::confined()),
        source: Some(CudaText::new(
            &with_headers(text, sources),
            &options.defines,
        )),
        builds,
    })
}

/// Headers of the program's own that are read for names, and their bytes.
const HEADERS: usize = 32;
const HEADER_BYTES: usize = 1 << 20;

/// A source with the headers that it includes by `#include "…"` behind it: kernels and types may be declared there. Lines of the
/// source stay what they are.
fn with_headers(mut text: String, sources: &mut Sources) -> String {
    let mut seen: Vec<String> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let names: Vec<String> = text[at..]
            .lines()
            .filter_map(|line| {
                let rest = line.trim_start().strip_prefix('#')?.trim_start();
                let rest = rest.strip_prefix("include")?.trim_start();
                Some(rest.strip_prefix('"')?.split_once('"')?.0.to_owned())
            })
            .take(HEADERS)
            .collect();
        at = text.len();
        for name in names {
            if seen.len() >= HEADERS || seen.contains(&name) {
                continue;
            }
            if let Some(header) = sources.find(&name)
                && header.text.len() <= HEADER_BYTES
            {
                text.push('\n');
                text.push_str(&header.text);
            }
            seen.push(name);
        }
    }
    text
}

/// PTX, with the source that it names where that is to be had.
fn ptx_input(
    shown: &str,
    ptx: String,
    options: &CompileOptions,
    sources: &mut Sources,
) -> Result<Input, Error> {
    let build = build(None, shown, ptx)?;
    let files = build.module.items.iter().filter_map(|item| match item {
        Item::File(file) => Some(file.name.as_str()),
        _ => None,
    });
    let source = files.filter_map(|name| sources.find(name)).next();
    Ok(Input {
        path: shown.to_owned(),
        confined: None,
        source: source.map(|file| CudaText::new(&file.text, &options.defines)),
        builds: vec![build],
    })
}

fn is_cuda(path: &Path) -> bool {
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    ["cu", "cuh", "cc", "cpp", "cxx", "c"].contains(&extension.to_ascii_lowercase().as_str())
}

/// The file's bytes.
///
/// # Errors
///
/// It is not there, no regular file, or too large.
pub fn read_bytes(path: &Path, shown: &str) -> Result<Vec<u8>, Error> {
    let fail = |error: std::io::Error| {
        let failure = Error::new(
            ErrorKind::Input,
            format!("can't read `{shown}`: {}", reason(&error)),
        );
        match error.kind() {
            io::ErrorKind::NotFound => match neighbour(path) {
                Some(near) => failure.help(format!("did you mean `{near}`?")),
                None => failure.help("give the path of a `.cu` or `.ptx` file"),
            },
            _ => failure,
        }
    };
    let data = std::fs::metadata(path).map_err(fail)?;
    if data.is_dir() {
        return Err(
            Error::new(ErrorKind::Input, format!("`{shown}` is a folder"))
                .help("give a `.cu` or `.ptx` file in it"),
        );
    }
    if !data.is_file() {
        return Err(
            Error::new(ErrorKind::Input, format!("`{shown}` is not a regular file"))
                .help("give a `.cu` or `.ptx` file"),
        );
    }
    if data.len() > FILE_BYTES {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "`{shown}` has {} MiB; racetrap reads files of up to {} MiB",
                data.len() >> 20,
                FILE_BYTES >> 20
            ),
        )
        .help("check one kernel at a time: compile it alone with `nvcc -ptx`"));
    }
    std::fs::read(path).map_err(fail)
}

/// What the system says, without its error number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}

/// A file of the same folder whose name is nearly the same.
fn neighbour(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names: Vec<String> = entries
        .take(10_000)
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter(|n| n.ends_with(".cu") || n.ends_with(".ptx"))
        .collect();
    let wanted = path.file_name()?.to_str()?;
    let near = report::nearest(wanted, names.iter().map(String::as_str))?;
    Some(folder.map_or(near.to_string(), |f| f.join(near).display().to_string()))
}

/// The file's text.
///
/// # Errors
///
/// It is no text.
pub fn text_of(shown: &str, bytes: &[u8]) -> Result<String, Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => Ok(text.to_string()),
        _ => Err(match ptx::parse_bytes(bytes).map_err(|error| error.kind) {
            // These say themselves what to do.
            Err(kind @ ParseErrorKind::Binary(_)) => {
                Error::new(ErrorKind::Input, format!("`{shown}`: {kind}"))
            }
            Err(kind) => no_ptx(shown, &kind.to_string()),
            Ok(_) => no_ptx(shown, "it is not UTF-8 text"),
        }),
    }
}

fn no_ptx(shown: &str, why: &str) -> Error {
    Error::new(ErrorKind::Input, format!("`{shown}` is not PTX: {why}"))
        .help("give a `.ptx` file (`nvcc -ptx -lineinfo kernel.cu`) or the `.cu` file itself")
}

fn build(name: Option<&'static str>, path: &str, text: String) -> Result<Build, Error> {
    let file = Arc::new(SourceFile {
        path: path.to_string(),
        text,
    });
    match ptx::parse(&file.text) {
        Ok(module) => {
            // What nvcc wrote is valid.
            let invalid = name
                .is_none()
                .then(|| ptx::validate(&module))
                .and_then(Result::err);
            match invalid {
                None => Ok(Build {
                    name,
                    ptx: file,
                    module,
                }),
                Some(ptx::Invalid { kind, span }) => Err(Error::new(
                    ErrorKind::Input,
                    format!("`{path}` is not valid PTX"),
                )
                .at(
                    file,
                    span.start as usize..span.end as usize,
                    kind.to_string(),
                )
                .help("`ptxas` of the CUDA toolkit refuses this file as well")),
            }
        }
        Err(error) if error.kind == ParseErrorKind::Empty => {
            Err(no_ptx(path, "it is empty or has only comments"))
        }
        Err(error) => {
            let span = error.span.start as usize..error.span.end as usize;
            let failure = Error::new(ErrorKind::Input, format!("`{path}` is not valid PTX")).at(
                file,
                span,
                error.kind.to_string(),
            );
            Err(match name {
                Some(_) => failure
                    .help("nvcc wrote this PTX, so this is a bug of racetrap: please report it"),
                None => failure
                    .help("check with `ptxas` of the CUDA toolkit whether the file is valid PTX"),
            })
        }
    }
}

fn no_compiler(searched: Searched) -> Error {
    Error::new(ErrorKind::NoCompiler, "the CUDA compiler (nvcc), which a `.cu` file needs, was not found")
        .text(format!("looked in: {}", searched.0.join(", ")))
        .help("install it with `ci/cuda-toolkit.sh` (needs no GPU and no root), set CUDA_PATH, or check PTX compiled on another machine")
}

/// Names that CUDA has from some architecture on (CUDA C++ Programming Guide, "C++ Language Extensions"), by how they begin.
const SINCE: &[(&str, u32)] = &[
    ("__reduce_", 80),
    ("__cluster", 90),
    ("this_cluster", 90),
    ("cluster_group", 90),
];

/// What to do where the compiler misses something that GPUs newer than the one compiled for have.
fn newer_gpu(error: &CompileError, options: &CompileOptions) -> Option<String> {
    let CompileError::Refused { messages, .. } = error else {
        return None;
    };
    let number = |name: &str| -> Option<u32> {
        let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let arch = options.arch.as_deref().unwrap_or(ARCH);
    let own = number(
        arch.trim_start_matches("sm_")
            .trim_start_matches("compute_"),
    )?;
    let missing = messages.lines().filter(|line| {
        line.contains("undefined") || line.contains("has no member") || line.contains("no instance")
    });
    let name = missing
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .map(|name| name.rsplit("::").next().unwrap_or(name))
        .find_map(|name| {
            let (_, since) = SINCE.iter().find(|(begin, _)| name.starts_with(begin))?;
            Some((name, *since))
        });
    if let Some((name, since)) = name.filter(|(_, since)| *since > own) {
        return Some(format!(
            "`{name}` needs sm_{since} or later, but this was compiled for {arch}: use `--arch sm_{since}`"
        ));
    }
    // What headers say themselves: "requires sm_80 or higher", "compute capability 9.0".
    let said = messages.lines().filter(|line| line.contains("error"));
    let wanted = said
        .flat_map(|line| line.match_indices("sm_").map(|(at, _)| &line[at + 3..]))
        .filter_map(number)
        .find(|wanted| *wanted > own);
    wanted.map(|wanted| {
        format!("this was compiled for {arch}, but the compiler mentions sm_{wanted}: use `--arch sm_{wanted}`")
    })
}

/// What to tell of a compiler that did not compile.
pub fn refused(error: CompileError) -> Error {
    match error {
        CompileError::NoCompiler(searched) => no_compiler(searched),
        CompileError::Refused { ref messages, .. } => {
            Error::new(ErrorKind::Refused, error.to_string()).text(messages.clone())
        }
        CompileError::TookTooLong { .. } => {
            Error::new(ErrorKind::Time, error.to_string()).help("raise `--timeout`")
        }
        CompileError::BadOption { .. } => Error::new(ErrorKind::Input, error.to_string())
            .help("an architecture looks like `sm_90`, a C++ standard like `c++17`"),
        CompileError::Start { .. } => Error::new(ErrorKind::NoCompiler, error.to_string())
            .help("run `racetrap doctor` to see which compiler is used"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(messages: &str, arch: Option<&str>) -> Option<String> {
        let error = CompileError::Refused {
            file: "k.cu".into(),
            build: "optimised",
            messages: messages.into(),
        };
        let options = CompileOptions {
            arch: arch.map(str::to_string),
            ..CompileOptions::default()
        };
        newer_gpu(&error, &options)
    }

    #[test]
    fn what_newer_gpus_have_needs_another_architecture() {
        let missing = "k.cu(3): error: identifier \"__reduce_add_sync\" is undefined";
        let said = help(missing, None).unwrap();
        assert!(
            said.contains("`--arch sm_80`") && said.contains("sm_75"),
            "{said}"
        );
        assert_eq!(help(missing, Some("sm_80")), None);
        let header = "x.h(9): error: #error \"this header requires sm_90 or higher\"";
        assert!(
            help(header, Some("sm_80"))
                .unwrap()
                .contains("`--arch sm_90`")
        );
        let group =
            "k.cu(3): error: namespace \"cooperative_groups\" has no member \"this_cluster\"";
        assert!(help(group, None).unwrap().contains("`--arch sm_90`"));
    }

    #[test]
    fn other_mistakes_are_left_to_the_compiler() {
        assert_eq!(
            help("k.cu(3): error: identifier \"reduce\" is undefined", None),
            None
        );
        assert_eq!(help("k.cu(3): error: expected a \";\"", None), None);
    }
}
