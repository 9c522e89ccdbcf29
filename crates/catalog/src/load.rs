//! Reads the catalogue: all YAML files and the annotations of all kernels, checked against each other. All errors are
//! reported at once.

use super::annotation::{self, Tag};
use super::case::Case;
use super::check;
pub use super::entry::{Catalog, Entry, NoSuchCase, Unresolved};
use super::error::{CatalogError, CatalogErrors, Hint, Place};
use super::locate::locate;
use super::tree::Tree;
use super::verify::verify;
use super::yaml::{self, Fault};
use report::SourceFile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of the claims, which are not cases.
pub const CLAIMS: &str = "cases/claims/";

impl Catalog {
    /// The catalogue that is built into this binary.
    pub fn embedded() -> Result<Catalog, CatalogErrors> {
        Catalog::from_tree(Tree::embedded(), Path::new("the built-in catalogue"))
    }

    /// Loads the catalogue of a folder with `kernels/` and `cases/`, and checks its pinned PTX.
    pub fn read(root: &Path) -> Result<Catalog, CatalogErrors> {
        let tree = Tree::read(root).map_err(|e| CatalogErrors(vec![e]))?;
        Catalog::from_tree(tree, root)
    }

    /// Loads a catalogue from these files and checks its pinned PTX. `root` is its name in messages.
    pub fn from_tree(tree: Tree, root: &Path) -> Result<Catalog, CatalogErrors> {
        let catalog = Catalog::without_ptx(tree, root)?;
        let errors = verify(&catalog);
        if errors.is_empty() {
            Ok(catalog)
        } else {
            Err(CatalogErrors(errors))
        }
    }

    /// Loads a catalogue without checking its pinned PTX, for the command that renews it.
    pub fn without_ptx(tree: Tree, root: &Path) -> Result<Catalog, CatalogErrors> {
        let mut errors = Vec::new();
        let mut cases = Vec::new();
        let files = tree.below("cases/", ".yaml");
        for (file, text) in files.filter(|(file, _)| !file.starts_with(CLAIMS)) {
            let id = file
                .trim_start_matches("cases/")
                .trim_end_matches(".yaml")
                .to_owned();
            match from_yaml(file, text) {
                Ok(case) => {
                    let steps = (0..case.plan.len())
                        .map(|step| locate(text, &["plan".into(), step.into()]).0 as u32)
                        .collect();
                    let tags = annotation::parse_case(file, text).unwrap_or_else(|bad| {
                        errors.extend(bad);
                        Vec::new()
                    });
                    cases.push(Entry {
                        id,
                        file: file.to_owned(),
                        case,
                        tags,
                        source: Arc::new(SourceFile::new(file.to_owned(), text.to_owned())),
                        steps,
                    });
                }
                Err(error) => errors.push(error),
            }
        }
        if cases.is_empty() && errors.is_empty() {
            errors.push(CatalogError::Empty {
                path: PathBuf::from(root),
            });
        }
        let unreadable = !errors.is_empty();
        let unreadable_kernels = tag(&tree, &mut cases, unreadable, &mut errors);
        for entry in &cases {
            let untagged = unreadable_kernels.contains(&entry.case.kernel);
            let doubt = check::Doubt {
                cases: unreadable,
                tags: untagged,
            };
            check::entry(entry, &cases, &tree, doubt, &mut errors);
        }
        if errors.is_empty() {
            Ok(Catalog { cases, tree })
        } else {
            Err(CatalogErrors(errors))
        }
    }
}

/// Assigns every case the tags of its kernel that apply to it. A kernel that no case runs and a tag that applies to no case
/// are errors; both checks are skipped if a YAML file could not be read, because they would only report consequences.
/// Returns the kernels whose tags are not all known.
fn tag(
    tree: &Tree,
    cases: &mut [Entry],
    unreadable: bool,
    errors: &mut Vec<CatalogError>,
) -> BTreeSet<String> {
    let mut doubtful = BTreeSet::new();
    for (file, source) in tree.below("kernels/", ".cu") {
        let kernel = file.trim_start_matches("kernels/");
        if !unreadable && !cases.iter().any(|e| e.case.kernel == kernel) {
            errors.push(CatalogError::OrphanKernel {
                file: file.to_owned(),
                kernel: kernel.to_owned(),
            });
            continue;
        }
        let tags = match annotation::parse(file, source) {
            Ok(tags) => tags,
            Err(bad) => {
                errors.extend(bad);
                doubtful.insert(kernel.to_owned());
                continue;
            }
        };
        let place = |tag: &Tag| Place {
            file: file.to_owned(),
            line: tag.line as usize,
            column: tag.column,
        };
        let mut used = vec![false; tags.len()];
        for entry in cases.iter_mut().filter(|e| e.case.kernel == kernel) {
            match annotation::applying(file, source, &tags, entry.stem(), &entry.case.defines) {
                Ok(applying) => {
                    for tag in applying {
                        used[tags.iter().position(|t| std::ptr::eq(t, tag)).unwrap_or(0)] = true;
                        if !entry.case.is_meant_buggy() && !check::is_performance(tag.fault) {
                            errors.push(CatalogError::CorrectCaseTagged {
                                place: place(tag),
                                case: entry.id.clone(),
                            });
                        }
                        entry.tags.push(tag.clone());
                    }
                }
                Err(error) => {
                    errors.push(error);
                    doubtful.insert(kernel.to_owned());
                }
            }
        }
        if unreadable {
            continue;
        }
        let stems: Vec<_> = cases
            .iter()
            .filter(|e| e.case.kernel == kernel)
            .map(Entry::stem)
            .collect();
        for (tag, used) in tags.iter().zip(used) {
            for case in tag
                .cases
                .iter()
                .filter(|case| !stems.contains(&case.as_str()))
            {
                doubtful.insert(kernel.to_owned());
                errors.push(CatalogError::UnknownCase {
                    place: place(tag),
                    case: case.clone(),
                    hint: Hint::new(case, stems.iter().copied()),
                });
            }
            if !used && tag.cases.is_empty() {
                errors.push(CatalogError::AnnotationUnderNoCase { place: place(tag) });
            }
        }
    }
    errors.dedup();
    doubtful
}

/// Reads one case. Errors name line, column and the closest key.
pub fn from_yaml(file: &str, text: &str) -> Result<Case, CatalogError> {
    parsed(file, text)
}

/// Reads a YAML file of the catalogue. Errors name line, column and the closest key.
pub fn parsed<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> Result<T, CatalogError> {
    yaml::from_str(text).map_err(|error| {
        let place = Place {
            file: file.to_owned(),
            line: error.line,
            column: error.column,
        };
        match error.fault {
            Fault::UnknownKey { key, known } => {
                let hint = Hint::new(&key, known.into_iter());
                CatalogError::UnknownKey { place, key, hint }
            }
            Fault::UnknownWord { word, known } => {
                let hint = Hint::new(&word, known.into_iter());
                CatalogError::UnknownWord { place, word, hint }
            }
            Fault::Other(message) => bad_expression(
                &place,
                &message,
                text.get(error.offset..).unwrap_or_default(),
            )
            .unwrap_or(CatalogError::Syntax { place, message }),
        }
    })
}

/// Parses the message of an [`session::expression::ExpressionError`], and adds the column inside the expression to its place
/// in the file.
fn bad_expression(place: &Place, message: &str, source: &str) -> Option<CatalogError> {
    let (_, rest) = message.split_once("column ")?;
    let (column, rest) = rest.split_once(" of `")?;
    let column: usize = column.parse().ok()?;
    let (text, problem) = rest.split_once("`: ")?;
    // A quoted scalar starts one character later; the columns of a block scalar are not those of the file.
    let quote = usize::from(source.starts_with(['"', '\'']));
    let offset = if source.starts_with(['|', '>']) {
        0
    } else {
        column - 1 + quote
    };
    Some(CatalogError::BadExpression {
        place: Place {
            column: place.column + offset,
            ..place.clone()
        },
        text: text.to_owned(),
        problem: problem.to_owned(),
    })
}
