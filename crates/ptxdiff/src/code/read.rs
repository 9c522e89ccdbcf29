//! Reads operands: their values, and their parts for the comparison under a renaming.

use super::Token;
use super::builder::{Builder, Named};
use crate::code::value::{Node, Value};
use crate::reaching::Reaching;
use ptx::ast::*;
use ptx::demangle;
use ptx::flatten::ScopeId;
use std::collections::HashMap;

/// Calls `visit` for every name in an operand.
pub(super) fn each_name<'a>(
    operand: &'a Operand,
    visit: &mut impl FnMut(&'a str, Option<&'a str>),
) {
    match operand {
        Operand::Name(name, component) => visit(name, component.as_deref()),
        Operand::Neg(inner) | Operand::Not(inner) => each_name(inner, visit),
        Operand::Vector(list) | Operand::List(list) => {
            list.iter().for_each(|o| each_name(o, visit))
        }
        Operand::Pair(a, b) => {
            each_name(a, visit);
            each_name(b, visit);
        }
        _ => {}
    }
}

/// One letter for the kind of an operand.
pub(super) fn kind(operand: &Operand) -> char {
    match operand {
        Operand::Name(name, _) if name.starts_with('%') => 'r',
        Operand::Name(..) | Operand::Offset(..) | Operand::Index(..) => 's',
        Operand::Int(..) | Operand::F32(_) | Operand::F64(_) | Operand::Expr(_) => 'i',
        Operand::Neg(_) => '-',
        Operand::Not(_) => '!',
        Operand::Address(_) => 'a',
        Operand::Vector(_) => 'v',
        Operand::Pair(..) => 'p',
        Operand::List(_) => 'l',
        Operand::Text(_) => 't',
    }
}

/// A variable's name without what mangling and the function around it add: a function's own shared array has the same one in two kernels.
pub(crate) fn plain_symbol(name: &str) -> String {
    let whole = demangle(name);
    // What stands behind the last `::` outside of parentheses: `scan(int*)::tile`.
    let mut depth = 0i32;
    let bytes = whole.as_bytes();
    for at in (1..bytes.len()).rev() {
        match bytes[at] {
            b')' | b'>' => depth += 1,
            b'(' | b'<' => depth -= 1,
            b':' if depth == 0 && bytes[at - 1] == b':' => return whole[at + 1..].to_owned(),
            _ => {}
        }
    }
    whole
}

/// Reads the operands of one instruction.
pub(super) struct Reader<'x, 'a, 'v> {
    pub(super) builder: &'x mut Builder<'a, 'v>,
    pub(super) scope: ScopeId,
    pub(super) reaching: &'x mut Reaching,
    pub(super) results: &'x [Option<Value>],
    pub(super) shapes: &'x [u32],
    pub(super) registers: Vec<(&'a str, u32)>,
    pub(super) tokens: Vec<Token>,
    /// How many destinations of each register this instruction has had.
    pub(super) next: HashMap<u32, usize>,
}

impl<'a> Reader<'_, 'a, '_> {
    /// The value of a register that is read here.
    pub(super) fn register(&mut self, name: &'a str) -> Value {
        match self.builder.name(self.scope, name, None) {
            Named::Register(register) => {
                let reached = self.reaching.at(register);
                let Some(&first) = reached.first() else {
                    // Read before it is written: one more definition, of nothing.
                    self.tokens.push(Token::Word(u32::MAX));
                    return self.builder.values.intern(Node::Unknown);
                };
                self.tokens.push(Token::Register(first));
                self.registers.push((name, first));
                if let [only] = reached[..] {
                    return match self.results[only as usize] {
                        Some(value) => value,
                        None => self.builder.values.intern(Node::Unknown),
                    };
                }
                let mut shapes: Vec<u32> =
                    reached.iter().map(|&d| self.shapes[d as usize]).collect();
                shapes.sort_unstable();
                self.reaching.unite(&reached);
                self.builder.values.intern(Node::Merge(shapes))
            }
            Named::Symbol(word, value) => {
                self.tokens.push(Token::Word(word));
                value
            }
            Named::Special(value) => {
                let word = self.builder.values.word(name);
                self.tokens.push(Token::Word(word));
                value
            }
        }
    }

    pub(super) fn destination(&mut self, operand: &'a Operand, index: usize) {
        let mut names = Vec::new();
        each_name(operand, &mut |name, _| names.push(name));
        for name in names {
            if let Named::Register(register) = self.builder.name(self.scope, name, None) {
                let nth = self.next.entry(register).or_default();
                let definitions = &self.builder.definitions[register as usize];
                let own = definitions
                    .partition_point(|&d| self.builder.all[d as usize].instruction < index);
                if let Some(&definition) = definitions.get(own + *nth) {
                    self.tokens.push(Token::Register(definition));
                    self.registers.push((name, definition));
                }
                *nth += 1;
            } else {
                let word = self.builder.values.word(name);
                self.tokens.push(Token::Word(word));
            }
        }
    }

    pub(super) fn operand(&mut self, operand: &'a Operand) -> Value {
        match operand {
            // A constant (PTX ISA, "Constant Expressions": the predefined `WARP_SZ`).
            Operand::Name(name, None) if name == "WARP_SZ" => {
                let word = self.builder.values.word(name);
                self.tokens.push(Token::Word(word));
                self.builder.values.int(32)
            }
            Operand::Name(name, None) => self.register(name),
            Operand::Name(name, Some(component)) => {
                if let Named::Special(value) = self.builder.name(self.scope, name, Some(component))
                {
                    let word = self.builder.values.word(&format!("{name}.{component}"));
                    self.tokens.push(Token::Word(word));
                    return value;
                }
                let inner = self.register(name);
                self.wrap(&format!(".{component}"), vec![inner])
            }
            Operand::Offset(name, offset) => {
                let base = self.register(name);
                self.tokens.push(Token::Int(*offset));
                let offset = self.builder.values.int(*offset);
                self.builder.values.add(base, offset, 1)
            }
            Operand::Index(name, index) => {
                let base = self.register(name);
                self.wrap(&format!("[{index}]"), vec![base])
            }
            Operand::Int(value, _) => {
                self.tokens.push(Token::Int(*value as i64));
                self.builder.values.int(*value as i64)
            }
            Operand::Neg(inner) => match &**inner {
                Operand::Int(value, _) => {
                    let value = (*value as i64).wrapping_neg();
                    self.tokens.push(Token::Int(value));
                    self.builder.values.int(value)
                }
                inner => {
                    let inner = self.operand(inner);
                    self.wrap("-", vec![inner])
                }
            },
            Operand::Not(inner) => {
                let inner = self.operand(inner);
                self.wrap("!", vec![inner])
            }
            Operand::Address(address) => {
                let base = self.operand(&address.base);
                self.tokens.push(Token::Int(address.offset));
                let offset = self.builder.values.int(address.offset);
                let place = self.builder.values.add(base, offset, 1);
                if address.rest.is_empty() {
                    return place;
                }
                let mut parts = vec![place];
                parts.extend(address.rest.iter().map(|part| self.operand(part)));
                self.wrap("[]", parts)
            }
            Operand::Vector(list) | Operand::List(list) => {
                let parts = list.iter().map(|part| self.operand(part)).collect();
                self.wrap("{}", parts)
            }
            Operand::Pair(a, b) => {
                let parts = vec![self.operand(a), self.operand(b)];
                self.wrap("|", parts)
            }
            other => {
                let text = other.to_string();
                let word = self.builder.values.word(&text);
                self.tokens.push(Token::Word(word));
                self.builder.values.intern(Node::Literal(text))
            }
        }
    }

    fn wrap(&mut self, symbol: &str, parts: Vec<Value>) -> Value {
        let word = self.builder.values.word(symbol);
        self.tokens.push(Token::Word(word));
        self.builder
            .values
            .intern(Node::Operation(symbol.to_owned(), parts))
    }
}
