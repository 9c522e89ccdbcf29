//! Flattened bodies: the order of instructions, scopes, names and locations.

use ptx::ast::*;
use ptx::{self, Cfg, Declared, Flat, ScopeId};

const SOURCE: &str = "
.version 8.0
.target sm_90
.visible .func (.param .b32 result) f(.param .b64 p, .param .b32 x) {
    .reg .b32 %r<12>, %r1<3>, t;
    .reg .pred p1;
    .loc 1 10 0
    mov.u32 %r0, 1;
    {
        .reg .b64 t;
        .loc 1 20 0
        LOOP: mov.u64 t, 2;
        {
            .reg .f32 t;
            mov.f32 t, 0f00000000;
            @p1 bra LOOP;
        }
    }
    LOOP: mov.u32 t, 3;
    {
        .param .b32 x;
        st.param.b32 [x], t;
        mov.u32 %r5, t;
    }
    targets: .branchtargets LOOP, END;
    prototype: .callprototype _ ();
    END:
}
";

fn parse() -> Module {
    ptx::parse(SOURCE).unwrap()
}

fn function(module: &Module) -> &Function {
    match &module.items[0] {
        Item::Function(function) => function,
        other => panic!("{other:?}"),
    }
}

fn variable<'a>(flat: &Flat<'a>, scope: ScopeId, name: &str) -> (&'a Variable, ScopeId) {
    match flat.lookup(scope, name) {
        Some(Declared::Variable {
            variable, scope, ..
        }) => (variable, scope),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn instructions_keep_their_order_scope_and_location() {
    let module = parse();
    let flat = Flat::of(function(&module)).unwrap();
    let found: Vec<_> = flat
        .instructions
        .iter()
        .map(|at| (at.instr.opcode.as_str(), at.scope.0, at.loc.unwrap().line))
        .collect();
    let expected = [
        ("mov", 1, 10),
        ("mov", 2, 20),
        ("mov", 3, 20),
        ("bra", 3, 20),
        ("mov", 1, 20),
        ("st", 4, 20),
        ("mov", 4, 20),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_innermost_declaration_wins() {
    let module = parse();
    let flat = Flat::of(function(&module)).unwrap();
    let types = [1, 2, 4, 6].map(|at| {
        let (variable, scope) = variable(&flat, flat.instructions[at].scope, "t");
        (variable.ty, scope.0)
    });
    assert_eq!(
        types,
        [
            (ScalarType::B64, 2),
            (ScalarType::F32, 3),
            (ScalarType::B32, 1),
            (ScalarType::B32, 1)
        ]
    );
    // A parameter of the function, and a variable of the same name inside.
    assert_eq!(variable(&flat, ScopeId::BODY, "x").1, ScopeId::PARAMETERS);
    assert_eq!(variable(&flat, ScopeId(4), "x").1, ScopeId(4));
    assert_eq!(variable(&flat, ScopeId(3), "result").1, ScopeId::PARAMETERS);
}

#[test]
fn labels_belong_to_their_scope() {
    let module = parse();
    let flat = Flat::of(function(&module)).unwrap();
    assert_eq!(flat.label(ScopeId(3), "LOOP"), Some(1));
    assert_eq!(flat.label(ScopeId(1), "LOOP"), Some(4));
    assert_eq!(flat.label(ScopeId(4), "LOOP"), Some(4));
    assert_eq!(flat.label(ScopeId(4), "END"), Some(7));
    assert_eq!(flat.label(ScopeId(1), "t"), None);
    assert_eq!(flat.labels[&(ScopeId(2), "LOOP")], 1);
}

#[test]
fn parameterised_names_are_resolved() {
    let module = parse();
    let flat = Flat::of(function(&module)).unwrap();
    let element = |name: &str| match flat.lookup(ScopeId(3), name) {
        Some(Declared::Variable {
            variable, element, ..
        }) => Some((variable.name.as_str(), element?)),
        _ => None,
    };
    assert_eq!(element("%r0"), Some(("%r", 0)));
    assert_eq!(element("%r9"), Some(("%r", 9)));
    // %r11 is both the last of %r<12> and the second of %r1<3>.
    assert_eq!(element("%r11"), Some(("%r", 11)));
    assert_eq!(element("%r12"), Some(("%r1", 2)));
    for undeclared in [
        "%r",
        "%r13",
        "%r01",
        "%r00",
        "%r99999999999",
        "%rx",
        "r1",
        "%q1",
    ] {
        assert_eq!(flat.lookup(ScopeId(3), undeclared), None, "{undeclared}");
    }
}

#[test]
fn lists_and_prototypes_are_declared() {
    let module = parse();
    let flat = Flat::of(function(&module)).unwrap();
    let found = flat.lookup(ScopeId(3), "targets");
    assert!(matches!(found, Some(Declared::BranchTargets(list)) if list.targets.len() == 2));
    let found = flat.lookup(ScopeId(3), "prototype");
    assert!(matches!(found, Some(Declared::CallPrototype(_))));
}

#[test]
fn a_declaration_has_parameters_but_no_instructions() {
    let source = ".version 8.0\n.target sm_90\n.extern .func f(.param .b64 p);";
    let module = ptx::parse(source).unwrap();
    let flat = Flat::of(function(&module)).unwrap();
    assert!(flat.instructions.is_empty());
    assert_eq!(variable(&flat, ScopeId::BODY, "p").1, ScopeId::PARAMETERS);
}

#[test]
fn every_sample_has_a_control_flow_graph() {
    for (name, source) in crate::samples::all() {
        let module = ptx::parse(&source).unwrap();
        for item in &module.items {
            let Item::Function(function) = item else {
                continue;
            };
            let flat = Flat::of(function).unwrap();
            let cfg = Cfg::of(function).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(
                cfg.blocks.last().map_or(0, |block| block.end),
                flat.instructions.len()
            );
            for (number, block) in cfg.blocks.iter().enumerate() {
                assert!(block.start < block.end);
                assert!(block.leaves || !block.successors.is_empty());
                for at in block.start..block.end {
                    assert_eq!(cfg.block_of[at], number);
                }
                let branches = |at: usize| {
                    let opcode = flat.instructions[at].instr.opcode.as_str();
                    ["bra", "brx", "ret", "exit", "trap"].contains(&opcode)
                };
                assert!(!(block.start..block.end - 1).any(branches), "{name}");
            }
        }
    }
}

#[test]
fn a_jump_table_leads_to_all_its_cases() {
    let samples = crate::samples::all();
    let (_, source) = samples
        .iter()
        .find(|(name, _)| name == "jump_table.sm_75")
        .unwrap();
    let module = ptx::parse(source).unwrap();
    let most = module
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Function(function) => Some(Cfg::of(function).unwrap()),
            _ => None,
        })
        .flat_map(|cfg| cfg.blocks)
        .map(|block| block.successors.len())
        .max();
    assert_eq!(most, Some(3));
}
