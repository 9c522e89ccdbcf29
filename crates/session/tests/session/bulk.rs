//! Bulk copies, asynchronous stores and late arrivals: right values, whichever engine runs them and whenever the schedule performs them.

use crate::kernel::{lowered, session};
use detect::rules::Rule;
use simt::{Dim3, Engine, Launch};

const SCHEDULES: [&str; 7] = [
    "lockstep",
    "lane-by-lane",
    "random:1",
    "random:2",
    "pct:3:3",
    "weak",
    "weak:4",
];
const THREADS: u32 = 64;
/// Words of the buffer: the input's, then the output's.
const WORDS: usize = 128;

/// Runs a body under a schedule. It sees `%t`; `%in` and `%out`, addresses of 64 words each; `%tile`, that of as many words of shared memory; `%bar`, an
/// mbarrier that expects `arrivals`; the predicate `%first` of thread 0; and registers.
fn run(body: &str, arrivals: u32, schedule: &str, engine: Engine) -> (Vec<u32>, Vec<Rule>, String) {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 data) {{\n\
         .reg .pred %first, %p;\n.reg .b32 %t, %tile, %bar, %own, %r<9>;\n.reg .b64 %in, %out, %from, %to, %d<9>;\n\
         .shared .align 16 .b8 tile[256];\n.shared .align 8 .b8 bar[8];\n\
         ld.param.u64 %in, [data];\ncvta.to.global.u64 %in, %in;\nadd.u64 %out, %in, 256;\nmov.u32 %t, %tid.x;\n\
         mov.u32 %tile, tile;\nmov.u32 %bar, bar;\nmul.wide.u32 %d0, %t, 4;\nadd.u64 %from, %in, %d0;\nadd.u64 %to, %out, %d0;\n\
         cvt.u32.u64 %r0, %d0;\nadd.u32 %own, %tile, %r0;\nsetp.eq.u32 %first, %t, 0;\n\
         @%first mbarrier.init.shared.b64 [%bar], {arrivals};\nbar.sync 0;\n{body}\nret;\n}}\n"
    );
    let program = lowered(&text);
    let mut session = session(schedule, engine, 100_000);
    let data = session.device().alloc(4 * WORDS as u64, "data").unwrap();
    let begun: Vec<u8> = (0..WORDS as u32)
        .flat_map(|k| (3 * k).to_le_bytes())
        .collect();
    session.device().write(data, &begun).unwrap();
    let launch = Launch {
        cluster: None,
        grid: Dim3::linear(1),
        block: Dim3::linear(THREADS),
        dynamic_shared: 0,
        params: data.to_le_bytes().to_vec(),
        cooperative: false,
        number: 0,
    };
    let stopped = match session.launch(&program, &launch) {
        Ok(_) => String::new(),
        Err(stop) => format!("{stop:?}"),
    };
    let (outcome, device) = session.finish();
    let memory = device.read(data, 4 * WORDS as u64).unwrap();
    let words = memory
        .chunks(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
    let rules = outcome.findings.iter().map(|f| f.rule).collect();
    (words.collect(), rules, stopped)
}

/// The output must be this, without a finding.
fn leaves(body: &str, arrivals: u32, expected: impl Fn(u32) -> u32) {
    for schedule in SCHEDULES {
        for engine in [Engine::Fast, Engine::Plain] {
            let (words, rules, stopped) = run(body, arrivals, schedule, engine);
            assert_eq!(
                (rules, stopped),
                (vec![], String::new()),
                "{schedule} {engine:?}\n{body}"
            );
            let out = &words[WORDS / 2..];
            let right: Vec<u32> = (0..THREADS).map(&expected).collect();
            assert_eq!(out, right, "{schedule} {engine:?}\n{body}");
        }
    }
}

/// The rule must be broken under each schedule, by both engines.
fn breaks(body: &str, arrivals: u32, rule: Rule) {
    for schedule in SCHEDULES {
        for engine in [Engine::Fast, Engine::Plain] {
            let (_, rules, stopped) = run(body, arrivals, schedule, engine);
            assert!(
                rules.contains(&rule),
                "{schedule} {engine:?}: {rules:?} {stopped}\n{body}"
            );
        }
    }
}

const WAIT: &str =
    "again:\nmbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], 0;\n@!%p bra again;\n";
const STORE: &str = "cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile], 256;\n\
     cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
/// The first thread goes on alone.
const ALONE: &str = "@!%first bra done;\n";
const READ: &str = "ld.shared.u32 %r1, [%own];\nst.global.u32 [%to], %r1;\n";

#[test]
fn a_bulk_copy_arrives_with_its_phase() {
    let copy = "@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%in], 256, [%bar];\n\
         @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 256;\n";
    leaves(&format!("{copy}{WAIT}{READ}"), 1, |t| 3 * t);
}

#[test]
fn a_bulk_copy_between_places_of_shared_memory() {
    let body = format!(
        "st.shared.u32 [%own], %t;\nfence.proxy.async;\nbar.sync 0;\n\
         @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;\nadd.u32 %r2, %tile, 128;\n\
         @%first cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [%tile], 128, [%bar];\n{WAIT}{READ}"
    );
    leaves(&body, 1, |t| t % 32);
}

#[test]
fn a_bulk_store_of_a_group() {
    let write = "st.shared.u32 [%own], %t;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n";
    leaves(&format!("{write}{ALONE}{STORE}done:\n"), 1, |t| t);
}

#[test]
fn reductions_combine_each_element() {
    let reduce = |of: &str| {
        let copy = format!(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group{of} [%out], [%tile], 256;\n\
             cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
        );
        format!("st.shared.u32 [%own], %t;\nfence.proxy.async;\nbar.sync 0;\n{ALONE}{copy}done:\n")
    };
    let before = |t: u32| 3 * (t + 64);
    leaves(&reduce(".add.u32"), 1, |t| before(t) + t);
    leaves(&reduce(".min.s32"), 1, |t| t);
    leaves(&reduce(".or.b32"), 1, |t| before(t) | t);
    leaves(&reduce(".xor.b64"), 1, |t| before(t) ^ t);
    leaves(&reduce(".inc.u32"), 1, |t| {
        if before(t) >= t { 0 } else { before(t) + 1 }
    });
    // Subnormal numbers are not flushed, whatever the manual says of those of single precision, and are integers here.
    leaves(&reduce(".add.f32"), 1, |t| before(t) + t);
    leaves(&reduce(".add.noftz.f16"), 1, |t| before(t) + t);
}

#[test]
fn asynchronous_stores_and_reductions_of_registers() {
    let expect = "@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 256;\nmul.lo.u32 %r2, %t, 7;\n";
    let store =
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%own], %r2, [%bar];\n";
    leaves(&format!("{expect}{store}{WAIT}{READ}"), 1, |t| 7 * t);
    let begin = "st.shared.u32 [%own], 5;\nbar.sync 0;\n";
    let reduce = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%own], %r2, [%bar];\n";
    leaves(&format!("{begin}{expect}{reduce}{WAIT}{READ}"), 1, |t| {
        7 * t + 5
    });
}

#[test]
fn copies_arrive_when_they_are_complete() {
    let copy = "cp.async.ca.shared.global [%own], [%from], 4;\n";
    let noinc = format!("{copy}cp.async.mbarrier.arrive.noinc.shared.b64 [%bar];\n{WAIT}{READ}");
    leaves(&noinc, THREADS, |t| 3 * t);
    let counted = format!(
        "{copy}cp.async.mbarrier.arrive.shared.b64 [%bar];\nmbarrier.arrive.shared.b64 _, [%bar];\n{WAIT}{READ}"
    );
    leaves(&counted, THREADS, |t| 3 * t);
}

#[test]
fn what_is_forgotten_is_found_under_each_schedule() {
    let copy = "@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%in], 256, [%bar];\n\
         @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 256;\n";
    let read = format!("{copy}bar.sync 0;\n{READ}");
    breaks(&read, 1, Rule::AsyncCopyHazard);
    let write = "st.shared.u32 [%own], %t;\nbar.sync 0;\n";
    let store = format!("{write}{ALONE}{STORE}done:\n");
    breaks(&store, 1, Rule::MissingProxyFence);
    let again = format!(
        "{write}{ALONE}{}st.shared.u32 [%tile], 1;\ndone:\n",
        STORE.replace("cp.async.bulk.wait_group 0;\n", "")
    );
    breaks(&again, 1, Rule::AsyncCopyHazard);
    let often = format!("@%first mbarrier.arrive.shared::cta.b64 _, [%bar], 2;\n{WAIT}");
    breaks(&often, 1, Rule::MbarrierMisuse);
    let outside = copy.replace("[%in]", "[%in+512]");
    breaks(&format!("{outside}{WAIT}"), 1, Rule::OutOfBounds);
    let odd = copy.replace("[%in]", "[%in+4]");
    breaks(&format!("{odd}{WAIT}"), 1, Rule::MisalignedAccess);
}
