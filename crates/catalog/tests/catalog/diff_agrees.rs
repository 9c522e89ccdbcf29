//! What a diff claims agrees with what runs: random kernels are compiled in several ways, compared, and executed on the simulator.
//!
//! "Elided" is a claim on execution: of the bytes that the other side's instruction touched, this side made fewer accesses. It is checked
//! for every place that the instruction touched, by counting all accesses of both sides by address and direction; that a barrier or a fence is
//! lost, by counting those; and that a load was hoisted or a store sunk, by counting the accesses of both lines. Unrolled loops, hoisted loads
//! and other orders change the text, and not these numbers.

pub mod counts;
mod flags;
mod writer;

use counts::{Counts, run};
use ptxdiff::effect::{Effect, Observed, Occurrence};
use ptxdiff::{FunctionDiff, Side, Unit};
use toolchain::{CompileOptions, Nvcc, Optimisation};
use writer::Writer;

/// Kernels of one file.
const KERNELS: u32 = 16;
/// Threads of the block.
const THREADS: u32 = 64;
/// Elements of each buffer.
const ELEMENTS: u32 = 1024;

/// How the same kernels are compiled: a name, what macros are, the optimisation and the target.
const BUILDS: &[(&str, &str, Optimisation, &str)] = &[
    (
        "plain",
        "#define UNROLL \"unroll 1\"\n#define Q\n#define R\n",
        Optimisation::Optimised,
        "sm_75",
    ),
    (
        "unrolled by four",
        "#define UNROLL \"unroll 4\"\n#define Q\n#define R\n",
        Optimisation::Optimised,
        "sm_75",
    ),
    (
        "unrolled by the compiler",
        "#define UNROLL \"unroll\"\n#define Q\n#define R __restrict__\n",
        Optimisation::Optimised,
        "sm_90",
    ),
    (
        "volatile",
        "#define UNROLL \"unroll 1\"\n#define Q volatile\n#define R\n",
        Optimisation::Optimised,
        "sm_75",
    ),
    (
        "unoptimised",
        "#define UNROLL \"unroll 1\"\n#define Q\n#define R\n",
        Optimisation::Unoptimised,
        "sm_75",
    ),
    (
        "a little optimised",
        "#define UNROLL \"unroll 2\"\n#define Q\n#define R\n",
        Optimisation::Level(1),
        "sm_75",
    ),
];

/// The builds that are compared.
const PAIRS: &[(usize, usize)] = &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (2, 4)];

/// Claims of a diff that what ran contradicts, and how many claims there were.
pub struct Contradictions {
    pub wrong: Vec<String>,
    pub claims: usize,
}

/// Two builds of a kernel, compared and run.
struct Compared<'u> {
    diff: FunctionDiff<'u>,
    ran: [&'u Counts; 2],
}

impl Compared<'_> {
    fn contradictions(&self) -> Contradictions {
        let (mut wrong, mut claims) = (Vec::new(), 0);
        for observed in &self.diff.effects {
            let Some(side) = observed.side else { continue };
            let [mine, other] = [self.ran[side as usize], self.ran[side.other() as usize]];
            let found: Vec<Option<String>> = match observed.effect {
                Effect::BarrierLost => vec![as_many(mine.barriers, other.barriers)],
                Effect::FenceLost => vec![as_many(mine.fences, other.fences)],
                Effect::StoreElided | Effect::LoadElided | Effect::AtomicElided => {
                    self.elided(observed, side)
                }
                Effect::LoadHoisted | Effect::StoreSunk => self.moved_out(observed, side),
                _ => continue,
            };
            claims += found.len();
            let told = found.into_iter().flatten();
            wrong.extend(told.map(|what| format!("{} in {side}: {what}", observed.effect)));
        }
        Contradictions { wrong, claims }
    }

    /// Of each elided access, one place that this side accesses as often. A byte that it accesses less often is enough: what else it
    /// reads of a word, a narrower load may leave out.
    fn elided(&self, observed: &Observed, side: Side) -> Vec<Option<String>> {
        let [mine, other] = [self.ran[side as usize], self.ran[side.other() as usize]];
        let one = |occurrence: &Occurrence| {
            let theirs = occurrence.of(side.other());
            let instr = &self.diff.code(side.other()).instructions[theirs[0]];
            let mut touched = other.touched.get(&instr.line).into_iter().flatten();
            let place = touched.find(|own| own.bytes().all(|b| mine.of(&b) >= other.of(&b)))?;
            let byte = place.bytes().next()?;
            Some(format!(
                "line {} of {}, `{}`: {place:?} is accessed {} times, and {} times in {}",
                instr.line,
                side.other(),
                instr.instr,
                mine.of(&byte),
                other.of(&byte),
                side.other(),
            ))
        };
        observed.occurrences.iter().map(one).collect()
    }

    /// Of each access that was moved out of a loop, whether no byte of the one in the loop is accessed less often.
    fn moved_out(&self, observed: &Observed, side: Side) -> Vec<Option<String>> {
        let [mine, other] = [self.ran[side as usize], self.ran[side.other() as usize]];
        let one = |occurrence: &Occurrence| {
            let theirs = occurrence.of(side.other());
            let instr = &self.diff.code(side.other()).instructions[theirs[0]];
            // A loop that no thread entered shows nothing.
            let touched = other.touched.get(&instr.line)?;
            let mut bytes = touched.iter().flat_map(|own| own.bytes());
            let less = bytes.any(|byte| mine.of(&byte) < other.of(&byte));
            (!less).then(|| {
                format!(
                    "line {} of {}, `{}`: {side} accesses the same bytes as often",
                    instr.line,
                    side.other(),
                    instr.instr
                )
            })
        };
        observed.occurrences.iter().map(one).collect()
    }
}

fn as_many(mine: u64, other: u64) -> Option<String> {
    // What no thread came to shows nothing.
    (mine >= other && other > 0).then(|| format!("{mine} ran, and {other} on the other side"))
}

/// What is wrong with what is told of the kernels of a seed, and how many claims there were.
pub fn of_seed(nvcc: &Nvcc, seed: u64) -> Contradictions {
    let text = Writer::kernels(seed, KERNELS);
    let folder = tempfile::tempdir().unwrap();
    let units: Vec<Unit> = BUILDS
        .iter()
        .map(|(_, head, optimisation, arch)| {
            let file = folder.path().join("kernels.cu");
            std::fs::write(&file, format!("{head}#line 1\n{text}")).unwrap();
            let options = CompileOptions {
                arch: Some((*arch).to_owned()),
                ..CompileOptions::default()
            };
            let ptx = nvcc.compile(&file, *optimisation, &options);
            Unit::parse(ptx.unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{text}"))).unwrap()
        })
        .collect();
    let mut all = Contradictions {
        wrong: Vec::new(),
        claims: 0,
    };
    for number in 0..KERNELS {
        let name = format!("k{number}");
        let ran: Vec<Counts> = units.iter().map(|unit| run(unit, &name)).collect();
        for &(x, y) in PAIRS {
            let function = |of: usize| (&units[of], units[of].entry(&name).unwrap());
            let compared = Compared {
                diff: FunctionDiff::of(function(x), function(y)).unwrap(),
                ran: [&ran[x], &ran[y]],
            };
            let found = compared.contradictions();
            all.claims += found.claims;
            let pair = format!("seed {seed}, {name}, {} and {}", BUILDS[x].0, BUILDS[y].0);
            let told = found.wrong.into_iter();
            all.wrong.extend(told.map(|text| format!("{pair}: {text}")));
        }
    }
    if let Some(folder) = std::env::var_os("RACETRAP_DIFF_KEEP") {
        let folder = std::path::Path::new(&folder);
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join(format!("{seed}.cu")), &text).unwrap();
        for (unit, build) in units.iter().zip(BUILDS) {
            let name = format!("{seed}-{}.ptx", build.0.replace(' ', "-"));
            std::fs::write(folder.join(name), &unit.text).unwrap();
        }
    }
    all
}

/// Seeds that are tried: those in `RACETRAP_DIFF_SEED`, with commas in between, or 1. `fresh` is one that nobody knows, `fresh:20` are as many.
fn seeds() -> Vec<u64> {
    let given = std::env::var("RACETRAP_DIFF_SEED").unwrap_or_else(|_| "1".to_owned());
    let fresh = |count: usize| {
        (0..count)
            .map(|_| u64::from(rand::random::<u32>()))
            .collect()
    };
    let seeds = |text: &str| -> Vec<u64> {
        match text.split_once(':') {
            Some(("fresh", count)) => fresh(count.parse().unwrap()),
            None if text == "fresh" => fresh(1),
            _ => vec![text.parse().unwrap()],
        }
    };
    given.split(',').flat_map(seeds).collect()
}

#[test]
fn what_is_called_elided_is_not_executed() {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let (mut wrong, mut claims) = (Vec::new(), 0);
    for seed in seeds() {
        println!("RACETRAP_DIFF_SEED={seed}");
        let found = of_seed(&nvcc, seed);
        found.wrong.iter().for_each(|text| println!("{text}"));
        assert!(
            found.claims >= 10,
            "only {} claims with seed {seed}: the test shows nothing",
            found.claims
        );
        wrong.extend(found.wrong);
        claims += found.claims;
    }
    assert!(
        wrong.is_empty(),
        "{} of {claims} claims:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    println!("{claims} claims");
}

#[test]
fn what_is_told_of_flags_is_in_the_instructions() {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let mut wrong = Vec::new();
    for seed in seeds() {
        println!("RACETRAP_DIFF_SEED={seed}");
        let (found, told) = flags::of_seed(&nvcc, seed);
        assert!(
            told >= 30,
            "only {told} effects with seed {seed}: the test shows nothing"
        );
        wrong.extend(found);
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
