//! The catalogue in memory: its cases with their files and tags, and how one finds a case by its name. [`load`](super::load) reads it.

use super::annotation::Tag;
use super::case::Case;
use super::pattern::Pattern;
use super::tree::Tree;
use report::SourceFile;
use std::sync::Arc;

/// A case with its files and tags.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name: the path of its file below `cases/`, without the extension:
    /// `scan/warp/volatile`.
    pub id: String,
    /// The YAML file: `cases/scan/warp/volatile.yaml`.
    pub file: String,
    /// Its contents.
    pub case: Case,
    /// The tags that apply to it.
    pub tags: Vec<Tag>,
    /// The text of its file, which contains the steps of its plan.
    pub source: Arc<SourceFile>,
    /// The line of each step.
    pub(super) steps: Vec<u32>,
}

impl Entry {
    /// The last part of its name.
    pub fn stem(&self) -> &str {
        self.id.rsplit('/').next().unwrap_or(&self.id)
    }

    /// The rest of its name: the family.
    pub fn family(&self) -> &str {
        self.id.rsplit_once('/').map_or("", |(family, _)| family)
    }

    /// The line of its file where a step of its plan starts; 1 if there is no such step.
    pub fn step_line(&self, step: usize) -> u32 {
        self.steps.get(step).copied().unwrap_or(1)
    }

    /// The kernel's file: `kernels/scan/warp.cu`. Findings name lines in it.
    pub fn kernel_file(&self) -> String {
        format!("kernels/{}", self.case.kernel)
    }
}

/// The cases and the files that they use.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// The cases, by name.
    pub cases: Vec<Entry>,
    /// All files.
    pub tree: Tree,
}

impl Catalog {
    /// The case with this name.
    pub fn find(&self, id: &str) -> Option<&Entry> {
        self.cases.iter().find(|entry| entry.id == id)
    }

    /// The cases that one of the [patterns](Pattern) selects, or all cases if there is no pattern. A pattern that is a complete
    /// name selects only that case. A pattern that selects nothing is an error.
    pub fn select(&self, patterns: &[String]) -> Result<Vec<&Entry>, NoSuchCase> {
        if patterns.is_empty() {
            return Ok(self.cases.iter().collect());
        }
        let mut chosen = vec![false; self.cases.len()];
        for pattern in patterns {
            let exact = self.cases.iter().position(|e| e.id == *pattern);
            let selector = Pattern::new(pattern);
            let mut any = false;
            for (index, entry) in self.cases.iter().enumerate() {
                let selects = exact.map_or_else(|| selector.matches(&entry.id), |e| e == index);
                chosen[index] |= selects;
                any |= selects;
            }
            if !any {
                let parts = self
                    .cases
                    .iter()
                    .flat_map(|e| [e.id.as_str(), e.family(), e.stem()]);
                let hint = report::nearest(pattern, parts).map(str::to_owned);
                return Err(NoSuchCase {
                    pattern: pattern.clone(),
                    near: hint,
                });
            }
        }
        let selected = self
            .cases
            .iter()
            .zip(&chosen)
            .filter(|(_, chosen)| **chosen);
        Ok(selected.map(|(entry, _)| entry).collect())
    }
}

impl Catalog {
    /// The case that a name refers to: the case with that name, or the only case whose name starts with it.
    ///
    /// # Errors
    ///
    /// No case, or several cases, which the error lists.
    pub fn resolve(&self, name: &str) -> Result<&Entry, Unresolved> {
        if let Some(entry) = self.find(name) {
            return Ok(entry);
        }
        let starting: Vec<&Entry> = self
            .cases
            .iter()
            .filter(|e| e.id.starts_with(name))
            .collect();
        match starting[..] {
            [only] => Ok(only),
            [] => {
                let names = self.cases.iter().map(|e| e.id.as_str());
                let near = report::nearest(name, names).map(str::to_owned);
                Err(Unresolved::None {
                    name: name.to_owned(),
                    near,
                })
            }
            _ => Err(Unresolved::Several {
                name: name.to_owned(),
                cases: starting.iter().map(|e| e.id.clone()).collect(),
            }),
        }
    }
}

/// A name that does not refer to exactly one case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// No case has a name that starts like this.
    #[error("there is no case `{name}`{}", .near.as_ref().map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default())]
    None {
        /// The name.
        name: String,
        /// The closest name.
        near: Option<String>,
    },
    /// Several cases do.
    #[error("`{name}` is ambiguous: it matches {} cases: {}", .cases.len(), .cases.join(", "))]
    Several {
        /// The name.
        name: String,
        /// The cases.
        cases: Vec<String>,
    },
}

/// A pattern that matches no case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no case matches `{pattern}`{}; `racetrap list` lists all cases",
    .near.as_ref().map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default())]
pub struct NoSuchCase {
    /// The pattern.
    pub pattern: String,
    /// The closest name, family or stem.
    pub near: Option<String>,
}
