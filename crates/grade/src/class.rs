//! Grades a class: many submissions, side by side, each with one result file.
//!
//! A result file is written whole or not at all, and says by its key what it was made from: the assignment, the submission and this
//! program. So a class that was interrupted goes on where it was, and a submission that changed is graded again. The same source is graded
//! once, whoever hands it in.

use crate::build::atomically;
use crate::course::Course;
use crate::grade::{GradeError, grade_files, name_of, refused_result};
use crate::hash::sha256;
use crate::result::Graded;
use crate::submission::{CollectError, collect};
use catalog::yaml::YamlError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A submission of a class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name, which no other has.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// Whoever teaches has decided otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// All points.
    pub points: f64,
    /// Why.
    pub reason: String,
}

/// A result in its file.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// What it was made from.
    key: String,
    graded: Graded,
}

/// What came of a class.
#[derive(Debug, Default)]
pub struct Class {
    /// The grades, by name.
    pub graded: Vec<Graded>,
    /// Submissions that could not be graded for a reason of the machine, and why.
    pub failed: Vec<(String, String)>,
    /// How many results were there before.
    pub kept: usize,
    /// How many sources were graded.
    pub sources: usize,
}

/// A part of a class: number `index` (from 0) of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: usize,
    /// At least 1.
    pub count: usize,
}

impl Shard {
    /// Reads `I/N`, with I from 1.
    pub fn parse(text: &str) -> Option<Shard> {
        let (index, count) = text.split_once('/')?;
        let (index, count) = (
            index.trim().parse::<usize>().ok()?,
            count.trim().parse::<usize>().ok()?,
        );
        (1..=count).contains(&index).then(|| Shard {
            index: index - 1,
            count,
        })
    }

    /// What the environment of a job array says: Slurm's, Kubernetes' (with the number of completions in `RACETRAP_SHARDS`), GitLab's and
    /// others' `CI_NODE_INDEX`.
    pub fn of_environment(get: impl Fn(&str) -> Option<String>) -> Option<Shard> {
        let number = |name: &str| get(name)?.trim().parse::<usize>().ok();
        let made = |index: usize, count: usize| (index < count).then_some(Shard { index, count });
        if let (Some(id), Some(count)) = (
            number("SLURM_ARRAY_TASK_ID"),
            number("SLURM_ARRAY_TASK_COUNT"),
        ) {
            return made(
                id.checked_sub(number("SLURM_ARRAY_TASK_MIN").unwrap_or(0))?,
                count,
            );
        }
        if let (Some(index), Some(count)) =
            (number("JOB_COMPLETION_INDEX"), number("RACETRAP_SHARDS"))
        {
            return made(index, count);
        }
        let (index, count) = (number("CI_NODE_INDEX")?, number("CI_NODE_TOTAL")?);
        made(index.checked_sub(1)?, count)
    }

    /// Whether an entry is in it. It depends on the name alone, so that an entry stays where it is when others come and go.
    pub fn has(&self, name: &str) -> bool {
        let hash = sha256([name]);
        let number = usize::from_str_radix(&hash[..8], 16).unwrap_or(0);
        number % self.count.max(1) == self.index
    }
}

/// The submissions of a folder: its folders, archives and files.
///
/// # Errors
///
/// The folder can't be read.
pub fn entries(folder: &Path) -> std::io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_none_or(|n| n.to_string_lossy().starts_with('.'));
        if !hidden {
            all.push(path);
        }
    }
    all.sort();
    Ok(named(all))
}

/// Submissions with names that no two share.
pub fn named(paths: Vec<PathBuf>) -> Vec<Entry> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for path in paths {
        let plain = name_of(&path).replace(['/', '\\'], "_");
        let mut name = plain.clone();
        let mut number = 1;
        // Files of one folder may differ in their ending alone, and case does not tell files apart everywhere.
        while !seen.insert(name.to_lowercase()) {
            number += 1;
            name = format!("{plain}-{number}");
        }
        all.push(Entry { name, path });
    }
    all
}

/// Whether a folder holds a class rather than one submission: it has none of the files that are asked for, and several entries.
pub fn is_class(path: &Path, course: &Course) -> bool {
    let required = &course.assignment.submission.require;
    path.is_dir()
        && !required
            .iter()
            .any(|name| path.join(name).symlink_metadata().is_ok())
        && entries(path).is_ok_and(|all| all.len() > 1)
}

/// Grades the entries with `jobs` threads, and keeps results in a folder if one is given. `progress` is told what has been done.
///
/// Each entry is read and graded by itself, so that one that takes long to read keeps one thread busy and nobody else waiting.
pub fn grade_class(
    course: &Course,
    entries: &[Entry],
    results: Option<&Path>,
    jobs: usize,
    progress: &(dyn Fn(&str) + Sync),
) -> Class {
    let grading = Grading {
        course,
        results,
        sources: Mutex::default(),
        class: Mutex::default(),
    };
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, entries.len().max(1)) {
            scope.spawn(|| {
                while let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for entry in grading.entry(entry) {
                        progress(&entry.name);
                    }
                }
            });
        }
    });
    let class = grading.class.into_inner();
    let mut class = class.unwrap_or_else(PoisonError::into_inner);
    class
        .graded
        .sort_by(|a, b| a.submission.name.cmp(&b.submission.name));
    class.failed.sort();
    class
}

/// A source that somebody handed in.
enum Source<'a> {
    /// One thread is grading it. These were handed in meanwhile, and get the same result.
    Running(Vec<&'a Entry>),
    /// What came of it.
    Done(Box<Result<Graded, Arc<Ungraded>>>),
}

/// A class that is being graded.
struct Grading<'a> {
    course: &'a Course,
    results: Option<&'a Path>,
    /// By their hashes: the same source is graded once.
    sources: Mutex<BTreeMap<String, Source<'a>>>,
    class: Mutex<Class>,
}

impl<'a> Grading<'a> {
    /// Grades an entry, and all that wait for it. What is done afterwards.
    fn entry(&self, entry: &'a Entry) -> Vec<&'a Entry> {
        // A bug of this program must not end the grading of others.
        let read = || collect(&entry.path, &self.course.assignment.submission);
        let files = match catch_unwind(AssertUnwindSafe(read)) {
            Ok(Ok(files)) => files,
            Ok(Err(CollectError::Submission(error))) => {
                let graded = refused_result(self.course, &entry.name, &error);
                self.record(entry, "", Ok(graded));
                return vec![entry];
            }
            Ok(Err(error)) => {
                self.record(entry, "", Err(Arc::new(Ungraded::Grade(error.into()))));
                return vec![entry];
            }
            Err(_) => {
                self.record(entry, "", Err(Arc::new(Ungraded::Bug)));
                return vec![entry];
            }
        };
        let hash = files.hash();
        let before = self
            .results
            .and_then(|r| kept(self.course, r, &entry.name, &hash));
        if let Some(graded) = before {
            let mut class = lock(&self.class);
            class.kept += 1;
            class.graded.push(graded.clone());
            drop(class);
            let mut sources = lock(&self.sources);
            sources
                .entry(hash)
                .or_insert(Source::Done(Box::new(Ok(graded))));
            return vec![entry];
        }
        let mut sources = lock(&self.sources);
        match sources.get_mut(&hash) {
            Some(Source::Running(waiting)) => {
                waiting.push(entry);
                return Vec::new();
            }
            Some(Source::Done(graded)) => {
                let graded = graded.clone();
                drop(sources);
                self.record(entry, &hash, *graded);
                return vec![entry];
            }
            None => sources.insert(hash.clone(), Source::Running(Vec::new())),
        };
        drop(sources);
        let run = || grade_files(self.course, &files, &entry.name, &mut |_| {});
        let graded = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(graded) => graded.map_err(|error| Arc::new(Ungraded::Grade(error))),
            Err(_) => Err(Arc::new(Ungraded::Bug)),
        };
        lock(&self.class).sources += 1;
        let done = Source::Done(Box::new(graded.clone()));
        let mut all = vec![entry];
        if let Some(Source::Running(waiting)) = lock(&self.sources).insert(hash.clone(), done) {
            all.extend(waiting);
        }
        for entry in &all {
            self.record(entry, &hash, graded.clone());
        }
        all
    }

    /// Keeps a result under an entry's name.
    fn record(&self, entry: &Entry, hash: &str, graded: Result<Graded, Arc<Ungraded>>) {
        let kept = graded.and_then(|mut graded| {
            graded.submission.name.clone_from(&entry.name);
            keep(self.course, self.results, hash, &graded)
                .map(|()| graded)
                .map_err(Arc::new)
        });
        let mut class = lock(&self.class);
        match kept {
            Ok(graded) => class.graded.push(graded),
            Err(why) => class.failed.push((entry.name.clone(), why.to_string())),
        }
    }
}

/// Why there is no result, for a reason that is not the submission's.
#[derive(Debug, thiserror::Error)]
enum Ungraded {
    #[error(transparent)]
    Grade(GradeError),
    /// Its result can't be written.
    #[error("{}: {error}", path.display())]
    Keep {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("racetrap failed: this is a bug of it")]
    Bug,
}

/// Whoever failed while it held the lock has left no half of anything.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a result is made from.
fn key(course: &Course, hash: &str) -> String {
    sha256([course.hash.as_str(), hash, env!("CARGO_PKG_VERSION")])
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}

fn kept(course: &Course, folder: &Path, name: &str, hash: &str) -> Option<Graded> {
    let text = std::fs::read(file(folder, name)).ok()?;
    let kept: Kept = serde_json::from_slice(&text).ok()?;
    (kept.key == key(course, hash)).then_some(kept.graded)
}

fn keep(
    course: &Course,
    results: Option<&Path>,
    hash: &str,
    graded: &Graded,
) -> Result<(), Ungraded> {
    let Some(folder) = results else {
        return Ok(());
    };
    let kept = Kept {
        key: key(course, hash),
        graded: graded.clone(),
    };
    let path = file(folder, &graded.submission.name);
    let text = serde_json::to_vec_pretty(&kept).map_err(std::io::Error::from);
    let written = text.and_then(|text| atomically(&path, &text));
    written.map_err(|error| Ungraded::Keep { path, error })
}

/// Reads what a person has decided otherwise, by the submissions' names.
///
/// # Errors
///
/// What is wrong with it, with its line.
pub fn overrides(yaml: &str) -> Result<BTreeMap<String, Override>, YamlError> {
    catalog::yaml::from_str(yaml)
}

/// Reads all results of a folder, as several shards have left them; what is no result is left out.
///
/// # Errors
///
/// The folder can't be read.
pub fn merged(folder: &Path) -> std::io::Result<Vec<Graded>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_result = path.extension().is_some_and(|e| e == "json");
        if let Some(kept) = is_result.then(|| std::fs::read(&path).ok()).flatten()
            && let Ok(kept) = serde_json::from_slice::<Kept>(&kept)
        {
            all.push(kept.graded);
        }
    }
    all.sort_by(|a: &Graded, b| a.submission.name.cmp(&b.submission.name));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_read() {
        assert_eq!(Shard::parse("1/3"), Some(Shard { index: 0, count: 3 }));
        assert_eq!(
            ["0/3", "4/3", "1", "a/b", "1/0"].map(Shard::parse),
            [None; 5]
        );
        let of = |variables: &[(&str, &str)]| {
            let all: BTreeMap<String, String> = variables
                .iter()
                .map(|(n, v)| ((*n).into(), (*v).into()))
                .collect();
            Shard::of_environment(|name| all.get(name).cloned())
        };
        let slurm = [
            ("SLURM_ARRAY_TASK_ID", "5"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
            ("SLURM_ARRAY_TASK_MIN", "2"),
        ];
        assert_eq!(of(&slurm), Some(Shard { index: 3, count: 4 }));
        assert_eq!(
            of(&[("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "2")]),
            Some(Shard { index: 0, count: 2 })
        );
        assert_eq!(
            of(&[("JOB_COMPLETION_INDEX", "0"), ("RACETRAP_SHARDS", "2")]),
            Some(Shard { index: 0, count: 2 })
        );
        assert_eq!(of(&[("JOB_COMPLETION_INDEX", "0")]), None);
    }

    #[test]
    fn every_entry_is_in_one_shard() {
        for number in 0..100 {
            let name = format!("student{number}");
            let shards = (0..7).filter(|index| {
                Shard {
                    index: *index,
                    count: 7,
                }
                .has(&name)
            });
            assert_eq!(shards.count(), 1);
        }
    }

    #[test]
    fn names_are_told_apart() {
        let names = named(vec!["a/x.zip".into(), "a/x.cu".into(), "b/X".into()]);
        let names: Vec<&str> = names.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["x", "x-2", "X-3"]);
    }
}
