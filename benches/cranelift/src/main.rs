//! What a compiler to native code would bring: blocks of PTX under the simulator, compiled by Cranelift, and by hand.
//!
//!     cargo run --release --manifest-path benches/cranelift/Cargo.toml
//!
//! It prints nanoseconds of a PTX instruction of a warp, on one core, and how long Cranelift takes to compile.
//!
//! 1. [`block`] reads straight-line PTX: three mixes, and the inner loop of the tiled product.
//! 2. [`interpreter`] puts it in a kernel, launches that on the simulator, and reads what its registers held before and after.
//! 3. [`compile`] makes machine code of it, in three [`Form`]s. [`by_hand`] is the ceiling, in vectors of 512 bits.
//! 4. Both start from the registers of step 2 and must end with them, to the bit; a difference ends the benchmark.
//!
//! All are measured in turn, many rounds; the shortest time of each counts. It is the time of day: what a thread is said to have run
//! is too little, at times, on virtual machines that share their processors.

#[cfg(not(target_arch = "x86_64"))]
compile_error!("this benchmark compares vectors of x86-64");

mod block;
mod by_hand;
mod compile;
mod interpreter;

use block::{Block, Row};
use by_hand::ByHand;
use compile::{Compiled, Form, Options, compile, refusal};
use detect::Detectors;
use interpreter::{Kernel, State, WARPS, Whole};
use simt::observer::NullObserver;
use std::time::{Duration, Instant};

/// How often a block runs in a launch that is measured, and in two whose results are compared besides.
const TURNS: u32 = 100;
const FEW_TURNS: [u32; 2] = [1, 7];
/// Rounds of measurements.
const ROUNDS: usize = 120;

const FORMS: [(Form, &str); 3] = [
    (Form::Memory, "rows in memory"),
    (Form::Rows, "values, row by row"),
    (Form::Strips, "values, four lanes each"),
];

const OPTIONS: [Options; 3] = [
    options("none", "single_pass"),
    options("none", "backtracking"),
    options("speed", "backtracking"),
];

const fn options(level: &'static str, allocator: &'static str) -> Options {
    Options { level, allocator }
}

/// A block, in each way that it can run, with the shortest times so far.
struct Mix {
    name: &'static str,
    block: Block,
    kernel: Kernel,
    before: State,
    steps: u64,
    races: Duration,
    plain: Duration,
    /// By form, then by options.
    compiled: Vec<Vec<(Compiled, Duration)>>,
    by_hand: Option<(ByHand, Duration)>,
}

impl Mix {
    fn new(name: &'static str, block: Block) -> Mix {
        let mut kernel = Kernel::new(&block);
        kernel.run(0, NullObserver);
        let before = kernel.state();
        let words = before.shared.len();
        let compiled = FORMS.map(|(form, _)| {
            OPTIONS
                .map(|o| {
                    (
                        compile(&block, &before.warps[0], words, form, o),
                        Duration::MAX,
                    )
                })
                .into()
        });
        Mix {
            name,
            by_hand: ByHand::new(name, &block).map(|b| (b, Duration::MAX)),
            block,
            kernel,
            before,
            steps: 0,
            races: Duration::MAX,
            plain: Duration::MAX,
            compiled: compiled.into(),
        }
    }

    /// Everything computes what the simulator does.
    fn compare(&mut self) {
        let results = self.block.results();
        for turns in FEW_TURNS.into_iter().chain([TURNS]) {
            self.kernel.run(turns, NullObserver);
            let after = self.kernel.state();
            assert_eq!(after.shared, self.before.shared, "the block stores nothing");
            let same = |ran: Vec<Vec<Row>>, who: &str| {
                for (warp, (ran, after)) in ran.iter().zip(&after.warps).enumerate() {
                    for r in &results {
                        let register = &self.block.registers[*r];
                        let place = format!(
                            "{}, {who}, {turns} turns, warp {warp}, {register}",
                            self.name
                        );
                        assert_eq!(ran[*r], after[*r], "{place}");
                        assert_ne!(ran[*r], self.before.warps[warp][*r], "{place}: unchanged");
                    }
                }
            };
            for (forms, (form, _)) in self.compiled.iter().zip(FORMS) {
                for (code, _) in forms {
                    let (ran, _) =
                        self.turns(turns, |rows, shared| assert!(code.run(rows, shared)));
                    same(ran, &format!("{form:?}"));
                }
            }
            if let Some((by_hand, _)) = &self.by_hand {
                let (ran, _) = self.turns(turns, |rows, shared| by_hand.run(rows, shared));
                same(ran, "by hand");
            }
        }
    }

    /// Compiled code leaves, and changes nothing, where addresses lie differently or are out of range.
    fn compare_guards(&self) {
        for (base, _) in self.block.bases() {
            let elsewhere = |row: &mut Row| row.0[9] ^= 4;
            let beyond = |row: &mut Row| row.0.iter_mut().for_each(|a| *a += interpreter::SHARED);
            for change in [elsewhere as fn(&mut Row), beyond] {
                let mut rows = self.before.warps[0].clone();
                change(&mut rows[base]);
                let kept = rows.clone();
                for (code, _) in self.compiled.iter().flatten() {
                    assert!(!code.run(&mut rows, &self.before.shared), "{}", self.name);
                    // Where each load is checked in its place, others may have been performed.
                    let same = self.block.results().iter().all(|r| rows[*r] == kept[*r]);
                    assert!(same, "{}", self.name);
                    rows.clone_from(&kept);
                }
            }
        }
    }

    /// Runs the block for all warps: what the rows hold in the end, and the time it took.
    fn turns(
        &self,
        turns: u32,
        mut run: impl FnMut(&mut [Row], &[u32]),
    ) -> (Vec<Vec<Row>>, Duration) {
        let mut warps = self.before.warps.clone();
        // On a cache line, so that by hand no load is of two.
        let mut memory = vec![0; self.before.shared.len() + 16];
        let skip = memory.as_ptr().align_offset(64);
        memory[skip..][..self.before.shared.len()].copy_from_slice(&self.before.shared);
        let shared = &memory[skip..][..self.before.shared.len()];
        let start = Instant::now();
        for rows in &mut warps {
            for _ in 0..turns {
                run(rows, shared);
            }
        }
        (warps, start.elapsed())
    }

    fn round(&mut self) {
        let (races, steps) = self.kernel.run(TURNS, Detectors::new(false));
        let (plain, _) = self.kernel.run(TURNS, NullObserver);
        (self.races, self.plain) = (self.races.min(races), self.plain.min(plain));
        self.steps = steps;
        let mut compiled = std::mem::take(&mut self.compiled);
        for (code, shortest) in compiled.iter_mut().flatten() {
            let (_, time) = self.turns(TURNS, |rows, shared| assert!(code.run(rows, shared)));
            *shortest = time.min(*shortest);
        }
        self.compiled = compiled;
        if let Some((by_hand, shortest)) = self.by_hand {
            let (_, time) = self.turns(TURNS, |rows, shared| by_hand.run(rows, shared));
            self.by_hand = Some((by_hand, time.min(shortest)));
        }
    }

    /// Nanoseconds of an instruction under the simulator, whose loop has three more.
    fn simulated(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e9 / self.steps as f64
    }

    /// Nanoseconds of an instruction of native code.
    fn native(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e9 / (WARPS * TURNS as usize * self.block.ops.len()) as f64
    }

    /// The fastest options of each form.
    fn forms(&self) -> Vec<f64> {
        let fastest = |form: &Vec<(Compiled, Duration)>| {
            let times = form.iter().map(|(_, time)| self.native(*time));
            times.fold(f64::MAX, f64::min)
        };
        self.compiled.iter().map(fastest).collect()
    }
}

fn main() {
    for lanes in [4, 8, 16] {
        let said = refusal(lanes).unwrap_or("compiles".into());
        println!("Cranelift, fadd.f32x{lanes}: {said}");
    }
    let mut mixes = [
        Mix::new("add.s32", block::adds()),
        Mix::new("fma.rn.f32", block::fmas()),
        Mix::new("ld.shared.f32 + fma.rn.f32", block::loads()),
        Mix::new("tiled product's inner loop", block::product()),
    ];
    for mix in &mut mixes {
        mix.compare();
        mix.compare_guards();
    }
    println!(
        "Results of compiled code and by hand equal the simulator's in all {} lanes.",
        WARPS * 32
    );
    for _ in 0..ROUNDS {
        mixes.iter_mut().for_each(Mix::round);
    }
    print_mixes(&mixes);
    print_options(&mixes[3]);
    print_whole();
}

fn print_mixes(mixes: &[Mix]) {
    println!(
        "\nNanoseconds of a warp's PTX instruction, one core; compiled: the fastest of the options below\n\
         {:<28}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>12}{:>12}{:>13}{:>12}",
        "",
        "races",
        "plain",
        "memory",
        "rows",
        "strips",
        "by hand",
        "plain/best",
        "plain/hand",
        "races, best",
        "gain, races"
    );
    for mix in mixes {
        let (races, plain) = (mix.simulated(mix.races), mix.simulated(mix.plain));
        let forms = mix.forms();
        let best = forms.iter().copied().fold(f64::MAX, f64::min);
        let by_hand = mix.by_hand.map(|(_, time)| mix.native(time));
        let or_none =
            |value: Option<f64>, digits| value.map_or("-".into(), |v| format!("{v:.digits$}"));
        println!(
            "{:<28}{races:>9.2}{plain:>9.2}{:>9.2}{:>9.2}{:>9.2}{:>9}{:>12.1}{:>12}{:>13.2}{:>12.2}",
            mix.name,
            forms[0],
            forms[1],
            forms[2],
            or_none(by_hand, 2),
            plain / best,
            or_none(by_hand.map(|b| plain / b), 1),
            races - plain + best,
            races / (races - plain + best)
        );
    }
    println!(
        "  races, plain: the simulator with race detection, and without\n  \
           memory, rows, strips: compiled; rows in memory, values row by row, values four lanes at a time\n  \
           races, best: races - plain + the best of these; gain, races: how much faster than races that is"
    );
}

/// Times to compile 200 instructions, and what comes of them.
fn print_options(product: &Mix) {
    let block = block::two_hundred();
    let mut kernel = Kernel::new(&block);
    kernel.run(0, NullObserver);
    let State { warps, shared } = kernel.state();
    println!(
        "\nA block of {} instructions: milliseconds to compile, KiB of code; ns an instruction of the tiled product\n\
         {:<28}{:<10}{:<14}{:>8}{:>8}{:>8}",
        block.ops.len(),
        "",
        "opt_level",
        "allocator",
        "ms",
        "KiB",
        "ns"
    );
    for ((form, name), times) in FORMS.into_iter().zip(&product.compiled) {
        for (options, (_, time)) in OPTIONS.into_iter().zip(times) {
            let compiled = |_| compile(&block, &warps[0], shared.len(), form, options);
            let all: Vec<Compiled> = (0..10).map(compiled).collect();
            let shortest = all.iter().map(|c| c.time).min().expect("there are some");
            println!(
                "{name:<28}{:<10}{:<14}{:>8.2}{:>8.1}{:>8.2}",
                options.level,
                options.allocator,
                shortest.as_secs_f64() * 1e3,
                all[0].bytes as f64 / 1024.0,
                product.native(*time)
            );
        }
    }
}

/// Of whole kernels, what of a launch with detection is left if executing instructions took no time at all.
fn print_whole() {
    println!(
        "\nWhole kernels under the simulator, ns of a warp's instruction; the most that any compiler could bring\n\
         {:<36}{:>9}{:>9}{:>14}{:>20}",
        "", "races", "plain", "plain/races", "at most x faster"
    );
    for (name, mut kernel) in Whole::all() {
        let (mut races, mut plain, mut steps) = (Duration::MAX, Duration::MAX, 1);
        for _ in 0..6 {
            let (with, taken) = kernel.run(Detectors::new(false));
            let (without, _) = kernel.run(NullObserver);
            (races, plain, steps) = (races.min(with), plain.min(without), taken);
        }
        let ns = |time: Duration| time.as_secs_f64() * 1e9 / steps as f64;
        let (races, plain) = (ns(races), ns(plain));
        println!(
            "{name:<36}{races:>9.2}{plain:>9.2}{:>13.0}%{:>20.2}",
            100.0 * plain / races,
            races / (races - plain)
        );
    }
}
