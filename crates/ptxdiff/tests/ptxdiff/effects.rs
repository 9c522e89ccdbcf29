//! `ptxdiff` on what compilers wrote and on pairs made for each effect.

use crate::pairs::{between, diffs, effects, module, module_with, shows};
use ptxdiff::effect::Effect;
use ptxdiff::{FunctionDiff, Side, Unit};

fn pinned(file: &str) -> Unit {
    let path = testing::root().join("kernels").join(file);
    Unit::parse(std::fs::read_to_string(path).unwrap()).unwrap()
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

#[test]
fn what_is_at_another_address_in_each_iteration_is_not_hoisted() {
    let count =
        "add.s32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, %r1; @%p1 bra L; st.shared.u32 [%r5], %r7;";
    let first = format!("ld.global.u32 %r6, [%rd1]; L: add.s32 %r7, %r7, %r6; {count}");
    let walks = format!(
        "mov.u64 %rd2, %rd1; L: ld.global.u32 %r6, [%rd2]; add.s64 %rd2, %rd2, 4; add.s32 %r7, %r7, %r6; {count}"
    );
    // Nor is what only some iterations do.
    let some = format!(
        "L: setp.eq.u32 %p2, %r8, 2; @!%p2 bra S; ld.global.u32 %r6, [%rd1]; add.s32 %r7, %r7, %r6; S: {count}"
    );
    for other in [walks, some] {
        let found = between(&module(&first), &module(&other));
        assert!(
            !found.iter().any(|e| e.starts_with("load-hoisted")),
            "{found:?}"
        );
    }
}

#[test]
fn a_store_to_the_own_memory_of_a_thread_drops_no_volatile() {
    let own = ".local .align 8 .b8 __local_depot0[8]; .reg .b64 %SP, %SPL; mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL; st.u32 [%SP], %r2;";
    let shared = "st.volatile.shared.u32 [%r5], %r2;";
    let found = between(&module(own), &module(shared));
    assert!(!found.iter().any(|e| e.contains("volatile")), "{found:?}");
}

#[test]
fn the_remainder_of_an_unrolled_loop_is_no_partner_of_another_loop() {
    let body =
        "st.shared.u32 [%r5], %r6; bar.sync 0; ld.global.u32 %r6, [%rd2]; add.s64 %rd2, %rd2, 4; ";
    let other = "ld.shared.u32 %r10, [%r11]; st.global.u32 [%rd3], %r10; add.s32 %r11, %r11, 4; add.s64 %rd3, %rd3, 8; ";
    let repeated = |label: &str, body: &str, times: usize, count: u32| {
        format!(
            "{label}: {} add.s32 %r{count}, %r{count}, {times}; setp.lt.u32 %p{count}, %r{count}, %r1; @%p{count} bra {label}; ",
            body.repeat(times)
        )
    };
    let start = "mov.u64 %rd2, %rd1; mov.u64 %rd3, %rd1; mov.u32 %r11, tile; ";
    let end = "st.global.u32 [%rd1], %r6;";
    let [l, m, o] = [
        repeated("L", body, 4, 13),
        repeated("M", body, 1, 14),
        repeated("O", other, 1, 12),
    ];
    let a = format!("{start}{o}{m}{end}");
    let b = format!("{start}{}{l}{m}{end}", other.repeat(4));
    let found = between(&module(&a), &module(&b));
    assert_eq!(found, ["loop-unrolled B 2"]);
}

#[test]
fn the_size_of_a_warp_is_a_number() {
    let a = "mov.u32 %r6, WARP_SZ; rem.u32 %r7, %r2, %r6; st.shared.u32 [%r5], %r7;";
    let [b, wrong] = [31, 15].map(|mask| {
        module(&format!(
            "and.b32 %r7, %r2, {mask}; st.shared.u32 [%r5], %r7;"
        ))
    });
    assert_eq!(between(&module(a), &b), ["strength-reduced B 1"]);
    assert_eq!(between(&module(a), &wrong), ["operation-changed B 1"]);
}

#[test]
fn a_loop_is_unrolled_as_often_as_it_runs() {
    let body = "ld.global.u32 %r6, [%rd2]; st.shared.u32 [%r9], %r6; add.s64 %rd2, %rd2, 4; add.s32 %r9, %r9, 8; ";
    let start = "mov.u64 %rd2, %rd1; mov.u32 %r9, %r5; mov.u32 %r8, 0; ";
    let looped = |until: u32| {
        module(&format!(
            "{start}L: {body} add.s32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, {until}; @%p1 bra L;"
        ))
    };
    let repeated = |times: usize| module(&format!("{start}{}", body.repeat(times)));
    let told = |a: &str, b: &str| between(a, b).join(", ");
    assert_eq!(told(&looped(4), &repeated(4)), "loop-unrolled B 1");
    // A loop that runs once is no loop.
    assert!(!told(&looped(1), &repeated(4)).contains("loop-unrolled"));
}
