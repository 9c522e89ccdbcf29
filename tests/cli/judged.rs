//! Kernels that are not in the catalogue, correct ones that look suspicious and buggy ones that look right, each with
//! the verdict that it must get.
//!
//! A kernel is `tests/judged/{correct,buggy}/NAME.cu` with its PTX beside it, so that no compiler is needed;
//! `tests/pin.sh` renews the PTX. The source starts with a comment: what the kernel is and why it is right or
//! wrong, then lines that are read here:
//!
//! ```text
//! // flags: --grid 2 --block 64          as `racetrap check` takes them
//! // expect: clean                       or the rules that it breaks, whose lines carry tags as
//! //                                     in kernels/ANNOTATIONS.md
//! // wrongly: clean, because …           what racetrap says instead, where it is known to be wrong
//! ```
//!
//! Each kernel is checked as `racetrap check` does by itself, and once more under each of several
//! schedules. Every finding must have its tag, and every tag must be hit by the first check alone.

use crate::pins;
use catalog::annotation::{Fault, Home, Tag, parse};
use catalog::expect::Expected;
use catalog::simulate::{LocatedEnd, LocatedFinding};
use check::{Checked, Found, Request, Schedules, Source};
use detect::rules::{Level, Rule};
use report::{Report, exit};
use rstest::rstest;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const SCHEDULES: &[&str] = &[
    "lockstep",
    "lane-by-lane",
    "random:11",
    "random:12",
    "random:13",
    "pct:21:2",
    "pct:22:3",
    "pct:23:5",
];

/// What came of a check.
struct Judged {
    checked: Checked,
    code: u8,
    output: String,
}

/// A kernel with what its header says.
struct Kernel {
    name: String,
    file: String,
    flags: Vec<String>,
    rules: BTreeSet<Rule>,
    wrongly: bool,
    tags: Vec<Tag>,
}

impl Kernel {
    fn read(path: &Path) -> Kernel {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = path.strip_prefix(root).unwrap_or(path).to_str().unwrap();
        let source = std::fs::read_to_string(path).unwrap();
        let header = || source.lines().map_while(|line| line.strip_prefix("//"));
        let field = |name: &str| header().find_map(|line| line.trim().strip_prefix(name));
        let tags = parse(file, &source).unwrap_or_else(|errors| panic!("{}", errors[0]));
        let expected = field("expect:").unwrap_or_else(|| panic!("{file}: no `// expect:`"));
        let rules: BTreeSet<Rule> = match expected.trim() {
            "clean" => BTreeSet::new(),
            names => names.split(',').map(|name| rule(file, name)).collect(),
        };
        Kernel {
            name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
            file: file.to_owned(),
            flags: field("flags:")
                .unwrap_or_default()
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            rules,
            wrongly: field("wrongly:").is_some(),
            tags,
        }
    }

    /// Checks the pinned PTX as the flags say, under this schedule alone where there is one.
    fn check(&self, schedule: Option<&str>) -> Judged {
        let file = PathBuf::from(self.file.replace(".cu", ".ptx"));
        let mut request = Request::new(Source::File(file));
        let mut flags = self.flags.iter();
        while let Some(flag) = flags.next() {
            if flag == "--cooperative" {
                request.cooperative = true;
                continue;
            }
            let value = flags.next().unwrap_or_else(|| panic!("{flag}: no value"));
            let size = || Some(check::geometry::parse(value).unwrap());
            match flag.as_str() {
                "--grid" => request.launch.grid = size(),
                "--block" => request.launch.block = size(),
                "--shared" => request.launch.shared = Some(value.parse().unwrap()),
                "--entry" => request.entry = Some(value.clone()),
                "--max-steps" => request.budgets.steps = value.parse().unwrap(),
                "--schedules" => request.schedules = Schedules::UpTo(value.parse().unwrap()),
                "--arg" => {
                    let argument = check::argument::parse(value);
                    request.arguments.push(argument.unwrap());
                }
                other => panic!("{}: no flag `{other}`", self.file),
            }
        }
        if let Some(schedule) = schedule {
            request.schedules = Schedules::Only(schedule.parse().unwrap());
        }
        let checked = check::check(&request, &check::Unwatched);
        let checked = checked.unwrap_or_else(|error| panic!("{}", error.render(false)));
        let report = Report {
            checks: vec![checked.check.clone()],
        };
        Judged {
            code: check::verdict::code(&checked.check, None),
            output: report::terminal::render(&report, false),
            checked,
        }
    }

    /// A finding's places as lines of this kernel's file.
    fn seen(&self, found: &Found) -> LocatedFinding {
        let ends = found.ends.iter().map(|(action, lines)| LocatedEnd {
            home: Home::Kernel,
            action: *action,
            lines: lines
                .iter()
                .filter(|l| l.file == self.file)
                .map(|l| l.line)
                .collect(),
        });
        LocatedFinding {
            rule: found.rule,
            ends: ends.collect(),
        }
    }

    /// What a check said that the tags don't.
    fn unexpected(&self, judged: &Judged, expected: &mut Expected<'_>) -> Vec<String> {
        let mut all: Vec<String> = judged
            .checked
            .findings
            .iter()
            .map(|found| self.seen(found))
            .filter(|seen| expected.matches(seen).is_empty())
            .map(|seen| {
                let ends = seen.ends.iter();
                let ends: Vec<_> = ends
                    .map(|e| format!("{:?} at line {:?}", e.action, e.lines))
                    .collect();
                format!("unexpected {}: {}", seen.rule, ends.join(", "))
            })
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// The exit status that a check must have.
    fn code(&self) -> u8 {
        let errors = self.rules.iter().any(|rule| rule.level() == Level::Error);
        if errors { exit::FINDINGS } else { exit::OK }
    }
}

fn rule(file: &str, name: &str) -> Rule {
    let all = Rule::ALL.iter();
    let found = all.copied().find(|rule| rule.name() == name.trim());
    found.unwrap_or_else(|| panic!("{file}: no rule `{name}`"))
}

#[rstest]
fn judged(#[files("tests/judged/*/*.cu")] path: PathBuf) {
    let kernel = Kernel::read(&path);
    let tagged: BTreeSet<Rule> = kernel.tags.iter().map(rule_of).collect();
    assert_eq!(kernel.rules, tagged, "the header's rules and the tags'");
    let folder = path.parent().unwrap().file_name().unwrap();
    assert_eq!(folder == "correct", kernel.rules.is_empty(), "the folder");

    let mut wrong = Vec::new();
    let mut expected = Expected::new(&kernel.tags);
    let own = kernel.check(None);
    wrong.extend(kernel.unexpected(&own, &mut expected));
    wrong.extend(expected.missing().iter().map(|m| format!("missed {m}")));
    // Whether it is a warning or an error depends on whether two schedules show different results.
    let either = kernel.rules.contains(&Rule::UnorderedCommunication) && own.code == exit::FINDINGS;
    if own.code != kernel.code() && !either {
        wrong.push(format!("exit status {}, not {}", own.code, kernel.code()));
    }
    for schedule in SCHEDULES {
        let checked = kernel.check(Some(schedule));
        for line in kernel.unexpected(&checked, &mut expected) {
            wrong.push(format!("{schedule}: {line}"));
        }
        if ![exit::OK, exit::FINDINGS].contains(&checked.code) {
            wrong.push(format!("{schedule}: exit status {}", checked.code));
        }
    }
    let report = format!("{}\n{}", wrong.join("\n"), own.output);
    if kernel.wrongly {
        assert!(!wrong.is_empty(), "{}: judged rightly now", kernel.name);
    } else {
        assert!(wrong.is_empty(), "{}:\n{report}", kernel.name);
    }
}

fn rule_of(tag: &Tag) -> Rule {
    match tag.fault {
        Fault::Rule(rule) => rule,
        Fault::WrongResult => panic!("line {}: there is no oracle here", tag.line),
        Fault::CompileError => panic!("line {}: all of these compile", tag.line),
    }
}

/// The pinned PTX belongs to its source.
#[rstest]
fn pinned(#[files("tests/judged/*/*.cu")] path: PathBuf) {
    pins::belongs(&path.with_extension("ptx"), &path);
}

#[test]
fn both_columns_are_there() {
    let count = |folder: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/judged/")
            .join(folder);
        let files = std::fs::read_dir(folder).unwrap();
        files
            .filter(|f| {
                f.as_ref()
                    .unwrap()
                    .path()
                    .extension()
                    .is_some_and(|e| e == "cu")
            })
            .count()
    };
    assert!(count("correct") >= 22 && count("buggy") >= 22);
}
