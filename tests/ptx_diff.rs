//! `racetrap::ptxdiff` on what compilers wrote and on pairs made for each effect.

use racetrap::ptxdiff::effect::Effect;
use racetrap::ptxdiff::{FunctionDiff, Side, Unit};

fn pinned(file: &str) -> Unit {
    let path = format!("{}/kernels/{file}", env!("CARGO_MANIFEST_DIR"));
    Unit::parse(std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Effects with their side and count.
fn effects(diff: &FunctionDiff) -> Vec<String> {
    diff.effects
        .iter()
        .map(|o| {
            let side = o.side.map_or("both".to_owned(), |s| s.to_string());
            format!("{} {side} {}", o.effect, o.occurrences.len())
        })
        .collect()
}

#[test]
fn the_plain_warp_scan_lacks_five_stores_and_six_loads() {
    for target in ["sm_75", "sm_90"] {
        let plain = pinned(&format!("scan/warp.BUG_PLAIN_POINTER.{target}.ptx"));
        let volatile = pinned(&format!("scan/warp.{target}.ptx"));
        let entry = |unit: &'static Unit| unit.entry("scan_warps_lockstep").unwrap();
        let (plain, volatile): (&'static Unit, &'static Unit) =
            (Box::leak(Box::new(plain)), Box::leak(Box::new(volatile)));
        let diff = FunctionDiff::of((plain, entry(plain)), (volatile, entry(volatile))).unwrap();
        assert_eq!(
            effects(&diff),
            [
                "store-elided A 5",
                "load-elided A 6",
                "value-kept-in-register A 6",
                "volatile-dropped A 7"
            ],
            "{target}"
        );
        let back = FunctionDiff::of((volatile, entry(volatile)), (plain, entry(plain))).unwrap();
        assert_eq!(back.count(Effect::StoreElided, Side::B), 5);
        let lines: Vec<u32> = diff.effects[0]
            .occurrences
            .iter()
            .map(|o| diff.b.source(o.b[0]).unwrap().line)
            .collect();
        assert_eq!(lines, [48, 51, 51, 51, 51]);
    }
}

/// A module with one kernel `k(u64 p, u32 n)` and a shared array, and what else is given.
fn module(body: &str) -> String {
    module_with("", body)
}

fn module_with(before: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .shared .align 4 .b8 tile[1024];\n{before}\n\
         .visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .pred %p<20>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<20>;\n\
         ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n\
         shl.b32 %r3, %r2, 2;\nmov.u32 %r4, tile;\nadd.s32 %r5, %r4, %r3;\n{body}\nret;\n}}\n"
    )
}

/// The effects of two modules, those that both sides share apart.
fn between(a: &str, b: &str) -> Vec<String> {
    let mut found = diffs(a, b);
    found.retain(|effect| !effect.contains(" both "));
    found
}

/// The effects of two modules.
fn diffs(a: &str, b: &str) -> Vec<String> {
    let unit = |text: &str| Unit::parse(text.to_owned()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let (a, b) = (unit(a), unit(b));
    let diff = FunctionDiff::of((&a, a.entry("k").unwrap()), (&b, b.entry("k").unwrap())).unwrap();
    effects(&diff)
}

/// An effect is found in A beside B, as B's where the two change places, and not beside what only resembles it.
fn shows(effect: &str, a: &str, b: &str, near_miss: &str) {
    let (a, b, near_miss) = (module(a), module(b), module(near_miss));
    let found = |effects: Vec<String>, side: &str| {
        effects
            .iter()
            .any(|e| e.starts_with(&format!("{effect} {side} ")))
    };
    assert!(found(between(&a, &b), "A"), "{:?}", between(&a, &b));
    assert!(found(between(&b, &a), "B"), "{:?}", between(&b, &a));
    assert!(!found(between(&a, &b), "B"), "{:?}", between(&a, &b));
    let missed = between(&near_miss, &b);
    assert!(!found(missed.clone(), "A"), "near miss: {missed:?}");
}

#[test]
fn a_store_is_elided_where_its_place_is_not_written() {
    let b = "st.shared.u32 [%r5], 1; add.s32 %r6, %r1, 1; st.shared.u32 [%r5], %r6;";
    // The near miss stores both times, at an address that is computed in another way.
    let near = "mad.lo.s32 %r7, %r2, 4, %r4; st.shared.u32 [%r7], 1; add.s32 %r6, %r1, 1; st.shared.u32 [%r7], %r6;";
    shows(
        "store-elided",
        "add.s32 %r6, %r1, 1; st.shared.u32 [%r5], %r6;",
        b,
        near,
    );
}

#[test]
fn a_store_in_both_branches_is_no_second_store() {
    let one = "setp.lt.u32 %p1, %r2, %r1; @%p1 bra A; add.s32 %r6, %r1, 1; bra B; A: add.s32 %r6, %r1, 2; B: st.shared.u32 [%r5], %r6;";
    let two = "setp.lt.u32 %p1, %r2, %r1; @%p1 bra A; add.s32 %r6, %r1, 1; st.shared.u32 [%r5], %r6; bra B; A: add.s32 %r6, %r1, 2; st.shared.u32 [%r5], %r6; B:";
    let found = between(&module(one), &module(two));
    assert!(
        !found.iter().any(|e| e.starts_with("store-elided")),
        "{found:?}"
    );
}

#[test]
fn a_store_under_a_predicate_and_its_negation_is_one_store() {
    let one = "setp.lt.u32 %p1, %r2, %r1; st.shared.u32 [%r5], %r1;";
    let two =
        "setp.lt.u32 %p1, %r2, %r1; @%p1 st.shared.u32 [%r5], %r1; @!%p1 st.shared.u32 [%r5], %r1;";
    assert_eq!(between(&module(one), &module(two)), [""; 0]);
    assert_eq!(between(&module(two), &module(one)), [""; 0]);
    // Where one side stores under the predicate alone, the other half is elided.
    let half = "setp.lt.u32 %p1, %r2, %r1; @%p1 st.shared.u32 [%r5], %r1;";
    assert_eq!(between(&module(half), &module(two)), ["store-elided A 1"]);
    // Two stores under one predicate are two.
    let twice =
        "setp.lt.u32 %p1, %r2, %r1; @%p1 st.shared.u32 [%r5], %r1; @%p1 st.shared.u32 [%r5], %r1;";
    assert_eq!(between(&module(one), &module(twice)), ["store-elided A 1"]);
}

#[test]
fn a_store_in_one_arm_is_none_in_the_other() {
    let both = "setp.lt.u32 %p1, %r2, %r1; @%p1 bra A; st.shared.u32 [%r5], 1; bra B; A: st.shared.u32 [%r5], 2; B:";
    let one = "setp.lt.u32 %p1, %r2, %r1; @%p1 bra A; st.shared.u32 [%r5], 1; bra B; A: mov.u32 %r6, 2; B:";
    let found = between(&module(one), &module(both));
    assert!(found.contains(&"store-elided A 1".to_owned()), "{found:?}");
    // In front of the branch it is for both.
    let before = "setp.lt.u32 %p1, %r2, %r1; st.shared.u32 [%r5], 1; @%p1 bra A; mov.u32 %r6, 1; bra B; A: mov.u32 %r6, 2; B:";
    let found = between(&module(before), &module(both));
    assert!(!found.iter().any(|e| e.contains("elided")), "{found:?}");
}

#[test]
fn accesses_are_vectorised_or_merged() {
    let four = "ld.global.f32 %r6, [%rd1]; ld.global.f32 %r7, [%rd1+4]; ld.global.f32 %r8, [%rd1+8]; ld.global.f32 %r9, [%rd1+12];";
    let vector = "ld.global.v4.f32 {%r6, %r7, %r8, %r9}, [%rd1];";
    // The vector of the words behind them.
    let near = "ld.global.v4.f32 {%r6, %r7, %r8, %r9}, [%rd1+16];";
    shows("accesses-vectorised", vector, four, near);
    assert_eq!(
        between(&module(vector), &module(four)),
        ["accesses-vectorised A 1"]
    );
    let pairs = "ld.global.v2.f32 {%r6, %r7}, [%rd1]; ld.global.v2.f32 {%r8, %r9}, [%rd1+8];";
    assert_eq!(
        between(&module(pairs), &module(four)),
        ["accesses-vectorised A 2"]
    );
    assert_eq!(
        between(&module(vector), &module(pairs)),
        ["accesses-vectorised A 1"]
    );
    let halves = "st.global.u16 [%rd1], %r1; st.global.u16 [%rd1+2], %r1;";
    let word = "st.global.u32 [%rd1], %r1;";
    shows(
        "accesses-merged",
        word,
        halves,
        "st.global.u16 [%rd1], %r1;",
    );
    assert_eq!(
        between(&module(word), &module(halves)),
        ["accesses-merged A 1"]
    );
    // A vector does not reach across a barrier.
    let apart = "st.shared.u32 [%r5], 1; bar.sync 0; st.shared.u32 [%r5+4], 1;";
    let before = "st.shared.v2.u32 [%r5], {1, 1}; bar.sync 0;";
    assert_eq!(
        between(&module(before), &module(apart)),
        ["store-elided A 1"]
    );
}

#[test]
fn what_is_not_covered_is_elided_all_the_same() {
    // A vector covers what it touches, once.
    let three = "st.global.u32 [%rd1], 1; st.global.u32 [%rd1+4], 1; st.global.u32 [%rd1+8], 1;";
    let vector = "st.global.v2.u32 [%rd1], {1, 1};";
    assert_eq!(
        between(&module(vector), &module(three)),
        ["store-elided A 1", "accesses-vectorised A 1"]
    );
    let again = "st.global.u32 [%rd1], 1; st.global.u32 [%rd1], 2; st.global.u32 [%rd1+4], 1;";
    assert_eq!(
        between(&module(vector), &module(again)),
        ["store-elided A 1", "accesses-vectorised A 1"]
    );
    // Different parameters are different places.
    let (p, q) = (
        "st.global.u32 [%rd1], 1;",
        "ld.param.u64 %rd2, [q]; st.global.u32 [%rd2], 1;",
    );
    let two = |body: &str| module(body).replace(".param .u32 n", ".param .u32 n, .param .u64 q");
    assert_eq!(
        between(&two(p), &two(q)),
        ["store-elided A 1", "store-elided B 1"]
    );
    // Elements of another size lie elsewhere, and are the same elements.
    let words = "ld.global.u32 %r6, [%rd1]; ld.global.u32 %r7, [%rd1+4]; st.shared.u32 [%r5], %r6;";
    let strided = "mul.wide.u32 %rd2, %r2, 8; add.s64 %rd3, %rd1, %rd2; ld.global.u64 %rd4, [%rd3]; ld.global.u64 %rd5, [%rd3+8]; st.shared.u32 [%r5], %rd4;";
    assert_eq!(between(&module(words), &module(strided)), [""; 0]);
    // What depends on the way may be anywhere.
    let walked = "mov.u64 %rd2, %rd1; setp.lt.u32 %p1, %r2, %r1; @%p1 add.s64 %rd2, %rd1, 8; st.global.v2.u32 [%rd2], {1, 1};";
    let found = between(
        &module(walked),
        &module("st.global.u32 [%rd1], 1; st.global.u32 [%rd1+4], 1;"),
    );
    assert!(!found.iter().any(|e| e.contains("elided")), "{found:?}");
}

#[test]
fn an_access_is_made_atomic() {
    let plain = "st.global.u32 [%rd1], 1;";
    shows(
        "access-made-atomic",
        "atom.global.exch.b32 %r6, [%rd1], 1;",
        plain,
        "atom.global.exch.b32 %r6, [%rd1+4], 1;",
    );
    let increment = "ld.global.u32 %r6, [%rd1]; add.s32 %r6, %r6, 1; st.global.u32 [%rd1], %r6;";
    assert_eq!(
        between(&module("red.global.add.u32 [%rd1], 1;"), &module(increment)),
        ["access-made-atomic A 1"]
    );
    // An atomic operation on both sides is none that was made.
    let add = "atom.global.add.u32 %r6, [%rd1], 1;";
    assert_eq!(
        between(&module(add), &module("atom.global.max.u32 %r6, [%rd1], 1;")),
        [""; 0]
    );
    shows("atomic-elided", "mov.u32 %r6, 1;", add, increment);
}

#[test]
fn a_copy_is_made_asynchronous() {
    let copy = "cp.async.ca.shared.global [%r5], [%rd1], 4; cp.async.wait_all;";
    let plain = "ld.global.u32 %r6, [%rd1]; st.shared.u32 [%r5], %r6;";
    let near = "cp.async.ca.shared.global [%r5+8], [%rd1+8], 4; cp.async.wait_all;";
    shows("copy-made-asynchronous", copy, plain, near);
    assert_eq!(
        between(&module(copy), &module(plain)),
        ["copy-made-asynchronous A 1"]
    );
    let found = between(&module("mov.u32 %r6, 1;"), &module(copy));
    assert_eq!(found, ["store-elided A 1"]);
    // A bulk copy of a size that is known when it runs.
    let bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], %r1, [%r5];";
    let each = "ld.global.u32 %r6, [%rd1]; st.shared.u32 [tile], %r6;";
    let found = between(&module(bulk), &module(each));
    assert_eq!(found, ["copy-made-asynchronous A 1"]);
}

#[test]
fn synchronisation_is_weakened() {
    let around =
        |fence: &str| format!("st.global.u32 [%rd1], 1; {fence} st.global.u32 [%rd1+4], 1;");
    let access = |access: &str| format!("{access} st.shared.u32 [%r5], %r6;");
    let effect = "synchronisation-weakened";
    // The weaker one, the stronger one, and one that is as strong as the stronger one.
    for (weak, strong, same) in [
        ("fence.acq_rel.gpu;", "membar.gl;", "fence.sc.gpu;"),
        ("fence.sc.cta;", "fence.sc.gpu;", "membar.gl;"),
        ("membar.cta;", "membar.sys;", "fence.sc.sys;"),
        ("bar.sync 0, 64;", "bar.sync 0;", "barrier.sync.aligned 0;"),
        (
            "bar.warp.sync -1;",
            "bar.sync 0;",
            "barrier.cta.sync.aligned 0;",
        ),
        (
            "bar.warp.sync 0xffff;",
            "bar.warp.sync 0xffffffff;",
            "bar.warp.sync -1;",
        ),
        (
            "bar.arrive 1, 64;",
            "bar.sync 1, 64;",
            "barrier.sync.aligned 1, 64;",
        ),
        (
            "barrier.cluster.arrive.relaxed;",
            "barrier.cluster.arrive;",
            "barrier.cluster.arrive.release;",
        ),
    ] {
        shows(effect, &around(weak), &around(strong), &around(same));
        let kept = diffs(&module(&around(same)), &module(&around(strong)));
        assert!(
            kept.iter().any(|e| e.ends_with("-kept both 1")),
            "{same} {strong}: {kept:?}"
        );
        let kept = diffs(&module(&around(weak)), &module(&around(strong)));
        assert!(
            !kept.iter().any(|e| e.contains("-kept")),
            "{weak} {strong}: {kept:?}"
        );
    }
    for (weak, strong, same) in [
        (
            "ld.relaxed.gpu.global.u32 %r6, [%rd1];",
            "ld.acquire.gpu.global.u32 %r6, [%rd1];",
            "ld.acquire.gpu.global.b32 %r6, [%rd1];",
        ),
        (
            "ld.global.u32 %r6, [%rd1];",
            "ld.relaxed.sys.global.u32 %r6, [%rd1];",
            "ld.volatile.global.u32 %r6, [%rd1];",
        ),
        (
            "atom.cta.global.add.u32 %r6, [%rd1], 1;",
            "atom.global.add.u32 %r6, [%rd1], 1;",
            "atom.relaxed.gpu.global.add.u32 %r6, [%rd1], 1;",
        ),
        (
            "atom.release.gpu.global.add.u32 %r6, [%rd1], 1;",
            "atom.acq_rel.gpu.global.add.u32 %r6, [%rd1], 1;",
            "atom.acq_rel.gpu.global.add.s32 %r6, [%rd1], 1;",
        ),
    ] {
        shows(effect, &access(weak), &access(strong), &access(same));
    }
    // The block's own memory is seen by no wider scope.
    let (cta, gpu) = (
        "atom.cta.shared.add.u32 %r6, [%r5], 1;",
        "atom.shared.add.u32 %r6, [%r5], 1;",
    );
    assert_eq!(between(&module(cta), &module(gpu)), [""; 0]);
    // Each is weaker in something.
    let (order, scope) = (
        "ld.relaxed.sys.global.u32 %r6, [%rd1];",
        "ld.acquire.cta.global.u32 %r6, [%rd1];",
    );
    assert_eq!(
        between(&module(order), &module(scope)),
        [
            "synchronisation-weakened A 1",
            "synchronisation-weakened B 1"
        ]
    );
    // A fence of a proxy is none of memory.
    let proxy = around("fence.proxy.async;");
    assert_eq!(
        between(&module(&proxy), &module(&around("fence.acq_rel.gpu;"))),
        ["fence-lost A 1", "fence-lost B 1"]
    );
}

#[test]
fn a_load_is_elided_where_nobody_makes_it() {
    let b = "ld.shared.u32 %r6, [%r5]; ld.shared.u32 %r7, [%r5+4]; add.s32 %r8, %r6, %r7; st.shared.u32 [%r5+8], %r8;";
    let a = "ld.shared.u32 %r6, [%r5]; st.shared.u32 [%r5+8], %r6;";
    // Another place is not none.
    let near = "ld.shared.u32 %r6, [%r5]; ld.shared.u32 %r7, [%r5+16]; add.s32 %r8, %r6, %r7; st.shared.u32 [%r5+8], %r8;";
    shows("load-elided", a, b, near);
}

#[test]
fn a_value_is_kept_where_the_other_side_reads_its_own_word_again() {
    let b = "st.shared.u32 [%r5], %r1; ld.shared.u32 %r6, [%r5]; st.shared.u32 [%r5+4], %r6;";
    let a = "st.shared.u32 [%r5], %r1; st.shared.u32 [%r5+4], %r1;";
    shows("value-kept-in-register", a, b, b);
    // A load of another word that is gone is not one that was kept.
    let other =
        "st.shared.u32 [%r5], %r1; ld.shared.u32 %r6, [%r5+12]; st.shared.u32 [%r5+4], %r6;";
    let found = between(&module(a), &module(other));
    assert_eq!(found, ["load-elided A 1"]);
}

#[test]
fn a_load_moves_across_a_barrier() {
    let a = "ld.shared.u32 %r6, [%r5+4]; bar.sync 0; st.shared.u32 [%r5], %r6;";
    let b = "bar.sync 0; ld.shared.u32 %r6, [%r5+4]; st.shared.u32 [%r5], %r6;";
    // Past arithmetic is not past a barrier.
    let near =
        "bar.sync 0; add.s32 %r7, %r1, 1; ld.shared.u32 %r6, [%r5+4]; st.shared.u32 [%r5], %r6;";
    shows("load-moved-across-barrier", a, b, near);
}

#[test]
fn a_load_is_hoisted_out_of_a_loop() {
    let a = "ld.global.u32 %r6, [%rd1]; L: add.s32 %r7, %r7, %r6; add.s32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, %r1; @%p1 bra L; st.shared.u32 [%r5], %r7;";
    let b = "L: ld.global.u32 %r6, [%rd1]; add.s32 %r7, %r7, %r6; add.s32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, %r1; @%p1 bra L; st.shared.u32 [%r5], %r7;";
    shows("load-hoisted", a, b, b);
    // Without a loop nothing was moved out of one.
    let none = "ld.global.u32 %r6, [%rd1]; add.s32 %r7, %r7, %r6; st.shared.u32 [%r5], %r7;";
    let found = between(&module(none), &module(b));
    assert!(
        !found.iter().any(|e| e.starts_with("load-hoisted")),
        "{found:?}"
    );
    // A wait that has nothing left to wait for.
    let waits = "L: ld.volatile.global.u32 %r6, [%rd1]; setp.eq.u32 %p1, %r6, 0; @%p1 bra L; st.shared.u32 [%r5], 1;";
    let endless = "ld.global.u32 %r6, [%rd1]; setp.eq.u32 %p1, %r6, 0; @!%p1 bra E; L: bra L; E: st.shared.u32 [%r5], 1;";
    shows("load-hoisted", endless, waits, waits);
}

#[test]
fn a_loop_is_unrolled_where_its_body_stands_in_a_row() {
    let body = |at: u32| {
        format!(
            "ld.shared.u32 %r{}, [%r5+{}]; add.s32 %r10, %r10, %r{};",
            20 + at,
            4 * at,
            20 + at
        )
    };
    let unrolled: String = (0..4).map(body).collect();
    let a = format!("mov.u32 %r10, 0; {unrolled} st.shared.u32 [%r5], %r10;");
    let b = "mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, %r5; L: ld.shared.u32 %r6, [%r12]; add.s32 %r10, %r10, %r6; \
             add.s32 %r12, %r12, 4; add.s32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 4; @%p1 bra L; st.shared.u32 [%r5], %r10;";
    // One round, and no loop.
    let near = format!("mov.u32 %r10, 0; {} st.shared.u32 [%r5], %r10;", body(0));
    shows("loop-unrolled", &a, b, &near);
    let found = between(&module(&a), &module(b));
    assert!(
        !found.iter().any(|e| e.starts_with("load-elided")),
        "copies are no elision: {found:?}"
    );
}

#[test]
fn a_branch_becomes_a_selection() {
    let a = "setp.ge.u32 %p1, %r2, %r1; selp.b32 %r6, 5, %r1, %p1; st.shared.u32 [%r5], %r6;";
    let b = "setp.lt.u32 %p1, %r2, %r1; mov.u32 %r6, %r1; @%p1 bra S; mov.u32 %r6, 5; S: st.shared.u32 [%r5], %r6;";
    // A selection by another comparison.
    let near = "setp.ge.u32 %p1, %r2, 7; selp.b32 %r6, 5, %r1, %p1; st.shared.u32 [%r5], %r6;";
    shows("branch-to-selection", a, b, near);
    let predicated = "setp.lt.u32 %p1, %r2, %r1; mov.u32 %r6, %r1; @!%p1 mov.u32 %r6, 5; st.shared.u32 [%r5], %r6;";
    assert!(
        between(&module(predicated), &module(b)).contains(&"branch-to-selection A 1".to_owned())
    );
}

#[test]
fn a_remainder_becomes_a_mask() {
    let a = "and.b32 %r6, %r2, 7; setp.eq.s32 %p1, %r6, 0; @%p1 st.shared.u32 [%r5], %r6;";
    let b = "rem.u32 %r6, %r2, 8; setp.eq.s32 %p1, %r6, 0; @%p1 st.shared.u32 [%r5], %r6;";
    // Of something else.
    let near = "and.b32 %r6, %r1, 7; setp.eq.s32 %p1, %r6, 0; @%p1 st.shared.u32 [%r5], %r6;";
    shows("strength-reduced", a, b, near);
    let cut_up = "mul.lo.s32 %r6, %r2, %r1; add.s32 %r7, %r6, %r3; st.shared.u32 [%r5], %r7;";
    let whole = "mad.lo.s32 %r7, %r2, %r1, %r3; st.shared.u32 [%r5], %r7;";
    assert_eq!(between(&module(cut_up), &module(whole)), [""; 0]);
}

#[test]
fn a_cheaper_operation_computes_the_same_from_the_same_operand() {
    let reduced = "strength-reduced";
    let with = |operation: &str| format!("{operation} st.shared.u32 [%r5], %r6;");
    for (cheap, costly, near) in [
        // Another shift is another product.
        (
            "shl.b32 %r6, %r2, 3;",
            "mul.lo.u32 %r6, %r2, 8;",
            "shl.b32 %r6, %r2, 2;",
        ),
        (
            "shl.b32 %r7, %r2, 1; add.s32 %r6, %r7, %r2;",
            "mul.lo.s32 %r6, %r2, 3;",
            "shl.b32 %r7, %r1, 1; add.s32 %r6, %r7, %r2;",
        ),
        (
            "shl.b32 %r7, %r2, 2; add.s32 %r6, %r7, %r1;",
            "mad.lo.s32 %r6, %r2, 4, %r1;",
            "add.s32 %r6, %r2, %r1;",
        ),
        (
            "shr.u32 %r6, %r2, 3;",
            "div.u32 %r6, %r2, 8;",
            "shr.u32 %r6, %r2, 4;",
        ),
        (
            "mul.hi.u32 %r7, %r2, -1840700269; shr.u32 %r6, %r7, 2;",
            "div.u32 %r6, %r2, 7;",
            "mul.hi.u32 %r7, %r1, -1840700269; shr.u32 %r6, %r7, 2;",
        ),
        (
            "mul.hi.u32 %r7, %r2, 613566757; mul.lo.s32 %r8, %r7, 7; sub.s32 %r6, %r2, %r8;",
            "rem.u32 %r6, %r2, 7;",
            "sub.s32 %r6, %r2, 7;",
        ),
        (
            "add.s32 %r7, %r1, -1; and.b32 %r6, %r2, %r7;",
            "rem.u32 %r6, %r2, %r1;",
            "and.b32 %r6, %r2, %r1;",
        ),
        (
            "mul.f32 %r6, %r2, 0f3E000000;",
            "div.rn.f32 %r6, %r2, 0f41000000;",
            "mul.f32 %r6, %r2, 0f3F000000;",
        ),
    ] {
        shows(reduced, &with(cheap), &with(costly), &with(near));
    }
    // The same product of another operand is computed for something else.
    let (of_r7, of_r2) = (
        "shl.b32 %r8, %r2, 4; mul.lo.s32 %r6, %r8, 4; st.shared.u32 [%r5], %r6;",
        "shl.b32 %r6, %r2, 6; st.shared.u32 [%r5], %r6;",
    );
    assert_eq!(between(&module(of_r2), &module(of_r7)), [""; 0]);
    // A conversion that stands in a product's place is no product.
    let (widened, product) = (
        "cvt.s64.s32 %rd2, %r2; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 1;",
        "mul.wide.s32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], 1;",
    );
    let found = between(&module(widened), &module(product));
    assert!(!found.iter().any(|e| e.starts_with(reduced)), "{found:?}");
}

#[test]
fn an_atomic_becomes_a_reduction() {
    let a = "red.global.add.u32 [%rd1], 1;";
    let b = "atom.global.add.u32 %r6, [%rd1], 1;";
    shows("atomic-to-reduction", a, b, "red.global.max.u32 [%rd1], 1;");
}

#[test]
fn a_call_is_inlined_where_its_body_stands() {
    let callee = ".func (.param .b32 out) f(.param .b32 x) { .reg .b32 %r<9>; ld.param.u32 %r1, [x]; \
                  xor.b32 %r2, %r1, 85; popc.b32 %r3, %r2; st.param.b32 [out], %r3; ret; }";
    let call = "{ .param .b32 a; st.param.b32 [a], %r1; .param .b32 o; call.uni (o), f, (a); ld.param.b32 %r6, [o]; } st.shared.u32 [%r5], %r6;";
    let (a, b) = (
        "xor.b32 %r7, %r1, 85; popc.b32 %r6, %r7; st.shared.u32 [%r5], %r6;",
        module_with(callee, call),
    );
    assert!(
        between(&module(a), &b).contains(&"call-inlined A 1".to_owned()),
        "{:?}",
        between(&module(a), &b)
    );
    let near = "clz.b32 %r6, %r1; st.shared.u32 [%r5], %r6;";
    let found = between(&module(near), &b);
    assert!(
        !found.iter().any(|e| e.starts_with("call-inlined")),
        "{found:?}"
    );
}

#[test]
fn a_barrier_is_lost_or_kept() {
    let a = "st.shared.u32 [%r5], %r1; ld.shared.u32 %r6, [%r5+4]; st.global.u32 [%rd1], %r6;";
    let b = "st.shared.u32 [%r5], %r1; bar.sync 0; ld.shared.u32 %r6, [%r5+4]; st.global.u32 [%rd1], %r6;";
    // A barrier by another name.
    let near = "st.shared.u32 [%r5], %r1; barrier.sync 0; ld.shared.u32 %r6, [%r5+4]; st.global.u32 [%rd1], %r6;";
    shows("barrier-lost", a, b, near);
    let a = "st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], 1;";
    let b = "st.global.u32 [%rd1], %r1; membar.gl; st.global.u32 [%rd1+4], 1;";
    shows(
        "fence-lost",
        a,
        b,
        "st.global.u32 [%rd1], %r1; fence.acq_rel.gpu; st.global.u32 [%rd1+4], 1;",
    );
}

#[test]
fn an_access_is_no_longer_volatile() {
    let a = "ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd1], %r6;";
    let b = "ld.volatile.shared.u32 %r6, [%r5]; st.global.u32 [%rd1], %r6;";
    shows("volatile-dropped", a, b, "st.global.u32 [%rd1], 3;");
}

#[test]
fn layout_and_names_are_no_difference() {
    let a = "setp.lt.u32 %p1, %r2, %r1; @%p1 bra A; add.s32 %r6, %r1, 1; bra B; A: add.s32 %r6, %r1, 2; B: st.shared.u32 [%r5], %r6;";
    let b = "setp.lt.u32 %p7, %r2, %r1; @!%p7 bra X; add.s32 %r9, %r1, 2; Y: st.shared.u32 [%r5], %r9; bra Z; X: add.s32 %r9, 1, %r1; bra Y; Z:";
    assert!(same(&module(a), &module(b)));
    // The same instructions, other ways.
    let c = "setp.lt.u32 %p1, %r2, %r1; @!%p1 bra A; add.s32 %r6, %r1, 1; bra B; A: add.s32 %r6, %r1, 2; B: st.shared.u32 [%r5], %r6;";
    assert!(!same(&module(a), &module(c)));
    // The same instructions, other registers.
    let d = "add.s32 %r6, %r1, 1; add.s32 %r7, %r1, 2; sub.s32 %r8, %r6, %r7; st.shared.u32 [%r5], %r8;";
    let e = "add.s32 %r6, %r1, 1; add.s32 %r7, %r1, 2; sub.s32 %r8, %r7, %r6; st.shared.u32 [%r5], %r8;";
    assert!(same(&module(d), &module(d)) && !same(&module(d), &module(e)));
}

fn same(a: &str, b: &str) -> bool {
    let unit = |text: &str| Unit::parse(text.to_owned()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let (a, b) = (unit(a), unit(b));
    let entry = |unit: &'static Unit| (unit, unit.entries().next().unwrap());
    let (a, b): (&'static Unit, &'static Unit) = (Box::leak(Box::new(a)), Box::leak(Box::new(b)));
    FunctionDiff::of(entry(a), entry(b)).unwrap().is_same()
}
