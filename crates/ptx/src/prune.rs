//! The kernels of a large module that are wanted, without the others.
//!
//! Libraries compile to PTX of a hundred megabytes with hundreds of kernels, whose tree would take gigabytes. So a module is read
//! twice, function by function: once to learn which function names which others, once to keep what is reached from the kernels that are
//! wanted. Every function is checked on the way, and only the text and the largest function are in memory at a time.

use crate::ast::{Address, Expr, FunctionKind, Initializer, Item, Module, Operand, Span, Stmt};
use crate::error::ParseError;
use crate::parser::parse_items;
use crate::validate::{Invalid, InvalidKind, Names};
use std::collections::{HashMap, HashSet};

/// A module without the bodies of its functions.
#[derive(Debug)]
pub struct Outline {
    /// The kernels that it defines, in order.
    pub entries: Vec<String>,
    version: (u32, u32),
    /// Its items; functions have no bodies.
    items: Vec<Item>,
    /// The names outside a function that its body has.
    uses: HashMap<String, Vec<String>>,
    /// A function that is defined a second time.
    twice: Option<(String, Span)>,
}

/// Why a part of a module can't be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PartError {
    /// It is no PTX.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It is no valid PTX.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Reads a module's outline; no function takes more than about so many bytes of memory.
///
/// # Errors
///
/// As [`parse_items`].
pub fn outline(source: &str, bytes: u64) -> Result<Outline, ParseError> {
    let mut entries = Vec::new();
    let mut uses: HashMap<String, Vec<String>> = HashMap::new();
    let mut twice = None;
    let module = parse_items(source, bytes, &mut |item| {
        let Item::Function(mut function) = item else {
            // Sections name lines, which the second reading keeps.
            return (!matches!(item, Item::Section(_))).then_some(item);
        };
        if let Some(body) = function.body.take() {
            if uses.contains_key(&function.name) {
                twice.get_or_insert((function.name.clone(), function.span));
            }
            if function.kind == FunctionKind::Entry {
                entries.push(function.name.clone());
            }
            uses.insert(function.name.clone(), outside(&body));
        }
        Some(Item::Function(function))
    })?;
    Ok(Outline {
        entries,
        version: module.version,
        items: module.items,
        uses,
        twice,
    })
}

impl Outline {
    /// The module with these kernels and what they reach, and without other functions. `source` is the text of the outline.
    ///
    /// # Errors
    ///
    /// The module is not valid, or the part takes more memory.
    pub fn part(&self, source: &str, bytes: u64, wanted: &[&str]) -> Result<Module, PartError> {
        if let Some((name, span)) = &self.twice {
            let kind = InvalidKind::Twice(name.clone());
            return Err(Invalid { kind, span: *span }.into());
        }
        let names = Names::of(&self.items, self.version)?;
        let reached = self.reached(wanted);
        let mut invalid = None;
        let module = parse_items(source, bytes, &mut |item| {
            let Item::Function(function) = item else {
                return Some(item);
            };
            if invalid.is_none() {
                invalid = names.check(&function).err();
            }
            let kept = invalid.is_none() && reached.contains(function.name.as_str());
            kept.then_some(Item::Function(function))
        })?;
        match invalid {
            Some(invalid) => Err(invalid.into()),
            None => Ok(module),
        }
    }

    /// The functions that are reached from these, and from the module's variables.
    fn reached<'o>(&'o self, wanted: &[&'o str]) -> HashSet<&'o str> {
        let mut open: Vec<&str> = wanted.to_vec();
        for item in &self.items {
            if let Item::Variable(v) = item
                && let Some(init) = &v.init
            {
                initializer(init, &mut |name| open.push(name));
            }
        }
        let mut reached = HashSet::new();
        while let Some(name) = open.pop() {
            if reached.insert(name)
                && let Some(uses) = self.uses.get(name)
            {
                open.extend(uses.iter().map(String::as_str));
            }
        }
        reached
    }
}

/// The names in a body that may be functions: no registers, each once.
fn outside(body: &[Stmt]) -> Vec<String> {
    let mut names: HashSet<&str> = HashSet::new();
    statements(body, &mut |name| {
        if !name.starts_with('%') && !name.starts_with("$L") {
            names.insert(name);
        }
    });
    names.into_iter().map(str::to_owned).collect()
}

fn statements<'t>(body: &'t [Stmt], see: &mut dyn FnMut(&'t str)) {
    for stmt in body {
        match stmt {
            Stmt::Instruction(i) => i.operands.iter().for_each(|o| operand(o, see)),
            Stmt::Block(inner) => statements(inner, see),
            Stmt::CallTargets(list) => list.targets.iter().for_each(|t| see(t)),
            Stmt::Variable(v) => {
                if let Some(init) = &v.init {
                    initializer(init, see);
                }
            }
            _ => {}
        }
    }
}

fn initializer<'t>(init: &'t Initializer, see: &mut dyn FnMut(&'t str)) {
    match init {
        Initializer::Value(value) | Initializer::Field(_, value) => operand(value, see),
        Initializer::List(all) => all.iter().for_each(|one| initializer(one, see)),
    }
}

fn operand<'t>(o: &'t Operand, see: &mut dyn FnMut(&'t str)) {
    match o {
        Operand::Name(name, _) | Operand::Offset(name, _) | Operand::Index(name, _) => see(name),
        Operand::Neg(inner) | Operand::Not(inner) => operand(inner, see),
        Operand::Expr(e) => expression(e, see),
        Operand::Address(Address { base, rest, .. }) => {
            operand(base, see);
            rest.iter().for_each(|o| operand(o, see));
        }
        Operand::Vector(all) | Operand::List(all) => all.iter().for_each(|o| operand(o, see)),
        Operand::Pair(a, b) => {
            operand(a, see);
            operand(b, see);
        }
        Operand::Int(..) | Operand::F32(_) | Operand::F64(_) | Operand::Text(_) => {}
    }
}

fn expression<'t>(e: &'t Expr, see: &mut dyn FnMut(&'t str)) {
    match e {
        Expr::Leaf(leaf) => operand(leaf, see),
        Expr::Unary(_, inner) | Expr::Call(_, inner) => expression(inner, see),
        Expr::Binary(_, a, b) => {
            expression(a, see);
            expression(b, see);
        }
        Expr::Conditional(a, b, c) => {
            expression(a, see);
            expression(b, see);
            expression(c, see);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Function;

    const TEXT: &str = ".version 8.0\n.target sm_75\n.address_size 64\n\
        .func leaf() { ret; }\n.func other() { ret; }\n.func pointed() { ret; }\n\
        .global .u64 table[1] = { pointed };\n\
        .func middle() { call leaf; ret; }\n\
        .visible .entry a() { .reg .b32 %r<2>; mov.u32 %r1, %tid.x; call middle; ret; }\n\
        .visible .entry b() { call other; ret; }\n.file 1 \"a.cu\"\n";

    fn functions(module: &Module) -> Vec<&str> {
        let named = |item| match item {
            &Item::Function(Function { ref name, .. }) => Some(name.as_str()),
            _ => None,
        };
        module.items.iter().filter_map(named).collect()
    }

    #[test]
    fn what_is_wanted_stays_with_what_it_reaches() {
        let all = outline(TEXT, u64::MAX).unwrap();
        assert_eq!(all.entries, ["a", "b"]);
        let part = |wanted: &[&str]| all.part(TEXT, u64::MAX, wanted).unwrap();
        let a = part(&["a"]);
        assert_eq!(functions(&a), ["leaf", "pointed", "middle", "a"]);
        assert_eq!(functions(&part(&["b"])), ["other", "pointed", "b"]);
        assert_eq!(part(&["a", "b"]), crate::parse(TEXT).unwrap());
        assert!(matches!(a.items.last(), Some(Item::File(_))));
    }

    #[test]
    fn what_is_dropped_is_checked_too() {
        let wrong = TEXT.replace("call other", "mov.u32 %q, 1");
        let all = outline(&wrong, u64::MAX).unwrap();
        let said = all.part(&wrong, u64::MAX, &["a"]).unwrap_err().to_string();
        assert!(said.contains("`%q` is not declared"), "{said}");
        let twice = format!("{TEXT}.func leaf() {{ ret; }}\n");
        let all = outline(&twice, u64::MAX).unwrap();
        let said = all.part(&twice, u64::MAX, &["a"]).unwrap_err().to_string();
        assert!(said.contains("`leaf` is declared twice"), "{said}");
    }

    #[test]
    fn memory_is_that_of_the_largest_function() {
        let kernel = |name: usize| {
            format!(
                ".entry k{name}() {{ {} ret; }}\n",
                "bar.sync 0;".repeat(100)
            )
        };
        let head = ".version 8.0\n.target sm_75\n.address_size 64\n";
        let text = (0..200).fold(head.to_owned(), |all, name| all + &kernel(name));
        let bytes = 1 << 18;
        let all = outline(&text, bytes).unwrap();
        assert_eq!(functions(&all.part(&text, bytes, &["k7"]).unwrap()), ["k7"]);
        let whole = parse_items(&text, bytes, &mut Some).unwrap_err();
        assert!(whole.to_string().contains("more than the 0 MiB"), "{whole}");
    }
}
