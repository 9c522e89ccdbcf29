//! Pairs of small kernels and the effects between them.

use ptxdiff::{FunctionDiff, Unit};

/// Effects with their side and count.
pub fn effects(diff: &FunctionDiff) -> Vec<String> {
    diff.effects
        .iter()
        .map(|o| {
            let side = o.side.map_or("both".to_owned(), |s| s.to_string());
            format!("{} {side} {}", o.effect, o.occurrences.len())
        })
        .collect()
}

/// A module with one kernel `k(u64 p, u32 n)` and a shared array, and what else is given.
pub fn module(body: &str) -> String {
    module_with("", body)
}

pub fn module_with(before: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .shared .align 4 .b8 tile[1024];\n{before}\n\
         .visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .pred %p<20>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<20>;\n\
         ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n\
         shl.b32 %r3, %r2, 2;\nmov.u32 %r4, tile;\nadd.s32 %r5, %r4, %r3;\n{body}\nret;\n}}\n"
    )
}

/// The effects of two modules, those that both sides share apart.
pub fn between(a: &str, b: &str) -> Vec<String> {
    let mut found = diffs(a, b);
    found.retain(|effect| !effect.contains(" both "));
    found
}

/// The effects of two modules.
pub fn diffs(a: &str, b: &str) -> Vec<String> {
    let unit = |text: &str| Unit::parse(text.to_owned()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let (a, b) = (unit(a), unit(b));
    let diff = FunctionDiff::of((&a, a.entry("k").unwrap()), (&b, b.entry("k").unwrap())).unwrap();
    effects(&diff)
}

/// An effect is found in A beside B, as B's where the two change places, and not beside what only resembles it.
pub fn shows(effect: &str, a: &str, b: &str, near_miss: &str) {
    let (a, b, near_miss) = (module(a), module(b), module(near_miss));
    let found = |effects: Vec<String>, side: &str| {
        effects
            .iter()
            .any(|e| e.starts_with(&format!("{effect} {side} ")))
    };
    assert!(found(between(&a, &b), "A"), "{:?}", between(&a, &b));
    assert!(found(between(&b, &a), "B"), "{:?}", between(&b, &a));
    assert!(!found(between(&a, &b), "B"), "{:?}", between(&a, &b));
    let missed = between(&near_miss, &b);
    assert!(!found(missed.clone(), "A"), "near miss: {missed:?}");
}
