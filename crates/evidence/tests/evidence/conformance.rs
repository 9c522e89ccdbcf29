//! The programs that compare the simulator with hardware: they are the same everywhere, they are PTX, the simulator
//! runs them all, and what it gives is what a GPU gave.

use evidence::conformance::Generator;
use evidence::conformance::build::{BLOCK, ENTRY, GRID, Program};
use evidence::conformance::family::Family;
use evidence::conformance::recording::{Recording, identity};
use evidence::conformance::session::{Against, How, run};
use session::{Options, Session};
use simt::{Dim3, Launch};
use std::process::Command;
use std::time::Duration;

/// As many as are recorded.
const PROGRAMS: u32 = 2400;

#[test]
fn a_seed_gives_the_same_programs() {
    let (one, again, other) = (Generator::new(0), Generator::new(0), Generator::new(1));
    for number in (0..PROGRAMS).step_by(97) {
        let program = one.program(number);
        assert_eq!(
            identity(&program),
            identity(&again.program(number)),
            "program {number}"
        );
        assert_ne!(
            identity(&program),
            identity(&other.program(number)),
            "program {number}"
        );
        assert_eq!(program.family, one.family(number));
    }
}

#[test]
fn every_family_has_programs() {
    let generator = Generator::new(0);
    let families: std::collections::BTreeSet<Family> =
        (0..PROGRAMS).map(|n| generator.family(n)).collect();
    assert_eq!(families.len(), Family::ALL.len());
    assert!(
        PROGRAMS - generator.systematic() > 1000,
        "{}",
        generator.systematic()
    );
}

/// Runs programs, and says what is wrong with their results.
fn wrong(generator: &Generator, numbers: &[u32], against: &Against) -> Vec<String> {
    let how = How {
        jobs: 2,
        shown: 3,
        each: Duration::ZERO,
        until: None,
    };
    let ran = run(generator, numbers, against, how, |_, _| {});
    assert_eq!(ran.len(), numbers.len());
    let mut wrong = Vec::new();
    for (number, ran) in ran {
        if let Some(problem) = ran.problem {
            wrong.push(format!("program {number}: {problem}"));
        }
        for d in ran.comparison.into_iter().flat_map(|c| c.differences) {
            let examples: Vec<_> = d.examples.iter().map(ToString::to_string).collect();
            wrong.push(format!(
                "program {number}: {}\n{}",
                d.text,
                examples.join("\n")
            ));
        }
    }
    wrong
}

/// Of a quarter of the programs: `racetrap dev conform` compares all, says more of a difference, and runs among the tests of what is
/// documented.
#[test]
fn the_simulator_gives_what_an_h200_gave() {
    let recording = Recording::load(&testing::root().join("tests/conformance/h200")).unwrap();
    let numbers: Vec<u32> = recording.programs.keys().copied().collect();
    let generator = Generator::new(recording.seed);
    let systematic: Vec<u32> = (0..generator.systematic()).collect();
    assert!(
        numbers.starts_with(&systematic),
        "not every instruction is recorded"
    );
    assert!(numbers.len() > 2350, "{}", numbers.len());
    let some: Vec<u32> = numbers.into_iter().step_by(4).collect();
    let wrong = wrong(&generator, &some, &Against::Recording(recording));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_simulator_runs_other_programs_too() {
    let generator = Generator::new(1);
    let first = generator.systematic();
    let numbers: Vec<u32> = (first..PROGRAMS).step_by(4).collect();
    let wrong = wrong(&generator, &numbers, &Against::Nothing);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What depends on the order of threads could not be compared.
#[test]
fn no_program_has_a_race() {
    let generator = Generator::new(0);
    let first = generator.systematic();
    let warp = (0..first)
        .find(|n| generator.family(*n) == Family::Warp)
        .unwrap();
    let atomic = (0..first)
        .find(|n| generator.family(*n) == Family::Atomic)
        .unwrap();
    for number in [warp, atomic].into_iter().chain(first..first + 40) {
        let program = generator.program(number);
        let module = ptx::parse(&program.ptx).unwrap();
        let kernel = simt::Program::lower(&module, &program.ptx, ENTRY).unwrap();
        let mut session = Session::new(Options::default());
        let input = program.input_bytes();
        let from = session.device().alloc(input.len() as u64, "in").unwrap();
        let to = session
            .device()
            .alloc(program.output_len() as u64, "out")
            .unwrap();
        session.device().write(from, &input).unwrap();
        let how = Launch {
            cluster: None,
            grid: Dim3::linear(GRID),
            block: Dim3::linear(BLOCK),
            dynamic_shared: 0,
            params: [from.to_le_bytes(), to.to_le_bytes()].concat(),
            cooperative: false,
            number: 0,
        };
        session.launch(&kernel, &how).unwrap();
        let (outcome, _) = session.finish();
        let rules: Vec<_> = outcome.findings.iter().map(|f| f.rule.name()).collect();
        assert!(rules.is_empty(), "program {number}: {rules:?}");
    }
}

/// One PTX with many kernels, so that the assembler starts once.
fn together(programs: &[Program]) -> String {
    let mut all = String::from(".version 8.6\n.target sm_90\n.address_size 64\n");
    for program in programs {
        let (_, kernel) = program.ptx.split_once(".address_size 64\n").unwrap();
        all += &kernel.replace(
            &format!("{ENTRY}("),
            &format!("{ENTRY}_{}(", program.number),
        );
    }
    all
}

#[test]
fn programs_are_what_the_assembler_takes_for_ptx() {
    let Some(ptxas) = testing::needs_ptxas() else {
        return;
    };
    let generator = Generator::new(0);
    let sample: Vec<Program> = (0..PROGRAMS)
        .step_by(9)
        .map(|n| generator.program(n))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    for (n, programs) in sample.chunks(70).enumerate() {
        let file = folder.path().join(format!("{n}.ptx"));
        std::fs::write(&file, together(programs)).unwrap();
        let said = Command::new(&ptxas.path)
            .args(["-arch=sm_90", "-O0", "-o", "/dev/null"])
            .arg(&file)
            .output()
            .unwrap();
        assert!(
            said.status.success(),
            "{}",
            String::from_utf8_lossy(&said.stderr)
        );
    }
}
