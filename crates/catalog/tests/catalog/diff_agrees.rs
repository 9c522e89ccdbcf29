//! What a diff claims agrees with what runs: random kernels are compiled in two ways, compared, and executed on the simulator.
//!
//! "Elided" is a claim on execution: of the bytes that the other side's instruction touched, this side made fewer accesses. It is checked
//! for every byte that the instruction touched, by counting all accesses of both sides by address and direction; and that a barrier is lost, by
//! counting barriers. Unrolled loops, hoisted loads and other orders change the text, and not these numbers.

use ptxdiff::effect::Effect;
use ptxdiff::{FunctionDiff, Side, Unit};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use simt::observer::*;

use simt::{Device, Dim3, Launch, Limits, Program, ScheduleSpec};
use std::collections::{HashMap, HashSet};
use toolchain::{CompileOptions, Optimisation};

/// Kernels of one file.
const KERNELS: u32 = 16;
const THREADS: u32 = 64;
/// Elements of each buffer.
const ELEMENTS: u32 = 1024;

/// How the same kernels are compiled: a name, what macros are, and the optimisation.
const BUILDS: &[(&str, &str, Optimisation)] = &[
    (
        "plain",
        "#define UNROLL \"unroll 1\"\n#define Q\n#define R\n",
        Optimisation::Optimised,
    ),
    (
        "unrolled by four",
        "#define UNROLL \"unroll 4\"\n#define Q\n#define R\n",
        Optimisation::Optimised,
    ),
    (
        "unrolled by the compiler",
        "#define UNROLL \"unroll\"\n#define Q\n#define R __restrict__\n",
        Optimisation::Optimised,
    ),
    (
        "volatile",
        "#define UNROLL \"unroll 1\"\n#define Q volatile\n#define R\n",
        Optimisation::Optimised,
    ),
    (
        "unoptimised",
        "#define UNROLL \"unroll 1\"\n#define Q\n#define R\n",
        Optimisation::Unoptimised,
    ),
];

/// Writes random kernels.
struct Writer {
    random: Pcg64Mcg,
    text: String,
    loops: u32,
}

impl Writer {
    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.random.random_range(0..from.len())]
    }

    /// An element of an array, with the variables of the loops around.
    fn element(&mut self) -> String {
        let array = self.pick(&["a", "b", "c", "s", "a", "b"]);
        let mut index = self.pick(&["t", "2 * t", "t", "255 - t", "64"]).to_owned();
        for i in 0..self.loops {
            if self.random.random_bool(0.7) {
                let factor = self.pick(&["1", "2", "64"]);
                index += &format!(" + {factor} * i{i}");
            }
        }
        let constant = self.random.random_range(0..4);
        match array {
            "s" => format!("s[({index} + {constant}) & 255]"),
            _ => format!("{array}[({index} + {constant}) & {}]", ELEMENTS - 1),
        }
    }

    fn value(&mut self) -> String {
        match self.random.random_range(0..6) {
            0 => "t".to_owned(),
            1 => self.random.random_range(1..9).to_string(),
            2 | 3 => self.element(),
            4 => format!("x + {}", self.element()),
            _ => self
                .pick(&["x", "y", "x * y", "x ^ y", "y % 7", "x / 8"])
                .to_owned(),
        }
    }

    fn statement(&mut self, depth: u32, uniform: bool) {
        let value = self.value();
        match self.random.random_range(0..14) {
            0 | 1 => self.text += &format!("x = {value};\n"),
            2 => self.text += &format!("y += {value};\n"),
            3..=6 => {
                let to = self.element();
                self.text += &format!("{to} = {value};\n");
            }
            7 => {
                let to = self.element();
                self.text += &format!("{to} += x;\n");
            }
            8 => self.text += &format!("atomicAdd((int *)&c[t & 7], {value});\n"),
            9 if uniform => self.text += "__syncthreads();\n",
            9 | 10 if depth > 0 => {
                let condition = self.pick(&["t < 32", "x > 3", "y & 1", "n > 2"]);
                self.text += &format!("if ({condition}) {{\n");
                self.block(depth - 1, false);
                if self.random.random_bool(0.5) {
                    self.text += "} else {\n";
                    self.block(depth - 1, false);
                }
                self.text += "}\n";
            }
            _ if depth > 0 && self.loops < 2 => {
                let bound = self.pick(&["4", "8", "5", "n", "n"]);
                let i = self.loops;
                self.text +=
                    &format!("_Pragma(UNROLL) for (int i{i} = 0; i{i} < {bound}; i{i}++) {{\n");
                self.loops += 1;
                self.block(depth - 1, uniform);
                self.loops -= 1;
                self.text += "}\n";
            }
            _ => self.text += &format!("x ^= {value};\n"),
        }
    }

    fn block(&mut self, depth: u32, uniform: bool) {
        for _ in 0..self.random.random_range(1..5) {
            self.statement(depth, uniform);
        }
    }

    fn kernel(&mut self, name: &str) {
        self.text += &format!(
            "extern \"C\" __global__ void {name}(Q int *R a, Q int *R b, Q int *R c, int n)\n{{\n\
             __shared__ Q int s[256];\nint t = threadIdx.x, x = t, y = 1;\n\
             for (int i = 0; i < 4; i++) s[64 * i + t] = i;\n__syncthreads();\n"
        );
        for _ in 0..4 {
            self.block(2, true);
        }
        self.text += "c[512 + t] = x;\nc[640 + t] = y;\n}\n";
    }
}

/// What ran: how often each byte was read and written, and where each line's accesses went.
#[derive(Default)]
struct Counts {
    bytes: HashMap<(Space, u64, bool), u64>,
    /// By site.
    touched: HashMap<u32, HashSet<(Space, u64, bool)>>,
    barriers: u64,
}

impl Observer for Counts {
    fn fork(&self) -> Counts {
        Counts::default()
    }

    fn join(&mut self, _: Vec<Counts>) -> Joined {
        Joined::Clean
    }
}

impl Events for Counts {
    fn access(&mut self, access: &Access<'_>) {
        let directions: &[bool] = match access.kind {
            AccessKind::Read => &[false],
            AccessKind::Write => &[true],
            AccessKind::Atomic | AccessKind::Reduction => &[false, true],
        };
        for lane in (0..32).filter(|lane| access.performed() >> lane & 1 == 1) {
            for byte in 0..u64::from(access.bytes()) {
                for write in directions {
                    let key = (access.space, access.address[lane as usize] + byte, *write);
                    *self.bytes.entry(key).or_default() += 1;
                    self.touched.entry(access.site.0).or_default().insert(key);
                }
            }
        }
    }

    fn block_barrier(&mut self, _: &BlockBarrier<'_>) {
        self.barriers += 1;
    }
}

/// Runs a kernel; what each line of the PTX touched, with the rest.
fn run(unit: &Unit, name: &str) -> (Counts, HashMap<u32, HashSet<(Space, u64, bool)>>) {
    let program =
        Program::lower(&unit.module, &unit.text, name).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut device = Device::new(1 << 24);
    let mut params = Vec::new();
    for buffer in ["a", "b", "c"] {
        let address = device.alloc(u64::from(4 * ELEMENTS), buffer).unwrap();
        let values = (0..ELEMENTS)
            .flat_map(|i| (i % 11).to_le_bytes())
            .collect::<Vec<u8>>();
        device.write(address, &values).unwrap();
        params.extend(address.to_le_bytes());
    }
    params.extend(7u32.to_le_bytes());
    let launch = Launch {
        grid: Dim3::linear(1),
        block: Dim3::linear(THREADS),
        dynamic_shared: 0,
        params,
        cooperative: false,
        number: 0,
    };
    let mut counts = Counts::default();
    let schedule = ScheduleSpec::default();
    simt::launch(
        &mut device,
        &program,
        &launch,
        &schedule,
        &Limits::default(),
        1,
        &mut counts,
    )
    .unwrap_or_else(|stop| panic!("{name}: {stop:?}"));
    let mut lines: HashMap<u32, HashSet<(Space, u64, bool)>> = HashMap::new();
    for (site, touched) in &counts.touched {
        let line = program.site(simt::ids::Site(*site)).ptx_line;
        lines.entry(line).or_default().extend(touched);
    }
    (counts, lines)
}

/// Claims of a diff that what ran contradicts, and how many claims there were.
fn contradictions(a: &Unit, b: &Unit, name: &str) -> (Vec<String>, usize) {
    let diff = FunctionDiff::of((a, a.entry(name).unwrap()), (b, b.entry(name).unwrap())).unwrap();
    let ran = [run(a, name), run(b, name)];
    let (mut wrong, mut claims) = (Vec::new(), 0);
    for observed in &diff.effects {
        let Some(side) = observed.side else { continue };
        let (mine, other) = (side as usize, side.other() as usize);
        if observed.effect == Effect::BarrierLost {
            claims += 1;
            if ran[mine].0.barriers >= ran[other].0.barriers {
                wrong.push(format!("{name}: {observed:?}: as many barriers ran"));
            }
        }
        if !matches!(
            observed.effect,
            Effect::StoreElided | Effect::LoadElided | Effect::AtomicElided
        ) {
            continue;
        }
        for occurrence in &observed.occurrences {
            claims += 1;
            let indices = if side == Side::A {
                &occurrence.b
            } else {
                &occurrence.a
            };
            let instr = &diff.code(side.other()).instructions[indices[0]];
            let touched = ran[other].1.get(&instr.line);
            let count = |side: usize, key: &(Space, u64, bool)| {
                ran[side].0.bytes.get(key).copied().unwrap_or(0)
            };
            let same = touched
                .into_iter()
                .flatten()
                .find(|key| count(mine, key) >= count(other, key));
            if let Some(key) = same {
                wrong.push(format!(
                    "{name}: {} in {side}: line {} of {}, `{}`: {key:?} is accessed {} times in {side}, {} times in {}",
                    observed.effect, instr.line, side.other(), instr.instr, count(mine, key), count(other, key), side.other(),
                ));
            }
        }
    }
    (wrong, claims)
}

#[test]
fn what_is_called_elided_is_not_executed() {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let seed: u64 = std::env::var("RACETRAP_DIFF_SEED")
        .ok()
        .map_or(1, |s| s.parse().unwrap());
    let mut writer = Writer {
        random: Pcg64Mcg::seed_from_u64(seed),
        text: String::new(),
        loops: 0,
    };
    for number in 0..KERNELS {
        writer.kernel(&format!("k{number}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let units: Vec<(&str, Unit)> = BUILDS
        .iter()
        .map(|(name, head, optimisation)| {
            let file = folder.path().join("kernels.cu");
            std::fs::write(&file, format!("{head}#line 1\n{}", writer.text)).unwrap();
            let ptx = nvcc.compile(&file, *optimisation, &CompileOptions::default());
            (
                *name,
                Unit::parse(ptx.unwrap_or_else(|e| panic!("{e:?}\n{}", writer.text))).unwrap(),
            )
        })
        .collect();
    let (mut wrong, mut claims) = (Vec::new(), 0);
    for (name, unit) in &units[1..] {
        for number in 0..KERNELS {
            let (found, more) = contradictions(&units[0].1, unit, &format!("k{number}"));
            claims += more;
            wrong.extend(
                found
                    .into_iter()
                    .map(|text| format!("plain, {name}: {text}")),
            );
        }
    }
    if !wrong.is_empty() && std::env::var_os("DIFF_KEEP").is_some() {
        let kept = folder.keep();
        for (name, unit) in &units {
            std::fs::write(
                kept.join(format!("{}.ptx", name.replace(' ', "-"))),
                &unit.text,
            )
            .unwrap();
        }
        eprintln!("kept in {}", kept.display());
    }
    assert!(
        wrong.is_empty(),
        "{} of {claims} claims, seed {seed}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(claims >= 20, "only {claims} claims: the test shows nothing");
}
