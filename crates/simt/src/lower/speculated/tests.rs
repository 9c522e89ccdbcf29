use super::*;
use ptx::parser::parse;

/// A kernel with `n` in `%r1` and the thread's number in `%r2`.
fn lowered(body: &str) -> Program {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
             .visible .entry k(.param .u32 n)\n{{\n\
             .reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n\
             .shared .align 4 .b8 s[64];\n.shared .align 4 .b8 out[64];\n\
             ld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n{body}\nst.shared.b32 [out], %r9;\nret;\n}}\n"
    );
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let program = Program::lower(&module, &text, "k").unwrap();
    let missing = program.sites.iter().find_map(|s| s.missing.as_ref());
    assert_eq!(missing, None, "{text}");
    program
}

/// The condition of each load from shared memory.
fn conditions(program: &Program) -> Vec<Slot> {
    let loads = program.memory_ops.iter();
    let loads = loads.filter(|m| !m.store && m.space == AddressSpace::Shared);
    loads.map(|m| m.used_if).collect()
}

/// Whether the only load from shared memory is taken for speculated.
fn speculated(body: &str) -> bool {
    let all = conditions(&lowered(body));
    assert_eq!(all.len(), 1);
    all[0] != Slot::TRUE
}

#[test]
fn a_predicate_that_is_there() {
    let program = lowered(
        "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, %r3, 5, %p1;",
    );
    let before = lowered("ld.shared.u32 %r9, [s];");
    let Some(Op::Alu { d, .. }) = program
        .code
        .iter()
        .map(|i| &i.op)
        .find(|op| matches!(op, Op::Alu { f, .. } if signature(f).0 == RegisterClass::P))
    else {
        panic!("a comparison");
    };
    assert_eq!(conditions(&program), [*d]);
    assert_eq!(
        program.code.len(),
        before.code.len() + 2,
        "nothing is copied"
    );
}

#[test]
fn the_other_side() {
    let program = lowered(
        "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, 5, %r3, %p1;",
    );
    let [condition] = conditions(&program)[..] else {
        panic!("one load");
    };
    assert!(condition.0 & Slot::NEGATED != 0 && condition != Slot::TRUE);
    // `selp` under a negated predicate, and both ways to say it.
    assert!(speculated(
        "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r4, %r3, 5, !%p1;
             selp.b32 %r5, 6, %r3, %p1;
             add.s32 %r9, %r4, %r5;"
    ));
}

/// What computes it is copied in front of the load, and whoever jumps to the load comes to the copies first.
#[test]
fn a_predicate_computed_behind_the_load() {
    let program = lowered(
        "bra.uni HERE;
             HERE:
             ld.shared.u32 %r3, [s];
             bar.sync 0;
             setp.gt.s32 %p1, %r1, 0;
             and.b32 %r4, %r2, 31;
             setp.lt.u32 %p2, %r4, 8;
             not.pred %p3, %p2;
             or.pred %p4, %p1, %p3;
             selp.b32 %r9, %r3, 5, %p4;",
    );
    let load = program
            .code
            .iter()
            .position(|i| matches!(i.op, Op::Memory(m) if program.memory_ops[m as usize].used_if != Slot::TRUE))
            .expect("a speculated load");
    let target = program.code.iter().find_map(|i| match i.op {
        Op::Branch { target } => Some(target as usize),
        _ => None,
    });
    assert_eq!(target, Some(load - 5), "five copies");
    let Op::Alu { d, .. } = program.code[load - 1].op else {
        panic!("the last one is `or.pred`");
    };
    assert_eq!(conditions(&program), [d]);
}

#[test]
fn through_arithmetic() {
    assert!(speculated(
        "ld.shared.u32 %r3, [s];
             mul.lo.s32 %r4, %r3, 3;
             add.s32 %r5, %r3, %r4;
             setp.eq.s32 %p1, %r1, 7;
             selp.b32 %r9, %r5, 0, %p1;"
    ));
    // … one way out of which is taken always.
    assert!(!speculated(
        "ld.shared.u32 %r3, [s];
             mul.lo.s32 %r4, %r3, 3;
             setp.eq.s32 %p1, %r1, 7;
             selp.b32 %r5, %r4, 0, %p1;
             add.s32 %r9, %r3, %r5;"
    ));
}

#[test]
fn a_value_used_elsewhere_too() {
    assert!(!speculated(
        "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r4, %r3, 5, %p1;
             add.s32 %r9, %r4, %r3;"
    ));
    assert!(!speculated(
        "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             st.shared.u32 [out+4], %r3;
             selp.b32 %r9, %r3, 5, %p1;"
    ));
}

#[test]
fn a_value_used_on_the_other_side_too() {
    assert!(!speculated(
        "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r4, %r3, 5, %p1;
             selp.b32 %r5, 6, %r3, %p1;
             add.s32 %r9, %r4, %r5;"
    ));
    assert!(!speculated(
        "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, %r3, %r3, %p1;"
    ));
}

#[test]
fn a_value_used_under_two_conditions() {
    assert!(!speculated(
        "setp.gt.s32 %p1, %r1, 0;
             setp.gt.s32 %p2, %r2, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r4, %r3, 5, %p1;
             selp.b32 %r5, %r3, 6, %p2;
             add.s32 %r9, %r4, %r5;"
    ));
}

#[test]
fn a_value_that_nothing_uses() {
    assert!(!speculated(
        "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, 4, 5, %p1;"
    ));
}

#[test]
fn strong_guarded_and_vector_loads() {
    for load in [
        "ld.volatile.shared.u32 %r3, [s];",
        "ld.relaxed.cta.shared.u32 %r3, [s];",
        "ld.acquire.cta.shared.u32 %r3, [s];",
        "@%p2 ld.shared.u32 %r3, [s];",
        "ld.shared.v2.u32 {%r3, %r4}, [s];",
    ] {
        let body = format!(
            "setp.gt.s32 %p1, %r1, 0;\nsetp.gt.s32 %p2, %r1, 1;\n{load}\nselp.b32 %r9, %r3, 5, %p1;"
        );
        assert!(!speculated(&body), "{load}");
    }
}

#[test]
fn a_predicate_with_two_definitions() {
    assert!(!speculated(
        "setp.gt.s32 %p1, %r1, 0;
             ld.shared.u32 %r3, [s];
             @%p1 bra OVER;
             setp.gt.s32 %p1, %r2, 0;
             OVER:
             selp.b32 %r9, %r3, 5, %p1;"
    ));
    // Guarded: it may be the one or the other.
    assert!(!speculated(
        "setp.gt.s32 %p2, %r2, 7;
             ld.shared.u32 %r3, [s];
             @%p2 setp.gt.s32 %p1, %r1, 0;
             selp.b32 %r9, %r3, 5, %p1;"
    ));
}

#[test]
fn a_predicate_of_what_has_two_definitions() {
    assert!(!speculated(
        "mov.u32 %r4, %r1;
             ld.shared.u32 %r3, [s];
             add.s32 %r4, %r4, 1;
             setp.gt.s32 %p1, %r4, 0;
             selp.b32 %r9, %r3, 5, %p1;"
    ));
}

#[test]
fn a_predicate_of_what_is_loaded_behind() {
    let program = lowered(
        "ld.shared.u32 %r3, [s];
             ld.shared.u32 %r4, [s+4];
             setp.gt.s32 %p1, %r4, 0;
             selp.b32 %r9, %r3, 5, %p1;",
    );
    assert_eq!(conditions(&program), [Slot::TRUE, Slot::TRUE]);
    // In front it may be.
    let program = lowered(
        "ld.shared.u32 %r4, [s+4];
             ld.shared.u32 %r3, [s];
             setp.gt.s32 %p1, %r4, 0;
             selp.b32 %r9, %r3, 5, %p1;",
    );
    let all = conditions(&program);
    assert!(all[0] == Slot::TRUE && all[1] != Slot::TRUE, "{all:?}");
}

#[test]
fn a_round_of_a_loop() {
    // The predicate is this round's.
    assert!(speculated(
        "mov.u32 %r4, 0;
             AGAIN:
             setp.gt.s32 %p1, %r4, %r2;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, %r3, 5, %p1;
             add.s32 %r4, %r4, 1;
             setp.lt.s32 %p2, %r4, %r1;
             @%p2 bra AGAIN;"
    ));
    // The last round's.
    assert!(!speculated(
        "mov.u32 %r4, 0;
             AGAIN:
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, %r3, 5, %p1;
             setp.gt.s32 %p1, %r4, %r2;
             add.s32 %r4, %r4, 1;
             setp.lt.s32 %p2, %r4, %r1;
             @%p2 bra AGAIN;"
    ));
    // The counter has moved on when the predicate is computed.
    assert!(!speculated(
        "mov.u32 %r4, 0;
             AGAIN:
             ld.shared.u32 %r3, [s];
             add.s32 %r4, %r4, 1;
             setp.gt.s32 %p1, %r4, %r2;
             selp.b32 %r9, %r3, 5, %p1;
             setp.lt.s32 %p2, %r4, %r1;
             @%p2 bra AGAIN;"
    ));
    // The value is looked at behind the loop as well, and the load is not in every round.
    assert!(!speculated(
        "mov.u32 %r4, 0;
             AGAIN:
             setp.gt.s32 %p1, %r4, %r2;
             @%p1 bra OVER;
             ld.shared.u32 %r3, [s];
             OVER:
             selp.b32 %r9, %r3, 5, %p1;
             add.s32 %r4, %r4, 1;
             setp.lt.s32 %p2, %r4, %r1;
             @%p2 bra AGAIN;"
    ));
}

#[test]
fn a_copied_predicate_of_a_round() {
    assert!(speculated(
        "mov.u32 %r4, 0;
             AGAIN:
             add.s32 %r5, %r4, %r2;
             ld.shared.u32 %r3, [s];
             bar.sync 0;
             setp.gt.s32 %p1, %r5, %r1;
             selp.b32 %r9, %r3, 5, %p1;
             add.s32 %r4, %r4, 1;
             setp.lt.s32 %p2, %r4, %r1;
             @%p2 bra AGAIN;"
    ));
}

/// Whether the source reads depends on the order of threads, then, as if it branched.
#[test]
fn a_condition_steers() {
    let program = lowered(
        "atom.shared.add.u32 %r4, [s+8], 1;
             setp.eq.u32 %p1, %r4, 0;
             ld.shared.u32 %r3, [s];
             selp.b32 %r9, %r3, 5, %p1;",
    );
    let mut sources = crate::lower::dependence::OrderSources::default();
    sources
        .reads
        .extend((0..program.sites.len() as u32).map(crate::ids::Site));
    assert!(crate::lower::dependence::dependence(&program, &sources).steered);
}
