//! Gives what is local to a module another name, everywhere in it.
//!
//! A variable or function without a linking directive belongs to its module alone (PTX ISA, "Linking Directives"), so two objects may have
//! one each of the same name: nvcc calls the texts of `printf` and `assert` `$str`, `$str$1` … in every object.

use crate::ast::{
    Address, Expr, Function, Initializer, Instruction, Item, Module, Operand, Stmt, Variable,
};
use std::collections::HashMap;

/// Renames module-level symbols.
pub fn rename(module: &mut Module, names: &HashMap<String, String>) {
    if names.is_empty() {
        return;
    }
    for item in &mut module.items {
        match item {
            Item::Variable(v) => {
                symbol(&mut v.name, names);
                variable(v, names);
            }
            Item::Function(f) => {
                symbol(&mut f.name, names);
                function(f, names);
            }
            _ => {}
        }
    }
}

fn symbol(name: &mut String, names: &HashMap<String, String>) {
    if let Some(new) = names.get(name.as_str()) {
        new.clone_into(name);
    }
}

/// A function's own parameters and variables hide the module's.
fn function(f: &mut Function, names: &HashMap<String, String>) {
    let mut own: Vec<&str> = Vec::new();
    let parameters = f.params.iter().chain(&f.returns);
    own.extend(parameters.map(|v| v.name.as_str()));
    declared(f.body.as_deref().unwrap_or_default(), &mut own);
    let mut visible = names.clone();
    visible.retain(|name, _| !own.contains(&name.as_str()));
    if let Some(body) = &mut f.body {
        statements(body, &visible);
    }
}

fn declared<'a>(body: &'a [Stmt], own: &mut Vec<&'a str>) {
    for statement in body {
        match statement {
            Stmt::Variable(v) => own.push(&v.name),
            Stmt::Label(label) => own.push(&label.name),
            Stmt::Block(inner) => declared(inner, own),
            _ => {}
        }
    }
}

fn statements(body: &mut [Stmt], names: &HashMap<String, String>) {
    for statement in body {
        match statement {
            Stmt::Variable(v) => variable(v, names),
            Stmt::Instruction(i) => instruction(i, names),
            Stmt::Block(inner) => statements(inner, names),
            Stmt::CallTargets(list) => list.targets.iter_mut().for_each(|t| symbol(t, names)),
            _ => {}
        }
    }
}

fn variable(v: &mut Variable, names: &HashMap<String, String>) {
    if let Some(init) = &mut v.init {
        initializer(init, names);
    }
}

fn initializer(init: &mut Initializer, names: &HashMap<String, String>) {
    match init {
        Initializer::Value(value) | Initializer::Field(_, value) => operand(value, names),
        Initializer::List(all) => all.iter_mut().for_each(|one| initializer(one, names)),
    }
}

fn instruction(i: &mut Instruction, names: &HashMap<String, String>) {
    i.operands.iter_mut().for_each(|o| operand(o, names));
}

fn operand(o: &mut Operand, names: &HashMap<String, String>) {
    match o {
        Operand::Name(name, _) | Operand::Offset(name, _) | Operand::Index(name, _) => {
            symbol(name, names);
        }
        Operand::Neg(inner) | Operand::Not(inner) => operand(inner, names),
        Operand::Expr(e) => expression(e, names),
        Operand::Address(Address { base, rest, .. }) => {
            operand(base, names);
            rest.iter_mut().for_each(|o| operand(o, names));
        }
        Operand::Vector(all) | Operand::List(all) => {
            all.iter_mut().for_each(|o| operand(o, names));
        }
        Operand::Pair(a, b) => {
            operand(a, names);
            operand(b, names);
        }
        Operand::Int(..) | Operand::F32(_) | Operand::F64(_) | Operand::Text(_) => {}
    }
}

fn expression(e: &mut Expr, names: &HashMap<String, String>) {
    match e {
        Expr::Leaf(leaf) => operand(leaf, names),
        Expr::Unary(_, inner) | Expr::Call(_, inner) => expression(inner, names),
        Expr::Binary(_, a, b) => {
            expression(a, names);
            expression(b, names);
        }
        Expr::Conditional(a, b, c) => {
            expression(a, names);
            expression(b, names);
            expression(c, names);
        }
    }
}
