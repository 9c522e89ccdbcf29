//! Sample reports that every renderer is tested with.

use super::*;
use crate::source::{element, statement};

const REVERSE: &str = "\
#include \"lookup.h\"
// A kernel that reverses a block's elements, and forgets to wait.
__global__ void reverse(int* data, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];

    data[t] = tile[n - t - 1]; // ü
    total[0] = fetch(tile, t);
    tile[0]++;
}
";

const LOOKUP: &str = "\
// Used by all kernels.
__device__ int fetch(const int* from, int at) {
    return from[at ^ 1];
}
";

const PTX: &str = "\
.version 9.0
.target sm_75
.address_size 64
.visible .entry k()
{
\tbar.sync \t0;
\tld.shared.v2.f32 \t{%f1, %f2}, [%r1];
}
";

fn file(path: &str, text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile::new(path.into(), text.into()))
}

fn who(thread: u32, block: u32, threads: u32) -> Option<Who> {
    Some(Who {
        thread: [thread, 0, 0],
        block: [block, 0, 0],
        threads,
    })
}

fn label(source: &Arc<SourceFile>, line: u32, name: &str, write: bool, text: &str) -> Label {
    let words = source.line(line).unwrap();
    let whole = statement(words, 0);
    Label {
        source: source.clone(),
        line,
        columns: element(words, &whole, name, write).unwrap_or(whole),
        text: text.into(),
        who: None,
        instruction: None,
    }
}

fn diagnostic(rule: Rule, title: &str, labels: Vec<Label>) -> Diagnostic {
    Diagnostic {
        rule,
        level: rule.level(),
        title: title.into(),
        labels,
        notes: vec![],
        help: None,
        edit: None,
        replay: None,
        count: 1,
        builds: vec![],
        expected: false,
        accepted: None,
        trace: None,
        launched: None,
        about: About::default(),
    }
}

/// A race in one file, with every field of a diagnostic filled in.
pub fn race() -> Diagnostic {
    let cu = file("src/reverse.cu", REVERSE);
    let read = Label {
        who: who(30, 0, 1),
        instruction: Some("ld.shared.u32 %r12, [%r11];".into()),
        ..label(
            &cu,
            8,
            "tile",
            false,
            "thread (30,0,0) of block (0,0,0) reads `tile[33]`",
        )
    };
    let write = Label {
        who: who(33, 0, 1),
        instruction: Some("st.shared.u32 [%r7], %r5;".into()),
        ..label(
            &cu,
            6,
            "tile",
            true,
            "thread (33,0,0) of block (0,0,0) writes `tile[33]`",
        )
    };
    Diagnostic {
        notes: vec!["`tile` is declared `int tile[64]`".into()],
        help: Some("put `__syncthreads()` between line 6 and line 8".into()),
        edit: None,
        replay: Some("racetrap check src/reverse.cu --block 64 --schedule lockstep".into()),
        count: 12345,
        builds: vec!["optimised".into(), "unoptimised".into()],
        about: About {
            memory: Some("tile".into()),
            location: Some(Location {
                space: "shared".into(),
                address: 132,
                bytes: 4,
                element: Some("tile[33]".into()),
            }),
            instructions: [(
                "k.ptx".to_owned(),
                [40, 44, 48]
                    .map(|l| vec![("read".into(), l), ("write".into(), 12)])
                    .into(),
            )]
            .into(),
            write_may_come_first: true,
            ..About::default()
        },
        ..diagnostic(
            Rule::DataRace,
            "unordered write and read of `tile[33]` in shared memory",
            vec![read, write],
        )
    }
}

/// Ends in two files, one of them inlined.
pub fn two_files() -> Diagnostic {
    let cu = file("src/reverse.cu", REVERSE);
    let header = file("include/lookup.h", LOOKUP);
    let read = Label {
        who: who(0, 0, 1),
        instruction: Some("ld.shared.u32 %r20, [%r14];".into()),
        ..label(
            &header,
            3,
            "from",
            false,
            "thread (0,0,0) of block (0,0,0) reads `tile[1]`",
        )
    };
    let write = Label {
        who: who(1, 0, 1),
        instruction: Some("st.shared.u32 [%r7], %r5;".into()),
        ..label(
            &cu,
            6,
            "tile",
            true,
            "thread (1,0,0) of block (0,0,0) writes `tile[1]`",
        )
    };
    let call = label(&cu, 9, "fetch", false, "`fetch` was inlined here");
    Diagnostic {
        help: Some("put `__syncthreads()` between line 6 and line 9".into()),
        ..diagnostic(
            Rule::DataRace,
            "unordered write and read of `tile[1]` in shared memory",
            vec![read, write, call],
        )
    }
}

/// Both ends on one line.
pub fn one_line() -> Diagnostic {
    let cu = file("src/reverse.cu", REVERSE);
    let end = |thread, write, text: &str| Label {
        who: who(thread, 0, 1),
        instruction: Some("st.shared.u32 [tile], %r21;".into()),
        ..label(&cu, 10, "tile", write, text)
    };
    Diagnostic {
        builds: vec!["unoptimised".into()],
        help: Some("make the update at line 10 atomic: `atomicAdd(&…, …)`".into()),
        ..diagnostic(
            Rule::DataRace,
            "two unordered writes of `tile[0]` in shared memory",
            vec![
                end(1, true, "thread (1,0,0) of block (0,0,0) writes `tile[0]`"),
                end(0, true, "thread (0,0,0) of block (0,0,0) writes `tile[0]`"),
            ],
        )
    }
}

/// A warning that points into PTX because there are no source lines.
pub fn ptx_only() -> Diagnostic {
    let ptx = file("kernel.ptx", PTX);
    let here = Label {
        who: who(0, 1, 64),
        instruction: Some("bar.sync 0;".into()),
        ..label(
            &ptx,
            6,
            "",
            false,
            "64 threads ((0,0,0) the first) of block (1,0,0) wait here",
        )
    };
    Diagnostic {
        notes: vec!["the PTX has no source lines: compile it with `-lineinfo`".into()],
        ..diagnostic(
            Rule::BarrierAfterExit,
            "a barrier completed only because 64 threads had exited",
            vec![here],
        )
    }
}

/// A note.
pub fn performance() -> Diagnostic {
    let ptx = file("kernel.ptx", PTX);
    let here = Label {
        who: who(0, 0, 32),
        ..label(
            &ptx,
            7,
            "",
            false,
            "32 threads ((0,0,0) the first) of block (0,0,0) read shared memory",
        )
    };
    diagnostic(Rule::BankConflict, "32-way bank conflict", vec![here])
}

fn place(line: u32) -> SourcePlace {
    SourcePlace {
        file: "src/scan.cu".into(),
        line,
    }
}

/// One check of each kind.
pub fn report() -> Report {
    let clean = Check {
        name: "src/scan.cu: scan".into(),
        verdict: Verdict::Clean,
        ok: true,
        summary: "no finding; schedule-independent: every schedule gives this result on this input"
            .into(),
        schedule_independent: Some(true),
        setting: Some(Setting {
            entry: "scan".into(),
            grid: [2, 1, 1],
            block: [64, 1, 1],
            dynamic_shared: 256,
            cooperative: false,
            cluster: None,
            arguments: vec![
                Argument {
                    name: "data".into(),
                    value: "i32[128]:random".into(),
                    guessed: true,
                },
                Argument {
                    name: "n".into(),
                    value: "128".into(),
                    guessed: false,
                },
            ],
            builds: vec!["optimised".into(), "unoptimised".into()],
            schedules: vec!["lockstep".into()],
            seed: 1,
        }),
        diagnostics: vec![],
        unseen: Unseen {
            lines: [9, 10, 14, 15, 22].map(place).into(),
            branches: vec![place(12)],
            loops: vec![crate::ShortLoop {
                place: place(12),
                turns: 2,
            }],
            launches: vec![crate::NoLaunch::SeveralBlocks],
            buffers: vec![GuessedBuffer {
                name: "data".into(),
                elements: 128,
            }],
            guesses: vec!["`k` = 0, which leads to out-of-bounds at reverse.cu:7".into()],
            ..Unseen::default()
        },
        output: "hello <from> thread 0\n".into(),
        judged: Judged::default(),
        time: Duration::from_micros(1500),
    };
    let check = |name: &str, verdict, ok, summary: &str, diagnostics| Check {
        name: name.into(),
        verdict,
        ok,
        summary: summary.into(),
        schedule_independent: None,
        setting: None,
        diagnostics,
        unseen: Unseen::default(),
        output: String::new(),
        judged: Judged::default(),
        time: Duration::from_millis(20),
    };
    let expected = Diagnostic {
        expected: true,
        ..race()
    };
    Report {
        checks: vec![
            clean,
            check(
                "src/reverse.cu: reverse",
                Verdict::Findings,
                false,
                "3 errors, 1 warning",
                vec![race(), two_files(), one_line(), ptx_only()],
            ),
            check(
                "kernel.ptx: k",
                Verdict::Findings,
                true,
                "1 warning, 1 note",
                vec![ptx_only(), performance()],
            ),
            check(
                "scan/missing-barrier",
                Verdict::Caught,
                true,
                "1 of 1 expected findings",
                vec![expected],
            ),
            check(
                "scan/wrong",
                Verdict::Missed,
                false,
                "data-race#1 was expected and not found",
                vec![],
            ),
            check(
                "texture.ptx: sample",
                Verdict::Unsupported,
                false,
                "line 7: `tex.2d.v4.f32.f32`: the simulator does not have this instruction",
                vec![],
            ),
        ],
    }
}
