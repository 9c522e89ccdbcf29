//! The runtime's PTX, as it is joined to a module.

use crate::walk::each;
use ptx::ast::{Function, Item, Module, Operand};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// What `racetrap dev renew` has compiled `runtime/runtime.cu` to.
pub const TEXT: &str = include_str!("../runtime/runtime.ptx");

static ITEMS: LazyLock<Vec<Item>> = LazyLock::new(|| {
    let module = ptx::parse(TEXT).expect("a test reads it");
    let functions = module.items.into_iter().filter_map(|item| match item {
        Item::Function(mut function) => {
            function.linkage = None;
            Some(Item::Function(function))
        }
        _ => None,
    });
    functions.collect()
});

/// What each function of the runtime calls.
static CALLS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let functions = ITEMS.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    });
    let mut out: HashMap<String, Vec<String>> = HashMap::new();
    for function in functions {
        let called = out.entry(function.name.clone()).or_default();
        called_in(function, &mut |name| called.push(name.to_owned()));
    }
    out
});

fn called_in(function: &Function, visit: &mut impl FnMut(&str)) {
    each(
        function.body.as_deref().unwrap_or_default(),
        &mut |instruction| {
            if instruction.opcode == "call" {
                for operand in &instruction.operands {
                    if let Operand::Name(name, None) = operand {
                        visit(name);
                    }
                }
            }
        },
    );
}

/// The functions of the runtime that a module needs, local to it: all others would only be compiled.
pub(crate) fn join(module: &mut Module) {
    let mut needed = HashSet::new();
    let mut left = Vec::new();
    for item in &module.items {
        if let Item::Function(function) = item {
            called_in(function, &mut |name| left.push(name.to_owned()));
        }
    }
    while let Some(name) = left.pop() {
        if let Some(calls) = CALLS.get(&name)
            && needed.insert(name)
        {
            left.extend(calls.iter().cloned());
        }
    }
    let first = module
        .items
        .iter()
        .position(|item| matches!(item, Item::Function(_) | Item::Variable(_)));
    let at = first.unwrap_or(module.items.len());
    let items = ITEMS.iter().filter(|item| match item {
        Item::Function(function) => needed.contains(&function.name),
        _ => true,
    });
    module.items.splice(at..at, items.cloned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_gets_what_it_calls_and_what_that_calls() {
        let text = |call: &str| {
            format!(
                ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {{ {call} ret; }}"
            )
        };
        let joined = |call: &str| {
            let mut module = ptx::parse(&text(call)).unwrap();
            join(&mut module);
            module.items.len()
        };
        assert_eq!(joined(""), 1);
        let unwatched = joined("call __racetrap_unwatched, ();");
        let write = joined("call __racetrap_global_write4, ();");
        assert!(
            unwatched < write && write <= 1 + ITEMS.len(),
            "{unwatched} {write}"
        );
    }
}
