//! Renews the files generated from the catalogue: the JSON schema and the pinned PTX.

use super::case::schema;
use super::entry::Catalog;
use super::error::{CatalogErrors, RENEW};
use super::pinned::{Pin, STANDARD, pinned, pins};
use super::refused::{Diagnostics, diagnostics};
use super::tree::Tree;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use toolchain::{CompileError, CompileOptions, Nvcc, Optimisation};

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewed {
    /// Files that were written, sorted.
    pub written: Vec<String>,
    /// Files that were removed, sorted.
    pub removed: Vec<String>,
    /// Files that were current.
    pub current: usize,
}

/// Why it could not be.
#[derive(Debug, thiserror::Error)]
pub enum RenewError {
    /// The catalogue itself is wrong.
    #[error(transparent)]
    Catalog(#[from] CatalogErrors),
    /// A kernel did not compile, or there is no compiler.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A kernel compiles that the compiler is to refuse.
    #[error("nvcc compiles {kernel} (`{flags}`), but the case `{case}` expects an error")]
    Accepted {
        /// The kernel's source.
        kernel: String,
        /// The compiler's flags.
        flags: String,
        /// The case.
        case: String,
    },
    /// A file can't be written or removed.
    #[error("{}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
}

/// Writes `cases/schema.json` and the stale or missing pinned files of the catalogue below `root` (all of
/// them, with `everything`), and removes those that no case needs. `progress` is told each
/// file before it is compiled.
///
/// The compiler is looked for only where there is something to compile.
pub fn renew(
    root: &Path,
    everything: bool,
    jobs: usize,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Renewed, RenewError> {
    let failed = |path: &Path, error| RenewError::Write {
        path: path.to_owned(),
        error,
    };
    let root = root.canonicalize().map_err(|e| failed(root, e))?;
    let mut renewed = Renewed::default();
    let write = |name: &str, text: &str, renewed: &mut Renewed| {
        let path = root.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            renewed.current += 1;
            return Ok(());
        }
        renewed.written.push(name.to_owned());
        std::fs::write(&path, text).map_err(|e| failed(&path, e))
    };
    write("cases/schema.json", &schema(), &mut renewed)?;

    let tree = Tree::read(&root).map_err(|e| CatalogErrors(vec![e]))?;
    let catalog = Catalog::without_ptx(tree, &root)?;
    let tree = &catalog.tree;
    let (pins, refused) = (pins(&catalog), diagnostics(&catalog));
    let is_stale = |file: &str, pin: &Pin| {
        everything
            || tree
                .text(file)
                .is_none_or(|text| pin.stale(tree, text).is_some())
    };
    let compiled = pins
        .iter()
        .map(|(file, (pin, _))| (file, pin, Job::Ptx(pin)));
    let stale: Vec<(&String, Job<'_>)> = refused
        .iter()
        .map(|(file, (of, entry))| (file, &of.pin, Job::Diagnostics(of, &entry.id)))
        .chain(compiled)
        .filter(|(file, pin, _)| is_stale(file, pin))
        .map(|(file, _, job)| (file, job))
        .collect();
    renewed.current += pins.len() + refused.len() - stale.len();
    if !stale.is_empty() {
        let nvcc = Nvcc::find().map_err(CompileError::NoCompiler)?;
        let made = compile_all(&nvcc, &root, tree, &stale, jobs, progress);
        for ((file, _), made) in stale.iter().zip(made) {
            write(file, &made?, &mut renewed)?;
        }
    }
    for file in
        pinned(tree).filter(|file| !pins.contains_key(*file) && !refused.contains_key(*file))
    {
        let path = root.join(file);
        std::fs::remove_file(&path).map_err(|e| failed(&path, e))?;
        renewed.removed.push(file.to_owned());
    }
    renewed.written.sort();
    Ok(renewed)
}

/// The text of the file that pins one kernel.
pub fn compile(nvcc: &Nvcc, root: &Path, tree: &Tree, pin: &Pin) -> Result<String, CompileError> {
    let ptx = ptx(nvcc, root, pin)?;
    Ok(pin.file(tree, &ptx, &root.to_string_lossy()))
}

fn ptx(nvcc: &Nvcc, root: &Path, pin: &Pin) -> Result<String, CompileError> {
    let options = CompileOptions {
        defines: pin.defines.clone(),
        includes: Vec::new(),
        std: Some(STANDARD.to_owned()),
        arch: Some(pin.target.to_owned()),
        ..CompileOptions::default()
    };
    nvcc.compile(&root.join(&pin.source), Optimisation::Optimised, &options)
}

/// The text of the file that keeps what the compiler says of a kernel. `case` is the case that expects it to be refused.
pub fn refuse(
    nvcc: &Nvcc,
    root: &Path,
    tree: &Tree,
    of: &Diagnostics,
    case: &str,
) -> Result<String, RenewError> {
    match ptx(nvcc, root, &of.pin) {
        Ok(_) => Err(RenewError::Accepted {
            kernel: of.pin.source.clone(),
            flags: of.pin.flags(),
            case: case.to_owned(),
        }),
        Err(CompileError::Refused { messages, .. }) => {
            let version = nvcc.version().unwrap_or_else(|| "unknown".to_owned());
            Ok(of.text(tree, &version, &messages, &root.to_string_lossy()))
        }
        Err(error) => Err(error.into()),
    }
}

/// A file to make.
enum Job<'a> {
    Ptx(&'a Pin),
    Diagnostics(&'a Diagnostics, &'a str),
}

fn compile_all(
    nvcc: &Nvcc,
    root: &Path,
    tree: &Tree,
    files: &[(&String, Job<'_>)],
    jobs: usize,
    progress: &(dyn Fn(&str) + Sync),
) -> Vec<Result<String, RenewError>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some((index, (file, job))) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    files.get(index).map(|file| (index, file))
                } {
                    progress(file);
                    let result = match job {
                        Job::Ptx(pin) => compile(nvcc, root, tree, pin).map_err(RenewError::from),
                        Job::Diagnostics(of, case) => refuse(nvcc, root, tree, of, case),
                    };
                    let mut results = results.lock().unwrap_or_else(|e| e.into_inner());
                    results.push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

impl std::fmt::Display for Renewed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for file in &self.written {
            writeln!(f, "wrote {file}")?;
        }
        for file in &self.removed {
            writeln!(f, "removed {file}")?;
        }
        write!(
            f,
            "{} file(s) were current (`{RENEW} --all` renews them too)",
            self.current
        )
    }
}
