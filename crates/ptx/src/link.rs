//! Links PTX modules by name, as `nvlink` links objects: for programs that were compiled with `-rdc=true`.
//!
//! Every object brings its own PTX, where what it takes from others is declared `.extern`. A definition goes before declarations; of weak
//! and common ones the first stays (PTX ISA, "Linking Directives"). Files of source lines get new numbers, and labels of
//! inlined functions' names a prefix, so that every line is still the right one. What is local to a module gets
//! another name where a module before it uses the same one.

use crate::ast::{FunctionKind, Item, Linkage, Module, Section, Stmt};
use crate::rename::rename;
use std::collections::{HashMap, HashSet};

/// What can't be linked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Two modules define it.
    #[error("`{0}` is defined in two objects")]
    Twice(String),
    /// There is none.
    #[error("there is nothing to link")]
    Empty,
}

/// Links texts to one.
///
/// # Errors
///
/// One of them can't be read, or they can't be linked.
pub fn texts(all: &[String]) -> Result<String, Box<dyn std::error::Error>> {
    if let [one] = all {
        return Ok(one.clone());
    }
    let trees: Result<Vec<Module>, _> = all.iter().map(|text| crate::parse(text)).collect();
    Ok(crate::print(&link(trees?)?))
}

/// Links modules to one.
///
/// # Errors
///
/// [`LinkError`]
pub fn link(mut modules: Vec<Module>) -> Result<Module, LinkError> {
    keep_apart(&mut modules);
    let mut modules = modules.into_iter();
    let mut out = modules.next().ok_or(LinkError::Empty)?;
    let first = std::mem::take(&mut out.items);
    let mut files = 0;
    let mut all = prepared(first, 0, &mut files);
    for (number, module) in modules.enumerate() {
        out.version = out.version.max(module.version);
        all.extend(prepared(module.items, number + 1, &mut files));
    }
    let defined: HashSet<String> = all
        .iter()
        .filter(|item| is_definition(item))
        .filter_map(|item| name(item).map(str::to_owned))
        .collect();
    let mut kept: HashMap<String, bool> = HashMap::new();
    for item in all {
        let Some(name) = name(&item).map(str::to_owned) else {
            out.items.push(item);
            continue;
        };
        let definition = is_definition(&item);
        if !definition && defined.contains(&name) {
            // A function may be used before its definition comes: one declaration stays.
            let is_function = matches!(item, Item::Function(_));
            if is_function && !kept.contains_key(&name) {
                kept.insert(name, false);
                out.items.push(item);
            }
            continue;
        }
        match kept.insert(name.clone(), definition) {
            Some(true) if definition && !is_weak(&item) => return Err(LinkError::Twice(name)),
            Some(earlier) if earlier == definition => {}
            _ => out.items.push(item),
        }
    }
    // Files come last, as nvcc has them.
    out.items
        .sort_by_key(|item| matches!(item, Item::File(_) | Item::Section(_)));
    Ok(out)
}

/// Renames what is local to a module where another module has something of its name.
fn keep_apart(modules: &mut [Module]) {
    let mut users: HashMap<&str, usize> = HashMap::new();
    for module in modules.iter() {
        let names: HashSet<&str> = module.items.iter().filter_map(name).collect();
        for name in names {
            *users.entry(name).or_default() += 1;
        }
    }
    let shared = |item: &Item| -> Option<String> {
        let is_local = linkage(item).is_none() && is_definition(item) && !is_entry(item);
        let name = name(item).filter(|name| is_local && users[name] > 1)?;
        Some(name.to_owned())
    };
    let locals: Vec<HashSet<String>> = modules
        .iter()
        .map(|module| module.items.iter().filter_map(shared).collect())
        .collect();
    for (number, (module, locals)) in modules.iter_mut().zip(locals).enumerate() {
        let new = |name: String| (name.clone(), format!("{name}$object{number}"));
        rename(module, &locals.into_iter().map(new).collect());
    }
}

/// Kernels are found by their names, whatever their linkage.
fn is_entry(item: &Item) -> bool {
    matches!(item, Item::Function(f) if f.kind == FunctionKind::Entry)
}

fn name(item: &Item) -> Option<&str> {
    match item {
        Item::Variable(v) => Some(&v.name),
        Item::Function(f) => Some(&f.name),
        _ => None,
    }
}

fn linkage(item: &Item) -> Option<Linkage> {
    match item {
        Item::Variable(v) => v.linkage,
        Item::Function(f) => f.linkage,
        _ => None,
    }
}

fn is_definition(item: &Item) -> bool {
    match item {
        Item::Function(f) => f.body.is_some(),
        item => linkage(item) != Some(Linkage::Extern),
    }
}

fn is_weak(item: &Item) -> bool {
    matches!(linkage(item), Some(Linkage::Weak | Linkage::Common))
}

/// The items of a module with its files renumbered and its debug labels renamed; of sections only names of functions stay.
fn prepared(items: Vec<Item>, number: usize, files: &mut u32) -> Vec<Item> {
    let indices = items.iter().filter_map(|item| match item {
        Item::File(file) => Some(file.index),
        _ => None,
    });
    let mut renumbered: HashMap<u32, u32> = HashMap::new();
    for index in indices {
        *files += 1;
        renumbered.insert(index, *files);
    }
    let label = |text: &str| text.replace("$L__", &format!("$L__object{number}_"));
    let renamed = |item: Item| -> Option<Item> {
        Some(match item {
            Item::File(mut file) => {
                file.index = renumbered[&file.index];
                Item::File(file)
            }
            Item::Section(section) if section.name == ".debug_str" => Item::Section(Section {
                lines: section.lines.iter().map(|l| label(l)).collect(),
                ..section
            }),
            Item::Section(_) => return None,
            Item::Function(mut function) => {
                if let Some(body) = &mut function.body {
                    relocate(body, &renumbered, &label);
                }
                Item::Function(function)
            }
            item => item,
        })
    };
    items.into_iter().filter_map(renamed).collect()
}

fn relocate(body: &mut [Stmt], files: &HashMap<u32, u32>, label: &impl Fn(&str) -> String) {
    for statement in body {
        match statement {
            Stmt::Loc(loc) => {
                loc.file = files.get(&loc.file).copied().unwrap_or(loc.file);
                if let Some(inlined) = &mut loc.inlined {
                    inlined.function = label(&inlined.function);
                    inlined.file = files.get(&inlined.file).copied().unwrap_or(inlined.file);
                }
            }
            Stmt::Block(inner) => relocate(inner, files, label),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

    fn linked(texts: &[&str]) -> Result<String, LinkError> {
        let parsed = texts
            .iter()
            .map(|t| crate::parse(&format!("{HEAD}{t}")).unwrap());
        link(parsed.collect()).map(|module| crate::print(&module))
    }

    #[test]
    fn what_one_module_declares_another_one_defines() {
        let main = ".extern .func (.param .b32 r) f(.param .b32 x);\n.extern .global .u32 g;\n\
                    .visible .entry k() { .reg .b32 %r<2>; .loc 1 7 3\n ld.global.u32 %r1, [g]; ret; }\n.file 1 \"a.cu\"\n";
        let other = ".visible .global .u32 g = 5;\n\
                     .visible .func (.param .b32 r) f(.param .b32 x) { .loc 1 9 1\n ret; }\n.file 1 \"b.cu\"\n";
        let text = linked(&[main, other]).unwrap();
        let again = crate::parse(&text).unwrap();
        let variables = again
            .items
            .iter()
            .filter(|i| matches!(i, Item::Variable(_)));
        assert_eq!(variables.count(), 1, "{text}");
        assert!(
            text.contains(".file 1 \"a.cu\"") && text.contains(".file 2 \"b.cu\""),
            "{text}"
        );
        assert!(
            text.contains(".loc 1 7 3") && text.contains(".loc 2 9 1"),
            "{text}"
        );
    }

    #[test]
    fn what_is_local_to_two_modules_stays_apart() {
        let module = |kernel: &str, value: u32| {
            format!(
                ".global .u32 text = {value};\n.global .u64 at = generic(text)+4;\n.func local() {{ ret; }}\n\
                 .visible .entry {kernel}() {{ .reg .b32 %r<2>; ld.global.u32 %r1, [text+4]; call local, (); ret; }}\n\
                 .visible .entry {kernel}_own() {{ .reg .b32 %r<2>; .local .u32 text; ld.local.u32 %r1, [text]; ret; }}\n"
            )
        };
        let text = linked(&[&module("a", 1), &module("b", 2)]).unwrap();
        for part in [
            "text$object0 = 1",
            "text$object1 = 2",
            "[text$object0+4]",
            "[text$object1+4]",
            "generic(text$object1)",
            "call local$object0",
            "ld.local.u32 %r1, [text];",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn of_weak_functions_one_stays_and_of_others_two_are_an_error() {
        let weak = ".weak .func f() { ret; }\n";
        let text = linked(&[weak, weak]).unwrap();
        assert_eq!(text.matches(".weak .func").count(), 1, "{text}");
        let strong = ".visible .func f() { ret; }\n";
        assert_eq!(linked(&[strong, strong]), Err(LinkError::Twice("f".into())));
        assert_eq!(linked(&[]), Err(LinkError::Empty));
    }
}
