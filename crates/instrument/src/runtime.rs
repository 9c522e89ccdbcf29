//! The runtime's PTX, as it is joined to a module.

use ptx::ast::{Item, Module};
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

/// The runtime's functions, local to the module that they are put into.
pub(crate) fn join(module: &mut Module) {
    let first = module
        .items
        .iter()
        .position(|item| matches!(item, Item::Function(_) | Item::Variable(_)));
    let at = first.unwrap_or(module.items.len());
    module.items.splice(at..at, ITEMS.iter().cloned());
}
