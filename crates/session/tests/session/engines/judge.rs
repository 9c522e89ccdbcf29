//! The plain detector ([`detect::reference`]) as a judge of what is found in the programs: both engines tell the same detectors, so that a mistake
//! of these is the same in both.
//!
//! What it can't judge is left out: asynchronous copies and mbarriers, of which it knows nothing, and what the driver does. Its cost grows with the
//! square of the program, so programs are cut to a warp or two of two blocks.

use super::generate::{Kernel, kernel};
use super::{begun, launch, run};
use detect::finding::Finding;
use detect::reference::{Pair, Reference};
use detect::rules::Rule;
use proptest::prelude::*;
use simt::ids::Site;
use simt::{Device, Engine, Limits, Program, ScheduleSpec};
use std::collections::HashSet;
use std::time::Duration;

/// Warp-instructions of a program that is judged, at most.
const MOST: u64 = 1_000;

/// Time that the judge has for a program: a few in a hundred, with many accesses to one place, would take it minutes.
const WALL: Duration = Duration::from_secs(1);

/// Two instructions, as either may come first in a loop, and what is wrong; that both write one value is no excuse to the reference.
fn pair(rule: Rule, [a, b]: [Site; 2]) -> Pair {
    Pair {
        rule: match rule {
            Rule::SameValueWrite => Rule::DataRace,
            other => other,
        },
        later: a.max(b),
        earlier: a.min(b),
    }
}

/// A finding that both judge.
fn judged(finding: &Finding) -> Option<Pair> {
    use Rule::*;
    let both = [
        DataRace,
        SameValueWrite,
        InsufficientScope,
        LockstepAssumption,
        NonCoherentRead,
    ];
    let [a, b, ..] = &finding.ends[..] else {
        return None;
    };
    both.contains(&finding.rule)
        .then(|| pair(finding.rule, [a.site, b.site]))
}

/// Compares what is found; whether the program could be judged.
fn agrees(kernel: &Kernel) -> Result<bool, TestCaseError> {
    let ptx = kernel.ptx();
    let unknown = ["cp.async", "[bar", "vprintf", "malloc"];
    if unknown.iter().any(|word| ptx.contains(word)) {
        return Ok(false);
    }
    let module = ptx::parse(&ptx).map_err(|e| TestCaseError::fail(format!("{e}\n{ptx}")))?;
    let program = Program::lower(&module, &ptx, "k")
        .map_err(|e| TestCaseError::fail(format!("{e}\n{ptx}")))?;
    let limits = Limits {
        steps: MOST,
        wall: Some(WALL),
        engine: Engine::Plain,
        ..Limits::default()
    };
    let mut device = Device::new(64 << 20);
    let memory = device.alloc(kernel.bytes(), "memory").unwrap();
    device.write(memory, &begun(kernel)).unwrap();
    device.load(&program).unwrap();
    let (schedule, mut reference) = (ScheduleSpec::Lockstep, Reference::new());
    let how = launch(kernel, memory);
    let ended = simt::watch(
        &mut device,
        &program,
        &how,
        &schedule,
        &limits,
        &mut reference,
    );
    if ended.is_err() {
        return Ok(false);
    }
    let (outcome, _) = run(kernel, &program, "lockstep", Engine::Fast, 1);
    let first = std::mem::take(&mut reference.first);
    let plain = reference.take_findings().into_sorted();
    let plain: HashSet<Pair> = plain.iter().filter_map(judged).collect();
    let found: HashSet<Pair> = outcome.findings.iter().filter_map(judged).collect();
    for one in &found {
        prop_assert!(
            plain.contains(one),
            "false alarm: {one:?}\n{plain:?}\n{ptx}"
        );
    }
    // Blind spot of the detector (see `detect::race`): of readers that leave before a barrier which others pass.
    if !kernel.leaves_early() {
        for (byte, races) in first {
            let told = |p: &Pair| found.contains(&pair(p.rule, [p.later, p.earlier]));
            prop_assert!(
                races.iter().any(told),
                "missed at {byte:?}: one of {races:?}; found {found:?}\n{ptx}"
            );
        }
    }
    Ok(true)
}

#[test]
fn the_plain_detector_finds_the_same_races() {
    let config = testing::random(40);
    let cases = config.cases;
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let counted = std::cell::Cell::new(0);
    let ran = runner.run(&kernel().prop_map(Kernel::small), |kernel| {
        counted.set(counted.get() + u32::from(agrees(&kernel)?));
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    let judged = counted.get();
    assert!(
        judged > cases / 4,
        "{judged} of {cases} programs were judged"
    );
}
