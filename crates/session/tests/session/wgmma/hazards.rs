//! Registers and shared memory that a product uses, touched at the wrong time. What is wrong is found under every schedule, by both engines.

use super::*;

const FENCE: &str = "wgmma.fence.sync.aligned;\n";
const PRODUCT: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%s0,%s1,%s2,%s3}, %da, %db, %adds, 1, 1, 0, 0;\n";
const OF_REGISTERS: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%s0,%s1,%s2,%s3}, {%a0,%a1,%a2,%a3}, %db, %adds, 1, 1, 0;\n";
const COMMIT: &str = "wgmma.commit_group.sync.aligned;\n";
const WAIT: &str = "wgmma.wait_group.sync.aligned 0;\n";

/// What is wrong with a body, and the sums that it leaves; each sum is 1 and a product of twos 64.
fn ran(body: &str, before: &str, schedule: &str, engine: Engine) -> Left {
    let layout = Layout {
        width: 0,
        across: false,
        shift: 0,
    };
    let descriptors = [layout.descriptor(0), layout.descriptor(SECOND)];
    let text = kernel(4, true, descriptors, before, body);
    let two: Vec<u8> = (0..TILE / 2)
        .flat_map(|_| 0x4000u16.to_le_bytes())
        .collect();
    let ones = [1f32.to_bits(); 512];
    run(&text, &two, &ones, &[0x4000_4000; 512], schedule, engine)
}

/// The rule is broken, if any, and nothing else is.
fn breaks(body: &str, rule: Option<Rule>) {
    breaks_after(body, PROXY, rule);
}

fn breaks_after(body: &str, before: &str, rule: Option<Rule>) {
    for schedule in SCHEDULES {
        for engine in [Engine::Fast, Engine::Plain] {
            let left = ran(body, before, schedule, engine);
            let mut rules = left.rules;
            rules.dedup();
            let found = (&rules[..], &left.stopped[..]);
            assert_eq!(
                found,
                (rule.as_slice(), ""),
                "{schedule} {engine:?}\n{body}"
            );
            if rule.is_none() {
                let sums: Vec<f32> = left.sums.iter().map(|s| f32::from_bits(*s)).collect();
                let sum = sums[0];
                assert!(
                    sum > 64.0 && sums.iter().all(|s| *s == sum),
                    "{schedule} {engine:?} {sums:?}\n{body}"
                );
            }
        }
    }
}

const HAZARD: Option<Rule> = Some(Rule::AsyncCopyHazard);

#[test]
fn sums_are_there_after_the_wait_and_no_earlier() {
    let read = "add.f32 %s0, %s0, 0f00000000;\n";
    breaks(&[FENCE, PRODUCT, COMMIT, WAIT, read].concat(), None);
    breaks(&[FENCE, PRODUCT, COMMIT, read, WAIT].concat(), HAZARD);
    breaks(&[FENCE, PRODUCT, read, COMMIT, WAIT].concat(), HAZARD);
    // The newest group need not be complete.
    let one = "wgmma.wait_group.sync.aligned 1;\n";
    breaks(&[FENCE, PRODUCT, COMMIT, one, read, WAIT].concat(), HAZARD);
    let empty = [FENCE, PRODUCT, COMMIT, COMMIT, one, read].concat();
    breaks(&empty, None);
    // Nobody waits at all.
    breaks(&[FENCE, PRODUCT, COMMIT].concat(), HAZARD);
}

#[test]
fn a_store_before_the_wait_shows_the_old_sums_where_the_product_is_late() {
    let store = "st.global.f32 [%sums], %s0;\nmov.b32 %r0, 0;\n";
    let body = [FENCE, PRODUCT, COMMIT, store, "ret;\n"].concat();
    for engine in [Engine::Fast, Engine::Plain] {
        let sum = |schedule| f32::from_bits(ran(&body, PROXY, schedule, engine).sums[0]);
        assert_eq!((sum("lockstep"), sum("lane-by-lane")), (1.0, 65.0));
    }
}

#[test]
fn products_of_one_shape_follow_each_other_without_a_fence() {
    breaks(
        &[FENCE, PRODUCT, PRODUCT, COMMIT, PRODUCT, COMMIT, WAIT].concat(),
        None,
    );
    let other = PRODUCT.replace("n8k16.f32", "n16k16.f16");
    breaks(&[FENCE, PRODUCT, &other, COMMIT, WAIT].concat(), HAZARD);
}

#[test]
fn a_fence_comes_between_other_uses_and_a_product() {
    let write = "add.f32 %s0, %s0, 0f00000000;\n";
    breaks(&[write, PRODUCT, COMMIT, WAIT].concat(), HAZARD);
    breaks(&[FENCE, write, PRODUCT, COMMIT, WAIT].concat(), HAZARD);
    breaks(&[write, FENCE, PRODUCT, COMMIT, WAIT].concat(), None);
    let round = [FENCE, PRODUCT, COMMIT, WAIT].concat();
    breaks(&[&round, write, &round].concat(), None);
    breaks(&[&round, write, PRODUCT, COMMIT, WAIT].concat(), HAZARD);
    // A compiler's copy right before the product.
    let copies = "mov.b32 %r0, 0f3F800000;\nmov.b32 %s0, %r0;\n";
    breaks(&[FENCE, copies, PRODUCT, COMMIT, WAIT].concat(), None);
    // What it copies was computed behind the fence.
    let late = "add.f32 %r0, %s0, 0f00000000;\nmov.b32 %s0, %r0;\n";
    breaks(&[FENCE, late, PRODUCT, COMMIT, WAIT].concat(), HAZARD);
}

#[test]
fn copies_of_sums_are_sums() {
    let copy = "mov.b32 %r0, %s0;\n";
    let use_it = "add.f32 %s0, %r0, 0f00000000;\n";
    breaks(&[FENCE, PRODUCT, COMMIT, copy, WAIT, use_it].concat(), None);
    let early = "add.f32 %r1, %r0, 0f00000000;\n";
    breaks(
        &[FENCE, PRODUCT, COMMIT, copy, early, WAIT].concat(),
        HAZARD,
    );
    // Away and back.
    let back = "mov.b32 %s0, 0;\nmov.b32 %s0, %r0;\n";
    breaks(&[FENCE, PRODUCT, COMMIT, copy, back, WAIT].concat(), None);
    let lost = "mov.b32 %s0, 0;\n";
    breaks(&[FENCE, PRODUCT, COMMIT, lost, WAIT].concat(), HAZARD);
}

#[test]
fn the_first_factor_stays_in_its_registers_until_the_wait() {
    let write = "add.u32 %a0, %a0, %t;\n";
    breaks(&[FENCE, OF_REGISTERS, COMMIT, WAIT, write].concat(), None);
    breaks(&[FENCE, OF_REGISTERS, COMMIT, write, WAIT].concat(), HAZARD);
}

#[test]
fn shared_memory_is_read_through_the_async_proxy() {
    let round = [FENCE, PRODUCT, COMMIT, WAIT].concat();
    breaks_after(&round, "", Some(Rule::MissingProxyFence));
}

#[test]
fn a_stage_is_written_again_after_the_wait() {
    let write = "st.shared.u32 [%own], %r0;\n";
    let round = [FENCE, PRODUCT, COMMIT].concat();
    breaks(&[&round, WAIT, "bar.sync 0;\n", write].concat(), None);
    breaks(&[&round, write, WAIT].concat(), HAZARD);
}

/// A group is one of the warpgroup: after one warp's wait none of the four reads any more. So each warp may write to what all have read.
#[test]
fn one_warps_wait_is_for_the_parts_of_all_four() {
    let write = "st.shared.u32 [%own], %r0;\n";
    let round = [FENCE, PRODUCT, COMMIT].concat();
    let once = [&round, WAIT, write].concat();
    breaks(&once, None);
    // The older one of two groups, whose factors lie where nobody else reads.
    let other = PRODUCT.replace("%da, %db", "%da1, %db1");
    let apart = ".reg .b64 %da1, %db1;\nadd.u64 %da1, %da, 1024;\nadd.u64 %db1, %db, 1024;\n";
    let one = "wgmma.wait_group.sync.aligned 1;\n";
    let two = [apart, &round, &other, COMMIT, one, write, WAIT].concat();
    breaks(&two, None);
    let newer = "st.shared.u32 [%own+16384], %r0;\n";
    breaks(
        &[apart, &round, &other, COMMIT, one, newer, WAIT].concat(),
        HAZARD,
    );
}

/// What a warp does after its wait is no business of the others' waits.
#[test]
fn a_wait_orders_nothing_but_the_product() {
    let exchange =
        "st.shared.u32 [%own], %r0;\nxor.b32 %r1, %own, 512;\nld.shared.u32 %r2, [%r1];\n";
    let round = [FENCE, PRODUCT, COMMIT, WAIT].concat();
    breaks(&[&round, exchange].concat(), Some(Rule::DataRace));
    let ordered = exchange.replace("xor", "bar.sync 0;\nxor");
    breaks(&[&round[..], &ordered].concat(), None);
}

/// A warp of the four stays away. An H200 stops with an illegal instruction.
#[test]
fn a_product_of_three_warps_is_never_complete() {
    let leaves = ".reg .pred %away;\nsetp.ge.u32 %away, %t, 96;\n@%away ret;\n";
    let body = [leaves, FENCE, PRODUCT, COMMIT, WAIT].concat();
    for schedule in SCHEDULES {
        for engine in [Engine::Fast, Engine::Plain] {
            let left = ran(&body, PROXY, schedule, engine);
            assert!(left.stopped.contains("Deadlock"), "{schedule} {engine:?}");
            assert_eq!(left.rules, [Rule::Deadlock]);
        }
    }
}

#[test]
fn what_lies_outside_of_shared_memory_is_told() {
    let body = ["add.u64 %db, %db, 8192;\n", FENCE, PRODUCT, COMMIT, WAIT].concat();
    let left = ran(&body, PROXY, "lockstep", Engine::Fast);
    assert!(left.rules.contains(&Rule::OutOfBounds), "{:?}", left.rules);
}

#[test]
fn a_base_offset_is_refused() {
    let body = [
        "mov.b64 %d1, 562949953421312;\nor.b64 %db, %db, %d1;\n",
        FENCE,
        PRODUCT,
    ]
    .concat();
    let left = ran(&body, PROXY, "lockstep", Engine::Fast);
    assert!(left.stopped.contains("base offset"), "{}", left.stopped);
}
