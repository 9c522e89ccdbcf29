//! Programmatic dependent launches: what is found of them under every schedule, and what the schedule that overlaps them leaves in memory.

use crate::kernel::{lowered, session};
use detect::rules::Rule;
use session::InTurn;
use simt::{Dim3, Engine, Launch, Program, Stop};

/// A kernel over a buffer of words, of which each thread has one: `%rd2` is the address of its own, `%r1` its number in the grid, `%rd1` the buffer.
fn kernel(body: &str) -> Program {
    lowered(&format!(
        ".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{{
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .shared .b32 flag;
    ld.param.u64 %rd1, [p];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r1, %r2, %r3, %r4;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    setp.eq.u32 %p1, %r4, 0;
{body}
    ret;
}}"
    ))
}

/// Words of the buffer; the second kernel writes its results behind the first `WORDS / 2`.
const WORDS: u64 = 256;

/// What a pair of launches of two blocks of 64 threads finds, and leaves in the buffer, which held its own indices.
fn pair(
    first: &str,
    second: &str,
    schedule: &str,
    engine: Engine,
) -> (Vec<Rule>, Vec<u32>, Option<Stop>) {
    let programs = [kernel(first), kernel(second)];
    let mut session = session(schedule, engine, 1_000_000);
    let at = session.device().alloc(4 * WORDS, "p").unwrap();
    let words: Vec<u8> = (0..WORDS as u32).flat_map(u32::to_le_bytes).collect();
    session.device().write(at, &words).unwrap();
    let turn = |number: u32, program| InTurn {
        program,
        how: Launch {
            grid: Dim3::linear(2),
            block: Dim3::linear(64),
            dynamic_shared: 0,
            params: at.to_le_bytes().to_vec(),
            cooperative: false,
            number,
            cluster: None,
        },
        dependent: number > 0,
    };
    session.launch_in_turn(&[turn(0, &programs[0]), turn(1, &programs[1])]);
    let (outcome, device) = session.finish();
    let words = device.read(at, 4 * WORDS).unwrap();
    let words = words
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| u32::from_le_bytes(*b));
    let rules = outcome.findings.iter().map(|f| f.rule).collect();
    (rules, words.collect(), outcome.stopped)
}

const SCHEDULES: [&str; 4] = ["lockstep", "lane-by-lane", "random:3", "weak"];
const ENGINES: [Engine; 2] = [Engine::Fast, Engine::Plain];

/// Stores 7 in the thread's word.
const STORE: &str = "mov.u32 %r5, 7;\nst.global.u32 [%rd2], %r5;\n";
const TRIGGER: &str = "griddepcontrol.launch_dependents;\n";
const WAIT: &str = "griddepcontrol.wait;\n";
/// Copies the thread's word to its result.
const READ: &str = "ld.global.u32 %r5, [%rd2];\n";
const RESULT: &str = "st.global.u32 [%rd2+512], %r5;\n";

fn found(first: &[&str], second: &[&str], schedule: &str) -> (Vec<Rule>, Vec<u32>) {
    let run = |engine| pair(&first.concat(), &second.concat(), schedule, engine);
    let [(rules, words, stopped), plain] = ENGINES.map(run);
    assert_eq!(stopped, None, "{schedule}");
    assert_eq!(
        (&rules, &words, &stopped),
        (&plain.0, &plain.1, &plain.2),
        "{schedule}"
    );
    (rules, words)
}

#[test]
fn who_waits_reads_what_was_written() {
    for schedule in SCHEDULES {
        for first in [[TRIGGER, STORE], [STORE, TRIGGER]] {
            let (rules, words) = found(&first, &[WAIT, READ, RESULT], schedule);
            assert_eq!(rules, []);
            assert!(
                words[128..].iter().all(|w| *w == 7),
                "{schedule}: {words:?}"
            );
        }
    }
}

#[test]
fn who_does_not_wait_is_found_by_every_schedule_and_reads_old_values_under_one() {
    for schedule in SCHEDULES {
        for second in [vec![READ, WAIT, RESULT], vec![READ, RESULT]] {
            let (rules, words) = found(&[TRIGGER, STORE], &second, schedule);
            assert_eq!(rules, [Rule::MissingDependencyWait]);
            let early = schedule == "lane-by-lane";
            let expected = |i: usize| if early { i as u32 } else { 7 };
            assert!(
                (0..128).all(|i| words[128 + i] == expected(i)),
                "{schedule}: {words:?}"
            );
        }
    }
}

/// What came before the trigger has happened when the second launch begins, though nothing lets it see that.
#[test]
fn the_second_launch_begins_behind_the_triggers() {
    let (rules, words) = found(&[STORE, TRIGGER], &[READ, RESULT], "lane-by-lane");
    assert_eq!(rules, [Rule::MissingDependencyWait]);
    assert!(words[128..].iter().all(|w| *w == 7), "{words:?}");
}

#[test]
fn without_a_trigger_the_first_launch_ends_first() {
    for schedule in SCHEDULES {
        let (rules, words) = found(&[STORE], &[READ, RESULT], schedule);
        assert_eq!(rules, []);
        assert!(
            words[128..].iter().all(|w| *w == 7),
            "{schedule}: {words:?}"
        );
    }
}

#[test]
fn what_the_first_launch_reads_must_not_be_overwritten_early() {
    for schedule in SCHEDULES {
        let (rules, words) = found(&[TRIGGER, READ, RESULT], &[STORE, WAIT], schedule);
        assert_eq!(rules, [Rule::MissingDependencyWait]);
        let early = schedule == "lane-by-lane";
        assert!((0..128).all(|i| words[128 + i] == if early { 7 } else { i as u32 }));
    }
}

/// One thread triggers or waits for its block, and the others meet it at a barrier, or in their warp.
#[test]
fn threads_that_wait_for_one_that_has_stopped_wait_with_it() {
    const ONE: &str = "@%p1 griddepcontrol.wait;\n";
    const ONE_TRIGGERS: &str = "@%p1 griddepcontrol.launch_dependents;\n";
    const BARRIER: &str = "bar.sync 0;\n";
    const WARP: &str = "bar.warp.sync -1;\n";
    for schedule in SCHEDULES {
        let first = [ONE_TRIGGERS, WARP, BARRIER, STORE];
        let (rules, words) = found(&first, &[ONE, WARP, BARRIER, READ, RESULT], schedule);
        assert_eq!(rules, [], "{schedule}");
        assert!(
            words[128..].iter().all(|w| *w == 7),
            "{schedule}: {words:?}"
        );
        // Without the barrier it is for the one thread alone.
        let (rules, _) = found(&first, &[ONE, READ, RESULT], schedule);
        assert_eq!(rules, [Rule::MissingDependencyWait], "{schedule}");
    }
}

/// A warp that spins until another one, which has stopped, goes on; a second launch that spins until the first one has gone on.
#[test]
fn who_polls_is_not_in_the_way() {
    const SPIN_IN_BLOCK: &str = "
    @%p1 bra TRIGGER;
SPIN:
    ld.volatile.shared.u32 %r6, [flag];
    setp.ne.u32 %p2, %r6, 9;
    @%p2 bra SPIN;
    bra DONE;
TRIGGER:
    griddepcontrol.launch_dependents;
    mov.u32 %r6, 9;
    st.volatile.shared.u32 [flag], %r6;
DONE:
";
    const SPIN: &str = "
SPIN:
    ld.relaxed.gpu.global.u32 %r5, [%rd2];
    setp.ne.u32 %p2, %r5, 7;
    @%p2 bra SPIN;
";
    const RELAXED_STORE: &str = "mov.u32 %r5, 7;\nst.relaxed.gpu.global.u32 [%rd2], %r5;\n";
    for engine in ENGINES {
        let first = [SPIN_IN_BLOCK, STORE].concat();
        let second = [WAIT, READ, RESULT].concat();
        let (_, words, stopped) = pair(&first, &second, "lane-by-lane", engine);
        assert_eq!(stopped, None);
        assert!(words[128..].iter().all(|w| *w == 7), "{words:?}");
        let first = [TRIGGER, RELAXED_STORE].concat();
        let second = [SPIN, RESULT].concat();
        let (_, words, stopped) = pair(&first, &second, "lane-by-lane", engine);
        assert_eq!(stopped, None);
        assert!(words[128..].iter().all(|w| *w == 7), "{words:?}");
    }
}
