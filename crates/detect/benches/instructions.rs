//! Speed by class of instruction, of whole kernels, and by schedule as the grid grows.
//!
//! `cargo bench --bench instructions` prints three tables, all of one core:
//!
//! 1. loops of one instruction (or two), 8 × 256 threads, in 10⁹ lane-instructions a second, with race
//!    detection and without, and what an instruction costs compared with `add.s32` in the same run;
//! 2. whole kernels, in the same unit;
//! 3. milliseconds of one kernel under each schedule, as its grid grows.
//!
//! All are measured in turn, several rounds, by the clock; the shortest of each counts. So other load on the machine makes the figures worse,
//! those of long launches most. (The processor's time of a thread would not do: on a virtual machine it can be too short.) Arguments (after `--`) are parts of the names of what is
//! to be measured; without any, everything is.

mod setup;

use racetrap_detect::Detectors;
use setup::Setup;
use simt::observer::{NullObserver, Observer};
use simt::*;
use std::fmt::Write;
use std::time::{Duration, Instant};

impl Setup {
    /// One launch on one core: its time, and the warp-instructions it took.
    fn run<O: Observer>(&mut self, schedule: &ScheduleSpec, mut observer: O) -> (Duration, u64) {
        let limits = Limits {
            steps: u64::MAX,
            ..Limits::default()
        };
        let start = Instant::now();
        let stats = launch(
            &mut self.device,
            &self.program,
            &self.launch,
            schedule,
            &limits,
            1,
            &mut observer,
        )
        .expect("it ends");
        (start.elapsed(), stats.steps)
    }
}

/// Something to be measured, and the shortest times so far.
struct Row {
    name: String,
    setup: Setup,
    steps: u64,
    plain: Duration,
    races: Duration,
}

impl Row {
    fn new(name: &str, setup: Setup) -> Row {
        Row {
            name: name.to_owned(),
            setup,
            steps: 0,
            plain: Duration::MAX,
            races: Duration::MAX,
        }
    }

    fn round(&mut self) {
        let lockstep = ScheduleSpec::Lockstep;
        let (races, steps) = self.setup.run(&lockstep, Detectors::new(false));
        let (plain, _) = self.setup.run(&lockstep, NullObserver);
        (self.plain, self.races) = (self.plain.min(plain), self.races.min(races));
        self.steps = steps;
    }

    /// Nanoseconds of a warp-instruction.
    fn cost(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e9 / self.steps as f64
    }
}

/// A loop around 64 copies of an instruction (with its own numbers in place of `#`).
fn class(instruction: &str) -> Setup {
    let mut body = String::new();
    for copy in 0..64 {
        let text = instruction.replace('#', &(copy % 8).to_string());
        writeln!(body, "{text}").expect("a string takes it");
    }
    let ptx = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u32 n)\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<40>;\n.reg .f32 %f<40>;\n.reg .b64 %rd<40>;\n.reg .f64 %d<40>;\n\
         .shared .align 4 .b8 tile[1024];\n\
         ld.param.u64 %rd20, [out];\nld.param.u32 %r30, [n];\nmov.u32 %r31, %tid.x;\nshl.b32 %r32, %r31, 2;\n\
         mov.u32 %r33, tile;\nadd.s32 %r20, %r33, %r32;\nst.shared.u32 [%r20], %r31;\n\
         mov.u32 %r34, %ctaid.x;\nmad.lo.s32 %r35, %r34, 256, %r31;\n\
         mul.wide.u32 %rd21, %r35, 4;\nadd.s64 %rd22, %rd20, %rd21;\n\
         and.b32 %r21, %r32, 60;\nadd.s32 %r21, %r21, %r33;\nand.b32 %r22, %r32, 960;\nadd.s32 %r22, %r22, %r33;\n\
         cvt.rn.f32.u32 %f20, %r31;\ncvt.rn.f64.u32 %d20, %r31;\nmov.f32 %f0, %f20;\nmov.f64 %d0, %d20;\n\
         mov.f32 %f21, 0f3F800001;\nmov.f64 %d21, 0d3FF0000000000001;\n\
         mov.u32 %r0, %r31;\nand.b32 %r37, %r31, 16;\nsetp.eq.u32 %p7, %r37, 0;\nmov.u32 %r36, 0;\ncvt.u64.u32 %rd0, %r31;\nmov.u32 %r10, 7;\nbar.sync 0;\n\
         LOOP:\n{body}\
         add.s32 %r36, %r36, 1;\nsetp.lt.u32 %p8, %r36, %r30;\n@%p8 bra LOOP;\n\
         st.global.u32 [%rd22], %r0;\nst.global.f32 [%rd22], %f0;\nst.global.u32 [%rd22], %rd0;\n\
         cvt.rn.f32.f64 %f22, %d0;\nst.global.f32 [%rd22], %f22;\nret;\n}}\n"
    );
    let (grid, block) = (Dim3::linear(8), Dim3::linear(256));
    Setup::new(&ptx, grid, block, &[8 * 256, 0], &[(1, 10)])
}

/// Name and text of the classes.
const CLASSES: [(&str, &str); 20] = [
    ("add.s32", "add.s32 %r0, %r0, %r31;"),
    ("mad.lo.s32", "mad.lo.s32 %r0, %r0, %r31, %r10;"),
    (
        "and.b32 + shl.b32",
        "and.b32 %r0, %r0, %r31;\nshl.b32 %r0, %r0, 1;",
    ),
    ("add.s64", "add.s64 %rd0, %rd0, %rd21;"),
    ("mul.wide.u32", "mul.wide.u32 %rd0, %r31, %r10;"),
    ("add.rn.f32", "add.rn.f32 %f0, %f0, %f20;"),
    ("mul.rn.f32", "mul.rn.f32 %f0, %f0, %f21;"),
    ("fma.rn.f32", "fma.rn.f32 %f0, %f0, %f21, %f20;"),
    ("add.rn.f64", "add.rn.f64 %d0, %d0, %d20;"),
    ("fma.rn.f64", "fma.rn.f64 %d0, %d0, %d21, %d20;"),
    (
        "setp + selp",
        "setp.lt.s32 %p1, %r0, %r31;\nselp.b32 %r0, %r10, %r31, %p1;",
    ),
    (
        "st.shared.u32 + add",
        "st.shared.u32 [%r20], %r0;\nadd.s32 %r0, %r0, %r31;",
    ),
    (
        "ld.shared.u32 + add",
        "ld.shared.u32 %r1#, [%r20];\nadd.s32 %r0, %r0, %r1#;",
    ),
    (
        "ld.shared, 16 words twice",
        "ld.shared.u32 %r1#, [%r21];\nadd.s32 %r0, %r0, %r1#;",
    ),
    (
        "ld.shared, 2 words broadcast",
        "ld.shared.u32 %r1#, [%r22];\nadd.s32 %r0, %r0, %r1#;",
    ),
    (
        "atom.shared.add",
        "atom.shared.add.u32 %r1#, [%r20], %r31;\nadd.s32 %r0, %r0, %r1#;",
    ),
    (
        "red.shared.add",
        "red.shared.add.u32 [%r20], %r31;\nadd.s32 %r0, %r0, %r31;",
    ),
    (
        "ld.global.u32 + add",
        "ld.global.u32 %r1#, [%rd22];\nadd.s32 %r0, %r0, %r1#;",
    ),
    (
        "st.global.u32 + add",
        "st.global.u32 [%rd22], %r0;\nadd.s32 %r0, %r0, %r31;",
    ),
    ("add.s32, half a warp", "@%p7 add.s32 %r0, %r0, %r31;"),
];

fn matmul(n: usize) -> Setup {
    let ptx = include_str!("../../../benches/kernels/matmul.sm_75.ptx");
    let side = n as u32 / 16;
    let (grid, block) = (
        Dim3 {
            x: side,
            y: side,
            z: 1,
        },
        Dim3 { x: 16, y: 16, z: 1 },
    );
    let square = n * n;
    Setup::new(
        ptx,
        grid,
        block,
        &[square, square, square, 0],
        &[(3, n as u32)],
    )
}

/// Races in every block: they are known after some thousand blocks, so that the difference between two grids is what a block costs then.
fn racing_scan(blocks: u32) -> Setup {
    let ptx = include_str!("../../../benches/kernels/known_races.sm_75.ptx");
    let (grid, block) = (Dim3::linear(blocks), Dim3::linear(64));
    Setup::new(ptx, grid, block, &[64, 64], &[])
}

fn kernels() -> Vec<(&'static str, Setup)> {
    let histogram = include_str!("../../../benches/kernels/histogram.sm_75.ptx");
    let scan = include_str!("../../../benches/kernels/scan.sm_75.ptx");
    let updates = include_str!("../../../benches/kernels/updates.sm_75.ptx");
    vec![
        ("tiled product, n = 512", matmul(512)),
        ("tiled product, n = 128", matmul(128)),
        (
            "histogram, 1 Mi elements, 32 x 256",
            Setup::new(
                histogram,
                Dim3::linear(32),
                Dim3::linear(256),
                &[1 << 20, 0, 256],
                &[(1, 1 << 20)],
            ),
        ),
        (
            "Hillis-Steele, 64 x 1024",
            Setup::new(
                scan,
                Dim3::linear(64),
                Dim3::linear(1024),
                &[1 << 16, 1 << 16],
                &[],
            ),
        ),
        ("scan with races, 15,120 x 64", racing_scan(15_120)),
        ("scan with races, 60,480 x 64", racing_scan(60_480)),
        (
            "updates of records, 16 x 256",
            Setup::new(
                updates,
                Dim3::linear(16),
                Dim3::linear(256),
                &[1 << 16, 1 << 16],
                &[(2, 64)],
            ),
        ),
    ]
}

/// A sum of each block in shared memory, published by a flag that the next blocks look at once.
fn growing(blocks: u32) -> Setup {
    let ptx = ".version 8.0\n.target sm_75\n.address_size 64\n\
        .visible .entry k(.param .u64 data, .param .u64 sums)\n{\n\
        .reg .pred %p<9>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.shared .align 4 .b8 tile[512];\n\
        ld.param.u64 %rd1, [data];\nld.param.u64 %rd2, [sums];\n\
        mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.s32 %r3, %r2, 128, %r1;\n\
        mul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r4, [%rd4];\n\
        shl.b32 %r5, %r1, 2;\nmov.u32 %r6, tile;\nadd.s32 %r7, %r6, %r5;\nst.shared.u32 [%r7], %r4;\n\
        bar.sync 0;\nmov.u32 %r8, 64;\n\
        LOOP:\nsetp.ge.u32 %p1, %r1, %r8;\n@%p1 bra SKIP;\n\
        shl.b32 %r9, %r8, 2;\nadd.s32 %r10, %r7, %r9;\nld.shared.u32 %r11, [%r10];\nld.shared.u32 %r12, [%r7];\n\
        add.s32 %r12, %r12, %r11;\nst.shared.u32 [%r7], %r12;\n\
        SKIP:\nbar.sync 0;\nshr.u32 %r8, %r8, 1;\nsetp.ne.u32 %p2, %r8, 0;\n@%p2 bra LOOP;\n\
        setp.ne.u32 %p3, %r1, 0;\n@%p3 bra END;\nld.shared.u32 %r13, [%r6];\n\
        mul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd6, %rd2, %rd5;\n\
        ld.relaxed.gpu.global.u32 %r14, [%rd6];\nadd.s32 %r13, %r13, %r14;\n\
        atom.relaxed.gpu.global.add.u32 %r15, [%rd6+4], %r13;\nEND:\nret;\n}\n";
    let n = blocks as usize;
    Setup::new(
        ptx,
        Dim3::linear(blocks),
        Dim3::linear(128),
        &[n * 128, n + 1],
        &[],
    )
}

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.contains(&w[..]));
    let mut classes: Vec<Row> = CLASSES
        .iter()
        .filter(|(name, _)| *name == "add.s32" || is_wanted(name))
        .map(|(name, text)| Row::new(name, class(text)))
        .collect();
    let mut whole: Vec<Row> = kernels()
        .into_iter()
        .filter(|(name, _)| is_wanted(name))
        .map(|(name, setup)| Row::new(name, setup))
        .collect();
    for round in 0..90 {
        classes.iter_mut().for_each(Row::round);
        if round % 15 == 0 {
            whole.iter_mut().for_each(Row::round);
        }
    }
    let unit = (
        classes[0].cost(classes[0].races),
        classes[0].cost(classes[0].plain),
    );
    println!("10^9 lane-instructions a second, one core; cost of an instruction, add.s32 = 1");
    println!(
        "{:<36}{:>8}{:>8}{:>12}{:>8}{:>8}{:>12}{:>13}",
        "", "races", "cost", "ns a warp", "plain", "cost", "ns a warp", "races/plain"
    );
    for row in classes.iter().chain(&whole) {
        let (races, plain) = (row.cost(row.races), row.cost(row.plain));
        println!(
            "{:<36}{:>8.2}{:>8.1}{:>12.1}{:>8.2}{:>8.1}{:>12.1}{:>13.2}",
            row.name,
            32.0 / races,
            races / unit.0,
            races,
            32.0 / plain,
            plain / unit.1,
            plain,
            races / plain
        );
    }
    let racing: Vec<&Row> = (whole.iter())
        .filter(|row| row.name.starts_with("scan with races"))
        .collect();
    if let [few, many] = racing[..] {
        let time = many.races.saturating_sub(few.races).as_nanos() as f64;
        let each = time / (many.steps - few.steps) as f64;
        println!(
            "{:<36}{:>8.2}{:>8.1}{:>12.1}",
            "… once its races are known",
            32.0 / each,
            each / unit.0,
            each
        );
    }
    if !is_wanted("grid") {
        return;
    }
    println!(
        "\nMilliseconds with races, by grid (blocks of 128 threads), and growth from the second to the last"
    );
    const GRIDS: [u32; 3] = [64, 256, 1024];
    for name in [
        "lockstep",
        "lane-by-lane",
        "random:0",
        "random:1",
        "pct:1:3",
        "weak",
        "weak:1",
    ] {
        let schedule: ScheduleSpec = name.parse().expect("it is a schedule");
        let mut times = [Duration::MAX; GRIDS.len()];
        for (time, blocks) in times.iter_mut().zip(GRIDS) {
            let mut setup = growing(blocks);
            let mut spent = Duration::ZERO;
            while spent < Duration::from_millis(300) {
                let (taken, _) = setup.run(&schedule, Detectors::new(false));
                *time = taken.min(*time);
                spent += taken;
            }
        }
        let ms = times.map(|t| t.as_secs_f64() * 1e3);
        println!(
            "{name:<16}{:>10.1}{:>10.1}{:>10.1}{:>10.1}",
            ms[0],
            ms[1],
            ms[2],
            ms[2] / ms[1]
        );
    }
}
