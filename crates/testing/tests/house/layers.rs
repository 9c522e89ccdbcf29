//! The order of the crates, and of the files inside them: dependencies point one way.
//!
//! Between crates, `cargo metadata` names the dependencies, and [`ALLOWED`] those that a crate may have. Inside a crate, the
//! paths in its sources (`crate::…`, `super::…`) tell which file uses which; files form no circle. A
//! path is followed to the file of the longest module in it, so a name that a module passes on from another file counts as
//! that module's own.

use racetrap_testing::packages::{packages, picture};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Each crate with those of ours that it may depend on, lowest first. A crate that is not listed may depend on any of them,
/// and none of them on it.
const ALLOWED: &[(&str, &[&str])] = &[
    ("meter", &[]),
    ("ptx", &[]),
    ("toolchain", &[]),
    ("device-client", &[]),
    ("simt", &["meter", "ptx"]),
    ("detect", &["simt", "ptx"]),
    ("session", &["ptx", "simt", "detect"]),
    ("report", &["ptx", "simt", "detect", "toolchain"]),
    ("ptxdiff", &["ptx", "report"]),
    (
        "check",
        &["ptx", "simt", "detect", "session", "report", "toolchain"],
    ),
    (
        "catalog",
        &[
            "ptx",
            "simt",
            "detect",
            "session",
            "report",
            "ptxdiff",
            "device-client",
            "toolchain",
        ],
    ),
    (
        "mutate",
        &[
            "ptx", "simt", "detect", "session", "report", "check", "catalog",
        ],
    ),
    (
        "context",
        &["ptx", "simt", "detect", "session", "report", "toolchain"],
    ),
    ("instrument", &["ptx"]),
    (
        "interpose",
        &[
            "ptx",
            "simt",
            "detect",
            "report",
            "session",
            "context",
            "instrument",
        ],
    ),
    (
        "exec",
        &["ptx", "simt", "detect", "report", "toolchain", "context"],
    ),
    (
        "grade",
        &[
            "ptx",
            "simt",
            "detect",
            "session",
            "report",
            "check",
            "catalog",
            "mutate",
            "toolchain",
            "context",
            "exec",
        ],
    ),
    (
        "evidence",
        &[
            "ptx",
            "simt",
            "detect",
            "session",
            "report",
            "device-client",
            "catalog",
            "instrument",
        ],
    ),
    (
        "claims",
        &[
            "simt",
            "detect",
            "report",
            "device-client",
            "catalog",
            "evidence",
        ],
    ),
];

/// Those that may name the parser of command lines: `racetrap` itself, and the tests' crate for its features' sake.
const WITH_ARGUMENTS: &[&str] = &["racetrap", "testing"];

#[test]
fn crates_depend_on_those_below() {
    let mut wrong = Vec::new();
    let packages = packages();
    assert!(packages.len() > 10);
    for package in &packages {
        let ours = package
            .dependencies
            .iter()
            .filter(|d| d.starts_with("racetrap"));
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == package.name) else {
            continue;
        };
        for dependency in ours.map(|d| d.trim_start_matches("racetrap-")) {
            if !allowed.contains(&dependency) {
                wrong.push(format!("{} depends on {dependency}", package.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "against the order of the crates: {wrong:#?}"
    );
    for (at, (name, allowed)) in ALLOWED.iter().enumerate() {
        let below = |d: &&str| ALLOWED[..at].iter().any(|(lower, _)| lower == d);
        assert!(
            allowed.iter().all(below),
            "`ALLOWED` lets {name} depend on what is above it"
        );
    }
}

#[test]
fn architecture_shows_the_crates_as_they_are() {
    let page = std::fs::read_to_string(racetrap_testing::root().join("ARCHITECTURE.md")).unwrap();
    assert!(
        page.contains(&picture(&packages())),
        "renew it: cargo run -p racetrap-testing --example crates"
    );
}

#[test]
fn the_command_alone_reads_arguments() {
    for package in packages() {
        let parses = package.dependencies.contains("clap");
        let may = WITH_ARGUMENTS.contains(&package.name.as_str());
        assert!(!parses || may, "{} depends on clap", package.name);
    }
}

#[test]
fn nothing_but_tests_depends_on_this_crate() {
    for package in packages() {
        assert!(
            !package.dependencies.contains("racetrap-testing"),
            "{}",
            package.name
        );
    }
}

#[test]
fn files_form_no_circle() {
    let mut found = Vec::new();
    for package in packages() {
        let mut sources = Vec::new();
        collect(&package.folder, &package.folder, &mut sources);
        let uses = Uses::of(&sources);
        let circles = circles_of(&uses).into_iter().map(|c| shown(&c));
        found.extend(circles.map(|circle| format!("{}: {circle}", package.name)));
    }
    assert!(
        found.is_empty(),
        "circles between files:\n{}",
        found.join("\n")
    );
}

fn shown(circle: &[&PathBuf]) -> String {
    let files: Vec<_> = circle.iter().map(|f| f.to_string_lossy()).collect();
    files.join(", ")
}

/// The sources below a folder, with their text; tests and what only tests have are left out.
fn collect(root: &Path, folder: &Path, sources: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, sources);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text
                .split("\n#[cfg(test)]\nmod ")
                .next()
                .unwrap_or_default();
            sources.push((path.strip_prefix(root).unwrap().to_owned(), text.to_owned()));
        }
    }
    sources.sort();
}

/// Which file uses which.
struct Uses(BTreeMap<PathBuf, BTreeSet<PathBuf>>);

impl Uses {
    fn of(sources: &[(PathBuf, String)]) -> Uses {
        let modules: BTreeMap<Vec<String>, &PathBuf> = sources
            .iter()
            .map(|(file, _)| (module(file), file))
            .collect();
        let mut uses = BTreeMap::new();
        for (file, text) in sources {
            let own = module(file);
            let mut used = BTreeSet::new();
            for path in paths(text) {
                let Some(mut path) = absolute(&own, &path) else {
                    continue;
                };
                // The last word may be a module's name, or that of something in it.
                while !path.is_empty() && !modules.contains_key(&path) {
                    path.pop();
                }
                // What hangs at the root is the crate's face, and every file may look at it.
                if let Some(target) = modules.get(&path)
                    && *target != file
                    && !path.is_empty()
                {
                    used.insert((*target).clone());
                }
            }
            uses.insert(file.clone(), used);
        }
        Uses(uses)
    }

    fn reach(&self, from: &Path) -> BTreeSet<&PathBuf> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&PathBuf> = self.0.get(from).into_iter().flatten().collect();
        while let Some(file) = open.pop() {
            if reached.insert(file) {
                open.extend(self.0.get(file).into_iter().flatten());
            }
        }
        reached
    }
}

/// Groups of files that all reach each other.
fn circles_of(uses: &Uses) -> BTreeSet<Vec<&PathBuf>> {
    let reach: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        uses.0.keys().map(|file| (file, uses.reach(file))).collect();
    let circle = |file: &&PathBuf| -> Vec<&PathBuf> {
        let mutual = reach[*file]
            .iter()
            .filter(|other| reach[*other].contains(*file));
        mutual.copied().collect()
    };
    uses.0
        .keys()
        .map(|file| circle(&file))
        .filter(|c| c.len() > 1)
        .collect()
}

/// The module of a file: `race.rs` is `race`, `lib.rs` and `main.rs` the root.
fn module(file: &Path) -> Vec<String> {
    let without = file.with_extension("");
    let mut words: Vec<String> = without
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if matches!(words.last().map(String::as_str), Some("lib" | "main")) {
        words.pop();
    }
    words
}

/// A path from the crate's root, of one that starts with `crate`, `self` or `super`.
fn absolute(own: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut base = own.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => base.clear(),
        "self" | "super" => {}
        _ => return None,
    }
    while let Some(word) = rest.first() {
        match word.as_str() {
            "crate" | "self" => {}
            "super" => drop(base.pop()),
            _ => break,
        }
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// All paths of a source that start with `crate`, `self` or `super`, with what their braces hold; not those in comments.
fn paths(text: &str) -> Vec<Vec<String>> {
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join(" ");
    let mut all = Vec::new();
    for (at, _) in code.match_indices("::") {
        let before = &code[..at];
        let word = before.len() - before.chars().rev().take_while(|c| is_name(*c)).count();
        let starts = matches!(&before[word..], "crate" | "self" | "super");
        if starts && !before[..word].ends_with("::") {
            tree(&code[word..], &[], &mut all);
        }
    }
    all
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Reads `a::b::{c, d::e}` and says how far it went.
fn tree(text: &str, before: &[String], all: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let word: String = text[at..].chars().take_while(|c| is_name(*c)).collect();
        if word.is_empty() {
            break;
        }
        at += word.len();
        path.push(word);
        if !text[at..].starts_with("::") {
            break;
        }
        at += 2;
        if text[at..].starts_with('{') {
            at += 1;
            loop {
                at += tree(&text[at..], &path, all);
                // Behind a name: ` as Other`, then the next one.
                let Some(next) = text[at..].find([',', '}']) else {
                    return text.len();
                };
                at += next + 1;
                if text[at - 1..].starts_with('}') {
                    return at;
                }
            }
        }
    }
    all.push(path);
    at
}

#[test]
fn paths_are_read() {
    let own = ["race".to_owned(), "block".to_owned()];
    let text = "use crate::ids::{A, b::{C as D, E}, };\nuse super::sync::Thread; // use crate::no;\nlet x = crate::f::g(self::h::I);";
    let found: Vec<String> = paths(text)
        .iter()
        .filter_map(|path| Some(absolute(&own, path)?.join("::")))
        .collect();
    let expected = [
        "ids::A",
        "ids::b::C",
        "ids::b::E",
        "ids",
        "race::sync::Thread",
        "f::g",
        "race::block::h::I",
    ];
    assert_eq!(found, expected);
}
