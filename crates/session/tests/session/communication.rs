//! What passes between warps through strong accesses: what must be reported as unordered, and what a correct program may do.

use detect::rules::Rule;
use session::{Options, Session};
use simt::{Dim3, Launch, Program, ScheduleSpec};
use std::collections::BTreeSet;

/// The rules broken by two warps of a block, or of two blocks, that execute a piece each; `%x` and `%y` are words of their own.
fn run(blocks: u32, first: &str, second: &str) -> BTreeSet<Rule> {
    let which = if blocks > 1 { "%ctaid.x" } else { "%tid.x" };
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 memory) {{\n\
         .reg .b64 %x, %y;\n.reg .b32 %r<9>;\n.reg .pred %p<9>;\nld.param.u64 %x, [memory];\nadd.u64 %y, %x, 64;\n\
         mov.u32 %r8, %tid.x; and.b32 %r8, %r8, 31; setp.ne.u32 %p8, %r8, 0; @%p8 bra END;\n\
         mov.u32 %r8, {which}; setp.ne.u32 %p7, %r8, 0; @%p7 bra SECOND;\n{first}\nbra END;\nSECOND:\n{second}\nEND:\nret;\n}}\n"
    );
    let module = ptx::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let program = Program::lower(&module, &text, "k").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut rules = BTreeSet::new();
    for schedule in ["lockstep", "random:1", "random:2", "pct:3:3"] {
        let schedule: ScheduleSpec = schedule.parse().unwrap();
        let mut session = Session::new(Options {
            schedule,
            ..Options::default()
        });
        let memory = session.device().alloc(256, "memory").unwrap();
        session.device().write(memory, &[0; 256]).unwrap();
        let launch = Launch {
            cluster: None,
            grid: Dim3::linear(blocks),
            block: Dim3::linear(64 / blocks),
            dynamic_shared: 0,
            params: memory.to_le_bytes().to_vec(),
            cooperative: blocks > 1,
            number: 0,
        };
        session.launch(&program, &launch).unwrap();
        rules.extend(session.finish().0.findings.iter().map(|f| f.rule));
    }
    rules
}

const WRITE: &str = "st.volatile.global.u32 [%x], 1;";

#[track_caller]
fn expect(first: &str, second: &str, unordered: bool) {
    let expected: BTreeSet<Rule> = unordered
        .then_some(Rule::UnorderedCommunication)
        .into_iter()
        .collect();
    for blocks in [1, 2] {
        let found = run(blocks, first, second);
        assert_eq!(found, expected, "{blocks} blocks:\n{first}\n{second}");
    }
}

#[test]
fn a_value_that_is_stored_or_used_as_an_address() {
    expect(
        WRITE,
        "ld.volatile.global.u32 %r1, [%x]; st.global.u32 [%y], %r1;",
        true,
    );
    let address = "ld.volatile.global.u32 %r1, [%x]; cvt.u64.u32 %y, %r1; shl.b64 %y, %y, 2; add.u64 %y, %y, %x; \
                   st.global.u32 [%y+128], 1;";
    expect(WRITE, address, true);
    let add = "red.relaxed.gpu.global.add.u32 [%x], 1;";
    expect(
        add,
        "ld.relaxed.gpu.global.u32 %r1, [%x]; st.global.u32 [%y], %r1;",
        true,
    );
}

#[test]
fn a_value_that_is_tested() {
    let poll = "W: ld.volatile.global.u32 %r1, [%x]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W; st.global.u32 [%y], %r1;";
    expect(WRITE, poll, false);
    let bound = "ld.volatile.global.u32 %r1, [%x]; setp.lt.u32 %p1, %r1, 5; @!%p1 bra END; st.global.u32 [%y], %r1;";
    expect(WRITE, bound, false);
}

#[test]
fn a_value_that_an_atomic_checks_again() {
    let swap = "ld.volatile.global.u32 %r1, [%x]; add.u32 %r2, %r1, 1; atom.global.cas.b32 %r3, [%x], %r1, %r2;";
    expect("red.global.add.u32 [%x], 1;", swap, false);
    let least = "ld.volatile.global.u32 %r1, [%x]; red.global.min.u32 [%y], %r1;";
    expect(WRITE, least, false);
    let ticket = "atom.global.add.u32 %r1, [%x], 1; st.global.u32 [%y], %r1;";
    expect("red.global.add.u32 [%x], 1;", ticket, false);
}

#[test]
fn a_message_with_and_without_its_fences() {
    let wait = "W: ld.relaxed.gpu.global.u32 %r2, [%x+16]; setp.eq.u32 %p1, %r2, 0; @%p1 bra W;";
    let read = "ld.relaxed.gpu.global.u32 %r1, [%x]; st.global.u32 [%y], %r1;";
    let raise = "st.relaxed.gpu.global.u32 [%x+16], 1;";
    let fence = "fence.acq_rel.gpu;";
    let write = "st.relaxed.gpu.global.u32 [%x], 1;";
    expect(
        &format!("{write}{fence}{raise}"),
        &format!("{wait}{fence}{read}"),
        false,
    );
    expect(
        &format!("{write}{raise}"),
        &format!("{wait}{fence}{read}"),
        true,
    );
    expect(
        &format!("{write}{fence}{raise}"),
        &format!("{wait}{read}"),
        true,
    );
    // The programming guide's own example of a last block reads by volatile accesses and has no second fence.
    let volatile = "ld.volatile.global.u32 %r1, [%x]; st.global.u32 [%y], %r1;";
    expect(
        &format!("{write}{fence}{raise}"),
        &format!("{wait}{volatile}"),
        false,
    );
}

#[test]
fn what_is_read_between_two_looks_at_a_sequence() {
    let write = "st.volatile.global.u32 [%x+16], 1; fence.sc.gpu; st.volatile.global.u32 [%x], 7; fence.sc.gpu; \
                 st.volatile.global.u32 [%x+16], 2;";
    let read = "W: ld.volatile.global.u32 %r1, [%x+16]; fence.sc.gpu; ld.volatile.global.u32 %r2, [%x]; fence.sc.gpu; \
                ld.volatile.global.u32 %r3, [%x+16]; setp.ne.u32 %p1, %r1, %r3; @%p1 bra W; st.global.u32 [%y], %r2;";
    expect(write, read, false);
}
