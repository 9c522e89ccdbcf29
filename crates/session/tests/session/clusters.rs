//! Clusters: their blocks, their barrier, and each other's shared memory, on both engines and under all kinds of schedules.

mod random;

use crate::kernel::{lowered, session};
use detect::rules::Rule;
use simt::{Dim3, Engine, Launch, Stop};

const SCHEDULES: [&str; 8] = [
    "lockstep",
    "lane-by-lane",
    "in-step",
    "random:1",
    "random:2",
    "pct:3:3",
    "weak",
    "weak:4",
];

/// A launch of a body: blocks, threads of a block, and blocks of a cluster.
#[derive(Clone, Copy)]
struct Shape {
    grid: Dim3,
    threads: u32,
    cluster: Option<Dim3>,
}

/// Four blocks in clusters of two.
const PAIRS: Shape = Shape {
    grid: Dim3 { x: 4, y: 1, z: 1 },
    threads: 64,
    cluster: Some(Dim3 { x: 2, y: 1, z: 1 }),
};

struct Ran {
    words: Vec<u32>,
    rules: Vec<Rule>,
    stop: Option<Stop>,
}

/// Runs a body. It sees `%t`, the thread's index; `%b`, the block's; `%rank` and `%other`, its rank and that of a neighbour; `%to`, the address of
/// the thread's word of the output; `%tile` and `%own`, addresses of a word for each thread in shared memory, and of the own one; `%bar`, an
/// mbarrier that nobody has initialised; registers and predicates.
fn run(body: &str, shape: Shape, directives: &str, schedule: &str, engine: Engine) -> Ran {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 data)\n{directives}\n{{\n\
         .reg .pred %first, %p, %q;\n.reg .b32 %t, %b, %rank, %other, %tile, %bar, %own, %far, %size, %r<9>;\n\
         .reg .b64 %to, %g, %d<9>;\n.reg .b16 %mask;\n\
         .shared .align 16 .b8 tile[256];\n.shared .align 8 .b8 bar[8];\n.shared .align 128 .b8 copied[256];\n\
         ld.param.u64 %to, [data];\ncvta.to.global.u64 %to, %to;\nmov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\n\
         mov.u32 %r0, %ntid.x;\nmad.lo.u32 %r1, %b, %r0, %t;\nmul.wide.u32 %d0, %r1, 4;\nadd.u64 %to, %to, %d0;\n\
         mov.u32 %tile, tile;\nmov.u32 %bar, bar;\nshl.b32 %r0, %t, 2;\nadd.u32 %own, %tile, %r0;\n\
         mov.u32 %rank, %cluster_ctarank;\nmov.u32 %size, %cluster_nctarank;\nadd.u32 %other, %rank, 1;\n\
         rem.u32 %other, %other, %size;\nsetp.eq.u32 %first, %t, 0;\n{body}\nret;\n}}\n"
    );
    let program = lowered(&text);
    let mut session = session(schedule, engine, 1_000_000);
    let bytes = 4 * shape.grid.count() * u64::from(shape.threads);
    let data = session.device().alloc(bytes, "data").unwrap();
    session
        .device()
        .write(data, &vec![0; bytes as usize])
        .unwrap();
    let launch = Launch {
        grid: shape.grid,
        block: Dim3::linear(shape.threads),
        dynamic_shared: 0,
        params: data.to_le_bytes().to_vec(),
        cooperative: false,
        number: 0,
        cluster: shape.cluster,
    };
    let stop = session.launch(&program, &launch).err();
    let (outcome, device) = session.finish();
    let memory = device.read(data, bytes).unwrap();
    let words = memory
        .chunks(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
    Ran {
        words: words.collect(),
        rules: outcome.findings.iter().map(|f| f.rule).collect(),
        stop,
    }
}

/// The output must be this, by block and thread, without a finding.
fn leaves(body: &str, shape: Shape, directives: &str, expected: impl Fn(u32, u32) -> u32) {
    for schedule in SCHEDULES {
        for engine in [Engine::Fast, Engine::Plain, Engine::Both] {
            let ran = run(body, shape, directives, schedule, engine);
            assert_eq!(
                (ran.rules, ran.stop),
                (vec![], None),
                "{schedule} {engine:?}\n{body}"
            );
            let right: Vec<u32> = (0..shape.grid.count() as u32)
                .flat_map(|b| (0..shape.threads).map(move |t| (b, t)))
                .map(|(b, t)| expected(b, t))
                .collect();
            assert_eq!(ran.words, right, "{schedule} {engine:?}\n{body}");
        }
    }
}

/// The rule must be broken under each schedule, by both engines, and no other one but those `beside` it.
fn breaks(body: &str, shape: Shape, rule: Rule, beside: &[Rule]) {
    for schedule in SCHEDULES {
        for engine in [Engine::Fast, Engine::Plain, Engine::Both] {
            let ran = run(body, shape, "", schedule, engine);
            let others = ran.rules.iter().filter(|r| **r != rule);
            let others: Vec<_> = others.filter(|r| !beside.contains(r)).collect();
            assert!(
                ran.rules.contains(&rule) && others.is_empty(),
                "{schedule} {engine:?}: {:?} {:?}\n{body}",
                ran.rules,
                ran.stop
            );
        }
    }
}

const SYNC: &str = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
/// Each thread writes its global number into its word of shared memory.
const WRITE: &str =
    "mov.u32 %r2, %ntid.x;\nmad.lo.u32 %r3, %b, %r2, %t;\nst.shared.u32 [%own], %r3;\n";
/// It reads the same word of its neighbour's.
const READ: &str =
    "mapa.shared::cluster.u32 %far, %own, %other;\nld.shared::cluster.u32 %r4, [%far];\n";
const STORE: &str = "st.global.u32 [%to], %r4;\n";

/// What a thread's neighbour wrote, in clusters of so many blocks along x.
fn neighbours(size: u32, threads: u32) -> impl Fn(u32, u32) -> u32 {
    move |b, t| (b / size * size + (b % size + 1) % size) * threads + t
}

#[test]
fn blocks_read_each_others_shared_memory_between_two_barriers() {
    let body = format!("{WRITE}{SYNC}{READ}{STORE}{SYNC}");
    leaves(&body, PAIRS, "", neighbours(2, 64));
    let eight = Shape {
        grid: Dim3::linear(8),
        threads: 40,
        cluster: Some(Dim3::linear(4)),
    };
    leaves(&body, eight, "", neighbours(4, 40));
    // The kernel says so itself.
    let directed = Shape {
        cluster: None,
        ..PAIRS
    };
    leaves(
        &body,
        directed,
        ".explicitcluster\n.reqnctapercluster 2, 1, 1",
        neighbours(2, 64),
    );
    // Without clusters, a block is its own neighbour.
    leaves(&body, directed, "", |b, t| b * 64 + t);
}

#[test]
fn generic_addresses_lead_to_other_blocks_too() {
    let generic = "cvt.u64.u32 %d1, %own;\ncvta.shared.u64 %d1, %d1;\nmapa.u64 %d2, %d1, %other;\nld.u32 %r4, [%d2];\n\
                   getctarank.u64 %r5, %d2;\nisspacep.shared::cluster %p, %d2;\nisspacep.shared::cta %q, %d2;\n\
                   @%q add.u32 %r4, %r4, 100000;\n@!%p add.u32 %r4, %r4, 100000;\nsub.u32 %r5, %r5, %other;\nadd.u32 %r4, %r4, %r5;\n";
    leaves(
        &format!("{WRITE}{SYNC}{generic}{STORE}{SYNC}"),
        PAIRS,
        "",
        neighbours(2, 64),
    );
}

#[test]
fn registers_tell_where_a_block_is_in_its_cluster() {
    let shape = Shape {
        grid: Dim3 { x: 4, y: 2, z: 3 },
        threads: 1,
        cluster: Some(Dim3 { x: 2, y: 2, z: 1 }),
    };
    let mut body = String::from(
        "mov.u32 %r1, %nctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %ctaid.z;\nmov.u32 %r4, %nctaid.y;\n\
        mad.lo.u32 %r2, %r3, %r4, %r2;\nmad.lo.u32 %r1, %r2, %r1, %b;\nld.param.u64 %to, [data];\nmul.wide.u32 %d0, %r1, 4;\nadd.u64 %to, %to, %d0;\nmov.u32 %r4, 0;\n",
    );
    for (name, shift) in [
        ("%cluster_ctaid.x", 0),
        ("%cluster_ctaid.y", 2),
        ("%clusterid.x", 4),
        ("%clusterid.y", 6),
        ("%clusterid.z", 8),
        ("%cluster_ctarank", 10),
        ("%cluster_nctarank", 14),
        ("%cluster_nctaid.x", 18),
        ("%cluster_nctaid.z", 20),
        ("%nclusterid.x", 22),
        ("%nclusterid.z", 24),
    ] {
        body +=
            &format!("mov.u32 %r5, {name};\nshl.b32 %r5, %r5, {shift};\nor.b32 %r4, %r4, %r5;\n");
    }
    body += "mov.pred %p, %is_explicit_cluster;\n@%p or.b32 %r4, %r4, 0x80000000;\n";
    leaves(&format!("{body}{STORE}"), shape, "", |b, _| {
        let (x, y, z) = (b % 4, b / 4 % 2, b / 8);
        let rank = x % 2 + 2 * (y % 2);
        (x % 2)
            | ((y % 2) << 2)
            | ((x / 2) << 4)
            | ((y / 2) << 6)
            | z << 8
            | rank << 10
            | 4 << 14
            | 2 << 18
            | 1 << 20
            | 2 << 22
            | 3 << 24
            | 1 << 31
    });
}

#[test]
fn a_read_before_the_barrier_is_a_race_and_the_block_may_not_have_begun() {
    let body = format!("{WRITE}{READ}{STORE}{SYNC}");
    breaks(
        &body,
        PAIRS,
        Rule::DataRace,
        &[Rule::ClusterMemory, Rule::UninitializedRead],
    );
    breaks(
        &body,
        PAIRS,
        Rule::ClusterMemory,
        &[Rule::DataRace, Rule::UninitializedRead],
    );
}

#[test]
fn a_block_that_is_alone_has_nobody_elses_memory() {
    let alone = Shape {
        cluster: None,
        ..PAIRS
    };
    let far = format!("{WRITE}ld.shared.u32 %r4, [%own+16777216];\n{STORE}");
    breaks(&far, alone, Rule::OutOfBounds, &[Rule::ClusterMemory]);
}

/// A relaxed barrier orders nothing by itself; that all blocks have begun, it proves all the same.
#[test]
fn a_relaxed_barrier_orders_what_a_fence_released() {
    let relaxed = SYNC.replace("arrive", "arrive.relaxed");
    let body = format!("{WRITE}{relaxed}{READ}{STORE}{SYNC}");
    breaks(&body, PAIRS, Rule::DataRace, &[]);
    let fenced = format!("{WRITE}fence.acq_rel.cluster;\n{relaxed}{READ}{STORE}{SYNC}");
    leaves(&fenced, PAIRS, "", neighbours(2, 64));
    let too_narrow = format!("{WRITE}fence.acq_rel.cta;\n{relaxed}{READ}{STORE}{SYNC}");
    breaks(&too_narrow, PAIRS, Rule::DataRace, &[]);
    let behind = format!("fence.acq_rel.cluster;\n{WRITE}{relaxed}{READ}{STORE}{SYNC}");
    breaks(&behind, PAIRS, Rule::DataRace, &[]);
}

/// As libraries begin: initialise, fence, meet without order, arrive in another block.
#[test]
fn mbarriers_are_initialised_before_a_relaxed_barrier() {
    let relaxed = SYNC.replace("arrive", "arrive.relaxed");
    let body = |fence: &str| {
        format!(
            "@%first mbarrier.init.shared.b64 [%bar], 64;\n{fence}{relaxed}{WRITE_FAR}\
             mapa.shared::cluster.u32 %r5, %bar, %other;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\n\
             again:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%bar], 0;\n@!%p bra again;\nld.shared.u32 %r4, [%own];\n{STORE}{SYNC}"
        )
    };
    leaves(
        &body("fence.mbarrier_init.release.cluster;\n"),
        PAIRS,
        "",
        neighbours(2, 64),
    );
    breaks(&body(""), PAIRS, Rule::DataRace, &[]);
}

#[test]
fn a_block_may_have_ended_when_others_still_read() {
    let body = format!("{WRITE}{SYNC}{READ}{STORE}");
    breaks(&body, PAIRS, Rule::ClusterMemory, &[]);
    // The readers' own barrier keeps nobody.
    let block = format!("{WRITE}{SYNC}{READ}{STORE}bar.sync 0;\n");
    breaks(&block, PAIRS, Rule::ClusterMemory, &[]);
    // Whoever has arrived may go: they have read, and others wait.
    let split =
        format!("{WRITE}{SYNC}{READ}barrier.cluster.arrive;\n{STORE}barrier.cluster.wait;\n");
    leaves(&split, PAIRS, "", neighbours(2, 64));
    // An arrival alone does not wait for the readers.
    let arrives = format!("{WRITE}{SYNC}{READ}{STORE}barrier.cluster.arrive;\n");
    breaks(&arrives, PAIRS, Rule::ClusterMemory, &[]);
}

#[test]
fn atomics_on_other_blocks_memory_count_all_threads() {
    let body = format!(
        "@%first st.shared.u32 [%tile], 0;\n{SYNC}mapa.shared::cluster.u32 %far, %tile, 0;\n\
         red.relaxed.cluster.shared::cluster.add.u32 [%far], 1;\n{SYNC}ld.shared::cluster.u32 %r4, [%far];\n{STORE}{SYNC}"
    );
    leaves(&body, PAIRS, "", |_, _| 128);
    // Of one block, of a scope that ends there.
    let narrow = body.replace("red.relaxed.cluster", "red.relaxed.cta");
    breaks(&narrow, PAIRS, Rule::InsufficientScope, &[]);
}

/// The first block of each of two pairs tells one of the next pair, or its own neighbour, that something is written, by a flag in global memory.
fn message(fence: &str, flag: &str, from: u32, to: u32) -> String {
    let base = "ld.param.u64 %d3, [data];\ncvta.to.global.u64 %d3, %d3;\n";
    format!(
        "{base}@!%first ret;\nsetp.eq.u32 %p, %b, {from};\nsetp.eq.u32 %q, %b, {to};\n@%p bra tell;\n@%q bra ask;\nret;\n\
         tell:\nst.global.u32 [%d3+16], 7;\n{fence}st.relaxed.{flag}.global.u32 [%d3+32], 1;\nret;\n\
         ask:\nld.relaxed.{flag}.global.u32 %r5, [%d3+32];\nsetp.eq.u32 %p, %r5, 0;\n@%p bra ask;\n{fence}ld.global.u32 %r4, [%d3+16];\nst.global.u32 [%d3+48], %r4;\n"
    )
}

#[test]
fn cluster_scope_reaches_the_blocks_of_the_cluster_and_no_others() {
    let fence = "fence.acq_rel.cluster;\n";
    let told = |b: u32, t: u32| match (b, t) {
        (0, 4 | 12) => 7,
        (0, 8) => 1,
        _ => 0,
    };
    leaves(&message(fence, "cluster", 0, 1), PAIRS, "", told);
    leaves(&message(fence, "gpu", 0, 1), PAIRS, "", told);
    let narrow = Rule::InsufficientScope;
    for body in [
        message(fence, "cluster", 0, 2),
        message(fence, "gpu", 0, 2),
        message("fence.acq_rel.gpu;\n", "cluster", 0, 2),
        message("fence.acq_rel.cta;\n", "cluster", 0, 1),
    ] {
        for engine in [Engine::Fast, Engine::Plain, Engine::Both] {
            let ran = run(&body, PAIRS, "", "random:1", engine);
            assert!(
                ran.rules.contains(&narrow),
                "{engine:?} {:?} {:?}\n{body}",
                ran.rules,
                ran.stop
            );
        }
    }
    leaves(
        &message("fence.acq_rel.gpu;\n", "gpu", 0, 2),
        PAIRS,
        "",
        told,
    );
    // Counters.
    let count = |to: &str| {
        format!(
            "ld.param.u64 %d3, [data];\ncvta.to.global.u64 %d3, %d3;\nshr.u32 %r5, %b, 1;\n{to}red.relaxed.cluster.global.add.u32 [%d3], 1;\n"
        )
    };
    let own = "mul.wide.u32 %d4, %r5, 4;\nadd.u64 %d3, %d3, %d4;\n";
    leaves(&count(own), PAIRS, "", |b, t| {
        if b == 0 && t < 2 { 128 } else { 0 }
    });
    breaks(&count(""), PAIRS, narrow, &[]);
}

#[test]
fn an_mbarrier_of_another_block_orders_what_was_written_before_the_arrival() {
    // Each block writes into its neighbour's memory and arrives there; it waits for its own neighbour.
    let body = format!(
        "@%first mbarrier.init.shared.b64 [%bar], 64;\nfence.mbarrier_init.release.cluster;\n{SYNC}{WRITE_FAR}\
         mapa.shared::cluster.u32 %r5, %bar, %other;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\n\
         again:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%bar], 0;\n@!%p bra again;\nld.shared.u32 %r4, [%own];\n{STORE}{SYNC}"
    );
    leaves(&body, PAIRS, "", neighbours(2, 64));
    let unwaited = without_wait(&body);
    breaks(&unwaited, PAIRS, Rule::DataRace, &[Rule::UninitializedRead]);
}

/// A body that does not look at the phase.
fn without_wait(body: &str) -> String {
    let kept = body
        .lines()
        .filter(|line| !line.contains("try_wait") && !line.contains("bra again"));
    kept.map(|line| format!("{line}\n")).collect()
}

const WRITE_FAR: &str = "mov.u32 %r2, %ntid.x;\nmad.lo.u32 %r3, %b, %r2, %t;\nmapa.shared::cluster.u32 %far, %own, %other;\nst.shared::cluster.u32 [%far], %r3;\n";

#[test]
fn an_asynchronous_store_arrives_with_its_bytes_in_another_block() {
    let body = format!(
        "@%first mbarrier.init.shared.b64 [%bar], 1;\nfence.mbarrier_init.release.cluster;\n{SYNC}\
         mov.u32 %r2, %ntid.x;\nmad.lo.u32 %r3, %b, %r2, %t;\nmapa.shared::cluster.u32 %far, %own, %other;\nmapa.shared::cluster.u32 %r5, %bar, %other;\n\
         @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 256;\n\
         st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%far], %r3, [%r5];\n\
         again:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%bar], 0;\n@!%p bra again;\nld.shared.u32 %r4, [%own];\n{STORE}{SYNC}"
    );
    leaves(&body, PAIRS, "", neighbours(2, 64));
    let unwaited = without_wait(&body);
    for schedule in SCHEDULES {
        let ran = run(&unwaited, PAIRS, "", schedule, Engine::Both);
        let told = [Rule::AsyncCopyHazard, Rule::DataRace]
            .iter()
            .any(|r| ran.rules.contains(r));
        assert!(told, "{schedule}: {:?}", ran.rules);
    }
}

/// A tile of each block goes to the blocks of a mask, which wait for as many bytes as come to them.
fn copies(copy: &str, bytes: u32) -> String {
    format!(
        "@%first mbarrier.init.shared.b64 [%bar], 1;\nfence.mbarrier_init.release.cluster;\n{WRITE}fence.proxy.async;\n{SYNC}\
         @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {bytes};\nmov.u32 %r6, copied;\n@!%first bra go;\n{copy}go:\n\
         again:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%bar], 0;\n@!%p bra again;\n\
         shl.b32 %r0, %t, 2;\nadd.u32 %r6, %r6, %r0;\nld.shared.u32 %r4, [%r6];\n{STORE}{SYNC}"
    )
}

#[test]
fn bulk_copies_go_to_other_blocks() {
    let copy = "mapa.shared::cluster.u32 %far, %r6, %other;\nmapa.shared::cluster.u32 %r5, %bar, %other;\n\
        cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%far], [%tile], 256, [%r5];\n";
    leaves(&copies(copy, 256), PAIRS, "", neighbours(2, 64));
    for schedule in SCHEDULES {
        let ran = run(
            &without_wait(&copies(copy, 256)),
            PAIRS,
            "",
            schedule,
            Engine::Both,
        );
        let told = [Rule::AsyncCopyHazard, Rule::DataRace];
        assert!(
            told.iter().any(|r| ran.rules.contains(r)),
            "{schedule}: {:?}",
            ran.rules
        );
    }
    let unfenced = copies(copy, 256).replace("fence.proxy.async;\n", "");
    breaks(&unfenced, PAIRS, Rule::MissingProxyFence, &[]);
}

#[test]
fn a_multicast_copy_goes_to_all_blocks_of_its_mask() {
    // Each block of four copies 64 bytes to all of them; the words come from what the host has left there.
    let copy = "shl.b32 %r5, %rank, 6;\nadd.u32 %r5, %r6, %r5;\nld.param.u64 %d3, [data];\ncvta.to.global.u64 %d3, %d3;\nmov.b16 %mask, 15;\n\
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%d3], 64, [%bar], %mask;\n";
    let four = Shape {
        grid: Dim3::linear(4),
        threads: 64,
        cluster: Some(Dim3::linear(4)),
    };
    // What comes is zero, what was there is not.
    let body =
        copies(copy, 256).replace(STORE, "add.u32 %r4, %r4, 5;\nst.global.u32 [%to+0], %r4;\n");
    let body = body.replacen(
        SYNC,
        &format!("mov.u32 %r6, copied;\nadd.u32 %r6, %r6, %r0;\n{SYNC}"),
        1,
    );
    let written = format!("{SYNC}{body}");
    let after = written.replace(
        "ld.shared.u32 %r4",
        "barrier.cluster.arrive;\nbarrier.cluster.wait;\nld.shared.u32 %r4",
    );
    leaves(&after, four, "", |_, _| 5);
    let outside = after.replace("%mask, 15", "%mask, 31");
    breaks(&outside, four, Rule::OutOfBounds, &[]);
}

#[test]
fn a_block_that_never_arrives_holds_all_up() {
    let body = format!("setp.eq.u32 %p, %rank, 0;\n@%p bra wait;\n{STAY}wait:\n{SYNC}");
    for schedule in SCHEDULES {
        for engine in [Engine::Fast, Engine::Plain] {
            let ran = run(&body, PAIRS, "", schedule, engine);
            assert!(
                matches!(ran.stop, Some(Stop::Deadlock { .. })) && ran.rules == [Rule::Deadlock],
                "{schedule} {engine:?}: {:?} {:?}",
                ran.rules,
                ran.stop
            );
        }
    }
    // Threads that have exited are not waited for.
    leaves(
        &format!("setp.eq.u32 %p, %rank, 0;\n@%p ret;\n{SYNC}"),
        PAIRS,
        "",
        |_, _| 0,
    );
}

/// Waits for a phase that nobody completes.
const STAY: &str = "@%first mbarrier.init.shared.b64 [%bar], 1;\nbar.sync 0;\nstay:\nmbarrier.try_wait.parity.shared::cta.b64 %q, [%bar], 0;\n@!%q bra stay;\n";

#[test]
fn a_second_arrival_without_a_wait_is_told() {
    let body = format!("barrier.cluster.arrive;\n{SYNC}");
    breaks(&body, PAIRS, Rule::InvalidBarrier, &[]);
}

#[test]
fn lanes_of_a_warp_come_to_an_aligned_barrier_together() {
    let body = "setp.lt.u32 %p, %t, 7;\n@%p bra here;\nbarrier.cluster.arrive.aligned;\nbra both;\nhere:\nbarrier.cluster.arrive.aligned;\nboth:\nbarrier.cluster.wait;\n";
    breaks(body, PAIRS, Rule::DivergentBarrier, &[]);
    leaves(&body.replace(".aligned", ""), PAIRS, "", |_, _| 0);
}

#[test]
fn lanes_that_are_a_phase_ahead_wait_for_the_others() {
    let body = format!(
        "mov.u32 %r7, 0;\nmov.u32 %r8, 0;\nstep:\nst.shared.u32 [%own], %r7;\n{SYNC}{READ}add.u32 %r8, %r8, %r4;\n{SYNC}\
         add.u32 %r7, %r7, 1;\nsetp.lt.u32 %q, %r7, 4;\n@%q bra step;\nst.global.u32 [%to], %r8;\n"
    );
    for seed in 0..24 {
        for schedule in [format!("random:{seed}"), format!("pct:{seed}:3")] {
            let ran = run(&body, PAIRS, "", &schedule, Engine::Both);
            assert_eq!((ran.rules, ran.stop), (vec![], None), "{schedule}");
            assert!(ran.words.iter().all(|word| *word == 6), "{schedule}");
        }
    }
}

#[test]
fn launches_that_hardware_refuses_are_refused() {
    let ran = |grid, cluster, directives: &str| {
        let shape = Shape {
            grid: Dim3::linear(grid),
            threads: 32,
            cluster: Some(Dim3::linear(cluster)),
        };
        match run("", shape, directives, "lockstep", Engine::Fast).stop {
            Some(Stop::InvalidLaunch(why)) => why,
            other => format!("{other:?}"),
        }
    };
    assert_eq!(
        ran(6, 4, ""),
        "the grid of 6 blocks is not a multiple of the cluster of 4"
    );
    assert_eq!(
        ran(32, 32, ""),
        "a cluster of 32 blocks exceeds the maximum of 16"
    );
    assert_eq!(
        ran(4, 2, ".explicitcluster\n.reqnctapercluster 4, 1, 1"),
        "the cluster is 2, but the kernel is compiled for clusters of 4"
    );
    assert_eq!(ran(4, 2, ""), "None");
}
