//! A guard says whether a thread executes an instruction, not what that does: with a guard whose predicate always holds, an instruction has
//! the same facts, the same results and the same findings as without one.

use detect::rules::Rule;
use ptx::ast::{Function, Guard, Item, Module, Stmt};
use ptx::semantics::spellings::{Spelling, arithmetic, rows};
use ptx::semantics::{Opcode, OperandClass, Rounding, Type, TypedInstruction};
use session::{Options, Session};
use simt::{Dim3, Launch, Program, Stop, entries};
use std::path::{Path, PathBuf};

/// No guard, one that holds in all threads, and the negation of one that holds in none.
const GUARDS: [&str; 3] = ["", "@%yes ", "@!%no "];

/// Threads of a block; two blocks run.
const THREADS: u32 = 32;

/// Bytes of the kernels' buffer, and of one row of it: 16 for each thread.
const BYTES: u64 = 1 << 18;
const ROW: usize = 1 << 10;

/// What is seen of a run.
#[derive(Debug, PartialEq)]
struct Seen {
    memory: Vec<u8>,
    rules: Vec<Rule>,
    findings: String,
    stopped: String,
    facts: String,
}

/// A kernel around some instructions. They see `%t`, the thread's number; `%x`, the address of its own 16 bytes in the first row of the
/// buffer; `%s`, that of its own 16 bytes of shared memory; and source and destination registers of each kind.
fn kernel(body: &str) -> String {
    let source = |k: u32| {
        let odd = 0x9e37_79b9_u32.wrapping_mul(2 * k + 1) | 1;
        let (start, limit) = (odd.rotate_left(7), odd.rotate_left(3));
        format!(
            "mad.lo.u32 %r{k}, %t, {odd}, {start};\ncvt.u16.u32 %h{k}, %r{k};\nmul.wide.u32 %d{k}, %r{k}, {odd};\n\
             xor.b64 %d{k}, %d{k}, {odd};\nsetp.lt.u32 %q{k}, %r{k}, {limit};\n"
        )
    };
    let sources: String = (0..6).map(source).collect();
    format!(
        ".version 8.8\n.target sm_100\n.address_size 64\n\
         .visible .func (.reg .b32 %back) next(.reg .b32 %given) {{\nadd.u32 %back, %given, 1;\nret;\n}}\n\
         .visible .entry k(.param .u64 out) {{\n\
         .reg .pred %yes, %no, %q<9>, %z<9>;\n.reg .b16 %h<9>, %hz<9>;\n.reg .b32 %t, %b, %s, %r<9>, %rz<9>;\n\
         .reg .b64 %x, %o, %d<9>, %dz<9>;\n.shared .align 16 .b8 tile[2048];\n\
         ld.param.u64 %x, [out];\ncvta.to.global.u64 %x, %x;\nmov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\n\
         mad.lo.u32 %b, %b, {THREADS}, %t;\nmul.wide.u32 %o, %b, 16;\nadd.u64 %x, %x, %o;\n\
         mul.lo.u32 %s, %t, 16;\nmov.u32 %r8, tile;\nadd.u32 %s, %s, %r8;\n\
         setp.ge.u32 %yes, %t, 0;\nsetp.lt.u32 %no, %t, 0;\n{sources}{body}\nret;\n}}\n"
    )
}

fn run(body: &str) -> Seen {
    let text = kernel(body);
    let module = ptx::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let program = Program::lower(&module, &text, "k").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut session = Session::new(Options::default());
    let buffer = session.device().alloc(BYTES, "out").expect("memory");
    let zeros = vec![0; BYTES as usize];
    session.device().write(buffer, &zeros).expect("inside");
    let launch = Launch {
        cluster: None,
        grid: Dim3::linear(2),
        block: Dim3::linear(THREADS),
        dynamic_shared: 0,
        params: buffer.to_le_bytes().to_vec(),
        cooperative: false,
        number: 0,
    };
    let stopped = match session.launch(&program, &launch) {
        Ok(_) => String::new(),
        // The text of the instruction has its guard.
        Err(Stop::Unsupported { site, .. }) => format!("{:?}", program.site(site).missing),
        Err(other) => format!("{other:?}"),
    };
    let (outcome, device) = session.finish();
    Seen {
        memory: device.read(buffer, BYTES).expect("inside"),
        rules: outcome.findings.iter().map(|f| f.rule).collect(),
        findings: format!("{:?}", outcome.findings),
        stopped,
        facts: format!("{:?}", program.facts),
    }
}

/// Runs a body, in which `GUARD` stands for the guard, with each of them, and demands that nothing differs.
fn alike(body: &str) -> Seen {
    let [plain, yes, no] = GUARDS.map(|guard| run(&body.replace("GUARD ", guard)));
    for (guard, guarded) in [(GUARDS[1], yes), (GUARDS[2], no)] {
        assert_eq!(plain.facts, guarded.facts, "{guard}: facts of\n{body}");
        assert_eq!(
            plain.findings, guarded.findings,
            "{guard}: findings of\n{body}"
        );
        assert_eq!(plain.stopped, guarded.stopped, "{guard}: end of\n{body}");
        let differs = (0..plain.memory.len()).find(|&at| plain.memory[at] != guarded.memory[at]);
        assert_eq!(differs, None, "{guard}: a byte of the results of\n{body}");
    }
    plain
}

/// Like [`alike`], and the instructions must be executed without a finding.
fn clean(body: &str) -> Seen {
    let seen = alike(body);
    assert_eq!(
        (seen.findings.as_str(), seen.stopped.as_str()),
        ("[]", ""),
        "{body}"
    );
    seen
}

/// A source register of a class.
fn source(class: OperandClass, k: usize) -> String {
    match class {
        OperandClass::Predicate => format!("%q{k}"),
        OperandClass::Immediate => String::from("0x96"),
        OperandClass::Bits(0..=16) => format!("%h{k}"),
        OperandClass::Bits(32) => format!("%r{k}"),
        _ => format!("%d{k}"),
    }
}

/// What an arithmetic instruction means, whatever its operands are.
fn typed(spelling: &Spelling) -> TypedInstruction {
    let names: Vec<String> = (0..spelling.operands).map(|k| format!("%a{k}")).collect();
    let text = format!("{} {};", spelling.text, names.join(", "));
    TypedInstruction::parse(&text).unwrap_or_else(|| panic!("{text}"))
}

/// An arithmetic instruction with registers as the table asks for them, under `GUARD`, and what stores its result in row `row`.
fn arithmetic_row(spelling: &Spelling, row: usize) -> String {
    let t = typed(spelling);
    let (first, last) = (t.modifiers.types().next(), t.modifiers.types().last());
    let stochastic = t.modifiers.rounding() == Some(Rounding::Stochastic);
    let of_four = stochastic
        && matches!(
            first,
            Some(Type::E4m3x4 | Type::E5m2x4 | Type::E3m2x4 | Type::E2m3x4)
        );
    let packed = matches!(last, Some(Type::F16x2 | Type::Bf16x2));
    let pair =
        t.opcode == Opcode::Lop3 && spelling.operands == 6 || t.opcode == Opcode::Setp && packed;
    let at = row * ROW;
    let (result, mut store) = match t.operands[0].class {
        OperandClass::Predicate => (
            "%z0",
            format!("selp.b32 %rz0, 1, 2, %z0;\nst.global.b32 [%x+{at}], %rz0;\n"),
        ),
        OperandClass::Bits(0..=16) => ("%hz0", format!("st.global.b16 [%x+{at}], %hz0;\n")),
        OperandClass::Bits(32) => ("%rz0", format!("st.global.b32 [%x+{at}], %rz0;\n")),
        _ => ("%dz0", format!("st.global.b64 [%x+{at}], %dz0;\n")),
    };
    let mut operands = vec![result.to_owned()];
    if pair {
        operands[0] += "|%z1";
        store += &format!(
            "selp.b32 %rz1, 3, 4, %z1;\nst.global.b32 [%x+{}], %rz1;\n",
            at + 8
        );
    }
    for (k, role) in t.operands.iter().enumerate().skip(1) {
        operands.push(match of_four && k == 1 {
            true => String::from("{%r1, %r2, %r3, %r4}"),
            false => source(role.class, k),
        });
    }
    format!("GUARD {} {};\n{store}", spelling.text, operands.join(", "))
}

/// All arithmetic instructions, with registers of the classes that the table names: the engine takes them as they are.
#[test]
fn arithmetic_is_the_same_under_a_guard() {
    let all = arithmetic();
    for some in all.chunks(BYTES as usize / ROW - 1) {
        let rows = some.iter().enumerate();
        let seen = clean(
            &rows
                .map(|(row, spelling)| arithmetic_row(spelling, row))
                .collect::<String>(),
        );
        assert!(seen.memory.iter().any(|byte| *byte != 0));
    }
}

#[test]
fn memory_is_the_same_under_a_guard() {
    for (ty, register) in [
        ("b8", "%h"),
        ("u16", "%h"),
        ("s32", "%r"),
        ("f32", "%r"),
        ("b64", "%d"),
        ("f64", "%d"),
    ] {
        for order in ["", ".volatile", ".relaxed.gpu"] {
            for (space, place) in [(".global", "[%x]"), (".shared", "[%s]"), ("", "[%x]")] {
                clean(&format!(
                    "GUARD st{order}{space}.{ty} {place}, {register}1;\nGUARD ld{order}{space}.{ty} {register}2, {place};\n\
                     st.global.{ty} [%x+8], {register}2;"
                ));
            }
        }
    }
    clean(
        "GUARD st.global.v4.b32 [%x], {%r1, %r2, %r3, %r4};\nGUARD ld.global.v2.b64 {%d2, %d3}, [%x];\nst.global.b64 [%x+1024], %d3;",
    );
    clean("GUARD ld.global.nc.b32 %r2, [%x+2048];\nst.global.b32 [%x], %r2;");
    for race in [
        "GUARD st.shared.b32 [tile], %s;",
        "GUARD st.shared.b32 [%s], %t;\nld.shared.b32 %r2, [tile];\nst.global.b32 [%x], %r2;",
        "st.shared.b32 [%s], %t;\nGUARD ld.shared.b32 %r2, [tile];\nst.global.b32 [%x], %r2;",
    ] {
        assert!(!alike(race).rules.is_empty(), "{race}");
    }
}

#[test]
fn atomics_are_the_same_under_a_guard() {
    const OPERATIONS: [(&str, &str, u32); 13] = [
        ("add.u32", "%r1", 32),
        ("add.f32", "%r1", 32),
        ("min.s32", "%r1", 32),
        ("max.u32", "%r1", 32),
        ("inc.u32", "%r1", 32),
        ("dec.u32", "%r1", 32),
        ("and.b32", "%r1", 32),
        ("or.b32", "%r1", 32),
        ("xor.b32", "%r1", 32),
        ("exch.b32", "%r1", 32),
        ("cas.b32", "%r1, %r2", 32),
        ("add.u64", "%d1", 64),
        ("cas.b64", "%d1, %d2", 64),
    ];
    for order in ["", ".acquire.gpu", ".release.cta", ".acq_rel.sys"] {
        for (operation, operands, bits) in OPERATIONS {
            let d = if bits == 64 { "%dz1" } else { "%rz1" };
            clean(&format!(
                "GUARD atom{order}.global.{operation} {d}, [%x], {operands};\nst.global.b{bits} [%x+8], {d};"
            ));
            // All threads on one word: what they get depends on their order, which is the same here.
            alike(&format!(
                "st.shared.b64 [%s], 1;\nbar.sync 0;\nGUARD atom{order}.shared.{operation} {d}, [tile], {operands};\nst.global.b{bits} [%x+8], {d};"
            ));
        }
    }
    clean("GUARD red.global.add.u32 [%x], %r1;\nGUARD red.global.max.s32 [%x+4], %r2;");
}

#[test]
fn warps_barriers_and_fences_are_the_same_under_a_guard() {
    for exchange in [
        "shfl.sync.idx.b32 %rz1, %r1, 3, 31, -1",
        "shfl.sync.up.b32 %rz1|%z1, %r1, 1, 0, -1",
        "shfl.sync.down.b32 %rz1, %r1, 4, 31, -1",
        "shfl.sync.bfly.b32 %rz1, %r1, 5, 31, -1",
        "vote.sync.ballot.b32 %rz1, %q1, -1",
        "match.any.sync.b32 %rz1, %r1, -1",
        "match.all.sync.b64 %rz1|%z1, %d1, -1",
        "redux.sync.add.u32 %rz1, %r1, -1",
        "redux.sync.max.s32 %rz1, %r1, -1",
        "redux.sync.xor.b32 %rz1, %r1, -1",
        "elect.sync %rz1|%z1, -1",
        "activemask.b32 %rz1",
        "bar.red.popc.u32 %rz1, 0, %q1",
        "mov.u32 %rz1, %laneid",
        "mov.u32 %rz1, %warpid",
        "mov.u32 %rz1, WARP_SZ",
        "call.uni (%rz1), next, (%r1)",
    ] {
        clean(&format!(
            "mov.b32 %rz1, 7;\nGUARD {exchange};\nst.global.b32 [%x], %rz1;"
        ));
    }
    for decision in [
        "vote.sync.all.pred %z1, %q1, -1",
        "vote.sync.any.pred %z1, %q1, -1",
        "vote.sync.uni.pred %z1, %q1, -1",
        "bar.red.and.pred %z1, 0, %q1",
        "barrier.red.or.pred %z1, 1, 32, %q1",
        "isspacep.shared %z1, %d1",
    ] {
        clean(&format!(
            "GUARD {decision};\nselp.b32 %rz1, 1, 2, %z1;\nst.global.b32 [%x], %rz1;"
        ));
    }
    for barrier in [
        "bar.sync 0",
        "barrier.sync 1, 32",
        "bar.warp.sync -1",
        "membar.gl",
        "membar.cta",
        "fence.sc.gpu",
        "fence.acq_rel.cta",
    ] {
        let neighbour = "xor.b32 %r2, %t, 1;\nmul.lo.u32 %r2, %r2, 16;\nadd.u32 %r2, %r2, %r8;";
        alike(&format!(
            "st.shared.b32 [%s], %r1;\nGUARD {barrier};\n{neighbour}\nld.shared.b32 %r3, [%r2];\nst.global.b32 [%x], %r3;"
        ));
    }
    for nothing in [
        "nanosleep.u32 10",
        "prefetch.global.L2 [%x]",
        "griddepcontrol.wait",
        "exit",
    ] {
        clean(&format!("GUARD {nothing};"));
    }
    for end in [
        "bra DONE;\nst.global.b32 [%x], %r1;\nDONE:",
        "ret;",
        "trap;",
    ] {
        alike(&format!("GUARD {end}"));
    }
}

/// What racetrap does not execute, it refuses under a guard as without one.
#[test]
fn every_row_of_the_table_is_the_same_under_a_guard() {
    let mut refused = 0;
    for row in rows() {
        match row.split('.').next().unwrap_or_default() {
            // Executed above.
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" => {}
            _ => {
                refused += usize::from(
                    !alike(&format!("GUARD {row}.b32 %r1, [%x], %r2, %r3;"))
                        .stopped
                        .is_empty(),
                )
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

/// A shuffle reads from a lane that is not there; what becomes of the value decides whether that matters.
fn shuffled(behind: &str) -> bool {
    let seen = alike(&format!(
        "setp.ge.u32 %q7, %t, 16;\n@%q7 bra DONE;\nshfl.sync.idx.b32 %rz1, %t, 20, 31, 0xffff;\n{behind}\nst.global.b32 [%x], %rz2;\nDONE:"
    ));
    seen.rules.contains(&Rule::UndefinedShuffle)
}

/// One operand decides the result, whatever the undefined one is.
#[test]
fn no_undefined_shuffle_is_made_up_under_a_guard() {
    for decided in [
        "GUARD and.b32 %rz2, %rz1, 0;",
        "GUARD mul.lo.s32 %rz2, %rz1, 0;",
        "setp.eq.u32 %z1, %rz1, 0;\nGUARD and.pred %z2, %z1, %no;\nselp.b32 %rz2, 1, 2, %z2;",
        "setp.eq.u32 %z1, %rz1, 0;\nGUARD or.pred %z2, %z1, %yes;\nselp.b32 %rz2, 1, 2, %z2;",
    ] {
        assert!(!shuffled(decided), "{decided}");
    }
}

/// What is computed from an undefined value is undefined, through the carry too.
#[test]
fn no_undefined_shuffle_is_hidden_by_a_guard() {
    for used in [
        "GUARD and.b32 %rz2, %rz1, 1;",
        "GUARD add.u32 %rz2, %rz1, 1;",
        "add.cc.u32 %rz3, %rz1, 1;\nGUARD addc.u32 %rz2, 0, 0;",
        "sub.cc.u32 %rz3, 1, %rz1;\nGUARD subc.u32 %rz2, 0, 0;",
        "GUARD add.cc.u32 %rz3, %rz1, 1;\naddc.u32 %rz2, 0, 0;",
        "GUARD mad.lo.cc.u32 %rz3, %rz1, 3, 1;\nGUARD madc.hi.u32 %rz2, 1, 1, 0;",
    ] {
        assert!(shuffled(used), "{used}");
    }
}

/// All PTX below a folder.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, into),
            false if path.extension().is_some_and(|e| e == "ptx") => into.push(path),
            false => {}
        }
    }
}

/// The same module with a predicate that holds in every function, and, where `guarded`, in front of every instruction that has no guard.
fn with_predicate(module: &Module, guarded: bool) -> Module {
    fn guard(statements: &mut [Stmt]) {
        for statement in statements {
            match statement {
                Stmt::Instruction(i) if i.guard.is_none() => {
                    i.guard = Some(Guard {
                        negated: false,
                        register: String::from("%racetrap_yes"),
                    });
                }
                Stmt::Block(inner) => guard(inner),
                _ => {}
            }
        }
    }
    let head = ".func f() {\n.reg .pred %racetrap_yes;\nsetp.eq.u32 %racetrap_yes, 0, 0;\n}";
    let head = ptx::parse(&format!(".version 8.0\n.target sm_80\n{head}")).unwrap();
    let Item::Function(Function {
        body: Some(head), ..
    }) = &head.items[0]
    else {
        panic!("a function");
    };
    let mut module = module.clone();
    for item in &mut module.items {
        if let Item::Function(Function {
            body: Some(body), ..
        }) = item
        {
            if guarded {
                guard(body);
            }
            body.splice(0..0, head.iter().cloned());
        }
    }
    module
}

/// A guard in front of every instruction of the catalogue's PTX changes nothing that is known of a kernel before it runs.
#[test]
fn facts_of_the_catalogue_are_the_same_under_guards() {
    let mut all = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels"),
        &mut all,
    );
    let mut kernels = 0;
    for path in all {
        let text = std::fs::read_to_string(&path).unwrap();
        let Ok(module) = ptx::parse(&text) else {
            continue;
        };
        let versions = [false, true].map(|guarded| with_predicate(&module, guarded));
        for entry in entries(&module) {
            let [plain, guarded] = versions
                .each_ref()
                .map(|module| Program::lower(module, &text, entry));
            let (Ok(plain), Ok(guarded)) = (plain, guarded) else {
                continue;
            };
            kernels += 1;
            let name = format!("{entry} of {}", path.display());
            assert_eq!(
                format!("{:?}", plain.facts),
                format!("{:?}", guarded.facts),
                "{name}"
            );
            let meaning = |p: &Program| {
                p.sites
                    .iter()
                    .map(|site| site.instruction.clone())
                    .collect::<Vec<_>>()
            };
            assert_eq!(meaning(&plain), meaning(&guarded), "{name}");
        }
    }
    assert!(kernels > 100, "{kernels}");
}
