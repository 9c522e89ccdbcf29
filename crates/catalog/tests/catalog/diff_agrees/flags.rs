//! What a diff claims of flags that change arithmetic agrees with the PTX: random kernels on floating-point numbers, compiled with and without.
//!
//! No such flag touches memory or barriers, so nothing may be called elided, lost, hoisted or moved. That products and sums were contracted, operations
//! approximated or subnormal numbers flushed, must be told of the side, and of it alone, that has more such instructions: they are counted here by name.

use super::THREADS;
use ptxdiff::effect::Effect;
use ptxdiff::{FunctionDiff, Side, Unit};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt::Write as _;
use toolchain::{CompileOptions, Nvcc, Optimisation};

/// Kernels of one file.
const KERNELS: u32 = 24;

/// Flags that are compared with none.
const FLAGS: &[&str] = &[
    "--fmad=false",
    "--use_fast_math",
    "--ftz=true",
    "--prec-div=false",
    "--prec-sqrt=false",
];

/// What the flags may do. A cheaper operation has other instructions around it.
const ARITHMETIC: &[Effect] = &[
    Effect::Contracted,
    Effect::Approximated,
    Effect::DenormalsFlushed,
    Effect::StrengthReduced,
    Effect::OperationChanged,
    Effect::BranchToSelection,
];

/// Random expressions of floating-point numbers, in loops and under conditions.
struct Writer(Pcg64Mcg);

impl Writer {
    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.0.random_range(0..from.len())]
    }

    fn value(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self
                .pick(&[
                    "x",
                    "y",
                    "a[t]",
                    "a[t + 64]",
                    "s[t ^ 1]",
                    "1.5f",
                    "0.1f",
                    "(float)n",
                ])
                .to_owned();
        }
        let (one, other) = (self.value(depth - 1), self.value(depth - 1));
        match self.0.random_range(0..9) {
            0..=2 => format!("({one} * {other})"),
            3 | 4 => format!("({one} + {other})"),
            5 => format!("({one} - {other})"),
            6 => format!("({one} / {other})"),
            7 => format!("sqrtf(fabsf({one}) + {other})"),
            _ => format!("fmaxf({one}, {other})"),
        }
    }

    fn statement(&mut self) -> String {
        let depth = self.0.random_range(1..4);
        let value = self.value(depth);
        match self.0.random_range(0..7) {
            0 | 1 => format!("x = {value};"),
            2 => format!("y = y * 0.5f + {value};"),
            3 => format!("s[t] = {value}; __syncthreads();"),
            4 => format!("if (n > {depth}) y = {value};"),
            5 => format!("_Pragma(\"unroll 1\") for (int i = 0; i < n; i++) x = x * y + {value};"),
            _ => format!("b[t + 64 * {depth}] = {value};"),
        }
    }

    fn kernels(seed: u64) -> String {
        let mut writer = Writer(Pcg64Mcg::seed_from_u64(seed));
        let mut text = String::new();
        for number in 0..KERNELS {
            writeln!(
                text,
                "extern \"C\" __global__ void f{number}(const float *a, float *b, int n)\n{{\n\
                 __shared__ float s[{THREADS}];\nint t = threadIdx.x;\nfloat x = a[t], y = b[t];\ns[t] = x;\n__syncthreads();"
            )
            .unwrap();
            for _ in 0..writer.0.random_range(2..7) {
                text += &writer.statement();
                text.push('\n');
            }
            text += "b[t] = x;\nb[t + 512] = y;\n}\n";
        }
        text
    }
}

/// How many instructions of a side have one of these parts in their names.
fn count(diff: &FunctionDiff, side: Side, wanted: impl Fn(&str, &[String]) -> bool) -> usize {
    let all = diff.code(side).instructions.iter();
    all.filter(|i| wanted(&i.instr.opcode, &i.instr.modifiers))
        .count()
}

/// What is wrong with what is told of a kernel compiled without and with flags, and how much was told.
fn wrong(diff: &FunctionDiff) -> (Vec<String>, usize) {
    let has = |wanted: &'static str| {
        move |_: &str, modifiers: &[String]| modifiers.iter().any(|m| m == wanted)
    };
    let counts = |wanted: &dyn Fn(&str, &[String]) -> bool| {
        [Side::A, Side::B].map(|side| count(diff, side, wanted))
    };
    let fused = counts(&|opcode, _| opcode == "fma");
    let approximate = counts(&|opcode, m| has("approx")(opcode, m) || has("full")(opcode, m));
    let flushed = counts(&has("ftz"));
    let (mut wrong, mut told) = (Vec::new(), 0);
    for (effect, [a, b]) in [
        (Effect::Contracted, fused),
        (Effect::Approximated, approximate),
        (Effect::DenormalsFlushed, flushed),
    ] {
        for (side, mine, other) in [(Side::A, a, b), (Side::B, b, a)] {
            let count = diff.count(effect, side);
            told += count;
            if count > 0 && mine == 0 {
                wrong.push(format!("{effect} in {side}, which has no such instruction"));
            }
            if count == 0 && mine > 0 && other == 0 {
                wrong.push(format!(
                    "{effect} in {side} is not told, which has {mine} such instructions"
                ));
            }
        }
    }
    let other = diff
        .effects
        .iter()
        .filter(|observed| !observed.effect.is_kept() && !ARITHMETIC.contains(&observed.effect));
    wrong.extend(other.map(|observed| format!("{} in {:?}", observed.effect, observed.side)));
    (wrong, told)
}

/// What is wrong with what is told of the kernels of a seed, and how much was told.
pub fn of_seed(nvcc: &Nvcc, seed: u64) -> (Vec<String>, usize) {
    let text = Writer::kernels(seed);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernels.cu");
    std::fs::write(&file, &text).unwrap();
    let compiled = |flags: &[&str]| {
        let options = CompileOptions {
            arch: Some("sm_80".to_owned()),
            further: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..CompileOptions::default()
        };
        let ptx = nvcc.compile(&file, Optimisation::Optimised, &options);
        Unit::parse(ptx.unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{text}"))).unwrap()
    };
    let plain = compiled(&[]);
    let (mut all, mut told) = (Vec::new(), 0);
    for flag in FLAGS {
        let other = compiled(&[flag]);
        for number in 0..KERNELS {
            let name = format!("f{number}");
            let function = |unit| Unit::entry(unit, &name).unwrap();
            let diff =
                FunctionDiff::of((&plain, function(&plain)), (&other, function(&other))).unwrap();
            let (wrong, claims) = wrong(&diff);
            told += claims;
            let wrong = wrong.into_iter();
            all.extend(wrong.map(|text| format!("seed {seed}, {name}, {flag}: {text}")));
        }
    }
    if let Some(folder) = std::env::var_os("RACETRAP_DIFF_KEEP") {
        let kept = std::path::Path::new(&folder).join(format!("flags-{seed}.cu"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(kept, &text).unwrap();
    }
    (all, told)
}
