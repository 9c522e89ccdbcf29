//! Renews what is generated from the catalogue: the JSON schema and the pinned PTX.

use super::case::schema;
use super::error::{CatalogErrors, RENEW};
use super::load::Catalog;
use super::pinned::{Pin, STANDARD, pins};
use super::tree::Tree;
use crate::toolchain::{CompileError, CompileOptions, Nvcc, Optimisation};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    /// A file can't be written or removed.
    #[error("{}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
}

/// Writes `cases/schema.json` and the stale or missing PTX of the catalogue below `root` (all of
/// it, with `everything`), and removes PTX that no case needs. `progress` is told each PTX
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
    let pins = pins(&catalog);
    let stale: Vec<&Pin> = pins
        .iter()
        .filter(|(file, (pin, _))| {
            everything
                || tree
                    .text(file)
                    .is_none_or(|text| pin.stale(tree, text).is_some())
        })
        .map(|(_, (pin, _))| pin)
        .collect();
    renewed.current += pins.len() - stale.len();
    if !stale.is_empty() {
        let nvcc = Nvcc::find().map_err(CompileError::NoCompiler)?;
        for (pin, made) in stale
            .iter()
            .zip(compile_all(&nvcc, &root, tree, &stale, jobs, progress))
        {
            write(&pin.ptx, &made?, &mut renewed)?;
        }
    }
    for (file, _) in tree
        .below("kernels/", ".ptx")
        .filter(|(file, _)| !pins.contains_key(*file))
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
    let options = CompileOptions {
        defines: pin.defines.clone(),
        includes: Vec::new(),
        std: Some(STANDARD.to_owned()),
        arch: Some(pin.target.to_owned()),
    };
    let ptx = nvcc.compile(&root.join(&pin.source), Optimisation::Optimised, &options)?;
    Ok(pin.file(tree, &ptx, &root.to_string_lossy()))
}

fn compile_all(
    nvcc: &Nvcc,
    root: &Path,
    tree: &Tree,
    pins: &[&Pin],
    jobs: usize,
    progress: &(dyn Fn(&str) + Sync),
) -> Vec<Result<String, CompileError>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some((index, pin)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    pins.get(index).map(|pin| (index, *pin))
                } {
                    progress(&pin.ptx);
                    let result = compile(nvcc, root, tree, pin);
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
            "{} file(s) were current (`{RENEW} --all` makes them anew)",
            self.current
        )
    }
}
