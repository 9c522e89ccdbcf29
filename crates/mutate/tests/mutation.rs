//! The mutation operators on small PTX: what each makes of an instruction, that it still runs, that `ptxas` takes it, and that
//! a plain operation gives what the atomic one gives where there is one thread.

extern crate racetrap_mutate as mutate;

use catalog::equivalent::Equivalent;
use catalog::load::Catalog;
use mutate::case::{Settings, judge};
use mutate::operator::mutations;
use mutate::site::Edit;
use mutate::{Change, Kind, Mutant, Unit, mutants, mutated};
use proptest::prelude::*;
use ptx::ast::{Instruction, Item, Module, Stmt};
use ptx::{parse, print};
use simt::{Device, Dim3, Launch, Limits, Program, ScheduleSpec, launch_unwatched};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

/// One of each form, and some of which there is nothing to mutate.
const INSTRUCTIONS: &[&str] = &[
    "bar.sync 0",
    "@%p1 bar.sync 1, 64",
    "barrier.sync %r1, %r2",
    "barrier.cta.sync.aligned 0",
    "bar.arrive 1, 64",
    "bar.warp.sync -1",
    "bar.red.popc.u32 %r1, 0, %p1",
    "bar.red.popc.u32 %r1, 0, 64, !%p1",
    "bar.red.and.pred %p2, 0, %p1",
    "bar.red.or.pred %p2, 0, !%p1",
    "membar.gl",
    "membar.cta",
    "membar.sys",
    "fence.sc.sys",
    "fence.acq_rel.gpu",
    "fence.acq_rel.cluster",
    "fence.acq_rel.cta",
    "fence.proxy.alias",
    "fence.proxy.async",
    "fence.proxy.async.shared::cta",
    "fence.mbarrier_init.release.cluster",
    "barrier.cluster.arrive.aligned",
    "barrier.cluster.wait.aligned",
    "griddepcontrol.launch_dependents",
    "griddepcontrol.wait",
    "cp.async.wait_all",
    "cp.async.wait_group 1",
    "cp.async.bulk.wait_group.read 0",
    "mbarrier.arrive.shared.b64 %rd2, [tile]",
    "@%p1 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [tile], 64",
    "cp.async.mbarrier.arrive.noinc.shared.b64 [tile]",
    "mbarrier.test_wait.shared.b64 %p1, [tile], %rd2",
    "mbarrier.try_wait.parity.shared::cta.b64 %p1, [tile], %r1",
    "@%p2 mbarrier.try_wait.parity.shared::cta.b64 %p1, [tile], 0",
    "ld.volatile.global.u32 %r1, [%rd1]",
    "st.volatile.shared.v2.u32 [%r2], {%r1, %r1}",
    "ld.local.u32 %r1, [%rd1]",
    "ld.acquire.sys.global.u32 %r1, [%rd1]",
    "ld.acquire.cta.shared.u32 %r1, [%r2]",
    "ld.acquire.gpu.shared.u32 %r1, [%r2]",
    "ld.relaxed.gpu.global.u32 %r1, [%rd1]",
    "ld.global.u32 %r1, [%rd1]",
    "st.release.gpu.u32 [%rd1], %r1",
    "st.relaxed.sys.global.u32 [%rd1], %r1",
    "atom.add.acq_rel.gpu.global.u32 %r1, [%rd1], %r1",
    "atom.relaxed.cta.global.min.s32 %r1, [%rd1], %r1",
    "atom.release.global.add.u32 %r1, [%rd1], 1",
    "atom.acquire.gpu.shared.cas.b32 %r1, [%r2], %r1, 1",
    "@!%p1 atom.global.cas.b32 %r1, [%rd1+4], %r1, %r2",
    "@%p1 atom.shared.inc.u32 %r1, [%r2], 7",
    "atom.global.dec.u32 %r1, [%rd1], %r2",
    "atom.global.exch.b64 _, [%rd1], %rd2",
    "atom.global.exch.b128 %q1, [%rd1], %q2",
    "atom.global.cas.b128 %q1, [%rd1], %q1, %q2",
    "atom.global.add.noftz.f16 %h1, [%rd1], %h1",
    "atom.global.add.v2.f32 {%r1, %r2}, [%rd1], {%r1, %r2}",
    "red.global.add.f64 [%rd1], %rd2",
    "red.relaxed.sys.global.or.b32 [%rd1], 3",
    "shfl.sync.up.b32 %r1|%p1, %r1, 1, 0, -1",
    "add.u32 %r1, %r1, 1",
];

fn kernel(body: &str) -> String {
    format!(
        ".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 memory)
{{
    .reg .pred %p<4>;
    .reg .b16 %h<4>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .reg .b128 %q<4>;
    .shared .align 16 .b8 tile[64];
    ld.param.u64 %rd1, [memory];
    mov.u32 %r2, tile;
{body}
    ret;
}}
"
    )
}

fn body(module: &Module) -> &[Stmt] {
    let function = module.items.iter().find_map(|item| match item {
        Item::Function(f) => f.body.as_deref(),
        _ => None,
    });
    function.expect("a kernel")
}

fn instruction(text: &str) -> Instruction {
    let module = parse(&kernel(&format!("{text};"))).unwrap_or_else(|e| panic!("{text}: {e}"));
    let mut all = body(&module).iter().rev().filter_map(|s| match s {
        Stmt::Instruction(i) => Some(i.clone()),
        _ => None,
    });
    all.nth(1).expect("the one before ret")
}

/// The replacement's text: the lines of the body that a kernel has more with it than without.
fn text(after: &[Stmt]) -> String {
    let empty = parse(&kernel("")).unwrap();
    let mut module = empty.clone();
    for item in &mut module.items {
        if let Item::Function(f) = item {
            f.body.as_mut().unwrap().extend_from_slice(after);
        }
    }
    let (with, without) = (print(&module), print(&empty));
    let common = without.len() - "}\n".len();
    with[common..with.len() - "}\n".len()].to_owned()
}

#[test]
fn each_form_is_mutated_so() {
    let mut shown = String::new();
    for one in INSTRUCTIONS {
        let _ = writeln!(shown, "{one}");
        for mutation in mutations(&instruction(one)) {
            let change = &mutation.change;
            let _ = writeln!(shown, "  {}: {change}", change.kind);
            for line in text(&mutation.replacement).lines() {
                let _ = writeln!(shown, "    | {line}");
            }
        }
    }
    insta::assert_snapshot!(shown);
}

/// What a mutant is made of is what the simulator has.
#[test]
fn every_mutant_can_be_run() {
    for one in INSTRUCTIONS {
        let source = kernel(&format!("{one};"));
        let module = parse(&source).unwrap();
        for unit in [Unit::Place, Unit::Instruction] {
            for mutant in mutants(&module, &BTreeSet::from(["k"]), unit, &[]) {
                let program = Program::lower(&mutated(&module, &mutant), &source, "k").unwrap();
                let missing: Vec<_> = program
                    .sites
                    .iter()
                    .filter_map(|s| s.missing.as_ref())
                    .collect();
                assert!(missing.is_empty(), "{one}: {}: {missing:?}", mutant.change);
            }
        }
    }
}

#[test]
fn ptxas_takes_every_replacement() {
    let Some(ptxas) = testing::needs_ptxas() else {
        return;
    };
    let mut all = String::new();
    for one in INSTRUCTIONS {
        let _ = writeln!(all, "{one};");
        for mutation in mutations(&instruction(one)) {
            all += &text(&mutation.replacement);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.ptx");
    std::fs::write(&file, kernel(&all)).unwrap();
    let said = Command::new(&ptxas.path)
        .args(["-arch=sm_90", "-o", "k.cubin", "k.ptx"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
}

/// A form of atomic operation: operation and type, bits of an element, and values that are numbers of that type.
const ATOMICS: &[(&str, u32, fn(u64) -> u64)] = &[
    ("add.u32", 32, low),
    ("add.s32", 32, low),
    ("add.u64", 64, low),
    ("min.u32", 32, low),
    ("max.u32", 32, low),
    ("min.s32", 32, low),
    ("max.s32", 32, low),
    ("min.u64", 64, low),
    ("max.u64", 64, low),
    ("min.s64", 64, low),
    ("max.s64", 64, low),
    ("and.b32", 32, low),
    ("or.b32", 32, low),
    ("xor.b32", 32, low),
    ("and.b64", 64, low),
    ("or.b64", 64, low),
    ("xor.b64", 64, low),
    ("inc.u32", 32, low),
    ("dec.u32", 32, low),
    ("exch.b32", 32, low),
    ("exch.b64", 64, low),
    ("exch.b128", 128, low),
    ("cas.b16", 16, low),
    ("cas.b32", 32, low),
    ("cas.b64", 64, low),
    ("cas.b128", 128, low),
    ("add.f32", 32, |n| {
        u64::from(((n % 1000) as f32 / 8.0).to_bits())
    }),
    ("add.f64", 64, |n| ((n % 1000) as f64 / 8.0).to_bits()),
    ("add.noftz.f16", 16, half),
    ("add.noftz.f16x2", 32, |n| half(n) << 16 | half(n >> 8)),
    ("add.noftz.bf16", 16, half),
    ("add.noftz.bf16x2", 32, |n| half(n) << 16 | half(n >> 8)),
];

/// Few different ones, so that a compare-and-swap often matches.
fn low(n: u64) -> u64 {
    if n.is_multiple_of(2) { n / 2 % 4 } else { n }
}

/// A positive number of 16 bits, of either format, that is neither infinite nor a NaN.
fn half(n: u64) -> u64 {
    0x2000 + n % 0x2000
}

/// What one thread leaves in memory: the word at 0, the old value at 96.
fn left(module: &Module, source: &str, memory: &[u8]) -> Vec<u8> {
    let program = Program::lower(module, source, "k").unwrap();
    let mut device = Device::new(1 << 20);
    let at = device.alloc(memory.len() as u64, "memory").unwrap();
    device.write(at, memory).unwrap();
    device.load(&program).unwrap();
    let how = Launch {
        cluster: None,
        grid: Dim3::ONE,
        block: Dim3::ONE,
        dynamic_shared: 0,
        params: at.to_le_bytes().to_vec(),
        cooperative: false,
        number: 0,
    };
    let (schedule, limits) = (ScheduleSpec::Lockstep, Limits::default());
    launch_unwatched(&mut device, &program, &how, &schedule, &limits, 1).unwrap();
    device.read(at, memory.len() as u64).unwrap()
}

proptest! {
    #![proptest_config(testing::random(256))]

    #[test]
    fn a_plain_operation_gives_what_the_atomic_one_gives(
        form in 0..ATOMICS.len(),
        words in proptest::array::uniform6(any::<u64>()),
        guard in 0..4usize,
        reduction: bool,
        into_operand: bool,
    ) {
        let (name, bits, number) = ATOMICS[form];
        let reduction = reduction && !["exch", "cas"].contains(&&name[..name.find('.').unwrap()]);
        let register = match bits { 16 => "%h", 32 => "%r", 64 => "%rd", _ => "%q" };
        let (d, x, y) = (
            format!("{register}{}", if into_operand { 2 } else { 0 }),
            format!("{register}2"),
            format!("{register}3"),
        );
        let guard = ["", "@%p1 ", "@!%p1 ", ""][guard];
        let second = if name.starts_with("cas") { format!(", {y}") } else { String::new() };
        let operation = match reduction {
            true => format!("{guard}red.global.{name} [%rd1], {x}{second};"),
            false => format!("{guard}atom.global.{name} {d}, [%rd1], {x}{second};"),
        };
        let source = kernel(&format!(
            "ld.global.b{bits} {x}, [%rd1+32];\nld.global.b{bits} {y}, [%rd1+64];\n\
             ld.global.b{bits} {register}0, [%rd1+96];\n\
             ld.global.u32 %r1, [%rd1+128];\nsetp.eq.u32 %p1, %r1, 0;\n{operation}\n\
             st.global.b{bits} [%rd1+96], {d};"
        ));
        let mut memory = vec![0u8; 160];
        for (k, word) in words.iter().enumerate() {
            let value = number(*word).to_le_bytes();
            // 16 bytes of each operand: the second half is the same, so that 128 bits match as often.
            memory[32 * (k % 4)..][..8].copy_from_slice(&value);
            memory[32 * (k % 4) + 8..][..8].copy_from_slice(&value);
        }
        memory[128] = (words[5] % 2) as u8;

        let module = parse(&source).unwrap();
        let all = mutants(&module, &BTreeSet::from(["k"]), Unit::Place, &[Kind::PlainAtomic]);
        prop_assert_eq!(all.len(), 1, "{}", operation);
        let plain = mutated(&module, &all[0]);
        prop_assert_eq!(
            left(&module, &source, &memory),
            left(&plain, &source, &memory),
            "{}", operation
        );
    }
}

/// Each pinned PTX with its functions' mutants: printed and parsed again it is the same, and no mutation changes nothing.
#[test]
fn mutants_of_all_pinned_ptx_can_be_printed() {
    let catalog = Catalog::embedded().unwrap_or_else(|e| panic!("{e}"));
    let mut count = 0;
    for (file, source) in catalog.tree.below("kernels/", ".ptx") {
        let module = parse(source).unwrap();
        let functions: BTreeSet<&str> = module
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Function(f) => Some(f.name.as_str()),
                _ => None,
            })
            .collect();
        for mutant in mutants(&module, &functions, Unit::Place, &[]) {
            let changed = mutated(&module, &mutant);
            assert!(
                changed != module,
                "{file}: {}: nothing is changed",
                mutant.change
            );
            let again = parse(&print(&changed)).unwrap_or_else(|e| panic!("{file}: {e}"));
            assert!(again == changed, "{file}: {}", mutant.change);
            let untouched = Mutant {
                edits: Vec::<Edit>::new(),
                ..mutant
            };
            assert!(mutated(&module, &untouched) == module, "{file}");
            count += 1;
        }
    }
    assert!(count > 300, "only {count} mutants");
}

/// Copies of one place are one mutant; each by itself where that is asked for.
#[test]
fn copies_of_a_place_are_changed_together() {
    let catalog = Catalog::embedded().unwrap_or_else(|e| panic!("{e}"));
    let source = catalog.tree.text("kernels/scan/warp.sm_90.ptx").unwrap();
    let module = parse(source).unwrap();
    let entry = simt::entries(&module)
        .into_iter()
        .find(|e| e.contains("syncwarp"))
        .unwrap();
    let count = |unit| -> Vec<(u32, usize)> {
        let all = mutants(
            &module,
            &BTreeSet::from([entry]),
            unit,
            &[Kind::RemoveBarrier],
        );
        let line = |m: &Mutant| m.line.as_ref().unwrap().line;
        all.iter().map(|m| (line(m), m.edits.len())).collect()
    };
    assert_eq!(count(Unit::Place), [(16, 1), (19, 5), (21, 5)]);
    let each = count(Unit::Instruction);
    assert_eq!(each.len(), 11);
    assert!(each.iter().all(|(_, edits)| *edits == 1));
}

/// Explanations and mutants are matched both ways, and so are told what is wrong with either.
#[test]
fn explanations_must_be_true() {
    let catalog = Catalog::embedded().unwrap_or_else(|e| panic!("{e}"));
    let explained = |id: &str, equivalent: &[(Kind, &str)]| {
        let mut entry = catalog.find(id).unwrap().clone();
        entry.case.equivalent = equivalent
            .iter()
            .map(|(mutation, line)| Equivalent {
                mutation: *mutation,
                to: None,
                line: (*line).to_owned(),
                why: "because".to_owned(),
            })
            .collect();
        let subject = judge(&catalog, &entry, &Settings::default());
        (subject.problems(), subject.exit_code())
    };
    let barrier = Kind::RemoveBarrier;
    let (problems, code) = explained(
        "reduce/shared/halves",
        &[
            (barrier, "__syncthreads(); }"),
            (Kind::RemoveFence, "load(in, n);"),
        ],
    );
    assert_eq!(
        problems,
        [
            "kernels/reduce/shared.cu:15: barrier removed: the case says that this changes nothing, but it causes an error: \
             data-race at lines 13 and 63",
            "the case explains a `remove-fence` at a line with `load(in, n);`, but there is no such mutant",
        ]
    );
    assert_eq!(code, report::exit::FINDINGS);
    let (problems, code) = explained("barrier/named-in-order", &[(barrier, "\"r\"(first)")]);
    assert_eq!(
        problems,
        [
            "kernels/barrier/stuck.cu:33: barrier removed: no error in 36 runs, and the case does not explain why"
        ]
    );
    assert_eq!(code, report::exit::FINDINGS);
    let (problems, code) = explained("barrier/outside-condition", &[]);
    assert_eq!((problems.len(), code), (0, report::exit::OK));
}

#[test]
fn changes_are_told_in_words() {
    let change = Change {
        kind: Kind::NarrowScope,
        what: "fence",
        from: Some("gpu"),
        to: Some("cta"),
    };
    assert_eq!(change.to_string(), "fence narrowed from gpu to cta scope");
}
