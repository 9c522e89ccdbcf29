//! The commands that documents and `--help` show, run as they stand there: `documented/commands.yaml` says what must come of each.
//!
//! One test a command, and three about all of them: no document shows a command that is not in the file, the file has none that no
//! document shows, and those that can't be run here (they need a GPU, a network, a cluster) are as many as is written below.

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const RACETRAP: &str = env!("CARGO_BIN_EXE_racetrap");
const DOCUMENTS: [&str; 5] = [
    "README.md",
    "docs/installation.md",
    "docs/ci.md",
    "CONTRIBUTING.md",
    "examples/course/README.md",
];
/// How many commands are not run, and what they need.
const NOT_RUN: [(&str, usize); 4] = [("cluster", 2), ("gpu", 13), ("network", 8), ("sources", 30)];

/// A command that is shown, and what must come of it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    run: String,
    #[serde(default)]
    with: BTreeMap<String, String>,
    #[serde(default, rename = "in")]
    place: Place,
    first: Option<String>,
    #[serde(default)]
    status: Option<i32>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
    needs: Option<String>,
    by: Option<By>,
}

/// Where it runs.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Place {
    #[default]
    Scene,
    Course,
    Checkout,
}

/// What runs the same elsewhere.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct By {
    file: String,
    text: String,
}

impl Shown {
    /// Whether it is run here. What needs a GPU and has a status is run where there is none, and must say so.
    fn is_run(&self) -> bool {
        match self.needs.as_deref() {
            None | Some("cmake") => true,
            Some("gpu") => self.status.is_some() && !has_gpu(),
            Some(_) => false,
        }
    }

    fn runs(&self) -> Result<(), Failed> {
        if testing::needs_nvcc().is_none() {
            return Ok(());
        }
        let mut path = vec![Path::new(RACETRAP).with_file_name("")];
        if self.needs.as_deref() == Some("cmake") {
            match testing::needs_cmake() {
                Some(cmake) => path.push(cmake.join("bin")),
                None => return Ok(()),
            }
        }
        let given = std::env::var_os("PATH").unwrap_or_default();
        path.extend(std::env::split_paths(&given));
        let folder = tempfile::tempdir()?;
        let here = match self.place {
            Place::Checkout => PathBuf::from(ROOT),
            Place::Scene => scene(folder.path())?,
            Place::Course => course(folder.path())?,
        };
        let words = self.run.split(' ').map(|word| {
            let text = self.with.get(word).map_or(word, String::as_str);
            text.to_owned()
        });
        let command = words.collect::<Vec<_>>().join(" ");
        let script = match &self.first {
            Some(first) => format!("{{ {first}; }} >first.txt 2>&1 || exit 99\n{command}\n"),
            None => command,
        };
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(&here)
            .env("PATH", std::env::join_paths(path)?)
            .env("NO_COLOR", "1")
            .env_remove("RACETRAP_REQUIRE_GPU")
            .stdin(Stdio::null())
            .output()?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let status = output.status.code();
        let mut wrong = Vec::new();
        if status != Some(self.status.unwrap_or(0)) {
            wrong.push(format!("exit status {status:?}"));
        }
        let silent = self.says.iter().filter(|says| !text.contains(*says));
        wrong.extend(silent.map(|says| format!("does not say `{says}`")));
        let absent = self.writes.iter().filter(|file| {
            let written = fs::metadata(here.join(file));
            written.map_or(true, |data| data.is_file() && data.len() == 0)
        });
        wrong.extend(absent.map(|file| format!("does not write `{file}`")));
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("{}: {}\n{text}", self.run, wrong.join(", ")).into()),
        }
    }
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Whether a GPU, or a tool for one, is there.
fn has_gpu() -> bool {
    Path::new("/dev/nvidiactl").exists() || has("compute-sanitizer")
}

/// Copies a folder's files.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => fs::copy(entry.path(), target).map(|_| ())?,
        }
    }
    Ok(())
}

/// The compiler of the checkout, as a project below it would find it.
fn tools(folder: &Path) -> std::io::Result<()> {
    let tools = Path::new(ROOT).join(".toolchain");
    match tools.is_dir() {
        true => std::os::unix::fs::symlink(tools, folder.join(".toolchain")),
        false => Ok(()),
    }
}

fn scene(folder: &Path) -> std::io::Result<PathBuf> {
    copy(&Path::new(ROOT).join("tests/documented/scene"), folder)?;
    tools(folder)?;
    Ok(folder.to_owned())
}

/// An assignment, a submission alone and in a zip, and a class of two: one of them hands in the starter.
fn course(folder: &Path) -> std::io::Result<PathBuf> {
    copy(&Path::new(ROOT).join("examples/course/reduction"), folder)?;
    tools(folder)?;
    let (solution, starter) = ("solution/reduction.cu", "starter/reduction.cu");
    for (from, to) in [
        (solution, "ada"),
        (solution, "submissions/ada"),
        (starter, "submissions/bob"),
    ] {
        fs::create_dir_all(folder.join(to))?;
        fs::copy(folder.join(from), folder.join(to).join("reduction.cu"))?;
    }
    let mut zip = zip::ZipWriter::new(fs::File::create(folder.join("ada.zip"))?);
    zip.start_file("reduction.cu", zip::write::SimpleFileOptions::default())?;
    std::io::Write::write_all(&mut zip, &fs::read(folder.join(solution))?)?;
    zip.finish()?;
    fs::write(folder.join("roster.csv"), "name,id\nada,1\nbob,2\n")?;
    Ok(folder.to_owned())
}

/// Whether a text is a command of ours, or one that a document tells to give.
fn is_command(text: &str) -> bool {
    let mut words = text.split(' ').peekable();
    while words.next_if(|word| word.contains('=')).is_some() {}
    match (words.next(), words.next()) {
        (Some("racetrap" | "cargo" | "python3" | "mkdir" | "cd"), Some(_)) => true,
        (Some(word), _) => {
            (word.contains("ci/") || word.starts_with("benches/"))
                && (word.ends_with(".sh") || word.ends_with(".py"))
        }
        _ => false,
    }
}

/// A line without its comment: two blanks end a command.
fn command(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let end = line.find("  ").or_else(|| line.find(" # "));
    line[..end.unwrap_or(line.len())].trim_end()
}

/// The commands of a Markdown document: in fences, and in the text between backquotes.
fn of_document(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut fence = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fence = !fence;
        } else if fence {
            all.insert(command(line).to_owned());
        } else {
            let quoted = line.split('`').skip(1).step_by(2);
            // `racetrap exec` alone names the command.
            let whole = quoted.filter(|text| {
                !(text.starts_with("racetrap ") && text.split(' ').nth(2).is_none())
                    || text.ends_with(|c: char| c.is_ascii_uppercase())
            });
            // In prose, a file's name is no command.
            let whole = whole.filter(|text| text.contains(' ') || !text.starts_with("ci/"));
            all.extend(whole.map(str::to_owned));
        }
    }
    all.retain(|text| is_command(text));
    all
}

/// The commands of the examples of `--help`: out of the manual pages, whose lines are whole.
fn of_help() -> Result<BTreeSet<String>, Failed> {
    let folder = tempfile::tempdir()?;
    let man = Command::new(RACETRAP)
        .arg("man")
        .arg(folder.path())
        .output()?;
    if !man.status.success() {
        return Err("racetrap man fails".into());
    }
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder.path())? {
        let text = fs::read_to_string(entry?.path())?;
        let text = text.replace("\\-", "-").replace("\\*(Aq", "'");
        let examples = text.lines().filter(|line| line.starts_with("  racetrap "));
        for line in examples {
            all.insert(command(line).to_owned());
            if let Some((_, then)) = line.split_once("and then: ") {
                all.insert(command(then).to_owned());
            }
        }
    }
    Ok(all)
}

fn all_shown() -> Result<BTreeSet<String>, Failed> {
    let mut all = of_help()?;
    for document in DOCUMENTS {
        all.extend(of_document(&fs::read_to_string(
            Path::new(ROOT).join(document),
        )?));
    }
    Ok(all)
}

fn every_command_is_known(known: &[Shown]) -> Result<(), Failed> {
    let shown = all_shown()?;
    let names: BTreeSet<String> = known.iter().map(|one| one.run.clone()).collect();
    let missing: Vec<&String> = shown.difference(&names).collect();
    let stale: Vec<&String> = names.difference(&shown).collect();
    match (missing.is_empty(), stale.is_empty(), names.len()) {
        (true, true, count) if count == known.len() => Ok(()),
        (true, true, _) => Err("a command is there twice".into()),
        _ => Err(format!(
            "tests/documented/commands.yaml\nlacks, though a document shows it: {missing:#?}\nhas, though none shows it: {stale:#?}"
        )
        .into()),
    }
}

/// Those that are not run are counted, and what is said to run them is there.
fn what_is_not_run(known: &[Shown]) -> Result<(), Failed> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for shown in known {
        let Some(needs) = &shown.needs else { continue };
        let is_run = needs == "cmake" || needs == "gpu" && shown.status.is_some();
        if !is_run {
            *counts.entry(needs).or_default() += 1;
        }
        if let Some(By { file, text }) = &shown.by {
            let there = fs::read_to_string(Path::new(ROOT).join(file));
            if !there.is_ok_and(|whole| whole.contains(text)) {
                return Err(format!("{}: `{text}` is not in {file}", shown.run).into());
            }
        }
    }
    let total = known.len();
    let expected = BTreeMap::from(NOT_RUN);
    match counts == expected {
        true => Ok(()),
        false => {
            Err(format!("of {total} commands are not run {counts:?}, not {expected:?}").into())
        }
    }
}

/// What README.md prints below its first command is what the command prints.
fn the_finding_of_the_readme() -> Result<(), Failed> {
    if testing::needs_nvcc().is_none() {
        return Ok(());
    }
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md"))?;
    let (_, block) = readme.split_once("\n$ ").ok_or("no command")?;
    let (block, _) = block.split_once("\n```").ok_or("no end")?;
    let (line, shown) = block.split_once('\n').ok_or("no output")?;
    let output = Command::new(RACETRAP)
        .args(line.split(' ').skip(1))
        .current_dir(ROOT)
        .env("NO_COLOR", "1")
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    match said.contains(shown) {
        true => Ok(()),
        false => Err(format!("README.md shows\n{shown}\nbut `{line}` prints\n{said}").into()),
    }
}

fn main() {
    let file = Path::new(ROOT).join("tests/documented/commands.yaml");
    let text = fs::read_to_string(file).expect("the commands");
    let known: Vec<Shown> = serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
    let trial = |name: &str, test: fn(&[Shown]) -> Result<(), Failed>| {
        let known = known.clone();
        Trial::test(name, move || test(&known))
    };
    let mut trials = vec![
        trial("every_command_is_known", every_command_is_known),
        trial("what_is_not_run_is_counted", what_is_not_run),
        trial("the_finding_of_the_readme", |_| the_finding_of_the_readme()),
    ];
    let run = known.iter().filter(|shown| shown.is_run()).cloned();
    trials.extend(run.map(|shown| {
        let name = shown.run.clone();
        Trial::test(name, move || shown.runs())
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
