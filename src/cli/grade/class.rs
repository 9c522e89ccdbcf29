//! `racetrap grade` of a class.

use super::GradeArgs;
use crate::cli::check::jobs;
use crate::cli::progress::Progress;
use ::grade::class::{Entry, Shard, entries, grade_class, is_class, merged as read, named};
use ::grade::course::Course;
use ::grade::result::Graded;
use ::grade::view::number;
use report::{Failure, exit};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Grades, what could not be graded and why, and how the command ends.
type Done = (Vec<Graded>, Vec<(String, String)>, u8);

/// Grades a class: a folder of submissions, or several submissions.
pub fn grade(args: &GradeArgs, course: &Course, paths: &[PathBuf]) -> Result<Done, Failure> {
    let of_folder = match paths {
        [folder] if is_class(folder, course) => Some(folder),
        _ => None,
    };
    let mut all: Vec<Entry> = match of_folder {
        Some(folder) => {
            entries(folder).map_err(|e| Failure::usage(format!("{}: {e}", folder.display())))?
        }
        None => named(paths.to_vec()),
    };
    let shard = args
        .shard
        .or_else(|| Shard::of_environment(|name| std::env::var(name).ok()));
    if let Some(shard) = shard {
        all.retain(|entry| shard.has(&entry.name));
    }
    let results = args
        .results
        .clone()
        .or_else(|| of_folder.map(|folder| beside(folder)));
    let progress = Progress::bar(all.len(), true);
    let class = grade_class(course, &all, results.as_deref(), jobs(args.jobs), &|name| {
        progress.say(name);
        progress.step();
    });
    progress.end();
    for (name, why) in &class.failed {
        eprintln!("{name}: not graded: {why}");
    }
    let kept = match class.kept {
        0 => String::new(),
        kept => format!(", {kept} of them before"),
    };
    let at = results.map_or(String::new(), |r| {
        format!("; results are in {}", r.display())
    });
    let shown = shard.map_or(String::new(), |s| {
        format!(" of part {} of {}", s.index + 1, s.count)
    });
    eprintln!(
        "{} submissions{shown} graded{kept}: {} sources{at}",
        class.graded.len(),
        class.sources
    );
    let code = if class.failed.is_empty() {
        exit::OK
    } else {
        exit::INCONCLUSIVE
    };
    Ok((class.graded, class.failed, code))
}

/// The folder of results beside a folder of submissions.
pub(super) fn beside(folder: &Path) -> PathBuf {
    let real = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    let mut name = real.file_name().unwrap_or_default().to_os_string();
    name.push("-results");
    real.with_file_name(name)
}

/// The results that are in the folder.
pub fn merged(args: &GradeArgs) -> Result<Vec<Graded>, Failure> {
    let folder = args.results.clone().unwrap_or_default();
    read(&folder).map_err(|e| Failure::usage(format!("{}: {e}", folder.display())))
}

/// A class in some lines: what a person has to look at comes first.
pub fn overview(all: &[Graded]) -> String {
    let mut out = String::new();
    let width = all
        .iter()
        .map(|g| g.submission.name.chars().count())
        .max()
        .unwrap_or(0);
    let (open, done): (Vec<&Graded>, Vec<&Graded>) = all.iter().partition(|g| !g.is_final());
    if !open.is_empty() {
        let _ = writeln!(out, "A person has to look at {}:", open.len());
        for graded in &open {
            for review in &graded.review {
                let _ = writeln!(
                    out,
                    "  {:width$}  {}: {}",
                    graded.submission.name, review.part, review.why
                );
            }
        }
        out.push('\n');
    }
    for graded in done.iter().chain(&open) {
        let more = if graded.is_final() { "" } else { " and more" };
        let why = match &graded.refused {
            Some(refused) => refused.what.clone(),
            None => {
                let rules: std::collections::BTreeSet<&str> =
                    graded.causes.iter().map(|c| c.rule.name()).collect();
                rules.into_iter().collect::<Vec<_>>().join(", ")
            }
        };
        let points = format!("{} / {}{more}", number(graded.points), number(graded.of));
        let line = format!("{:width$}  {points:>12}  {why}", graded.submission.name);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}
