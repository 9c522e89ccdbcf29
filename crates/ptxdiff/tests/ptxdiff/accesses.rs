//! What becomes of accesses, on pairs made for each effect.

use crate::pairs::{between, module, shows};

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
    assert_eq!(between(&module(one), &module(two)), ["tails-merged A 1"]);
    assert_eq!(between(&module(two), &module(one)), ["tails-merged B 1"]);
    // Where one side stores under the predicate alone, the other half is elided.
    let half = "setp.lt.u32 %p1, %r2, %r1; @%p1 st.shared.u32 [%r5], %r1;";
    assert_eq!(between(&module(half), &module(two)), ["store-elided A 1"]);
    // Two stores under one predicate are two.
    let twice =
        "setp.lt.u32 %p1, %r2, %r1; @%p1 st.shared.u32 [%r5], %r1; @%p1 st.shared.u32 [%r5], %r1;";
    assert_eq!(between(&module(half), &module(twice)), ["store-elided A 1"]);
    // One without a condition may be executed more often than two with one.
    assert_eq!(between(&module(one), &module(twice)), [""; 0]);
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
    // A vector does not reach across a barrier: it stores there what the other side stores behind it.
    let apart = "st.shared.u32 [%r5], 1; bar.sync 0; st.shared.u32 [%r5+4], 1;";
    let before = "st.shared.v2.u32 [%r5], {1, 1}; bar.sync 0;";
    assert_eq!(
        between(&module(before), &module(apart)),
        ["store-moved-across-barrier A 1"]
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
fn an_access_is_no_longer_volatile() {
    let a = "ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd1], %r6;";
    let b = "ld.volatile.shared.u32 %r6, [%r5]; st.global.u32 [%rd1], %r6;";
    shows("volatile-dropped", a, b, "st.global.u32 [%rd1], 3;");
}
