//! Operands of `racetrap diff` (cases, kernels of the catalogue, files) and how to compile each to PTX.

use ::check::input::refused;
use catalog::load::{Catalog, Entry, Unresolved};
use catalog::pinned::{self, Pin, SIMULATED, STANDARD, Target};
use ptx::ParseErrorKind;
use ptxdiff::Unit;
use ptxdiff::report::Operands;
use report::Failure;
use report::{SourceFile, Sources};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolchain::{
    CompileError, CompileOptions, Compiler, InstallError, Nvcc, Optimisation, RELEASES, Release,
};

/// Largest file that is compared, bytes: the trees of both are in memory.
const FILE_BYTES: u64 = 32 << 20;

/// An operand on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A case of the catalogue, by name.
    Case(String),
    /// A kernel of the catalogue with these defines: `scan/warp.cu:BUG_X`.
    Kernel(String, Vec<String>),
    /// A CUDA file with these defines: `mine.cu:N=4,FAST`.
    Cuda(PathBuf, Vec<String>),
    /// A PTX file.
    Ptx(PathBuf),
}

/// Compiler settings that the user asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// 0 to 3.
    pub level: Option<u8>,
    /// `sm_90`
    pub target: Option<String>,
    /// Another release's compiler.
    pub release: Option<Release>,
    /// Further flags of the compiler.
    pub flags: Vec<String>,
}

impl Variant {
    fn optimisation(&self) -> Optimisation {
        match self.level {
            None | Some(3) => Optimisation::Optimised,
            Some(0) => Optimisation::Unoptimised,
            Some(level) => Optimisation::Level(level),
        }
    }
}

/// The PTX of one side.
#[derive(Debug)]
pub struct Built {
    /// Its name.
    pub operand: Operands,
    /// The module.
    pub unit: Unit,
    /// The plain names of the kernels that a case launches; empty for all kernels.
    pub launched: Vec<String>,
}

/// Compiles operands to PTX.
pub struct Builder<'b> {
    /// The catalogue.
    pub catalog: &'b Catalog,
    /// `-D` for both sides.
    pub defines: &'b [String],
    /// `-I` for both sides.
    pub includes: &'b [PathBuf],
    /// `-std` for both sides.
    pub std: Option<&'b str>,
    /// Called before a slow step.
    pub say: &'b dyn Fn(&str),
    /// The source files for the listing.
    pub sources: &'b mut Sources,
}

impl Operand {
    /// Parses an operand.
    ///
    /// # Errors
    ///
    /// No such case, or several.
    pub fn parse(word: &str, catalog: &Catalog) -> Result<Operand, Failure> {
        if word.ends_with(".ptx") {
            return Ok(Operand::Ptx(word.into()));
        }
        let (path, defines) = match word.rsplit_once(".cu:") {
            Some((stem, defines)) => (format!("{stem}.cu"), defines),
            None => (word.to_owned(), ""),
        };
        let defines: Vec<String> = defines
            .split(',')
            .map(str::trim)
            .filter(|d| !d.is_empty())
            .map(str::to_owned)
            .collect();
        if path.ends_with(".cu") || Path::new(&path).extension().is_some_and(|e| e == "cuh") {
            let inside = catalog.tree.text(&format!("kernels/{path}")).is_some();
            return Ok(match inside && !Path::new(&path).exists() {
                true => Operand::Kernel(path, defines),
                false => Operand::Cuda(path.into(), defines),
            });
        }
        match catalog.resolve(word) {
            Ok(entry) => Ok(Operand::Case(entry.id.clone())),
            Err(Unresolved::Several { name, cases }) => {
                Err(Failure::usage(format!("`{name}` is ambiguous: it matches {} cases", cases.len())).text(cases.join("\n")).help("give more of the name"))
            }
            Err(error) => Err(Failure::usage(error.to_string()).help(
                "an operand is a case (`racetrap list`), a kernel with defines (`scan/warp.cu:BUG_PLAIN_POINTER`), a `.cu` or a `.ptx` file",
            )),
        }
    }
}

impl Builder<'_> {
    /// Compiles one side to PTX.
    ///
    /// # Errors
    ///
    /// A file cannot be read or compiled, or a compiler is not available.
    pub fn build(&mut self, operand: &Operand, variant: &Variant) -> Result<Built, Failure> {
        match operand {
            Operand::Ptx(path) => self.ptx(path),
            Operand::Cuda(path, defines) => self.cuda(path, defines, variant),
            Operand::Kernel(kernel, defines) => {
                let name = match defines.is_empty() {
                    true => kernel.clone(),
                    false => format!("{kernel}:{}", defines.join(",")),
                };
                self.kernel(name, kernel, defines.clone(), variant, Vec::new())
            }
            Operand::Case(id) => {
                let catalog = self.catalog;
                let entry = catalog
                    .find(id)
                    .ok_or_else(|| Failure::usage(format!("there is no case `{id}`")))?;
                let defines = entry.case.define_flags();
                self.kernel(
                    entry.id.clone(),
                    &entry.case.kernel,
                    defines,
                    variant,
                    launched(entry),
                )
            }
        }
    }

    fn ptx(&mut self, path: &Path) -> Result<Built, Failure> {
        let shown = path.display().to_string();
        let bytes = ::check::input::read_bytes(path, &shown, FILE_BYTES)?;
        let text = ::check::input::text_of(&shown, bytes)?;
        if let Some(folder) = path.parent() {
            self.sources.look_in(folder);
        }
        self.finish(shown, text, Vec::new(), "")
    }

    fn cuda(
        &mut self,
        path: &Path,
        defines: &[String],
        variant: &Variant,
    ) -> Result<Built, Failure> {
        let shown = path.display().to_string();
        let bytes = ::check::input::read_bytes(path, &shown, FILE_BYTES)?;
        self.sources.add(&shown, &String::from_utf8_lossy(&bytes));
        let name = match defines.is_empty() {
            true => shown,
            false => format!("{shown}:{}", defines.join(",")),
        };
        let (text, how) = self.compile(path, defines, variant, None)?;
        // The compiler writes absolute paths; show the relative path that the user gave.
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        let text = match here {
            Ok(here) if path.is_relative() => {
                pinned::with_relative_files(&text, &here.to_string_lossy())
            }
            _ => text,
        };
        self.finish(name, text, Vec::new(), &how)
    }

    /// A kernel of the catalogue: its pinned PTX if it matches the settings, otherwise compiled from the catalogue's files.
    fn kernel(
        &mut self,
        name: String,
        kernel: &str,
        mut defines: Vec<String>,
        variant: &Variant,
        launched: Vec<String>,
    ) -> Result<Built, Failure> {
        let tree = &self.catalog.tree;
        let file = format!("kernels/{kernel}");
        if let Some(text) = tree.text(&file) {
            self.sources.add(&file, text);
        }
        defines.extend(self.defines.iter().cloned());
        defines.sort();
        let cases = self.catalog.cases.iter().map(|entry| &entry.case);
        let newest = cases
            .filter(|case| case.kernel == kernel)
            .flat_map(|case| &case.targets)
            .max();
        let usual = newest.map_or(SIMULATED, |target| target.name());
        let target = variant.target.as_deref().unwrap_or(usual);
        let plain = matches!(variant.level, None | Some(3))
            && variant.release.is_none()
            && variant.flags.is_empty()
            && self.includes.is_empty();
        let pin = Target::ALL
            .iter()
            .map(|t| t.name())
            .find(|t| *t == target)
            .map(|target| Pin::of(kernel, defines.clone(), target));
        if let Some(text) = pin.filter(|_| plain).and_then(|pin| tree.text(&pin.ptx)) {
            return self.finish(name, text.to_owned(), launched, "pinned");
        }
        let folder = tempfile::tempdir()
            .map_err(|e| Failure::inconclusive(format!("cannot create a temporary folder: {e}")))?;
        let root = folder
            .path()
            .canonicalize()
            .unwrap_or_else(|_| folder.path().to_owned());
        write_kernels(self.catalog, &root)?;
        let variant = Variant {
            target: Some(target.to_owned()),
            ..variant.clone()
        };
        let own: Vec<String> = defines
            .iter()
            .filter(|d| !self.defines.contains(d))
            .cloned()
            .collect();
        let (text, how) = self.compile(&root.join(&file), &own, &variant, Some(STANDARD))?;
        let text = pinned::with_relative_files(&text, &root.to_string_lossy());
        self.finish(name, text, launched, &how)
    }

    fn compile(
        &mut self,
        path: &Path,
        defines: &[String],
        variant: &Variant,
        std: Option<&str>,
    ) -> Result<(String, String), Failure> {
        let compiler = match variant.release {
            Some(release) => Compiler::of(release, self.say).map_err(not_installed)?,
            None => Compiler::Nvcc(Nvcc::find().map_err(|s| refused(CompileError::NoCompiler(s)))?),
        };
        let options = CompileOptions {
            defines: self.defines.iter().chain(defines).cloned().collect(),
            includes: self.includes.to_vec(),
            std: self.std.or(std).map(str::to_owned),
            arch: variant.target.clone(),
            further: variant.flags.clone(),
            ..CompileOptions::default()
        };
        let optimisation = variant.optimisation();
        (self.say)(&format!(
            "compiling {} ({}, {})",
            path.display(),
            compiler.name(),
            optimisation.name()
        ));
        let text = compiler
            .compile(path, optimisation, &options)
            .map_err(refused)?;
        let mut how = compiler.name().to_owned();
        match variant.level {
            None => {}
            Some(0) => how += " -G",
            Some(level) => how += &format!(" -O{level}"),
        }
        for flag in &variant.flags {
            how += &format!(" {flag}");
        }
        Ok((text, how))
    }

    fn finish(
        &mut self,
        name: String,
        text: String,
        launched: Vec<String>,
        how: &str,
    ) -> Result<Built, Failure> {
        let version = pinned::compiler_version(&text)
            .map(|v| v.rsplit_once('V').map_or(v, |(_, v)| v).to_owned());
        let unit = parse(&name, text)?;
        if unit.entries().next().is_none() {
            return Err(Failure::usage(format!("`{name}` has no kernel"))
                .help("a kernel is a `__global__` function (`.entry` in PTX); a template needs an explicit instantiation"));
        }
        let mut made = vec![unit.module.target.join(", ")];
        made.extend(version.map(|version| format!("CUDA {version}")));
        made.extend(Some(how.to_owned()).filter(|how| !how.is_empty()));
        Ok(Built {
            operand: Operands {
                name,
                made: made.join(", "),
            },
            unit,
            launched,
        })
    }
}

/// The kernels that a case launches, each once.
pub fn launched(entry: &Entry) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for launch in entry.case.launched() {
        if !names.contains(&launch.entry) {
            names.push(launch.entry.clone());
        }
    }
    names
}

/// Writes the catalogue's sources below a folder.
///
/// # Errors
///
/// The folder cannot be written.
pub fn write_kernels(catalog: &Catalog, root: &Path) -> Result<(), Failure> {
    for (name, text) in &catalog.tree.files {
        if !(name.ends_with(".cu") || name.ends_with(".cuh")) {
            continue;
        }
        let path = root.join(name);
        let written = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, text.as_bytes()));
        written
            .map_err(|e| Failure::inconclusive(format!("cannot write {}: {e}", path.display())))?;
    }
    Ok(())
}

fn parse(name: &str, text: String) -> Result<Unit, Failure> {
    Unit::parse(text.clone()).map_err(|error| {
        if error.kind == ParseErrorKind::Empty {
            return Failure::usage(format!(
                "`{name}` contains no PTX: it is empty or has only comments"
            ));
        }
        let span = error.span.start as usize..error.span.end as usize;
        let file = Arc::new(SourceFile::new(name.to_owned(), text));
        Failure::usage(format!("`{name}` is not valid PTX")).at(file, span, error.kind.to_string())
    })
}

/// The error for a compiler that is not available.
pub fn not_installed(error: InstallError) -> Failure {
    let failure = Failure::inconclusive(error.to_string());
    match error {
        InstallError::Unreachable { messages, .. } => failure.text(messages).help(
            "check the network, and that pip's index (PIP_INDEX_URL, pip.conf) has NVIDIA's packages. Without a network, compare PTX files \
             that other machines made",
        ),
        InstallError::NoVersion { versions, .. } => {
            let known: Vec<String> = RELEASES.iter().map(Release::to_string).collect();
            failure
                .text(format!("available versions: {versions}"))
                .help(format!("known releases: {}", known.join(", ")))
        }
        InstallError::Pip { messages, .. } => failure.text(messages),
        InstallError::NoPython | InstallError::NoPip => {
            failure.help("install python3 with pip, or compare PTX files compiled on another machine")
        }
        _ => failure,
    }
}
