//! Builds the [`KernelView`] of a launch from the program and the device memory.

use super::KernelView;
use super::memory::{MemoryNames, Region};
use super::source::{SourceFile, Sources};
use ptx::demangle;
use simt::op::{Op, Special};
use simt::program::Program;
use simt::{Device, Dim3};
use std::sync::Arc;

impl<'a> KernelView<'a> {
    /// The view of a launch of `program` that has ended. `ptx` is the text that the program was lowered from.
    /// Declarations are looked up in `sources`, preprocessed with `defines`.
    pub fn new(
        program: &'a Program,
        device: &Device,
        (grid, block): (Dim3, Dim3),
        ptx: &Arc<SourceFile>,
        sources: &Sources,
        defines: &[String],
    ) -> KernelView<'a> {
        let mut memory = names(program, device);
        memory.complete(sources, defines);
        KernelView {
            name: demangle(&program.entry),
            grid,
            block,
            program,
            sites: &program.sites,
            memory,
            ptx: ptx.clone(),
            warps: Vec::new(),
            number: None,
            defines: defines.to_vec(),
        }
    }
}

/// Whether a kernel reads the address of the grid's barrier, which only a cooperative launch has (`%envreg1`, `%envreg2`, as
/// `grid.sync()` does).
pub fn meets_grid(program: &Program) -> bool {
    let reads = |op: &Op| {
        matches!(
            op,
            Op::Special {
                which: Special::EnvReg(1 | 2),
                ..
            }
        )
    };
    program.code.iter().any(|i| reads(&i.op))
}

/// The names of everything that a program can address, without declarations.
pub fn names(program: &Program, device: &Device) -> MemoryNames {
    let shared = program.shared.iter().map(|variable| {
        let bytes = variable.bytes.map(u64::from);
        let (whole, pieces) = whole(&variable.name);
        let name = variable_name(whole);
        Region {
            function: declaring(whole),
            pieces,
            ..Region::new(&name, u64::from(variable.offset), bytes)
        }
    });
    let global = variables(device);
    let param = program
        .params
        .iter()
        .map(|p| Region::new(&p.name, u64::from(p.offset), Some(u64::from(p.bytes))));
    let maps = |i: &simt::op::Instr| matches!(i.op, Op::MapShared(_));
    MemoryNames {
        maps_ranks: program.code.iter().any(maps),
        shared: shared.collect(),
        constant: global.clone(),
        global,
        param: param.collect(),
    }
}

/// The variable that a field or an element was split from, and which one that is, of it and of that again: `_ZZ1kvE1s_$_2` is the third of
/// `s` (LLVM, "GlobalOpt").
fn whole(mangled: &str) -> (&str, Vec<usize>) {
    let (mut rest, mut pieces) = (mangled, Vec::new());
    while let Some((whole, number)) = rest.rsplit_once("_$_")
        && let Ok(number) = number.parse()
    {
        rest = whole;
        pieces.insert(0, number);
    }
    (rest, pieces)
}

/// The names of all allocations.
pub(super) fn variables(device: &Device) -> Vec<Region> {
    let regions = device.allocations().iter().map(|a| Region {
        host: a.host,
        ..Region::new(&variable_name(&a.name), a.offset, Some(a.bytes))
    });
    regions.collect()
}

/// The function that declares a variable, without its namespace, with its template arguments: `scan` for `_ZZ4scanPiE4tile`.
fn declaring(mangled: &str) -> Option<String> {
    let full = demangle(mangled).replace("(anonymous namespace)::", "");
    let (function, _) = full.rsplit_once("::")?;
    let mut depth = 0;
    let end = function.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '<') - i32::from(*c == '>');
        *c == '(' && depth == 0
    });
    let whole = &function[..end?.0];
    let (name, arguments) = whole.split_at(whole.find('<').unwrap_or(whole.len()));
    let name = name.rsplit([':', ' ']).next()?;
    (!name.is_empty()).then(|| format!("{name}{arguments}"))
}

/// The unqualified name of a variable: `tile` for `_ZZ4scanPiE4tile`.
pub fn variable_name(mangled: &str) -> String {
    let full = demangle(mangled);
    match full.rsplit_once("::") {
        Some((_, name)) => name.to_string(),
        None => full,
    }
}

#[cfg(test)]
mod tests {
    use super::{declaring, variable_name, whole};

    #[test]
    fn functions_have_variables() {
        let said = [
            "_ZZ7reversePiPKfi1PE4smem",
            "_ZZN2ns1kIfEEvPT_E4tile",
            "_ZN2ns5tableE",
            "dyn",
        ];
        let said = said.map(declaring);
        let said = said.each_ref().map(Option::as_deref);
        assert_eq!(said, [Some("reverse"), Some("k<float>"), None, None]);
    }

    #[test]
    fn variables_have_their_own_names() {
        assert_eq!(
            whole("_ZZ1kPK4taskPdE1s_$_2"),
            ("_ZZ1kPK4taskPdE1s", vec![2])
        );
        assert_eq!(whole("_ZZ1kvE1s_$_1_$_0"), ("_ZZ1kvE1s", vec![1, 0]));
        assert_eq!(whole("_ZZ1kvE1s"), ("_ZZ1kvE1s", vec![]));
        assert_eq!(variable_name("_ZZ7reversePiPKfi1PE4smem"), "smem");
        assert_eq!(variable_name("_ZN2ns5tableE"), "table");
        assert_eq!(variable_name("dyn"), "dyn");
        assert_eq!(variable_name("data"), "data");
    }
}
