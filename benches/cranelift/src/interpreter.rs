//! The simulator's side: a kernel that runs a block of PTX in a loop and writes down what its registers hold.

#[path = "../../../crates/detect/benches/setup.rs"]
mod setup;

use crate::block::{Block, LANES, Row};
use setup::Setup;
use simt::observer::Observer;
use simt::{Dim3, Limits, ScheduleSpec, launch};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Blocks of the grid.
pub const BLOCKS: u32 = 8;
/// Threads of a block.
pub const THREADS: u32 = 256;
/// Warps of the grid.
pub const WARPS: usize = (BLOCKS * THREADS) as usize / LANES;
/// Bytes of a block's shared memory.
pub const SHARED: u32 = 4096;
/// Words of shared memory that a thread fills.
const WORDS: usize = (SHARED / THREADS) as usize / 4;
/// Words that a thread writes down before its registers: where the tile is, and its words of it.
const HEAD: usize = 1 + WORDS;

/// A kernel, ready to be launched.
pub struct Kernel {
    setup: Setup,
    /// Registers that it writes down.
    dumped: Vec<usize>,
    /// Registers of its block.
    registers: usize,
}

/// What a grid's threads hold.
pub struct State {
    /// For each warp, the rows of the block's registers. What is not needed by the block's next turn is 0.
    pub warps: Vec<Vec<Row>>,
    /// Shared memory of a block, from address 0; all blocks hold the same.
    pub shared: Vec<u32>,
}

impl Kernel {
    /// The kernel of a block.
    pub fn new(block: &Block) -> Kernel {
        let dumped = block.needed();
        let columns = HEAD + dumped.len();
        let mut ptx = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n\
             .visible .entry k(.param .u64 out, .param .u32 n)\n{{\n\
             .reg .pred %p<3>;\n.reg .b32 %r<100>;\n.reg .f32 %f<100>;\n.reg .b64 %rd<5>;\n\
             .shared .align 4 .b8 tile[{SHARED}];\n\
             ld.param.u64 %rd0, [out];\nld.param.u32 %r93, [n];\n\
             mov.u32 %r90, %tid.x;\nmov.u32 %r91, tile;\nmov.u32 %r92, 0;\n\
             mul.lo.s32 %r94, %r90, 7;\nand.b32 %r94, %r94, 255;\ncvt.rn.f32.u32 %f90, %r94;\n\
             mul.rn.f32 %f90, %f90, 0f3B800000;\nmul.rn.f32 %f91, %f90, 0f3F19999A;\n\
             shl.b32 %r95, %r90, 4;\nadd.s32 %r95, %r95, %r91;\n\
             st.shared.f32 [%r95], %f90;\nst.shared.f32 [%r95+4], %f91;\n\
             add.rn.f32 %f92, %f91, 0f3E800000;\nst.shared.f32 [%r95+8], %f92;\nst.shared.f32 [%r95+12], %f90;\n"
        );
        // The tiled product's addresses (x by rows, y by columns), and each thread's own word.
        let set = "\
            and.b32 %r8, %r90, 15;\nshl.b32 %r8, %r8, 2;\nadd.s32 %r8, %r8, %r91;\nadd.s32 %r8, %r8, 1024;\n\
            shr.u32 %r7, %r90, 4;\nshl.b32 %r7, %r7, 6;\nadd.s32 %r7, %r7, %r91;\n\
            shl.b32 %r20, %r90, 2;\nadd.s32 %r20, %r20, %r91;\n\
            mov.f32 %f31, 0f3F800001;\nmov.f32 %f30, %f91;\n";
        for name in &block.registers {
            writeln!(ptx, "mov.b32 {name}, {};", zero(name)).expect("a string takes it");
        }
        for i in 0..4 {
            writeln!(
                ptx,
                "mad.lo.s32 %r{i}, %r90, 40503, {i};\nmov.f32 %f{i}, %f90;"
            )
            .expect("a string takes it");
        }
        write!(
            ptx,
            "{set}bar.sync 0;\nsetp.eq.u32 %p1, %r93, 0;\n@%p1 bra END;\nLOOP:\n{}\n\
             add.s32 %r92, %r92, 1;\nsetp.lt.u32 %p2, %r92, %r93;\n@%p2 bra LOOP;\nEND:\n\
             mov.u32 %r96, %ctaid.x;\nmad.lo.s32 %r96, %r96, {THREADS}, %r90;\nmul.wide.u32 %rd1, %r96, {};\n\
             add.s64 %rd2, %rd0, %rd1;\nst.global.u32 [%rd2], %r91;\n",
            block.ptx,
            4 * columns
        )
        .expect("a string takes it");
        for word in 0..WORDS {
            let (from, to) = (4 * word, 4 * (1 + word));
            writeln!(
                ptx,
                "ld.shared.u32 %r97, [%r95+{from}];\nst.global.u32 [%rd2+{to}], %r97;"
            )
            .expect("a string takes it");
        }
        for (column, register) in dumped.iter().enumerate() {
            let name = &block.registers[*register];
            writeln!(ptx, "st.global.b32 [%rd2+{}], {name};", 4 * (HEAD + column))
                .expect("a string takes it");
        }
        ptx += "ret;\n}\n";
        let words = (BLOCKS * THREADS) as usize * columns;
        let (grid, threads) = (Dim3::linear(BLOCKS), Dim3::linear(THREADS));
        Kernel {
            setup: Setup::new(&ptx, grid, threads, &[words, 0], &[(1, 0)]),
            dumped,
            registers: block.registers.len(),
        }
    }

    /// One launch on one core, in which the block runs `turns` times: its time, and the warp-instructions it took.
    pub fn run(&mut self, turns: u32, observer: impl Observer) -> (Duration, u64) {
        let at = self.setup.program.params[1].offset as usize;
        self.setup.launch.params[at..at + 4].copy_from_slice(&turns.to_le_bytes());
        run(&mut self.setup, observer)
    }

    /// What the last launch has left.
    pub fn state(&self) -> State {
        let columns = HEAD + self.dumped.len();
        let at = u64::from_le_bytes(
            *self
                .setup
                .launch
                .params
                .first_chunk()
                .expect("it has a pointer"),
        );
        let bytes = u64::from(BLOCKS * THREADS) * columns as u64 * 4;
        let read = self
            .setup
            .device
            .read(at, bytes)
            .expect("the buffer is there");
        let words: Vec<u32> = read
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
            .collect();
        let tile = words[0] as usize / 4;
        let mut shared = vec![0; tile + SHARED as usize / 4];
        for (thread, line) in words
            .chunks_exact(columns)
            .take(THREADS as usize)
            .enumerate()
        {
            shared[tile + WORDS * thread..][..WORDS].copy_from_slice(&line[1..HEAD]);
        }
        let mut warps = vec![vec![Row([0; LANES]); self.registers]; WARPS];
        for (thread, line) in words.chunks_exact(columns).enumerate() {
            for (word, register) in line[HEAD..].iter().zip(&self.dumped) {
                warps[thread / LANES][*register].0[thread % LANES] = *word;
            }
        }
        State { warps, shared }
    }
}

/// Zero of a register's type.
fn zero(register: &str) -> &str {
    if register.starts_with("%f") {
        "0f00000000"
    } else {
        "0"
    }
}

fn run(setup: &mut Setup, mut observer: impl Observer) -> (Duration, u64) {
    let limits = Limits {
        steps: u64::MAX,
        ..Limits::default()
    };
    let start = Instant::now();
    let stats = launch(
        &mut setup.device,
        &setup.program,
        &setup.launch,
        &ScheduleSpec::Lockstep,
        &limits,
        1,
        &mut observer,
    )
    .expect("it ends");
    (start.elapsed(), stats.steps)
}

/// A whole kernel of benches/kernels.
pub struct Whole(Setup);

impl Whole {
    /// The kernels, by name.
    pub fn all() -> Vec<(&'static str, Whole)> {
        let linear = Dim3::linear;
        let square = |n| Dim3 { x: n, y: n, z: 1 };
        let product = include_str!("../../kernels/matmul.sm_75.ptx");
        let histogram = include_str!("../../kernels/histogram.sm_75.ptx");
        let scan = include_str!("../../kernels/scan.sm_75.ptx");
        let of = |ptx, grid, block, words: &[usize], scalars: &[(usize, u32)]| {
            Whole(Setup::new(ptx, grid, block, words, scalars))
        };
        let (n, many) = (1 << 18, 1 << 20);
        vec![
            (
                "tiled product, n = 512",
                of(product, square(32), square(16), &[n, n, n, 0], &[(3, 512)]),
            ),
            (
                "histogram, 1 Mi elements, 32 x 256",
                of(
                    histogram,
                    linear(32),
                    linear(256),
                    &[many, 0, 256],
                    &[(1, many as u32)],
                ),
            ),
            (
                "Hillis-Steele, 64 x 1024",
                of(scan, linear(64), linear(1024), &[1 << 16, 1 << 16], &[]),
            ),
        ]
    }

    /// One launch on one core: its time, and the warp-instructions it took.
    pub fn run(&mut self, observer: impl Observer) -> (Duration, u64) {
        run(&mut self.0, observer)
    }
}
