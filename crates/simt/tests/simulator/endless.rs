//! Launches that never end are stopped where their state repeats, and no others.

use crate::waits::Waiter;
use proptest::prelude::*;
use simt::*;

/// Where a loop counts.
#[derive(Clone, Copy, Debug)]
enum Counts {
    Register,
    Predicates,
    Local,
    Shared,
    SharedAtomic,
    Global,
    GlobalAtomic,
    /// In the second warp, which tells the first.
    ElsewhereInShared,
    Clock,
    /// What the clock showed is forgotten at once.
    ForgottenClock,
}

const ALL: [Counts; 10] = [
    Counts::Register,
    Counts::Predicates,
    Counts::Local,
    Counts::Shared,
    Counts::SharedAtomic,
    Counts::Global,
    Counts::GlobalAtomic,
    Counts::ElsewhereInShared,
    Counts::Clock,
    Counts::ForgottenClock,
];

impl Counts {
    /// Code that counts a round, and leaves how many there were in `%r1`.
    fn code(self) -> &'static str {
        match self {
            Counts::Register => "add.u32 %r2, %r2, 1; mov.u32 %r1, %r2;",
            // In a register, by what a predicate selects.
            Counts::Predicates => {
                "setp.eq.u32 %p2, %r2, %r2; selp.u32 %r3, 1, 0, %p2; add.u32 %r2, %r2, %r3; mov.u32 %r1, %r2;"
            }
            Counts::Local => {
                "ld.local.u32 %r1, [slot]; add.u32 %r1, %r1, 1; st.local.u32 [slot], %r1;"
            }
            Counts::Shared => {
                "@%p3 ld.volatile.shared.u32 %r1, [word]; @%p3 add.u32 %r1, %r1, 1; @%p3 st.volatile.shared.u32 [word], %r1;
                 bar.sync 0; ld.volatile.shared.u32 %r1, [word]; bar.sync 0;"
            }
            Counts::SharedAtomic => {
                "@%p3 atom.shared.add.u32 %r3, [word], 1; ld.volatile.shared.u32 %r1, [word];"
            }
            Counts::Global => {
                "@%p3 ld.volatile.global.u32 %r1, [%rd1]; @%p3 add.u32 %r1, %r1, 1; @%p3 st.volatile.global.u32 [%rd1], %r1;
                 bar.sync 0; ld.volatile.global.u32 %r1, [%rd1]; bar.sync 0;"
            }
            Counts::GlobalAtomic => {
                "@%p3 red.global.add.u32 [%rd1], 1; ld.volatile.global.u32 %r1, [%rd1];"
            }
            Counts::ElsewhereInShared => {
                "@%p4 add.u32 %r2, %r2, 1; @%p4 st.volatile.shared.u32 [word], %r2; ld.volatile.shared.u32 %r1, [word];"
            }
            Counts::Clock => "mov.u32 %r4, %clock; ld.volatile.global.u32 %r3, [%rd1+64]; shr.u32 %r1, %r4, 6;",
            Counts::ForgottenClock => {
                "mov.u32 %r4, %clock; ld.volatile.global.u32 %r3, [%rd1+64]; setp.gt.u32 %p2, %r4, 4000000; mov.u32 %r4, 0;
                 selp.u32 %r1, 100000, 0, %p2; setp.eq.u32 %p2, %r4, 1;"
            }
        }
    }
}

/// What a round does besides, which changes nothing for long.
const BESIDES: [&str; 10] = [
    "ld.volatile.global.u32 %r5, [%rd1+8];",
    "st.volatile.global.u32 [%rd1+12], %r6;",
    "st.local.u32 [slot+4], %r6;",
    "st.volatile.shared.u32 [word+4], %r6;",
    "atom.global.cas.b32 %r5, [%rd1+16], 1, 2;",
    "atom.shared.or.b32 %r5, [word+8], 0;",
    "xor.b32 %r7, %r7, 5;",
    "shfl.sync.bfly.b32 %r5, %r6, 1, 31, -1;",
    "vote.sync.ballot.b32 %r5, %p3, -1; membar.cta;",
    // As libcu++ waits: longer each time, by the clock.
    "mov.u32 %r8, %clock; nanosleep.u32 %r8;",
];

/// A loop of two warps that ends when it has counted to a number, or never counts. Registers forget what they have read at once, so that
/// memory alone tells of it.
fn kernel(counts: Option<Counts>, to: u32, besides: &[&str]) -> String {
    let count = counts.map_or("mov.u32 %r1, 0;", Counts::code);
    let besides = besides.join("\n            ");
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n
        .visible .entry k(.param .u64 p) {{
            .reg .u64 %rd<4>; .reg .u32 %r<9>; .reg .pred %p<6>;
            .local .align 8 .b8 slot[8];
            .shared .align 8 .b8 word[16];
            ld.param.u64 %rd1, [p];
            mov.u32 %r6, %tid.x;
            mov.u32 %r2, 0; mov.u32 %r7, 0;
            setp.eq.u32 %p3, %r6, 0;
            setp.eq.u32 %p4, %r6, 32;
            st.local.u32 [slot], 0;
            @%p3 st.volatile.shared.u32 [word], 0;
            @%p3 st.volatile.shared.u32 [word+8], 0;
            mov.u32 %r6, 3;
            bar.sync 0;
        $L:
            {besides}
            {count}
            setp.lt.u32 %p1, %r1, {to};
            mov.u32 %r1, 0; mov.u32 %r3, 0; mov.u32 %r5, 0;
            @%p1 bra $L;
            st.global.u32 [%rd1+20], %r6;
            ret;
        }}"
    )
}

/// How it ends within so many steps, with and without the search.
fn ends(ptx: &str, steps: u64, others: Others, blocks: u32) -> Result<Stats, Stop> {
    let limits = Limits {
        steps,
        others,
        ..Limits::default()
    };
    let ended = Waiter::new(ptx, blocks).launch(&limits);
    ended.map_err(|(stop, _)| stop)
}

fn is_for_ever(ended: &Result<Stats, Stop>) -> bool {
    matches!(ended, Err(Stop::NoProgress { for_ever: true, .. }))
}

#[test]
fn what_never_ends_is_known_long_before_the_budget() {
    for blocks in [1, 3] {
        for besides in BESIDES.chunks(1).chain([&BESIDES[..6], &[]]) {
            let ptx = kernel(None, 1, besides);
            let ended = ends(&ptx, 1 << 40, Others::Nobody, blocks);
            assert!(is_for_ever(&ended), "{ended:?}\n{ptx}");
            let Err(Stop::NoProgress { steps, .. }) = ended else {
                unreachable!()
            };
            assert!(steps < 8_000_000, "{steps}\n{ptx}");
        }
    }
}

#[test]
fn what_others_cannot_end_is_known_although_they_write_to_memory() {
    // It polls shared memory, and global memory.
    let own = kernel(
        None,
        1,
        &["ld.volatile.shared.u32 %r5, [word];", BESIDES[9]],
    );
    let ended = ends(&own, 1 << 40, Others::InTurn, 2);
    assert!(is_for_ever(&ended), "{ended:?}");
    let global = kernel(None, 1, &BESIDES[..1]);
    let limits = Limits {
        others: Others::InTurn,
        ..Limits::default()
    };
    let (_, waiting) = Waiter::new(&global, 2).launch(&limits).unwrap_err();
    assert!(waiting.is_some(), "it is put aside");
}

#[test]
fn who_gives_up_after_a_while_gives_up() {
    // At 32 bits, by both clocks, after up to 3 s.
    for (clock, wait) in [
        ("%clock", 1u32 << 20),
        ("%clock", 3_000_000_000),
        ("%globaltimer_lo", 1 << 30),
    ] {
        let gives_up = format!(
            "mov.u32 %r8, {clock}; setp.eq.u32 %p2, %r7, 0; @%p2 mov.u32 %r7, %r8; sub.u32 %r8, %r8, %r7;
             setp.gt.u32 %p2, %r8, {wait}; @%p2 bra $D;"
        );
        let ptx =
            kernel(None, 1, &[BESIDES[0], &gives_up]).replace("@%p1 bra $L;", "@%p1 bra $L;\n$D:");
        let ended = ends(&ptx, 1 << 40, Others::Nobody, 1);
        assert!(ended.is_ok(), "{clock} {wait}: {ended:?}");
    }
}

#[test]
fn where_others_may_write_the_budget_counts() {
    let ptx = kernel(None, 1, &BESIDES[..1]);
    let ended = ends(&ptx, 4_000_000, Others::AnyTime, 1);
    let unknown = matches!(
        ended,
        Err(Stop::NoProgress {
            for_ever: false,
            ..
        })
    );
    assert!(unknown, "{ended:?}");
}

#[test]
fn whatever_counts_comes_to_its_end() {
    for counts in ALL {
        let ptx = kernel(Some(counts), 60_000, &BESIDES[..2]);
        let ended = ends(&ptx, 1 << 40, Others::Nobody, 1);
        let steps = ended
            .unwrap_or_else(|stop| panic!("{counts:?}: {stop}"))
            .steps;
        assert!(steps > 1 << 18, "{counts:?}: {steps} steps show nothing");
    }
}

proptest! {
    #![proptest_config(testing::random(24))]

    /// With anything besides: what ends, ends, and what is said to never end does not end in four times as many steps.
    #[test]
    fn only_what_never_ends_is_stopped(
        counts in prop::option::of(prop::sample::select(&ALL[..])),
        to in 1u32..80_000,
        besides in prop::sample::subsequence(&BESIDES[..], 0..5),
        blocks in 1u32..3,
    ) {
        let ptx = kernel(counts, to, &besides);
        let ended = ends(&ptx, 1 << 40, Others::Nobody, blocks);
        match ended {
            Ok(_) => prop_assert!(counts.is_some()),
            Err(Stop::NoProgress { for_ever: true, steps, .. }) => {
                prop_assert!(counts.is_none(), "{}", ptx);
                let longer = ends(&ptx, steps * 4, Others::AnyTime, blocks);
                prop_assert!(longer.is_err(), "{}", ptx);
            }
            Err(stop) => prop_assert!(false, "{}: {}", stop, ptx),
        }
    }
}
