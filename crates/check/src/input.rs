//! Reads the files to check and makes PTX of them.

mod asm;
mod compiler;
mod file;

pub use compiler::{Newer, refused};
pub use file::{read_bytes, text_of};

use super::entry;
use super::error::{Error, ErrorKind};
use super::request::{Progress, Request, Source, Watch};
use compiler::{called, is_unknown_gpu, kept_from_compiler, missed, no_compiler};
use file::no_ptx;
use ptx::ast::{Item, Module};
use ptx::prune::{PartError, outline};
use ptx::{Invalid, ParseError, ParseErrorKind};
use report::{SourceFile, Sources};
use session::explore::parallel;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use toolchain::cuda_text::CudaText;
use toolchain::sandbox::Confined;
use toolchain::{CompileError, CompileOptions, Nvcc, Optimisation};

/// Largest file that is read, bytes.
pub const FILE_BYTES: u64 = 256 << 20;
/// PTX beyond this size is read kernel by kernel, and only what the wanted ones reach is kept.
const LARGE: usize = 4 << 20;

/// One PTX module to run.
#[derive(Debug)]
pub struct Build {
    /// `optimised`, `unoptimised`; `None` where the input is PTX.
    pub name: Option<&'static str>,
    /// Its text.
    pub ptx: Arc<SourceFile>,
    /// Its tree. Of a large file, only what the wanted kernels reach.
    pub module: Module,
}

/// The files, compiled where they had to be.
#[derive(Debug)]
pub struct Input {
    /// The first one, as the user wrote it.
    pub path: String,
    /// CUDA source, for names.
    pub source: Option<CudaText>,
    /// How far the compiler was confined, where it was called.
    pub confined: Option<Confined>,
    /// The newer GPU that it was compiled for because it needs one.
    pub newer: Option<Newer>,
    /// The modules to run, at least one.
    pub builds: Vec<Build>,
}

/// Which kernels are going to be checked.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// This one, or the only one there is.
    One(Option<&'a str>),
    /// These.
    Each(&'a [String]),
    /// Those that a pattern selects.
    Matching(&'a ptx::KernelFilter),
    /// All.
    All,
}

/// A file that was read.
struct Part<'a> {
    shown: String,
    text: String,
    /// Where it is, if it has to be compiled.
    cuda: Option<&'a Path>,
}

/// Reads the request's files; `sources` gets the texts that diagnostics may quote.
///
/// # Errors
///
/// Whatever is wrong with a file, with its place.
pub fn read(
    request: &Request,
    wanted: Wanted<'_>,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Input, Error> {
    let mut parts = Vec::new();
    match &request.source {
        Source::Ptx { name, text } => parts.push(Part {
            shown: name.clone(),
            text: text.clone(),
            cuda: None,
        }),
        Source::File(path) => parts.push(part(path, sources)?),
    }
    for path in &request.further {
        parts.push(part(path, sources)?);
    }
    for folder in &request.compiler.includes {
        sources.look_in(folder);
    }
    let cuda: Vec<&Part<'_>> = parts.iter().filter(|p| p.cuda.is_some()).collect();
    for part in &cuda {
        sources.add(&part.shown, &part.text);
    }
    let path = parts[0].shown.clone();
    let memory = request.budgets.memory / 4;
    let reading = |name| Reading {
        name,
        wanted,
        memory,
        path: &path,
    };
    if cuda.is_empty() {
        let texts = parts.into_iter().map(|p| (p.shown, p.text)).collect();
        let build = reading(None).build(texts)?;
        let files = build.module.items.iter().filter_map(|item| match item {
            Item::File(file) => Some(file.name.as_str()),
            _ => None,
        });
        let source = files.filter_map(|name| sources.find(name)).next();
        return Ok(Input {
            confined: None,
            newer: None,
            source: source.map(|file| CudaText::new(&file.text, &request.compiler.defines)),
            builds: vec![build],
            path,
        });
    }
    let both = [Optimisation::Optimised, Optimisation::Unoptimised];
    let (compiled, newer) = compile(request, &cuda, parts.len() > 1, &both, watch)?;
    let mut compiled = compiled.into_iter();
    let mut builds = Vec::new();
    for optimisation in both {
        let mut texts = Vec::new();
        for part in &parts {
            let shown = &part.shown;
            texts.push(match part.cuda {
                None => (shown.clone(), part.text.clone()),
                Some(_) => (
                    SourceFile::listing(shown, optimisation.name()),
                    compiled.next().unwrap_or_default(),
                ),
            });
        }
        let build = reading(Some(optimisation.name())).build(texts);
        builds.push(build.map_err(|error| asm::in_source(error, sources))?);
    }
    let texts: Vec<(String, String)> = cuda
        .iter()
        .map(|p| (p.shown.clone(), with_headers(p.text.clone(), sources)))
        .collect();
    Ok(Input {
        confined: Some(Nvcc::confined()),
        newer,
        source: Some(CudaText::of_files(&texts, &request.compiler.defines)),
        builds,
        path,
    })
}

/// Reads one file.
fn part<'a>(path: &'a Path, sources: &mut Sources) -> Result<Part<'a>, Error> {
    let shown = path.display().to_string();
    let bytes = read_bytes(path, &shown, FILE_BYTES)?;
    // What is shown lies beside the file, or in a folder that was named.
    if let Some(folder) = path.parent() {
        sources.look_in(folder);
    }
    // A download without its extension is CUDA source all the same.
    let cuda = (is_cuda(path) || has_kernels(&bytes)).then_some(path);
    let text = match cuda {
        None => text_of(&shown, bytes)?,
        Some(_) => String::from_utf8(bytes).map_err(|_| {
            Error::new(
                ErrorKind::Input,
                format!("`{shown}` is not a text file, so it cannot be CUDA source"),
            )
            .help("give a `.cu` file with CUDA source, or a `.ptx` file")
        })?,
    };
    Ok(Part { shown, text, cuda })
}

/// Compiles all sources with each optimisation, side by side: it takes as long as all else together. The texts of one optimisation lie
/// together, in the order of the sources. Where nobody said for which GPU, it is the oldest one that the sources can be compiled for.
fn compile(
    request: &Request,
    parts: &[&Part<'_>],
    relocatable: bool,
    both: &[Optimisation],
    watch: &dyn Watch,
) -> Result<(Vec<String>, Option<Newer>), Error> {
    let nvcc = Nvcc::find().map_err(no_compiler)?;
    let until = request.budgets.time.map(|time| Instant::now() + time);
    let mut options = CompileOptions {
        time: None,
        relocatable: relocatable || request.compiler.relocatable,
        ..request.compiler.clone()
    };
    let mut newer = None;
    let mut first = None;
    // Each time for a newer one.
    loop {
        let made = compile_for(&nvcc, request, parts, both, &options, until, watch);
        let needed = match &made {
            Ok(texts) => called(texts, &options),
            Err(error) => missed(error, &options),
        };
        if let Some(needed) = needed.filter(|_| request.compiler.arch.is_none()) {
            options.arch = Some(format!("sm_{}", needed.arch));
            newer = Some(needed);
            first = first.or(made.err());
            continue;
        }
        return match made {
            Ok(texts) => Ok((texts, newer)),
            Err(error) => {
                // A compiler may be too old for the GPU that its messages speak of.
                let error = match first {
                    Some(first) if is_unknown_gpu(&error) => {
                        options.arch = None;
                        first
                    }
                    _ => error,
                };
                let help = missed(&error, &options).map(|newer| newer.help(&options));
                let help = help.or_else(|| kept_from_compiler(&error));
                Err(match (help, refused(error)) {
                    (Some(help), failure) => failure.help(help),
                    (None, failure) => failure,
                })
            }
        };
    }
}

/// Compiles them for one GPU.
fn compile_for(
    nvcc: &Nvcc,
    request: &Request,
    parts: &[&Part<'_>],
    both: &[Optimisation],
    options: &CompileOptions,
    until: Option<Instant>,
    watch: &dyn Watch,
) -> Result<Vec<String>, CompileError> {
    let all: Vec<(Optimisation, &Part<'_>)> = both
        .iter()
        .flat_map(|optimisation| parts.iter().map(|part| (*optimisation, *part)))
        .collect();
    let compiled = parallel(all.len(), request.budgets.jobs, &|index| {
        let (optimisation, part) = all[index];
        watch.progress(Progress::Compiling {
            file: &part.shown,
            build: optimisation.name(),
        });
        let path = part.cuda.unwrap_or(Path::new(&part.shown));
        // The time is one for all, also where one build comes after the other.
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let limited = CompileOptions {
            time: left,
            ..options.clone()
        };
        nvcc.compile(path, optimisation, &limited).map_err(|error| {
            match (error, request.budgets.time) {
                (CompileError::TookTooLong { file, .. }, Some(seconds)) => {
                    CompileError::TookTooLong { file, seconds }
                }
                (error, _) => error,
            }
        })
    });
    compiled.into_iter().collect()
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

/// Whether a file that is no PTX declares a kernel as CUDA source does.
fn has_kernels(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let ptx = text
        .lines()
        .any(|line| line.trim_start().starts_with(".version"));
    !ptx && text.contains("__global__")
}

fn is_cuda(path: &Path) -> bool {
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    ["cu", "cuh", "cc", "cpp", "cxx", "c"].contains(&extension.to_ascii_lowercase().as_str())
}

/// How PTX is read.
struct Reading<'a> {
    /// The build; `None` where the input is PTX.
    name: Option<&'static str>,
    wanted: Wanted<'a>,
    /// Bytes that a tree may take.
    memory: u64,
    /// The first file, for messages about kernels.
    path: &'a str,
}

impl Reading<'_> {
    /// Makes a build of texts and their names; several are linked.
    fn build(&self, texts: Vec<(String, String)>) -> Result<Build, Error> {
        let several = texts.len() > 1;
        let mut files = Vec::new();
        let mut modules = Vec::new();
        for (path, text) in texts {
            let file = Arc::new(SourceFile::new(path, text));
            // A kernel may reach what another file defines.
            let wanted = if several { Wanted::All } else { self.wanted };
            modules.push(self.module(&file, wanted)?);
            files.push(file);
        }
        if let ([file], [_]) = (&files[..], &modules[..]) {
            return Ok(Build {
                name: self.name,
                ptx: file.clone(),
                module: modules.remove(0),
            });
        }
        let names: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();
        let name = names.join(" and ");
        let linked = ptx::link(modules).map_err(|error| {
            Error::new(ErrorKind::Input, format!("{name} can't be linked: {error}"))
                .help("give every definition once, as to `nvcc -rdc=true`")
        })?;
        let file = Arc::new(SourceFile::new(name, ptx::print(&linked)));
        let module = self.module(&file, self.wanted)?;
        Ok(Build {
            name: self.name,
            ptx: file,
            module,
        })
    }

    /// Parses a text.
    fn module(&self, file: &Arc<SourceFile>, wanted: Wanted<'_>) -> Result<Module, Error> {
        let text = &file.text;
        if text.len() <= LARGE || matches!(wanted, Wanted::All) {
            let module = ptx::parse_items(text, self.memory, &mut Some)
                .map_err(|error| self.no_ptx(file, error))?;
            // What nvcc wrote is valid, but for what it copied.
            let judged = self.name.is_none() || asm::is_in(text);
            return match judged.then(|| ptx::validate(&module)) {
                Some(Err(invalid))
                    if self.name.is_none() || asm::holds(text, invalid.span.start as usize) =>
                {
                    Err(not_valid(file, invalid))
                }
                _ => Ok(module),
            };
        }
        let outline = outline(text, self.memory).map_err(|error| self.no_ptx(file, error))?;
        let all: Vec<&str> = outline.entries.iter().map(String::as_str).collect();
        let chosen: Result<Vec<&str>, Error> = match wanted {
            Wanted::One(name) => entry::choose_of(&all, name, self.path).map(|one| vec![one]),
            Wanted::Each(names) => names
                .iter()
                .map(|name| entry::choose_of(&all, Some(name), self.path))
                .collect(),
            Wanted::Matching(filter) => entry::matching(&all, filter, self.path),
            Wanted::All => Ok(all.clone()),
        };
        outline
            .part(text, self.memory, &chosen?)
            .map_err(|error| match error {
                PartError::Parse(error) => self.no_ptx(file, error),
                PartError::Invalid(invalid) => not_valid(file, invalid),
            })
    }

    /// What to tell of a text that is no PTX, or too much.
    fn no_ptx(&self, file: &Arc<SourceFile>, error: ParseError) -> Error {
        let path = &file.path;
        let span = error.span.start as usize..error.span.end as usize;
        let at = |message: String| {
            Error::new(ErrorKind::Input, message).at(file.clone(), span, error.kind.to_string())
        };
        match (&error.kind, self.name) {
            (ParseErrorKind::Empty, _) => no_ptx(path, "it is empty or has only comments"),
            (ParseErrorKind::TooLarge { .. }, _) => at(format!("`{path}` is too large")).help(
                "name one kernel with `--entry`: then the others take no memory; or raise `--memory`, of which a quarter is for the PTX",
            ),
            (_, Some(_)) => at(format!("`{path}` is not valid PTX"))
                .help("nvcc wrote this PTX, so this is a bug of racetrap: please report it"),
            (_, None) => at(format!("`{path}` is not valid PTX"))
                .help("check with `ptxas` of the CUDA toolkit whether the file is valid PTX"),
        }
    }
}

/// What to tell of PTX that parses and is not valid by the manual. Nobody has asked `ptxas`.
fn not_valid(file: &Arc<SourceFile>, Invalid { kind, span }: Invalid) -> Error {
    Error::new(
        ErrorKind::Input,
        format!("`{}` is not valid PTX", file.path),
    )
    .at(
        file.clone(),
        span.start as usize..span.end as usize,
        kind.to_string(),
    )
    .help("if `ptxas` of the CUDA toolkit accepts this file, this is a bug of racetrap: please report it")
}

#[cfg(test)]
mod tests {
    use super::has_kernels;

    /// A download, or an answer that was pasted into a file, has no extension.
    #[test]
    fn kernels_tell_cuda_source() {
        assert!(has_kernels(b"__global__ void k() {}"));
        assert!(!has_kernels(
            b"// __global__ void k()\n.version 8.0\n.target sm_75"
        ));
        assert!(!has_kernels(b"int main() {}"));
        assert!(!has_kernels(b"__global__ \xff"));
    }
}
