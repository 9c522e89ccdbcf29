//! Random kernels that access lines of global memory by whole warps and by single threads, words together, and by atomics, with barriers in between: what is reported is what
//! enumerating all pairs of accesses finds, and a kernel with races is hardly ever reported as one without. They access two buffers, or one by two
//! parameters: what a launch only reads has no records.

use crate::watched;
use device::job::{Param, Step};
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
    /// Whether it goes through the second parameter.
    second: bool,
}

/// Words of the second buffer have numbers from here on.
const SECOND: i64 = 100_000;

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
        Statement {
            does,
            first,
            end,
            second: random.below(3) == 0,
        }
    }

    /// The words that a thread accesses: of `one` buffer, or of two.
    fn words(&self, block: i64, thread: i64, one: bool) -> Vec<i64> {
        let mut words = self.words_of_buffer(block, thread);
        if self.second && !one {
            words.iter_mut().for_each(|word| *word += SECOND);
        }
        words
    }

    fn words_of_buffer(&self, block: i64, thread: i64) -> Vec<i64> {
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
        let (base, word, pair) = match self.second {
            true => ("%rd11", "%rd13", "%rd14"),
            false => ("%rd1", "%rd3", "%rd4"),
        };
        let _ = match self.does {
            Does::Barrier => writeln!(out, "bar.sync 0;"),
            Does::Write(offset) => {
                writeln!(out, "{guard}st.global.f32 [{word}+{}], %f9;", offset * 4)
            }
            Does::Add => writeln!(out, "{guard}red.global.add.u32 [{word}], 1;"),
            Does::AddSame(at) => writeln!(
                out,
                "{guard}red.global.add.u32 [{base}+{}], 1;",
                BASE + at * 4
            ),
            Does::ReadPair => writeln!(out, "{guard}ld.global.v2.f32 {{%f1, %f2}}, [{pair}];"),
            Does::ReadSame(first, count) => {
                for word in first..first + count {
                    let at = BASE + word * 4;
                    let _ = writeln!(out, "{guard}ld.global.f32 %f1, [{base}+{at}];");
                }
                Ok(())
            }
            _ => {
                for offset in self.words_of_buffer(0, 0) {
                    let _ = writeln!(out, "{guard}ld.global.f32 %f1, [{word}+{}];", offset * 4);
                }
                Ok(())
            }
        };
    }
}

/// Pairs of lines whose accesses nothing orders: of different threads, one a write, in two blocks or between the same two barriers.
fn races(statements: &[Statement], one: bool) -> BTreeSet<(usize, usize)> {
    let mut by_word: BTreeMap<i64, Vec<(i64, i64, i64, usize, Kind)>> = BTreeMap::new();
    for block in 0..BLOCKS {
        let mut epoch = 0;
        for (line, statement) in statements.iter().enumerate() {
            epoch += i64::from(statement.does == Does::Barrier);
            for thread in statement.first..statement.end {
                for word in statement.words(block, thread, one) {
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
.visible .entry k(.param .u64 x, .param .u64 y)
{{
.reg .b64 %rd<15>; .reg .b32 %r<4>; .reg .f32 %f<10>; .reg .pred %p<2>;
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
ld.param.u64 %rd11, [y];
cvta.to.global.u64 %rd11, %rd11;
mad.wide.u32 %rd13, %r3, 4, %rd11;
add.s64 %rd13, %rd13, {BASE};
mad.wide.u32 %rd14, %r3, 8, %rd11;
add.s64 %rd14, %rd14, {BASE};
mov.f32 %f9, 0f00000000;
{body}
ret;
}}
.file 1 \"k.cu\"
"
    )
}

/// Pairs of lines, and buffers that had no records.
fn reported(ptx: &str, one: bool) -> (BTreeSet<(usize, usize)>, usize) {
    let shape = (BLOCKS as u32, THREADS as u32);
    let mut job = watched::one_launch(ptx.to_owned(), "k", shape, 2048);
    job.buffers.push(job.buffers[0].clone());
    let second = Param::Buffer(usize::from(!one));
    if let Some(Step::Launch(launch)) = job.steps.first_mut() {
        launch.params.push(second);
    }
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
    let pairs = ran.results.findings.iter().map(pair).collect();
    (pairs, ran.only_read)
}

#[test]
fn races_in_lines_are_reported_and_nothing_else() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut racy, mut only_read) = (0usize, 0);
    let (mut missed, mut wrong) = (Vec::new(), Vec::new());
    for number in 0..300 {
        let count = 2 + random.below(4);
        let statements: Vec<_> = (0..count).map(|_| Statement::random(&mut random)).collect();
        let ptx = module(&statements);
        let one = random.below(4) == 0;
        let (expected, (found, without)) = (races(&statements, one), reported(&ptx, one));
        only_read += without;
        racy += usize::from(!expected.is_empty());
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
    // A read that its own block overwrites behind a barrier, by an atomic operation, is forgotten before other blocks' come.
    assert!(only_read > 30, "{only_read}");
    assert!(
        racy > 100 && missed.len() * 50 <= racy,
        "{} of {racy} missed: {}",
        missed.len(),
        missed.join("\n")
    );
}
