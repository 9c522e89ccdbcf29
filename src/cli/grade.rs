//! `racetrap grade`: submissions of a course assignment, from the student's file to points and feedback.

mod class;
mod gradescope;
mod new;
mod slurm;
mod time;

use super::expected::Expected;
use super::progress::Progress;
use ::grade::build::{Compiler, atomically};
use ::grade::course::Course;
use ::grade::format::{self, table::Roster};
use ::grade::grade::{grade_step_by_step, name_of};
use ::grade::result::Graded;
use ::grade::view::{View, When, view};
use ::grade::{assignment, class as classes, input_files, selftest};
use clap::Args;
use report::{Failure, exit};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What `--help` says.
pub const ABOUT: &str = "\
Grade submissions of a course assignment, with no GPU: results, races, barriers, memory, counts.

The assignment is one YAML file: what is handed in, how it is built and launched, on which inputs, what \
earns points, and what students are told. Kernels run on the simulator, so that a race costs points even \
where the result was right. What can't be decided has no points until a person has looked at it.

A folder with several submissions is a class. Its results are kept in a folder, one file each, so that an \
interrupted run goes on where it was; the same source is graded once. Parts of a class can be graded on \
several machines (`--shard`, or what a job array sets) and merged (`--merge`).";

const EXAMPLES: &str = "\
Examples:
  racetrap grade --new reduction
      a folder with an assignment, a starter and a solution to start from
  racetrap grade assignment.yaml ada/reduction.cu
      what the student is told
  racetrap grade assignment.yaml ada.zip --format json
      everything, for those who teach: hidden inputs are in it
  racetrap grade --selftest assignment.yaml
      proves the rubric: solution, starter and mutants get the scores that they must get
  racetrap grade assignment.yaml submissions/ --jobs 8 --format csv --roster roster.csv --out grades.csv
      a class, as a table for the course's gradebook
  racetrap grade assignment.yaml submissions/ --html pages/
      a class, as pages: what a person has to look at comes first
  racetrap grade assignment.yaml submissions/ --shard 2/10
      a part of a class
  racetrap grade assignment.yaml submissions/ --slurm --slurm-per 20 --slurm-at-once 8
      a class as a Slurm job array, merged at the end
  racetrap grade assignment.yaml --write-input small inputs/small
      the files that a program finds on the input `small`, and the command that runs it there
  racetrap grade assignment.yaml --gradescope autograder.zip
      what Gradescope wants to have
  racetrap grade --schema > assignment.schema.json
      the format of assignments, for your editor

Exit status: 0 graded, whatever the scores; 1 the selftest is not as expected; 2 a mistake in the assignment or on
the command line; 3 a submission could not be graded for a reason of this machine.";

/// Options of `racetrap grade`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct GradeArgs {
    /// The assignment
    #[arg(value_name = "ASSIGNMENT.yaml", required_unless_present_any = ["schema", "new"])]
    assignment: Option<PathBuf>,
    /// Submissions: folders, files, or archives (zip, tar); a folder with several of them is a class
    #[arg(value_name = "SUBMISSION")]
    submissions: Vec<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Shown::Text, help_heading = "Output")]
    format: Shown,
    /// Write to this file instead of stdout: the whole of it, or nothing. Gradescope's is written again after each step
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Also write pages for those who teach into this folder: one of the class, one of each submission
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    html: Option<PathBuf>,
    /// Tell what students are told after the due date
    #[arg(long, help_heading = "Output")]
    after_due: bool,

    /// How many submissions are graded side by side [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "A class")]
    jobs: Option<u32>,
    /// The folder of results [default: the folder of submissions with `-results` behind its name]
    #[arg(long, value_name = "FOLDER", help_heading = "A class")]
    results: Option<PathBuf>,
    /// Grade one part of several [default: what Slurm, Kubernetes or CI sets for a job array]
    #[arg(long, value_name = "I/N", value_parser = shard, help_heading = "A class")]
    shard: Option<classes::Shard>,
    /// Grade nothing: render the results that are in the folder
    #[arg(
        long,
        requires = "results",
        conflicts_with = "submissions",
        help_heading = "A class"
    )]
    merge: bool,
    /// A CSV file with the class, whose columns `--format csv` keeps
    #[arg(long, value_name = "FILE.csv", help_heading = "A class")]
    roster: Option<PathBuf>,
    /// The roster's column that names submissions [default: the first one]
    #[arg(
        long,
        value_name = "NAME",
        requires = "roster",
        help_heading = "A class"
    )]
    roster_key: Option<String>,
    /// A YAML file with points that a person gave instead: `NAME: {points: 80, reason: …}`
    #[arg(long, value_name = "FILE.yaml", help_heading = "A class")]
    overrides: Option<PathBuf>,

    #[command(flatten)]
    slurm: slurm::SlurmArgs,

    /// Prove the rubric: grade what the assignment's key `selftest` names
    #[arg(long, conflicts_with_all = ["submissions", "merge"], help_heading = "The assignment")]
    selftest: bool,
    /// Print the JSON Schema of assignments, or of results (`--format json`)
    #[arg(long, value_enum, value_name = "OF", num_args = 0..=1, require_equals = true, default_missing_value = "assignment", help_heading = "The assignment")]
    schema: Option<Schema>,
    /// Start an assignment of your own from an example, in a folder of its name; without a name, list the examples
    #[arg(long, value_name = "EXAMPLE", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["assignment", "submissions"], help_heading = "The assignment")]
    new: Option<String>,
    /// Write the files of an input into a folder: for students who try their program, or to repeat a finding
    #[arg(long, num_args = 2, value_names = ["INPUT", "FOLDER"], conflicts_with_all = ["submissions", "merge", "selftest"], help_heading = "The assignment")]
    write_input: Option<Vec<String>>,
    /// With other sizes, such as those of a smallest counterexample: `--sizes rows=1,columns=64`
    #[arg(long, value_name = "NAME=N", value_parser = size, value_delimiter = ',', requires = "write_input", help_heading = "The assignment")]
    sizes: Vec<(String, i64)>,
    /// Write the zip that Gradescope builds an autograder from
    #[arg(long, value_name = "FILE.zip", conflicts_with_all = ["submissions", "merge", "selftest"], help_heading = "The assignment")]
    gradescope: Option<PathBuf>,

    /// Compile even where this system can't keep the compiler from reading hidden inputs
    #[arg(long, help_heading = "Compiler")]
    unconfined: bool,
}

/// Formats that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Schema {
    /// Assignments
    Assignment,
    /// One result
    Result,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shown {
    /// What the student is told
    Text,
    /// Everything, for those who teach
    Json,
    /// A table, for those who teach
    Csv,
    /// JUnit XML
    Junit,
    /// Gradescope's results.json
    Gradescope,
    /// PrairieLearn's results.json
    Prairielearn,
    /// Feedback with Autolab's autoresult on the last line
    Autolab,
    /// Classroom 50's result.json
    Classroom50,
}

impl Shown {
    /// Whether a document holds one submission.
    fn of_one(self) -> bool {
        matches!(
            self,
            Shown::Gradescope | Shown::Prairielearn | Shown::Autolab | Shown::Classroom50
        )
    }
}

/// Why a text gives no size.
#[derive(Clone, Debug, thiserror::Error)]
enum SizeError {
    #[error("write NAME=N")]
    NoName,
    #[error("`{0}` is no number")]
    NoNumber(String),
}

fn size(text: &str) -> Result<(String, i64), SizeError> {
    let (name, number) = text.split_once('=').ok_or(SizeError::NoName)?;
    let value = number.parse();
    let value = value.map_err(|_| SizeError::NoNumber(number.to_owned()))?;
    Ok((name.to_owned(), value))
}

fn shard(text: &str) -> Result<classes::Shard, Expected> {
    classes::Shard::parse(text).ok_or(Expected("write I/N, with I from 1 to N"))
}

/// Runs the command.
///
/// # Errors
///
/// What stops it before anything is graded.
pub fn grade(args: &GradeArgs) -> Result<(String, u8), Failure> {
    if let Some(schema) = args.schema {
        let schema = match schema {
            Schema::Assignment => assignment::read::schema(),
            Schema::Result => format::json::schema(),
        };
        return Ok((format!("{schema:#}\n"), exit::OK));
    }
    if let Some(example) = &args.new {
        return new::new(example);
    }
    let Some(path) = &args.assignment else {
        return Err(Failure::usage("name an assignment"));
    };
    if let Some([input, folder]) = args.write_input.as_deref() {
        return write_input(path, input, Path::new(folder), &args.sizes);
    }
    let compiler = Compiler {
        unconfined: args.unconfined,
        ..Compiler::find()
    };
    if let Some(zip) = &args.gradescope {
        let course = Course::open(path, compiler).map_err(|e| Failure::usage(e.to_string()))?;
        return gradescope::zip(&course, path, zip);
    }
    let course = match Course::open(path, compiler) {
        Ok(course) => course,
        Err(error) => {
            // A service shows the student what is in the file, whatever happened.
            if args.format == Shown::Gradescope && args.out.is_some() {
                args.write(&format::gradescope::failed(&error.to_string()))?;
            }
            return Err(Failure::usage(error.to_string()));
        }
    };
    if args.selftest {
        let done = selftest::selftest(&course).map_err(|e| Failure::inconclusive(e.to_string()))?;
        let code = if done.ok() { exit::OK } else { exit::FINDINGS };
        return Ok((done.render(), code));
    }
    if let ([folder], true) = (args.submissions.as_slice(), args.slurm.wanted()) {
        return slurm::submit(args, &course, path, folder);
    }
    let (all, failed, code) = match args.submissions.as_slice() {
        [] if args.merge => (class::merged(args)?, Vec::new(), exit::OK),
        [] => {
            return Err(Failure::usage("name a submission")
                .help("a folder, a file or an archive; or give `--selftest`"));
        }
        [one] if !classes::is_class(one, &course) => {
            let (all, code) = args.one(&course, one)?;
            (all, Vec::new(), code)
        }
        several => class::grade(args, &course, several)?,
    };
    if let Some(folder) = &args.html {
        let pages = format::html::pages(&all, &failed, &course.assignment, &args.overrides()?);
        for (file, text) in pages {
            let path = folder.join(file);
            let written = atomically(&path, text.as_bytes());
            written.map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
        }
    }
    if args.format.of_one() && all.len() > 1 {
        return Err(Failure::usage("this format holds one submission")
            .help("the results are kept: render one of them, or take `--format csv`"));
    }
    let text = args.render(&course, &all)?;
    Ok((args.write(&text)?, code))
}

/// Writes the files of an input.
fn write_input(
    path: &Path,
    input: &str,
    folder: &Path,
    sizes: &[(String, i64)],
) -> Result<(String, u8), Failure> {
    let sizes = sizes.iter().cloned().collect();
    let all = input_files::write(path, input, &sizes, folder);
    let mut out = String::new();
    for one in all.map_err(|e| Failure::usage(e.to_string()))? {
        let sizes: Vec<String> = one
            .sizes
            .iter()
            .map(|(n, v)| format!("{n} = {v}"))
            .collect();
        let files = match one.files.is_empty() {
            true => "no files: `racetrap check --arg` makes what it needs".to_owned(),
            false => one.files.join(", "),
        };
        out += &format!("{} ({}): {files}\n", one.folder.display(), sizes.join(", "));
        if let Some(command) = one.command {
            out += &format!("  {command}\n");
        }
    }
    Ok((out, exit::OK))
}

impl GradeArgs {
    /// Grades one submission.
    fn one(&self, course: &Course, path: &Path) -> Result<(Vec<Graded>, u8), Failure> {
        let progress = Progress::spinner(true);
        progress.say(&path.display().to_string());
        let step_by_step = self.format == Shown::Gradescope && self.out.is_some();
        let graded = grade_step_by_step(course, path, &name_of(path), &mut |known| {
            if step_by_step {
                // What can't be written now is written at the end, or fails there.
                let _ = self.write(&format::gradescope::render(known, &course.assignment));
            }
        });
        progress.end();
        match graded {
            Ok(graded) => Ok((vec![graded], exit::OK)),
            Err(error) => {
                if step_by_step {
                    self.write(&format::gradescope::failed(&error.to_string()))?;
                }
                Err(Failure::inconclusive(error.to_string()))
            }
        }
    }

    /// Writes a text to its file, or gives it back to be printed.
    fn write(&self, text: &str) -> Result<String, Failure> {
        let Some(out) = &self.out else {
            return Ok(text.to_owned());
        };
        let written = atomically(out, text.as_bytes());
        written.map_err(|e| Failure::usage(format!("{}: {e}", out.display())))?;
        Ok(String::new())
    }

    fn render(&self, course: &Course, all: &[Graded]) -> Result<String, Failure> {
        let when = match self.after_due {
            true => When::AfterDue,
            false => When::BeforeDue,
        };
        let views: Vec<View> = all
            .iter()
            .map(|g| view(g, &course.assignment, when))
            .collect();
        let first = all.first().zip(views.first());
        Ok(match self.format {
            Shown::Json => format::json::render(all),
            Shown::Junit => format::junit::render(&views),
            Shown::Csv => {
                let (roster, overrides) = (self.roster()?, self.overrides()?);
                format::table::render(all, &course.assignment, roster.as_ref(), &overrides)
            }
            Shown::Text if all.len() > 1 => class::overview(all),
            Shown::Text => views.iter().map(format::text::render).collect(),
            Shown::Gradescope => first.map_or_else(String::new, |(g, _)| {
                format::gradescope::render(g, &course.assignment)
            }),
            Shown::Prairielearn => first.map_or_else(String::new, |(g, v)| {
                format::prairielearn::render(v, g.refused.is_some())
            }),
            Shown::Autolab => first.map_or_else(String::new, |(_, v)| format::autolab::render(v)),
            Shown::Classroom50 => {
                let get = |name: &str| std::env::var(name).ok();
                let origin = format::classroom50::Origin::of(get, time::now());
                first.map_or_else(String::new, |(_, v)| {
                    format::classroom50::render(v, &origin)
                })
            }
        })
    }

    fn roster(&self) -> Result<Option<Roster>, Failure> {
        let Some(path) = &self.roster else {
            return Ok(None);
        };
        let wrong = |what: String| Failure::usage(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let roster = Roster::read(&text, self.roster_key.as_deref());
        roster.map(Some).map_err(|e| wrong(e.to_string()))
    }

    fn overrides(&self) -> Result<BTreeMap<String, classes::Override>, Failure> {
        let Some(path) = &self.overrides else {
            return Ok(BTreeMap::new());
        };
        let wrong = |what: String| Failure::usage(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        classes::overrides(&text).map_err(|e| wrong(e.to_string()))
    }
}
