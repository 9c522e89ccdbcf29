//! Random kernels that access lines of global memory by whole warps and by single threads, words together, and by atomics, with barriers in between: what is reported is what
//! enumerating all pairs of accesses finds, and a kernel with races is hardly ever reported as one without.

use crate::watched;
use racetrap_instrument::layout::RawFinding;
use simt::ScheduleSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Numbers that look random (Marsaglia, "Xorshift RNGs").
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

const BLOCKS: i64 = 3;
const THREADS: i64 = 64;
/// Where the words begin: there is memory before them, and behind them.
const BASE: i64 = 256;

#[derive(Clone, Copy, PartialEq)]
enum Does {
    /// The words before, at and behind the thread's own.
    ReadNeighbours,
    Read(i64),
    /// So many words from here on, by all threads.
    ReadSame(i64, i64),
    /// Two words each, as a vector.
    ReadPair,
    Write(i64),
    /// A reduction of device scope on the thread's own word, or on one word for all.
    Add,
    AddSame(i64),
    Barrier,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Read,
    Write,
    Atomic,
}

/// A line of a kernel, and which threads of a block execute it.
#[derive(Clone, Copy)]
struct Statement {
    does: Does,
    first: i64,
    end: i64,
}

impl Statement {
    fn random(random: &mut Random) -> Statement {
        let offset = random.one_of(&[0, 0, 0, 1, -1, 16]);
        let does = match random.below(12) {
            8 | 9 => Does::ReadSame(random.one_of(&[0, 14, 40, 64]), random.one_of(&[1, 2, 4])),
            10 => Does::ReadPair,
            11 if random.below(2) == 0 => Does::Add,
            11 => Does::AddSame(random.one_of(&[3, 41])),
            0 | 1 => Does::ReadNeighbours,
            2 => Does::Read(offset),
            3 => Does::Write(offset),
            4 | 5 => Does::Write(0),
            _ => Does::Barrier,
        };
        let one = random.one_of(&[0, 1, 15, 16, 31, 32]);
        let (first, end) = match random.below(4) {
            _ if matches!(does, Does::ReadNeighbours | Does::Barrier) => (0, THREADS),
            _ if matches!(does, Does::ReadSame(..)) && random.below(2) == 0 => (0, THREADS),
            0 => (one, one + 1),
            1 => (0, 32),
            _ => (0, THREADS),
        };
        Statement { does, first, end }
    }

    /// The words that a thread accesses.
    fn words(&self, block: i64, thread: i64) -> Vec<i64> {
        let own = block * THREADS + thread;
        match self.does {
            Does::ReadNeighbours => vec![own - 1, own, own + 1],
            Does::Read(offset) | Does::Write(offset) => vec![own + offset],
            Does::ReadSame(first, count) => (first..first + count).collect(),
            Does::ReadPair => vec![own * 2, own * 2 + 1],
            Does::Add => vec![own],
            Does::AddSame(word) => vec![word],
            Does::Barrier => Vec::new(),
        }
    }

    fn kind(&self) -> Kind {
        match self.does {
            Does::Write(_) => Kind::Write,
            Does::Add | Does::AddSame(_) => Kind::Atomic,
            _ => Kind::Read,
        }
    }

    fn print(&self, out: &mut String) {
        if (self.first, self.end) != (0, THREADS) {
            let (first, last) = (self.first, self.end - 1);
            let _ = writeln!(out, "setp.ge.u32 %p1, %r1, {first};");
            let _ = writeln!(out, "setp.le.and.u32 %p1, %r1, {last}, %p1;");
        } else {
            let _ = writeln!(out, "setp.eq.u32 %p1, %r1, %r1;");
        }
        // Compilers guard what not all threads do.
        let guard = match (self.first, self.end) {
            (0, THREADS) => "",
            _ => "@%p1 ",
        };
        let _ = match self.does {
            Does::Barrier => writeln!(out, "bar.sync 0;"),
            Does::Write(offset) => {
                writeln!(out, "{guard}st.global.f32 [%rd3+{}], %f9;", offset * 4)
            }
            Does::Add => writeln!(out, "{guard}red.global.add.u32 [%rd3], 1;"),
            Does::AddSame(word) => writeln!(
                out,
                "{guard}red.global.add.u32 [%rd1+{}], 1;",
                BASE + word * 4
            ),
            Does::ReadPair => writeln!(out, "{guard}ld.global.v2.f32 {{%f1, %f2}}, [%rd4];"),
            Does::ReadSame(first, count) => {
                for word in first..first + count {
                    let at = BASE + word * 4;
                    let _ = writeln!(out, "{guard}ld.global.f32 %f1, [%rd1+{at}];");
                }
                Ok(())
            }
            _ => {
                for offset in self.words(0, 0) {
                    let _ = writeln!(out, "{guard}ld.global.f32 %f1, [%rd3+{}];", offset * 4);
                }
                Ok(())
            }
        };
    }
}

/// Pairs of lines whose accesses nothing orders: of different threads, one a write, in two blocks or between the same two barriers.
fn races(statements: &[Statement]) -> BTreeSet<(usize, usize)> {
    let mut by_word: BTreeMap<i64, Vec<(i64, i64, i64, usize, Kind)>> = BTreeMap::new();
    for block in 0..BLOCKS {
        let mut epoch = 0;
        for (line, statement) in statements.iter().enumerate() {
            epoch += i64::from(statement.does == Does::Barrier);
            for thread in statement.first..statement.end {
                for word in statement.words(block, thread) {
                    let all = by_word.entry(word).or_default();
                    all.push((block, thread, epoch, line, statement.kind()));
                }
            }
        }
    }
    let mut out = BTreeSet::new();
    for all in by_word.values() {
        for a in all {
            for b in all {
                let unordered = a.0 != b.0 || a.1 != b.1 && a.2 == b.2;
                let conflict = a.4 != b.4 || a.4 == Kind::Write;
                if unordered && conflict && a.3 <= b.3 {
                    out.insert((a.3, b.3));
                }
            }
        }
    }
    out
}

fn module(statements: &[Statement]) -> String {
    let mut body = String::new();
    for (line, statement) in statements.iter().enumerate() {
        let _ = writeln!(body, ".loc 1 {} 0", line + 1);
        statement.print(&mut body);
    }
    format!(
        ".version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 x)
{{
.reg .b64 %rd<5>; .reg .b32 %r<4>; .reg .f32 %f<10>; .reg .pred %p<2>;
ld.param.u64 %rd1, [x];
cvta.to.global.u64 %rd1, %rd1;
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.s32 %r3, %r2, {THREADS}, %r1;
mul.wide.u32 %rd2, %r3, 4;
add.s64 %rd3, %rd1, %rd2;
add.s64 %rd3, %rd3, {BASE};
mul.wide.u32 %rd2, %r3, 8;
add.s64 %rd4, %rd1, %rd2;
add.s64 %rd4, %rd4, {BASE};
mov.f32 %f9, 0f00000000;
{body}
ret;
}}
.file 1 \"k.cu\"
"
    )
}

fn reported(ptx: &str) -> BTreeSet<(usize, usize)> {
    let shape = (BLOCKS as u32, THREADS as u32);
    let job = watched::one_launch(ptx.to_owned(), "k", shape, 2048);
    let ran = watched::run(&job, &ScheduleSpec::Lockstep, 60_000_000);
    assert!(ran.ended, "{ptx}");
    let line = |site: u32, found: &RawFinding| {
        let sites = ran.instrumented.sites.candidates(site, found.shared);
        sites[0].loc.as_ref().map_or(0, |l| l.line as usize) - 1
    };
    let pair = |f: &RawFinding| {
        let (a, b) = (line(f.first.site, f), line(f.site, f));
        (a.min(b), a.max(b))
    };
    ran.results.findings.iter().map(pair).collect()
}

#[test]
fn races_in_lines_are_reported_and_nothing_else() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut racy, mut missed, mut wrong) = (0, Vec::new(), Vec::new());
    for number in 0..200 {
        let count = 2 + random.below(4);
        let statements: Vec<_> = (0..count).map(|_| Statement::random(&mut random)).collect();
        let ptx = module(&statements);
        let (expected, found) = (races(&statements), reported(&ptx));
        racy += u32::from(!expected.is_empty());
        let body = ptx.split_once(".loc").map_or("", |(_, body)| body);
        let told = format!("{number}: expected {expected:?}, found {found:?}\n{body}");
        if !found.is_subset(&expected) {
            wrong.push(told);
        } else if found.is_empty() && !expected.is_empty() {
            missed.push(told);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} false: {}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        racy > 100 && missed.is_empty(),
        "{} of {racy} missed: {}",
        missed.len(),
        missed.join("\n")
    );
}
