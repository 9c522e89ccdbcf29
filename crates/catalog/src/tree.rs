//! The files of a catalogue: built into the binary, or in a folder.

use super::error::CatalogError;
use include_dir::{Dir, DirEntry, include_dir};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

static KERNELS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/kernels");
static CASES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/cases");

/// Text files by their path from the catalogue's root, with `/` between folders:
/// `kernels/scan/warp.cu`, `cases/scan/warp/volatile.yaml`.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The files.
    pub files: BTreeMap<String, Cow<'static, str>>,
}

impl Tree {
    /// The files that were built into this binary.
    pub fn embedded() -> Tree {
        let mut tree = Tree::default();
        for (prefix, dir) in [("kernels", &KERNELS), ("cases", &CASES)] {
            tree.embed(prefix, dir);
        }
        tree
    }

    fn embed(&mut self, prefix: &str, dir: &Dir<'static>) {
        for entry in dir.entries() {
            match entry {
                DirEntry::Dir(inner) => self.embed(prefix, inner),
                DirEntry::File(file) => {
                    if let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8()) {
                        let path = format!("{prefix}/{}", path.replace('\\', "/"));
                        self.files.insert(path, lines_ended_by_newline(text.into()));
                    }
                }
            }
        }
    }

    /// The files below `root/kernels` and `root/cases`.
    pub fn read(root: &Path) -> Result<Tree, CatalogError> {
        let mut tree = Tree::default();
        for top in ["kernels", "cases"] {
            let folder = root.join(top);
            if !folder.is_dir() {
                return Err(CatalogError::Unreadable {
                    path: folder,
                    reason: "the folder does not exist (a catalogue has `kernels/` and `cases/`)"
                        .to_owned(),
                });
            }
            tree.collect(root, &folder, &mut HashSet::new())?;
        }
        Ok(tree)
    }

    /// Adds the files of a folder and of those below it, each once: links may lead in a circle.
    fn collect(
        &mut self,
        root: &Path,
        folder: &Path,
        seen: &mut HashSet<PathBuf>,
    ) -> Result<(), CatalogError> {
        let unreadable = |path: &Path, reason: String| CatalogError::Unreadable {
            path: PathBuf::from(path),
            reason,
        };
        let real = folder
            .canonicalize()
            .map_err(|e| unreadable(folder, e.to_string()))?;
        if !seen.insert(real) {
            return Ok(());
        }
        let entries = folder
            .read_dir()
            .map_err(|e| unreadable(folder, e.to_string()))?;
        let paths: Result<Vec<PathBuf>, _> = entries.map(|e| e.map(|e| e.path())).collect();
        let mut paths = paths.map_err(|e| unreadable(folder, e.to_string()))?;
        // What is here keeps its name where a link leads to it as well.
        paths.sort_by_key(|path| (path.is_symlink(), path.clone()));
        for path in paths {
            if path.is_dir() {
                self.collect(root, &path, seen)?;
            } else if path
                .extension()
                .is_some_and(|e| KINDS.iter().any(|kind| e == *kind))
            {
                let text =
                    std::fs::read_to_string(&path).map_err(|e| unreadable(&path, e.to_string()))?;
                let name = path.strip_prefix(root).unwrap_or(&path);
                let name = name
                    .iter()
                    .map(|part| part.to_string_lossy())
                    .collect::<Vec<_>>()
                    .join("/");
                self.files.insert(name, lines_ended_by_newline(text.into()));
            }
        }
        Ok(())
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(AsRef::as_ref)
    }

    /// Files below a folder with an extension, in order.
    pub fn below<'a>(
        &'a self,
        folder: &'a str,
        extension: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> + 'a {
        self.files
            .iter()
            .filter(move |(path, _)| path.starts_with(folder) && path.ends_with(extension))
            .map(|(path, text)| (path.as_str(), text.as_ref()))
    }
}

/// The extensions of the files that belong to a catalogue.
const KINDS: &[&str] = &["cu", "cuh", "diagnostics", "ptx", "yaml"];

/// A checkout with `\r\n` is the same catalogue.
fn lines_ended_by_newline(text: Cow<'static, str>) -> Cow<'static, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").into()
    } else {
        text
    }
}
