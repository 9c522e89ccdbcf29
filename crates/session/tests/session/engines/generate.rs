//! Random programs that look like what compilers make of loops: several accesses from one register, addresses that move on from turn to turn,
//! loads before stores to the same place, guards, parts of warps, vectors and elements of a byte, atomics, barriers, shuffles, calls.
//!
//! Registers: `%r0` to `%r5` are the thread's numbers and the loop's counter, `%r10` to `%r25` (`%f` and `%rd` 10 to 13) are data,
//! `%r30` to `%r35` are addresses of shared memory, `%rd30` to `%rd33` of global memory, whose words may be adjacent, apart, or one.

use super::rare;
use proptest::prelude::*;
use proptest::sample::select;

/// Bytes of shared memory.
const SHARED: u32 = 4096;
/// Bytes of global memory that all threads use; 64 of each thread follow.
const COMMON: u32 = 16 << 10;
/// Bytes of each thread's results.
const OWN: u32 = 160;

/// A program and its launch.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub blocks: u32,
    pub threads: u32,
    /// All blocks are resident from the beginning.
    pub cooperative: bool,
    /// Where the addresses of shared and global memory begin.
    bases: Vec<String>,
    parts: Vec<Part>,
}

/// A piece of the program.
#[derive(Clone, Debug)]
enum Part {
    Straight(Vec<String>),
    Loop {
        turns: u32,
        /// Which threads leave it before its first turn.
        guard: &'static str,
        body: Vec<String>,
    },
}

impl Kernel {
    pub fn bytes(&self) -> u64 {
        u64::from(self.zeros() + rare::ZEROS)
    }

    /// Cut to a warp or two in each of two blocks.
    pub fn small(mut self) -> Kernel {
        self.blocks = self.blocks.min(2);
        if self.threads > 33 {
            self.threads = 32;
        }
        self.parts.truncate(2);
        self
    }

    /// Whether threads may leave while others still wait for each other.
    pub fn leaves_early(&self) -> bool {
        let all =
            |part: &Part| matches!(part, Part::Loop { guard, .. } if !guard.starts_with("setp"));
        self.parts.iter().any(all)
    }

    /// Where memory is zero when the launch begins: behind all others.
    pub fn zeros(&self) -> u32 {
        COMMON + self.blocks * self.threads * OWN
    }

    pub fn ptx(&self) -> String {
        let mut label = 0;
        let mut numbered = |lines: &[String]| -> String {
            let number = |line: &String| {
                label += 1;
                let all = self.blocks * self.threads;
                line.replace("$L", &format!("$L{label}"))
                    .replace("ZEROS", &self.zeros().to_string())
                    .replace("ALL", &all.to_string())
            };
            lines.iter().map(number).collect::<Vec<_>>().join("\n")
        };
        let mut body = self.bases.join("\n") + "\n";
        for (k, part) in self.parts.iter().enumerate() {
            match part {
                Part::Straight(lines) => body += &numbered(lines),
                Part::Loop {
                    turns,
                    guard,
                    body: lines,
                } => {
                    let lines = numbered(lines);
                    body += &format!(
                        "mov.u32 %r5, 0;\n{guard} bra $END{k};\n$TURN{k}:\n{lines}\nadd.s32 %r5, %r5, 1;\n\
                         setp.lt.u32 %p2, %r5, {turns};\n@%p2 bra $TURN{k};\n$END{k}:\n"
                    );
                }
            }
            body.push('\n');
        }
        let (declarations, first) = (rare::declarations(&body), rare::beginning(&body));
        let results: String = (0..16)
            .map(|k| format!("st.global.u32 [%rd8+{}], %r{};\n", 4 * k, 10 + k))
            .chain((0..4).map(|k| format!("st.global.f32 [%rd8+{}], %f{};\n", 64 + 4 * k, 10 + k)))
            .chain((0..4).map(|k| format!("st.global.u64 [%rd8+{}], %rd{};\n", 80 + 8 * k, 10 + k)))
            .collect();
        let begin: String = (10..26)
            .map(|k| format!("mad.lo.u32 %r{k}, %r0, {}, {k};\n", k * 7))
            .chain((10..14).map(|k| format!("cvt.rn.f32.u32 %f{k}, %r{k};\n")))
            .chain((10..14).map(|k| format!("mul.wide.u32 %rd{k}, %r{k}, 65537;\n")))
            .collect();
        format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n\
             .func (.param .b32 result) mix(.param .b32 a, .param .b32 b)\n{{\n.reg .b32 %q<4>;\n.reg .pred %o;\n\
             ld.param.u32 %q1, [a];\nld.param.u32 %q2, [b];\nsetp.lt.u32 %o, %q1, %q2;\n@%o add.u32 %q1, %q1, 3;\n\
             xor.b32 %q3, %q1, %q2;\nst.param.b32 [result], %q3;\nret;\n}}\n\
             {declarations}.visible .entry k(.param .u64 memory)\n{{\n.reg .pred %p<8>;\n.reg .b16 %h<4>;\n.reg .b32 %r<40>;\n.reg .f32 %f<20>;\n\
             .reg .b64 %rd<40>;\n.local .align 8 .b8 frame[64];\n.shared .align 16 .b8 s[{SHARED}];\n\
             ld.param.u64 %rd1, [memory];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n\
             mov.u32 %r2, %ntid.x;\nmad.lo.u32 %r3, %r1, %r2, %r0;\nmov.u32 %r4, %laneid;\nmov.u32 %r6, s;\nmov.u32 %r5, 0;\n\
             mul.wide.u32 %rd7, %r3, {OWN};\nadd.u64 %rd8, %rd1, %rd7;\nadd.u64 %rd8, %rd8, {COMMON};\n\
             setp.lt.u32 %p1, %r0, 20;\nsetp.eq.u32 %p3, %r4, 7;\nsetp.ge.u32 %p4, %r0, 32;\nand.b32 %r7, %r0, 1;\nsetp.eq.u32 %p5, %r7, 0;\n\
             mov.u64 %rd9, frame;\ncvta.local.u64 %rd5, %rd9;\ncvt.u64.u32 %rd6, %r6;\ncvta.shared.u64 %rd6, %rd6;\n\
             st.local.u32 [%rd9], %r0;\nst.local.u64 [%rd9+8], %rd1;\n{begin}{first}{body}{results}ret;\n}}\n"
        )
    }
}

/// A program.
pub fn kernel() -> impl Strategy<Value = Kernel> {
    let launch = (
        1..4u32,
        select(vec![32u32, 64, 96, 20, 33, 48, 128]),
        prop::bool::weighted(0.1),
    );
    let bases = (
        prop::collection::vec(shared_base(), 6),
        prop::collection::vec(global_base(), 4),
    );
    // Shared memory that has been written, mostly.
    let filled = prop_oneof![4 => Just(true), 1 => Just(false)];
    let parts = prop::collection::vec(part(), 1..5);
    (launch, bases, filled, mood(), parts).prop_map(|((blocks, threads, cooperative), (mut shared, mut global), filled, mood, parts)| {
        let mut parts: Vec<Part> = match mood {
            Mood::Wild => parts,
            Mood::Calm | Mood::Tidy => parts.into_iter().filter_map(calmed).collect(),
        };
        if mood == Mood::Tidy {
            parts = parts.into_iter().filter_map(tidied).collect();
            // The last ones stay as they are: with them threads leave their columns.
            for (k, base) in shared.iter_mut().take(5).enumerate() {
                *base = format!("shl.b32 %r8, %r0, 2;\nadd.u32 %r8, %r8, {};", COLUMN * (k as u32 % 3));
            }
            for base in global.iter_mut().take(3) {
                *base = "mul.wide.u32 %rd4, %r3, 4;".to_owned();
            }
        }
        let mut bases = Vec::new();
        for (k, base) in shared.iter().enumerate() {
            let to = 30 + k;
            bases.push(format!("{base}\nadd.u32 %r{to}, %r8, %r6;"));
        }
        for (k, base) in global.iter().enumerate() {
            let to = 30 + k;
            bases.push(format!("{base}\nadd.u64 %rd{to}, %rd4, %rd1;"));
        }
        if filled {
            bases.push(format!(
                "shl.b32 %r8, %r0, 2;\nadd.u32 %r8, %r8, %r6;\nmov.u32 %r9, %r0;\n$FILL:\nst.shared.u32 [%r8], %r9;\n\
                 add.u32 %r9, %r9, %r2;\nmad.lo.u32 %r8, %r2, 4, %r8;\nsetp.lt.u32 %p7, %r9, {};\n@%p7 bra $FILL;\nbar.sync 0;",
                SHARED / 4
            ));
        }
        Kernel {
            blocks,
            threads,
            cooperative,
            bases,
            parts,
        }
    })
}

/// How much goes wrong in a program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    /// Anything.
    Wild,
    /// As [`calmed`].
    Calm,
    /// Moreover, nearly every access is to the thread's own words ([`tidied`]): where nearly everything races, nobody sees that a race is missed.
    Tidy,
}

fn mood() -> impl Strategy<Value = Mood> {
    select(vec![Mood::Wild, Mood::Wild, Mood::Calm, Mood::Tidy])
}

/// Bytes from a thread's word in shared memory to its next one; in global memory, four times as many.
const COLUMN: u32 = 512;

/// With each thread in its own column of words, as far as addresses are what the program begins with and their steps.
fn tidied(mut part: Part) -> Option<Part> {
    const WIDE: [&str; 7] = [
        ".v2.",
        ".v4.",
        "64 %rd1",
        "64 [",
        ".s32 %rd1",
        "wmma",
        "matrix",
    ];
    let lines = match &mut part {
        Part::Straight(lines) | Part::Loop { body: lines, .. } => lines,
    };
    lines.retain(|line| !WIDE.iter().any(|word| line.contains(word)));
    for line in lines.iter_mut() {
        let each: Vec<String> = line.split('\n').map(in_column).collect();
        *line = each.join("\n");
    }
    (!lines.is_empty()).then_some(part)
}

/// An instruction whose offset or step leaves the thread in its column.
fn in_column(line: &str) -> String {
    let far = line.contains("%rd3");
    let rows = |number: &str| {
        number
            .parse::<i32>()
            .ok()
            .map(|n| n / 4 % 3 * COLUMN as i32 * if far { 4 } else { 1 })
    };
    let between = |from: &str, to: char| {
        let start = line.find(from)? + from.len();
        let end = start + line[start..].find(to)?;
        Some((start, end))
    };
    let address = line.contains("[%r3") || line.contains("[%rd3") || line.contains("[%r9");
    let moves = ["add.s32 %r3", "add.s64 %rd3", "add.s32 %r9, %r3"]
        .iter()
        .any(|m| line.starts_with(m));
    let place = match (address, moves) {
        (true, _) => between("+", ']'),
        (_, true) => line.rfind(", ").map(|at| (at + 2, line.len() - 1)),
        _ => None,
    };
    match place.and_then(|(start, end)| Some((start, end, rows(&line[start..end])?))) {
        Some((start, end, to)) => format!("{}{to}{}", &line[..start], &line[end..]),
        None => line.to_owned(),
    }
}

/// Without what makes detectors give up their own shortcuts for all of a program: order other than by barriers of the whole block, and elements
/// of less than a word.
fn calmed(mut part: Part) -> Option<Part> {
    const WILD: [&str; 15] = [
        "cp.async",
        "[bar",
        "volatile",
        "relaxed",
        "acquire",
        "release",
        "acq_rel",
        "membar",
        "fence",
        "barrier.sync",
        "0, %r2;",
        ".u8 ",
        ".s8 ",
        ".u16 ",
        ".s16 ",
    ];
    let lines = match &mut part {
        Part::Straight(lines) | Part::Loop { body: lines, .. } => lines,
    };
    lines.retain(|line| !WILD.iter().any(|word| line.contains(word)));
    (!lines.is_empty()).then_some(part)
}

/// How the addresses of a warp lie, in `%r8`: bytes of shared memory.
fn shared_base() -> impl Strategy<Value = String> {
    let begin = (0..16u32).prop_map(|k| 16 * k);
    (0..12u32, begin).prop_map(|(how, at)| match how {
        11 => format!("add.u32 %r8, %r0, {};", at + 1),
        0..=2 => format!("shl.b32 %r8, %r0, 2;\nadd.u32 %r8, %r8, {at};"),
        3 => format!("mov.u32 %r8, {at};"),
        4 => format!("shl.b32 %r8, %r0, 3;\nadd.u32 %r8, %r8, {at};"),
        5 => format!("shl.b32 %r8, %r4, 4;\nadd.u32 %r8, %r8, {at};"),
        // Half of a warp has one word each.
        6 => format!("and.b32 %r8, %r0, 112;\nshl.b32 %r8, %r8, 2;\nadd.u32 %r8, %r8, {at};"),
        7 => format!("xor.b32 %r8, %r0, 5;\nshl.b32 %r8, %r8, 2;\nadd.u32 %r8, %r8, {at};"),
        // The halves of a warp lie apart, or over each other.
        8 => format!(
            "and.b32 %r8, %r4, 15;\nand.b32 %r9, %r0, 112;\nshl.b32 %r8, %r8, 2;\nmad.lo.u32 %r8, %r9, 12, %r8;\nadd.u32 %r8, %r8, {at};"
        ),
        9 => format!("and.b32 %r8, %r4, 15;\nshl.b32 %r8, %r8, 2;\nadd.u32 %r8, %r8, {at};"),
        _ => "mul.lo.u32 %r8, %r0, 52;\nand.b32 %r8, %r8, 1020;".to_owned(),
    })
}

/// The same in `%rd4`, of global memory.
fn global_base() -> impl Strategy<Value = String> {
    let begin = (0..16u32).prop_map(|k| 16 * k);
    (0..8u32, begin).prop_map(|(how, at)| match how {
        7 => format!(
            "and.b32 %r8, %r4, 15;\nand.b32 %r9, %r0, 112;\nshl.b32 %r8, %r8, 2;\nmad.lo.u32 %r8, %r9, 12, %r8;\ncvt.u64.u32 %rd4, %r8;\nadd.u64 %rd4, %rd4, {at};"
        ),
        0 | 1 => format!("mul.wide.u32 %rd4, %r3, 4;\nadd.u64 %rd4, %rd4, {at};"),
        2 => format!("mov.u64 %rd4, {at};"),
        3 => format!("mul.wide.u32 %rd4, %r0, 4;\nadd.u64 %rd4, %rd4, {at};"),
        4 => format!("mul.wide.u32 %rd4, %r3, 16;\nadd.u64 %rd4, %rd4, {at};"),
        5 => format!("xor.b32 %r8, %r3, 1;\nmul.wide.u32 %rd4, %r8, 4;\nadd.u64 %rd4, %rd4, {at};"),
        _ => "mul.lo.u32 %r8, %r3, 36;\nand.b32 %r8, %r8, 4092;\ncvt.u64.u32 %rd4, %r8;".to_owned(),
    })
}

fn part() -> impl Strategy<Value = Part> {
    // Nobody leaves before the first turn, or some threads do.
    let guard = prop_oneof![
        5 => Just("setp.ne.u32 %p7, %r5, %r5;\n@%p7"),
        1 => Just("@!%p1"),
        1 => Just("@%p3"),
        1 => Just("@%p4"),
    ];
    let lines = |most| prop::collection::vec(instruction(), 1..most);
    prop_oneof![
        2 => lines(12).prop_map(Part::Straight),
        5 => (2..7u32, guard, lines(14))
            .prop_map(|(turns, guard, body)| Part::Loop { turns, guard, body }),
    ]
}

pub fn guard() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        10 => Just(""),
        1 => Just("@%p1 "),
        1 => Just("@%p3 "),
        1 => Just("@%p5 "),
        1 => Just("@!%p5 "),
        1 => Just("@%p0 "),
    ]
}

pub fn data() -> impl Strategy<Value = u32> {
    10..26u32
}

/// One instruction, or a few that belong together.
fn instruction() -> impl Strategy<Value = String> {
    let word = || (0..24i32).prop_map(|k| 4 * k);
    let at = || 30..36u32;
    let far = || 30..34u32;
    prop_oneof![
        14 => loads_and_stores(),
        8 => (guard(), arithmetic()).prop_map(|(guard, line)| format!("{guard}{line}")),
        // Addresses move on.
        5 => (at(), select(vec![4, 4, 16, 64, 128, 128, -128, 256]))
            .prop_map(|(a, step)| format!("add.s32 %r{a}, %r{a}, {step};")),
        2 => (far(), select(vec![4, 16, 128, -4, 512]))
            .prop_map(|(a, step)| format!("add.s64 %rd{a}, %rd{a}, {step};")),
        1 => (at(), at()).prop_map(|(a, b)| format!("mov.u32 %r{a}, %r{b};")),
        // The loop that showed why this test exists.
        2 => (at(), word(), data(), data()).prop_map(|(a, o, d, e)| format!(
            "add.s32 %r9, %r{a}, 128;\nld.shared.u32 %r{d}, [%r9+{o}];\nld.shared.u32 %r{e}, [%r{a}+{o}];\n\
             add.s32 %r{d}, %r{d}, %r{e};\nst.shared.u32 [%r9+{o}], %r{d};\nadd.s32 %r{a}, %r{a}, 128;"
        )),
        // Loads, and arithmetic with what they load and replace.
        3 => (at(), at(), prop::collection::vec((0..4u32, 10..14u32, 10..14u32, word()), 3..9)).prop_map(|(a, b, all)| {
            let lines = all.iter().map(|(how, d, s, o)| match how {
                0 => format!("add.s32 %r{d}, %r{d}, %r{s};"),
                1 => format!("mul.lo.u32 %r{d}, %r{s}, 3;"),
                2 => format!("ld.shared.u32 %r{d}, [%r{a}+{o}];"),
                _ => format!("ld.shared.u32 %r{d}, [%r{b}+{o}];"),
            });
            lines.collect::<Vec<_>>().join("\n")
        }),
        // Words of a full warp, however they lie.
        3 => (at(), far(), word(), data(), 0..4u32).prop_map(|(a, g, o, d, how)| match how {
            0 => format!("st.shared.u32 [%r{a}+{o}], %r{d};"),
            1 => format!("ld.shared.u32 %r{d}, [%r{a}+{o}];"),
            2 => format!("st.global.u32 [%rd{g}+{o}], %r{d};"),
            _ => format!("ld.global.u32 %r{d}, [%rd{g}+{o}];"),
        }),
        // Data as an address.
        1 => (at(), data()).prop_map(|(a, d)| format!("and.b32 %r{a}, %r{d}, 2044;\nadd.u32 %r{a}, %r{a}, %r6;")),
        4 => rare::instruction(),
        3 => synchronisation(),
        3 => (guard(), atomic()).prop_map(|(guard, line)| format!("{guard}{line}")),
        2 => exchange(),
        1 => (data(), data(), data()).prop_map(|(d, a, b)| format!(
            "{{\n.param .b32 x;\n.param .b32 y;\n.param .b32 z;\nst.param.b32 [x], %r{a};\nst.param.b32 [y], %r{b};\n\
             call (z), mix, (x, y);\nld.param.b32 %r{d}, [z];\n}}"
        )),
        2 => (select(vec!["%p1", "%p3", "%p5", "%p0", "!%p5"]), prop::collection::vec(prop_oneof![loads_and_stores(), arithmetic()], 1..5))
            .prop_map(|(p, lines)| format!("@{p} bra $L;\n{}\n$L:", lines.join("\n"))),
    ]
}

fn loads_and_stores() -> impl Strategy<Value = String> {
    let word = || {
        prop_oneof![
            30 => (0..32i32).prop_map(|k| 4 * k),
            1 => Just(2), 1 => Just(-400), 1 => Just(4092),
        ]
    };
    let at = || {
        prop_oneof![
            10 => (30..36u32, word()).prop_map(|(a, o)| ("shared", format!("[%r{a}+{o}]"))),
            6 => (30..34u32, word()).prop_map(|(a, o)| ("global", format!("[%rd{a}+{o}]"))),
        ]
    };
    let kind = select(vec![
        ("u32", "%r10"),
        ("u32", "%r10"),
        ("u32", "%r10"),
        ("u32", "%r10"),
        ("b32", "%r10"),
        ("f32", "%f10"),
        ("s8", "%r11"),
        ("u8", "%r12"),
        ("s16", "%r13"),
        ("u16", "%r14"),
        ("u64", "%rd10"),
        ("s32", "%rd11"),
        ("v2.u32", "{%r10, %r11}"),
        ("v4.u32", "{%r12, %r13, %r14, %r15}"),
        ("v2.u64", "{%rd10, %rd12}"),
        ("v4.u8", "{%r16, %r17, %r18, %r19}"),
        ("v2.u16", "{%r20, %r21}"),
    ]);
    let order = || {
        select(vec![
            "",
            "",
            "",
            "",
            "",
            "",
            "volatile.",
            "relaxed.gpu.",
            "relaxed.cta.",
            "ACQ.gpu.",
        ])
    };
    let value = |value: &str, to: u32| match value {
        "%r10" => format!("%r{to}"),
        other => other.to_owned(),
    };
    prop_oneof![
        // Several from one register, as an unrolled loop has them.
        6 => (30..36u32, prop::collection::vec(((0..32i32), data()), 2..6)).prop_map(|(a, all)| {
            let loads = all.iter().map(|(o, d)| format!("ld.shared.u32 %r{d}, [%r{a}+{}];", 4 * o));
            loads.collect::<Vec<_>>().join("\n")
        }),
        8 => (guard(), order(), at(), kind.clone(), data()).prop_map(move |(guard, order, (space, at), (ty, name), d)| {
            let strong = !order.is_empty() && ty.starts_with('v');
            let order = if strong { "" } else { order }.replace("ACQ", "acquire");
            format!("{guard}ld.{order}{space}.{ty} {}, {at};", value(name, d))
        }),
        6 => (guard(), order(), at(), kind, data()).prop_map(move |(guard, order, (space, at), (ty, name), d)| {
            let strong = !order.is_empty() && ty.starts_with('v');
            let order = if strong { "" } else { order }.replace("ACQ", "release");
            format!("{guard}st.{order}{space}.{ty} {at}, {};", value(name, d))
        }),
        1 => (30..34u32, word(), data()).prop_map(|(a, o, d)| format!("ld.global.nc.u32 %r{d}, [%rd{a}+{o}];")),
        1 => (0..8u32, data()).prop_map(|(k, d)| format!("st.local.u32 [%rd9+{}], %r{d};", 4 * k)),
        1 => (0..8u32, data()).prop_map(|(k, d)| format!("ld.local.u32 %r{d}, [%rd9+{}];", 4 * k)),
        // Generic addresses, which may lie in several spaces.
        1 => (0..8u32, data(), select(vec!["%rd5", "%rd6", "%rd8"]))
            .prop_map(|(k, d, a)| format!("@%p5 add.u64 %rd3, %rd5, 0;\n@!%p5 add.u64 %rd3, {a}, 0;\nld.u32 %r{d}, [%rd3+{}];", 4 * k)),
        1 => (0..8u32, data(), select(vec!["%rd5", "%rd6", "%rd8"]))
            .prop_map(|(k, d, a)| format!("@%p5 add.u64 %rd3, %rd5, 0;\n@!%p5 add.u64 %rd3, {a}, 0;\nst.u32 [%rd3+{}], %r{d};", 4 * k)),
    ]
}

fn arithmetic() -> impl Strategy<Value = String> {
    let float = || 10..14u32;
    prop_oneof![
        6 => (select(vec!["add.s32", "sub.u32", "mul.lo.u32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32", "shl.b32", "shr.s32"]), data(), data(), data())
            .prop_map(|(op, d, a, b)| format!("{op} %r{d}, %r{a}, %r{b};")),
        1 => (data(), data(), data(), data()).prop_map(|(d, a, b, c)| format!("mad.lo.u32 %r{d}, %r{a}, %r{b}, %r{c};")),
        1 => (select(vec!["add.rn.f32", "mul.rn.f32", "div.rn.f32", "max.f32"]), float(), float(), float())
            .prop_map(|(op, d, a, b)| format!("{op} %f{d}, %f{a}, %f{b};")),
        1 => (float(), float(), float(), float()).prop_map(|(d, a, b, c)| format!("fma.rn.f32 %f{d}, %f{a}, %f{b}, %f{c};")),
        1 => (float(), data()).prop_map(|(f, d)| format!("mov.b32 %f{f}, %r{d};")),
        1 => (float(), data()).prop_map(|(f, d)| format!("cvt.rzi.s32.f32 %r{d}, %f{f};")),
        1 => (select(vec!["add.s64", "xor.b64", "mul.lo.u64"]), float(), float(), float()).prop_map(|(op, d, a, b)| format!("{op} %rd{d}, %rd{a}, %rd{b};")),
        1 => (float(), data(), data()).prop_map(|(d, a, b)| format!("mov.b64 %rd{d}, {{%r{a}, %r{b}}};")),
        1 => (float(), data(), data()).prop_map(|(s, a, b)| format!("mov.b64 {{%r{a}, %r{b}}}, %rd{s};")),
        1 => (data(), data()).prop_map(|(a, b)| format!("setp.lt.s32 %p0, %r{a}, %r{b};")),
        1 => (data(), data()).prop_map(|(a, b)| format!("setp.ge.and.u32 %p0, %r{a}, %r{b}, %p5;")),
        1 => (data(), data(), data()).prop_map(|(d, a, b)| format!("selp.b32 %r{d}, %r{a}, %r{b}, %p5;")),
        1 => (data(), data(), data()).prop_map(|(d, a, b)| format!("add.cc.u32 %r{d}, %r{a}, %r{b};\naddc.u32 %r{d}, %r{d}, 0;")),
        1 => (data(), data(), data(), data(), 0..256u32).prop_map(|(d, a, b, c, t)| format!("lop3.b32 %r{d}, %r{a}, %r{b}, %r{c}, {t};")),
        1 => (data(), data()).prop_map(|(d, a)| format!("popc.b32 %r{d}, %r{a};")),
        1 => (data(), select(vec!["%clock", "%lanemask_lt", "%warpid", "%nctaid.x", "%tid.y"])).prop_map(|(d, s)| format!("mov.u32 %r{d}, {s};")),
    ]
}

fn atomic() -> impl Strategy<Value = String> {
    let at = prop_oneof![
        3 => (30..36u32, 0..8u32).prop_map(|(a, o)| ("shared", format!("[%r{a}+{}]", 4 * o))),
        2 => (30..34u32, 0..8u32).prop_map(|(a, o)| ("global", format!("[%rd{a}+{}]", 4 * o))),
    ];
    (0..8u32, at, data(), data(), data()).prop_map(|(how, (space, at), d, b, c)| match how {
        0 | 1 => format!("atom.{space}.add.u32 %r{d}, {at}, %r{b};"),
        2 => format!("red.{space}.add.u32 {at}, %r{b};"),
        3 => format!("atom.{space}.min.s32 %r{d}, {at}, %r{b};"),
        4 => format!("atom.{space}.cas.b32 %r{d}, {at}, %r{b}, %r{c};"),
        5 => format!("atom.{space}.exch.b32 %r{d}, {at}, %r{b};"),
        6 => format!("atom.acq_rel.gpu.{space}.add.f32 %f10, {at}, %f11;"),
        _ => format!("red.{space}.xor.b32 {at}, %r{b};"),
    })
}

fn exchange() -> impl Strategy<Value = String> {
    (0..13u32, data(), data(), data(), 0..32u32).prop_map(|(how, d, a, b, k)| match how {
        0 => format!("shfl.sync.idx.b32 %r{d}, %r{a}, {k}, 31, -1;"),
        1 => format!("shfl.sync.up.b32 %r{d}|%p0, %r{a}, {k}, 0, -1;"),
        2 => format!("shfl.sync.down.b32 %r{d}, %r{a}, {k}, 31, -1;"),
        3 => format!("shfl.sync.bfly.b32 %r{d}, %r{a}, {k}, 31, -1;"),
        4 => format!("shfl.sync.idx.b32 %r{d}, %r{a}, %r{b}, 6175, -1;"),
        5 => format!("vote.sync.ballot.b32 %r{d}, %p5, -1;"),
        6 => format!("redux.sync.add.s32 %r{d}, %r{a}, -1;"),
        7 => format!("match.any.sync.b32 %r{d}, %r{a}, -1;"),
        // Each lane names others: halves of the warp, itself, lanes that name others again, itself not.
        8 => format!(
            "and.b32 %r9, %r4, 16;\nmov.u32 %r8, 65535;\nshl.b32 %r9, %r8, %r9;\nshfl.sync.bfly.b32 %r{d}, %r{a}, {k}, 31, %r9;"
        ),
        9 => format!("mov.u32 %r9, %lanemask_eq;\nredux.sync.add.s32 %r{d}, %r{a}, %r9;"),
        10 => format!("mov.u32 %r9, %lanemask_le;\nmatch.any.sync.b32 %r{d}, %r{a}, %r9;"),
        11 => format!("mov.u32 %r9, %lanemask_lt;\nvote.sync.ballot.b32 %r{d}, %p5, %r9;"),
        _ => format!("activemask.b32 %r{d};"),
    })
}

fn synchronisation() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => Just("bar.sync 0;".to_owned()),
        3 => Just("bar.warp.sync -1;".to_owned()),
        1 => Just("membar.gl;".to_owned()),
        1 => Just("fence.acq_rel.cta;".to_owned()),
        1 => Just("@%p1 bar.warp.sync 1048575;".to_owned()),
        1 => Just("bar.red.popc.u32 %r10, 0, %p5;".to_owned()),
        1 => Just("barrier.sync 1, 32;".to_owned()),
        1 => Just("bar.sync 0, %r2;".to_owned()),
        // Whole warps go around a barrier, or meet the others from another place.
        1 => Just("@%p4 bra $L;\nbar.sync 0;\n$L:".to_owned()),
        1 => Just("@%p4 bra $LA;\nbar.sync 0;\nbra.uni $LB;\n$LA:\nbar.sync 0;\n$LB:".to_owned()),
    ]
}
