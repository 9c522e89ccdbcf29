//! Arrays of a kernel and its module, and what shared ones say of how many threads they are for.

use super::named::Named;
use crate::shape::BLOCK_THREADS;
use ptx::ast::{Function, Item, Module, StateSpace, Stmt, Variable};

/// The most threads up to a limit for which a shared array has an element or two each. An array of up to [`SLOTS`] elements says nothing of
/// threads: it may have a slot for each warp. One of a few rows, `stage[2][128]`, has a row for the threads.
pub(super) fn array_block(
    module: &Module,
    function: &Function,
    most: u64,
    named: &Named<'_>,
) -> Option<u64> {
    let fits = |count: &u64| *count <= most && count.is_multiple_of(32) && *count > SLOTS;
    let all = variables(module, function).into_iter();
    let shared = all.filter(|(v, _)| v.space == StateSpace::Shared);
    let elements = shared.flat_map(|(array, bytes)| {
        let count = bytes / element_bytes(array);
        match named.rows(&array.name, bytes).filter(fits) {
            Some(row) => [row, row],
            None => [count, count / 2],
        }
    });
    elements.filter(fits).max()
}

/// Warps of a block, at most: elements of an array with a slot for each.
pub(super) const SLOTS: u64 = BLOCK_THREADS / 32;

/// Bytes of each static shared array.
pub(super) fn shared_arrays(module: &Module, function: &Function) -> Vec<u64> {
    let all = shared_variables(module, function).into_iter();
    all.map(|(_, bytes)| bytes).collect()
}

/// Name and bytes of each static shared array.
pub(super) fn shared_variables(module: &Module, function: &Function) -> Vec<(String, u64)> {
    let all = variables(module, function).into_iter();
    all.filter(|(v, _)| v.space == StateSpace::Shared)
        .map(|(v, bytes)| (v.name.clone(), bytes))
        .collect()
}

/// Bytes of an array's elements: 8 where it is aligned so, as `double` is; otherwise those of a word.
pub(super) fn element_bytes(array: &Variable) -> u64 {
    match array.align {
        Some(8) => 8,
        _ => 4,
    }
}

/// Space and bytes of each array of the kernel and the module.
pub(super) fn arrays(module: &Module, function: &Function) -> Vec<(StateSpace, u64)> {
    let all = variables(module, function).into_iter();
    all.map(|(v, bytes)| (v.space, bytes)).collect()
}

/// Each array of the kernel and the module, with its bytes.
pub(super) fn variables<'m>(
    module: &'m Module,
    function: &'m Function,
) -> Vec<(&'m Variable, u64)> {
    let with_bytes = |v: &'m Variable| {
        let elements: u64 = v.dims.iter().map(|d| d.unwrap_or(0)).product();
        let each = u64::from(crate::parameters::scalar_type_bytes(v.ty));
        let is_array = !v.dims.is_empty() && elements > 0;
        is_array.then(|| (v, elements.saturating_mul(each)))
    };
    fn inside<'a>(body: &'a [Stmt], out: &mut Vec<&'a Variable>) {
        for stmt in body {
            match stmt {
                Stmt::Variable(v) => out.push(v),
                Stmt::Block(inner) => inside(inner, out),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    inside(function.body.as_deref().unwrap_or_default(), &mut all);
    all.extend(module.items.iter().filter_map(|item| match item {
        Item::Variable(v) => Some(v),
        _ => None,
    }));
    all.into_iter().filter_map(with_bytes).collect()
}
