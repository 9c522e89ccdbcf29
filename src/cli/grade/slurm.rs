//! `racetrap grade --slurm`: a class as a job array.
//!
//! An element grades a part of the class, because each element costs Slurm a decision. All end with 0 when they have graded, and results are
//! kept one by one, so whatever was lost is graded when the same command is given again. A job that depends on the array, whatever
//! becomes of its elements (`afterany`), merges the results (Slurm, "Job Array Support" and sbatch(1)).

use super::GradeArgs;
use ::grade::build::atomically;
use ::grade::class::entries;
use ::grade::course::Course;
use clap::Args;
use report::{Failure, exit};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Elements of an array, at most: Slurm's default for `MaxArraySize` is 1001.
const ELEMENTS: usize = 1000;

/// Options of job arrays.
#[derive(Args, Clone, Debug)]
pub struct SlurmArgs {
    /// Grade the class in a Slurm job array, and merge in a job that waits for it
    #[arg(long, requires = "submissions", help_heading = "Slurm")]
    slurm: bool,
    /// About how many submissions an element grades
    #[arg(long, value_name = "K", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Slurm")]
    slurm_per: u32,
    /// How many elements run at once
    #[arg(long, value_name = "M", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Slurm")]
    slurm_at_once: u32,
    /// An option for sbatch, such as `--slurm-option=--partition=short` (can be given again)
    #[arg(
        long,
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "Slurm"
    )]
    slurm_option: Vec<String>,
}

impl SlurmArgs {
    /// Whether a job array is asked for.
    pub fn wanted(&self) -> bool {
        self.slurm
    }
}

/// Writes the scripts of both jobs and submits them.
pub fn submit(
    args: &GradeArgs,
    course: &Course,
    assignment: &Path,
    folder: &Path,
) -> Result<(String, u8), Failure> {
    let wrong = |path: &Path, what: String| Failure::usage(format!("{}: {what}", path.display()));
    let absolute = |path: &Path| std::path::absolute(path).map_err(|e| wrong(path, e.to_string()));
    let count = entries(folder)
        .map_err(|e| wrong(folder, e.to_string()))?
        .len();
    let elements = count
        .div_ceil(args.slurm.slurm_per as usize)
        .clamp(1, ELEMENTS);
    let results = absolute(
        &args
            .results
            .clone()
            .unwrap_or_else(|| super::class::beside(folder)),
    )?;
    let scripts = results.join("slurm");
    let program = std::env::current_exe().map_err(|e| Failure::usage(e.to_string()))?;
    let quoted = |path: &Path| quote(&path.display().to_string());
    let grade = format!(
        "{} grade {}",
        quoted(&program),
        quoted(&absolute(assignment)?)
    );
    let results_option = format!("--results {}", quoted(&results));
    let unconfined = if course.compiler.unconfined {
        " --unconfined"
    } else {
        ""
    };
    let array = format!(
        "#!/bin/bash\nexec {grade} {} {results_option} --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\"{unconfined}\n",
        quoted(&absolute(folder)?)
    );
    let table = results.join("grades.csv");
    let roster = match &args.roster {
        None => String::new(),
        Some(roster) => {
            let key = args
                .roster_key
                .as_ref()
                .map_or(String::new(), |k| format!(" --roster-key {}", quote(k)));
            format!(" --roster {}{key}", quoted(&absolute(roster)?))
        }
    };
    let merge = format!(
        "#!/bin/bash\nexec {grade} --merge {results_option} --format csv{roster} --out {}\n",
        quoted(&table)
    );
    let (array_path, merge_path) = (scripts.join("array.sh"), scripts.join("merge.sh"));
    for (path, text) in [(&array_path, &array), (&merge_path, &merge)] {
        atomically(path, text.as_bytes()).map_err(|e| wrong(path, e.to_string()))?;
    }
    let name = format!("--job-name=grade-{}", course.assignment.id);
    let log = |file: &str| format!("--output={}", scripts.join(file).display());
    let mut options = vec![
        "--parsable".to_owned(),
        name,
        format!("--array=0-{}%{}", elements - 1, args.slurm.slurm_at_once),
        log("%A_%a.log"),
    ];
    options.extend(args.slurm.slurm_option.iter().cloned());
    let id = sbatch(&options, &array_path)?;
    let mut options = vec![
        "--parsable".to_owned(),
        format!("--job-name=merge-{}", course.assignment.id),
        format!("--dependency=afterany:{id}"),
        log("merge-%j.log"),
    ];
    options.extend(args.slurm.slurm_option.iter().cloned());
    let merge = sbatch(&options, &merge_path)?;
    let said = format!(
        "job {id}: {count} submissions in {elements} elements, {} at once\njob {merge}: merges the results into {}\nlogs are in {}\n",
        args.slurm.slurm_at_once,
        table.display(),
        scripts.display()
    );
    Ok((said, exit::OK))
}

/// Submits a script, and gives the job's number.
fn sbatch(options: &[String], script: &PathBuf) -> Result<String, Failure> {
    let shown = format!("sbatch {} {}", options.join(" "), script.display());
    let output = Command::new("sbatch")
        .args(options)
        .arg(script)
        .output()
        .map_err(|e| {
            Failure::usage(format!("can't run sbatch: {e}")).help(format!(
                "the scripts are written; give `{shown}` where Slurm is"
            ))
        })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // `--parsable` prints the number, and the cluster's name behind a semicolon.
    let id = text.trim().split(';').next().unwrap_or_default().to_owned();
    match output.status.success() && !id.is_empty() && id.chars().all(|c| c.is_ascii_digit()) {
        true => Ok(id),
        false => Err(Failure::inconclusive(format!("`{shown}` failed"))
            .text(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// A word for a shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_no_code() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("a'$(x)"), "'a'\\''$(x)'");
    }
}
