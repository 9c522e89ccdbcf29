//! The pairs of `tests/suite/pairs.yaml`: what must be told of each is told, and nothing else, by PTX of three compilers, with and without
//! source lines, and in both orders of the operands.

use ptxdiff::effect::Observed;
use ptxdiff::{FunctionDiff, Side, Unit};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

/// A pair of kernels, as the file states it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    pair: String,
    source: String,
    kernels: Option<[String; 2]>,
    #[serde(default)]
    a: String,
    #[serde(default)]
    b: String,
    say: Vec<String>,
    #[serde(default)]
    may: Vec<String>,
}

fn pairs() -> Vec<Pair> {
    let path = testing::root().join("crates/ptxdiff/tests/suite/pairs.yaml");
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A compiler's PTX by build: source and flags.
fn compiled(compiler: &str) -> BTreeMap<String, String> {
    let path = testing::root().join(format!("crates/ptxdiff/tests/suite/ptx/{compiler}.gz"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    let builds = text.split("//// ").skip(1);
    builds
        .map(|build| {
            let (name, ptx) = build.split_once('\n').unwrap();
            (name.to_owned(), ptx.to_owned())
        })
        .collect()
}

/// The same without source lines.
fn without_lines(ptx: &str) -> String {
    let kept = ptx
        .lines()
        .filter(|line| !line.trim_start().starts_with(".loc"));
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// An effect as the file writes it: name, side, and its number or, of a loop, the factor.
fn told(observed: &Observed, swapped: bool) -> String {
    let side = observed
        .side
        .map(|side| if swapped { side.other() } else { side });
    let side = match (side, observed.effect.is_kept()) {
        (Some(side), _) => format!(" {side}"),
        (None, true) => " both".to_owned(),
        (None, false) => String::new(),
    };
    let factors: BTreeSet<u32> = observed
        .occurrences
        .iter()
        .filter_map(|o| o.factor)
        .collect();
    let factor = factors.iter().map(|f| format!(" x{f}")).collect::<String>();
    format!(
        "{}{side} {}{factor}",
        observed.effect,
        observed.occurrences.len()
    )
}

/// Whether a told effect is a wanted one: what the file leaves out is left open.
fn fits(told: &str, wanted: &str) -> bool {
    let mut words: Vec<&str> = told.split(' ').collect();
    wanted
        .split(' ')
        .all(|word| match words.iter().position(|w| *w == word) {
            Some(at) => {
                words.remove(at);
                true
            }
            None => false,
        })
}

/// What is wrong with what is told of a pair.
fn wrong(pair: &Pair, told: &[String]) -> Option<String> {
    let missing = pair
        .say
        .iter()
        .filter(|wanted| !told.iter().any(|t| fits(t, wanted)));
    let known = |told: &&String| {
        pair.say
            .iter()
            .chain(&pair.may)
            .any(|wanted| fits(told, wanted))
    };
    // What both sides share is no difference.
    let more = told.iter().filter(|t| !known(t) && !t.contains(" both "));
    let text: Vec<String> = missing
        .map(|effect| format!("not told: {effect}"))
        .chain(more.map(|effect| format!("told: {effect}")))
        .collect();
    (!text.is_empty()).then(|| format!("{}: {}", pair.pair, text.join("; ")))
}

/// What is told of a pair.
fn effects(a: (&Unit, &str), b: (&Unit, &str), swapped: bool) -> Vec<String> {
    let entry = |(unit, name): (&Unit, &str)| unit.entries().position(|f| f.name == name);
    let (x, y) = (
        entry(a).unwrap_or_else(|| panic!("{}", a.1)),
        entry(b).unwrap_or_else(|| panic!("{}", b.1)),
    );
    let (f, g) = (a.0.entries().nth(x).unwrap(), b.0.entries().nth(y).unwrap());
    let diff = match swapped {
        false => FunctionDiff::of((a.0, f), (b.0, g)),
        true => FunctionDiff::of((b.0, g), (a.0, f)),
    };
    diff.unwrap()
        .effects
        .iter()
        .map(|o| told(o, swapped))
        .collect()
}

fn judge(compiler: &str, lines: bool) {
    let builds = compiled(compiler);
    let units: BTreeMap<&str, Unit> = builds
        .iter()
        .map(|(name, ptx)| {
            let ptx = if lines {
                ptx.clone()
            } else {
                without_lines(ptx)
            };
            (name.as_str(), Unit::parse(ptx).unwrap())
        })
        .collect();
    let pairs = pairs();
    assert!(pairs.len() >= 80, "{}", pairs.len());
    let mut failed = Vec::new();
    for pair in &pairs {
        let unit = |flags: &str| {
            let build = format!("{} {flags}", pair.source);
            let build = build.trim_end();
            units
                .get(build)
                .unwrap_or_else(|| panic!("no PTX of `{build}`: run make.py"))
        };
        let named = |side: Side| match &pair.kernels {
            Some(names) => names[side as usize].clone(),
            None => format!("{}_{}", pair.pair, side.to_string().to_lowercase()),
        };
        let (first, second) = (named(Side::A), named(Side::B));
        for swapped in [false, true] {
            let told = effects((unit(&pair.a), &first), (unit(&pair.b), &second), swapped);
            if let Some(text) = wrong(pair, &told) {
                failed.push(format!("{}{text}", if swapped { "swapped: " } else { "" }));
            }
        }
    }
    failed.dedup_by(|next, kept| next.strip_prefix("swapped: ") == Some(kept.as_str()));
    assert!(
        failed.is_empty(),
        "{compiler}, {} of {} pairs:\n{}",
        failed.len(),
        pairs.len(),
        failed.join("\n")
    );
}

#[test]
fn nvcc_13_0() {
    judge("nvcc-13.0", true);
}

#[test]
fn nvcc_13_0_without_lines() {
    judge("nvcc-13.0", false);
}

#[test]
fn nvrtc_12_4() {
    judge("nvrtc-12.4", true);
}

#[test]
fn nvrtc_12_0() {
    judge("nvrtc-12.0", true);
}

#[test]
fn nvrtc_12_0_without_lines() {
    judge("nvrtc-12.0", false);
}
