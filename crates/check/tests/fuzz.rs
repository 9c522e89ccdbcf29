//! Mutants of compilers' PTX through all of a check: parsing, lowering, plan, run and wording.
//!
//! Whatever the file, there is an answer, soon, and within the memory that a check may take. Under `cargo nextest run` it takes a few
//! seconds; for hours, with other mutants each time:
//!
//! ```text
//! RACETRAP_FUZZ_SECONDS=3600 RACETRAP_FUZZ_SEED=7 cargo test -p racetrap-check --test fuzz
//! ```
//!
//! The file that is being checked lies in `target/tmp/fuzz-SEED.ptx`, so it is there even after an abort. What was found becomes
//! a case of `tests/cli/hostile.rs`.
//!
//! `RACETRAP_FUZZ_FOLDER=DIR` is for the test program on a machine without a checkout: PTX comes from below `DIR/seeds`, and the file that is
//! being checked is `DIR/fuzz-SEED.ptx`.

use racetrap_check::{Kernels, Request, Schedules, Source, Unwatched, check_each};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Processor time for one file, of which a run may take three seconds.
const TIME: Duration = Duration::from_secs(20);
/// Memory of the process, bytes.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 1 << 30;

/// What numbers are replaced by.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "3",
    "31",
    "32",
    "33",
    "255",
    "65536",
    "2147483647",
    "4294967295",
    "1000000000000",
    "18446744073709551615",
];

/// Where there is no checkout: what holds `seeds/`, and the file that is being checked.
fn folder() -> Option<PathBuf> {
    std::env::var_os("RACETRAP_FUZZ_FOLDER").map(PathBuf::from)
}

/// PTX that compilers wrote.
fn seeds() -> Vec<String> {
    fn below(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => below(&path, out),
                path if path.extension().is_some_and(|e| e == "ptx") => out.push(path),
                _ => {}
            }
        }
    }
    let mut files = Vec::new();
    if let Some(folder) = folder() {
        below(&folder.join("seeds"), &mut files);
    } else {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        below(&root.join("kernels"), &mut files);
        below(&root.join("crates/ptx/tests/samples"), &mut files);
    }
    files.sort();
    let texts = files.iter().map(|f| std::fs::read_to_string(f).unwrap());
    texts.filter(|text| text.len() < 60_000).collect()
}

/// Changes one thing.
fn mutate(text: &str, others: &[String], rng: &mut Pcg64Mcg) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return text.to_owned();
    }
    let at = rng.random_range(0..lines.len());
    match rng.random_range(0..10) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let other = rng.random_range(0..lines.len());
            lines.swap(at, other);
        }
        3 => {
            // A line of another file.
            let other = others.choose(rng).map_or("", |o| o.as_str());
            let all: Vec<&str> = other.lines().collect();
            if let Some(line) = all.choose(rng) {
                lines.insert(at, (*line).to_owned());
            }
        }
        4 | 5 => lines[at] = with_number(&lines[at], rng),
        6 | 7 => {
            // A word of this file in place of another one.
            let words: Vec<&str> = text
                .split(|c: char| !is_word(c))
                .filter(|w| !w.is_empty())
                .collect();
            let mine: Vec<String> = lines[at]
                .split(|c: char| !is_word(c))
                .filter(|w| !w.is_empty())
                .map(str::to_owned)
                .collect();
            if let (Some(old), Some(new)) = (mine.choose(rng), words.choose(rng)) {
                lines[at] = lines[at].replacen(old.as_str(), new, 1);
            }
        }
        8 => {
            let line = &mut lines[at];
            let ends: Vec<usize> = line.char_indices().map(|(i, _)| i).collect();
            if let Some(place) = ends.choose(rng) {
                line.remove(*place);
            }
        }
        _ => {
            let line = &mut lines[at];
            let piece = [
                "{", "}", "(", "[", ";", ",", "@%p1 ", ".", "<4>", "+", "-", "/*",
            ]
            .choose(rng);
            line.insert_str(0, piece.unwrap_or(&";"));
        }
    }
    lines.join("\n") + "\n"
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%.".contains(c)
}

/// A line with another number in place of one of its own.
fn with_number(line: &str, rng: &mut Pcg64Mcg) -> String {
    let mut numbers: Vec<(usize, usize)> = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (c.is_ascii_digit(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                numbers.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    match (numbers.choose(rng), NUMBERS.choose(rng)) {
        (Some((from, to)), Some(new)) => format!("{}{new}{}", &line[..*from], &line[*to..]),
        _ => line.to_owned(),
    }
}

fn checked(text: &str) {
    let mut request = Request::new(Source::Ptx {
        name: "k.ptx".into(),
        text: text.to_owned(),
    });
    request.schedules = Schedules::UpTo(3);
    request.inputs = 2;
    request.budgets.steps = 50_000;
    request.budgets.time = Some(Duration::from_secs(3));
    request.budgets.memory = 256 << 20;
    request.budgets.jobs = 1;
    match check_each(&request, &Kernels::All, &Unwatched) {
        Ok(all) => {
            for (_, one) in all {
                match one {
                    Ok(checked) => assert!(!checked.check.summary.is_empty()),
                    Err(error) => assert!(!error.render(false).is_empty()),
                }
            }
        }
        Err(error) => assert!(!error.render(false).is_empty()),
    }
}

/// Processor time of the process so far: a machine that is busy is no failure. Elsewhere, time.
fn processor(started: Instant) -> Duration {
    // proc_pid_stat(5): user and system time are the fields 14 and 15, in hundredths of a second.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace());
    let ticks: Vec<u64> = fields
        .into_iter()
        .flatten()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse().ok())
        .collect();
    match ticks[..] {
        [user, system] => Duration::from_millis(10 * (user + system)),
        _ => started.elapsed(),
    }
}

/// The process's largest memory since the last call, bytes.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    // proc(5): 5 begins a new peak.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    peak.unwrap_or(0) << 10
}

#[test]
fn mutants_of_ptx_are_answered() {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let seconds = number("RACETRAP_FUZZ_SECONDS").unwrap_or(5);
    let seed = number("RACETRAP_FUZZ_SEED").unwrap_or(1);
    let folder = folder().unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    let file = folder.join(format!("fuzz-{seed}.ptx"));
    let all = seeds();
    assert!(all.len() > 100);
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let (started, mut count) = (Instant::now(), 0u64);
    while started.elapsed() < Duration::from_secs(seconds) {
        let mut text = all[rng.random_range(0..all.len())].clone();
        for _ in 0..rng.random_range(1..6) {
            text = mutate(&text, &all, &mut rng);
        }
        std::fs::write(&file, &text).unwrap();
        let began = processor(started);
        checked(&text);
        let took = processor(started) - began;
        assert!(took < TIME, "{took:?} for {}", file.display());
        #[cfg(target_os = "linux")]
        {
            let most = peak();
            assert!(most < MEMORY, "{} MiB for {}", most >> 20, file.display());
        }
        count += 1;
    }
    println!("{count} files");
    let _ = std::fs::remove_file(&file);
}
