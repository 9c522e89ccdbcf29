//! Source locations of pinned PTX, against the sources beside it.

use ptx::{self, Flat, SourceMap, ast::*};

const SAMPLES: [(&str, &str); 6] = [
    (
        "inline_chain.sm_75.lineinfo",
        include_str!("../samples/inline_chain.sm_75.lineinfo.ptx"),
    ),
    (
        "groups.sm_90.lineinfo",
        include_str!("../samples/groups.sm_90.lineinfo.ptx"),
    ),
    (
        "locks.sm_90.lineinfo",
        include_str!("../samples/locks.sm_90.lineinfo.ptx"),
    ),
    (
        "numbers.sm_90.lineinfo",
        include_str!("../samples/numbers.sm_90.lineinfo.ptx"),
    ),
    (
        "tensor.sm_90.lineinfo",
        include_str!("../samples/tensor.sm_90.lineinfo.ptx"),
    ),
    (
        "inline_chain.sm_90.debug",
        include_str!("../samples/inline_chain.sm_90.debug.ptx"),
    ),
];

fn bodies(module: &Module) -> impl Iterator<Item = &Function> {
    module.items.iter().filter_map(|item| match item {
        Item::Function(function) if function.body.is_some() => Some(function),
        _ => None,
    })
}

/// `line:column function < line:column function < …` of every memory access.
fn accesses(source: &str) -> Vec<String> {
    let module = ptx::parse(source).unwrap();
    let map = SourceMap::of(&module);
    let mut accesses = Vec::new();
    for function in bodies(&module) {
        for at in Flat::of(function).unwrap().instructions {
            let is_access = ["ld", "st"].contains(&at.instr.opcode.as_str());
            if !is_access || at.instr.has("param") {
                continue;
            }
            let chain = map.chain(at.loc.unwrap());
            let frames: Vec<String> = chain
                .iter()
                .map(|frame| {
                    assert!(frame.file.ends_with("inline_chain.cu"));
                    let function = frame.function.as_deref().unwrap_or("?");
                    format!("{}:{} {function}", frame.line, frame.column)
                })
                .collect();
            let modifiers = at.instr.modifiers.join(".");
            accesses.push(format!(
                "{}.{modifiers} at {}",
                at.instr.opcode,
                frames.join(" < ")
            ));
        }
    }
    accesses
}

#[test]
fn inlined_calls_are_unwound() {
    insta::assert_snapshot!(accesses(SAMPLES[0].1).join("\n"));
}

#[test]
fn code_that_is_not_inlined_belongs_to_its_function() {
    let accesses = accesses(SAMPLES[5].1);
    assert!(accesses.len() > 10);
    for access in accesses {
        assert!(!access.contains(" < ") && !access.contains('?'), "{access}");
    }
}

#[test]
fn every_chain_ends_in_the_function_itself() {
    for (name, source) in SAMPLES {
        let module = ptx::parse(source).unwrap();
        let map = SourceMap::of(&module);
        for function in bodies(&module) {
            let own = ptx::demangle(&function.name);
            for at in Flat::of(function).unwrap().instructions {
                let Some(loc) = at.loc else { continue };
                let chain = map.chain(loc);
                assert_eq!((chain[0].line, chain[0].column), (loc.line, loc.column));
                assert_eq!(
                    chain.last().unwrap().function.as_ref(),
                    Some(&own),
                    "{name}: {loc:?}"
                );
                assert!(
                    chain.iter().all(|frame| frame.function.is_some()),
                    "{name}: {chain:?}"
                );
                assert_eq!(chain.len() > 1, loc.inlined.is_some());
            }
        }
    }
}

#[test]
fn equal_locations_are_told_apart_by_their_place() {
    // The same call twice on one line, from two functions that were inlined.
    let source = r#".version 8.0
.target sm_90
.entry _Z4kernv() {
  .loc 1 1 1
  .loc 1 5 1, function_name $names+0, inlined_at 1 1 1
  .loc 1 9 1, function_name $names+11, inlined_at 1 5 1
  add.s32 a, b, c;
  .loc 1 2 1
  .loc 1 5 1, function_name $names+0, inlined_at 1 2 1
  .loc 1 9 1, function_name $names+11, inlined_at 1 5 1
  sub.s32 a, b, c;
}
.file 1 "C:\\dir\\k.cu"
.section .debug_str
{
$names:
  .b8 95,90,53,111,117,116,101,114,118,0,0 // _Z5outerv
  .b8 95,90,53,105,110,110,101,114,118,0
}
"#;
    let module = ptx::parse(source).unwrap();
    let map = SourceMap::of(&module);
    let function = bodies(&module).next().unwrap();
    let flat = Flat::of(function).unwrap();
    let lines = |at: usize| -> Vec<(u32, String)> {
        let chain = map.chain(flat.instructions[at].loc.unwrap());
        assert!(chain.iter().all(|frame| frame.file == r"C:\dir\k.cu"));
        chain
            .into_iter()
            .map(|frame| (frame.line, frame.function.unwrap()))
            .collect()
    };
    let expected = |outermost| {
        [(9, "inner()"), (5, "outer()"), (outermost, "kern()")].map(|(l, f)| (l, f.to_owned()))
    };
    assert_eq!(lines(0), expected(1));
    assert_eq!(lines(1), expected(2));
}

#[test]
fn positions_that_refer_to_themselves_end() {
    let source = ".version 8.0\n.target sm_90\n.entry k() {\n\
        .loc 1 5 1, function_name a, inlined_at 1 5 1\n\
        .loc 1 5 1, function_name b, inlined_at 1 5 1\n\
        .loc 1 5 1, function_name a, inlined_at 1 5 1\n\
        ret;\n}\n";
    let module = ptx::parse(source).unwrap();
    let flat = Flat::of(bodies(&module).next().unwrap()).unwrap();
    let chain = SourceMap::of(&module).chain(flat.instructions[0].loc.unwrap());
    assert!(chain.len() <= 4, "{chain:?}");
    assert_eq!(chain[0].file, "");
}

#[test]
fn names_are_found_as_people_write_them() {
    let found = [
        ("_Z4scanPii", "scan"),
        ("_Z4scanPii", "_Z4scanPii"),
        ("_Z4scanPii", "scan(int *, int)"),
        ("_ZN2ns4scanEPii", "scan"),
        ("_ZN2ns4scanEPii", "ns::scan"),
        ("_ZN5outer2ns4scanEPii", "ns::scan"),
        ("_ZN5tools5chainIiEEvPT_S1_", "chain"),
        ("_ZN5tools5chainIiEEvPT_S1_", "tools::chain<int>"),
        ("_ZN12_GLOBAL__N_14scanEPii", "scan"),
        ("_Z6reduceIfLi256EEvPT_", "reduce<float, 256>"),
        ("_Z6reduceISt4pairIiS0_IiiEEEvPT_", "reduce"),
        ("plain_c", "plain_c"),
    ];
    for (mangled, plain) in found {
        assert!(
            ptx::matches_entry(mangled, plain),
            "{plain} in {}",
            ptx::demangle(mangled)
        );
    }
    let not_found = [
        ("_Z4scanPii", "sca"),
        ("_Z4scanPii", "can"),
        ("_Z4scanPii", ""),
        ("_ZN2ns4scanEPii", "s::scan"),
        ("_Z6reduceIfLi256EEvPT_", "reduce<float, 128>"),
        ("plain_c", "c"),
    ];
    for (mangled, plain) in not_found {
        assert!(
            !ptx::matches_entry(mangled, plain),
            "{plain} in {}",
            ptx::demangle(mangled)
        );
    }
}

#[test]
fn names_that_unfold_without_end_stay_mangled() {
    // A<int, int>, then A of two of those, and so on: the text doubles at each step.
    let nested = |steps: u32| {
        let doubled = |step| format!("S0_IS{0}_S{0}_E", base_36(step));
        let arguments: String = (1..=steps).map(doubled).collect();
        format!("_Z1fI1AIiiE{arguments}EvT_")
    };
    let twice = ptx::demangle(&nested(2));
    assert!(
        twice.starts_with("void f<A<int, int>, A<A<int, int>, A<int, int> >, A<A<A<"),
        "{twice}"
    );
    let bomb = nested(60);
    for name in [
        bomb,
        "_Z".repeat(50_000),
        format!("_Z1f{}i", "P".repeat(100_000)),
    ] {
        assert_eq!(ptx::demangle(&name), name);
        assert!(!ptx::matches_entry(&name, "g"));
    }
}

fn base_36(mut value: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(
            char::from_digit(value % 36, 36)
                .unwrap()
                .to_ascii_uppercase(),
        );
        value /= 36;
        if value == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}
