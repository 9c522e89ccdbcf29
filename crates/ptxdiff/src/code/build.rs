//! Makes the canonical form: what every register holds where it is read, and what follows from it.

pub(super) use super::builder::{Builder, Named};
use super::read::{Reader, each_name, kind, plain_symbol};
use super::result::result;
use super::{Instr, Place, Token};
use crate::class::{InstructionClass, spaces, width};
use crate::code::value::{Node, Value, Values};
use crate::flow::Flow;
use crate::reaching::{Definition, Reaching};
use ptx::ast::*;
use ptx::flatten::{Declared, Flat, ScopeId};
use ptx::semantics::{Access, Control, TypedInstruction};
use std::collections::HashMap;

impl<'a, 'v> Builder<'a, 'v> {
    pub(super) fn new(
        function: &'a Function,
        flat: &'v Flat<'a>,
        values: &'v mut Values,
    ) -> Builder<'a, 'v> {
        let parameters = function.params.iter().enumerate();
        Builder {
            values,
            flat,
            parameters: parameters
                .map(|(i, p)| (p.name.as_str(), i as u32))
                .collect(),
            names: HashMap::new(),
            scopes: Vec::new(),
            definitions: Vec::new(),
            all: Vec::new(),
            registers: HashMap::new(),
        }
    }

    /// An instruction of which nothing but itself is known; its definitions are noted.
    pub(super) fn start(
        &mut self,
        instr: &'a Instruction,
        scope: ScopeId,
        block: usize,
    ) -> Instr<'a> {
        let index = self.all_instructions();
        let typed = TypedInstruction::of(instr);
        for operand in &instr.operands[..typed.destinations()] {
            each_name(operand, &mut |name, _| {
                if let Named::Register(register) = self.name(scope, name, None) {
                    self.definitions[register as usize].push(self.all.len() as u32);
                    self.all.push(Definition {
                        instruction: index,
                        guarded: instr.guard.is_some(),
                    });
                }
            });
        }
        self.scopes.push(scope);
        let mut name = instr.opcode.clone();
        for modifier in &instr.modifiers {
            name.push('.');
            name.push_str(modifier);
        }
        Instr {
            instr,
            class: InstructionClass::of(&typed),
            typed,
            block,
            chain: None,
            line: 0,
            place: None,
            source_place: None,
            result: None,
            sources: Vec::new(),
            strong: 0,
            weak: 0,
            name: self.values.word(&name),
            opcode: self.values.word(&instr.opcode),
            site: 0,
            operands: Vec::new(),
            registers: Vec::new(),
        }
    }

    fn all_instructions(&self) -> usize {
        self.scopes.len()
    }

    /// What a name stands for.
    pub(super) fn name(&mut self, scope: ScopeId, name: &'a str, component: Option<&str>) -> Named {
        if let Some(known) = self.names.get(&(scope, name))
            && component.is_none()
        {
            return *known;
        }
        let named = match self.flat.lookup(scope, name) {
            Some(Declared::Variable {
                variable,
                scope: home,
                ..
            }) if variable.space == StateSpace::Reg => {
                let next = self.definitions.len() as u32;
                let register = *self.registers.entry((home, name)).or_insert(next);
                if register == next {
                    self.definitions.push(Vec::new());
                }
                Named::Register(register)
            }
            _ if name.starts_with('%') => {
                let whole = component.map_or(name.to_owned(), |c| format!("{name}.{c}"));
                Named::Special(self.values.intern(Node::Special(whole)))
            }
            _ => {
                let plain = match self.parameters.get(name) {
                    Some(index) => format!("param{index}"),
                    None => plain_symbol(name),
                };
                let word = self.values.word(&plain);
                Named::Symbol(word, self.values.intern(Node::Symbol(plain)))
            }
        };
        if component.is_none() {
            self.names.insert((scope, name), named);
        }
        named
    }

    /// Finds out what every register holds where it is read, and what follows from it.
    pub(super) fn resolve(&mut self, flow: &Flow, instructions: &mut [Instr<'a>]) {
        let mut reaching = Reaching::new(&self.definitions, &self.all, flow, instructions);
        let mut results: Vec<Option<Value>> = vec![None; self.all.len()];
        let shapes: Vec<u32> = self
            .all
            .iter()
            .map(|d| instructions[d.instruction].name)
            .collect();
        let mut next_definition = vec![0usize; self.definitions.len()];
        for (block, flowing) in flow.blocks.iter().enumerate() {
            reaching.enter(block);
            for &index in &flowing.instructions {
                self.instruction(
                    index,
                    &mut instructions[index],
                    &mut reaching,
                    &results,
                    &shapes,
                );
                let instr = &instructions[index];
                let scope = self.scopes[index];
                let mut lane = 0;
                for operand in &instr.instr.operands[..instr.destinations()] {
                    each_name(operand, &mut |name, _| {
                        if let Named::Register(register) = self.name(scope, name, None) {
                            let at = &mut next_definition[register as usize];
                            let definition = self.definitions[register as usize][*at];
                            *at += 1;
                            results[definition as usize] =
                                match (lane, instr.result) {
                                    (0, result) => result,
                                    // Another destination of the same instruction: a lane, a predicate.
                                    (lane, Some(result)) => Some(self.values.intern(
                                        Node::Operation(format!("lane{lane}"), vec![result]),
                                    )),
                                    (_, None) => None,
                                };
                            lane += 1;
                            reaching.define(register, definition, &self.all);
                        }
                    });
                }
            }
        }
        // Registers by the definitions that they share.
        for instr in instructions.iter_mut() {
            for operand in &mut instr.operands {
                for token in operand {
                    if let Token::Register(definition) = token {
                        *definition = reaching.web(*definition);
                    }
                }
            }
            for (_, web) in &mut instr.registers {
                *web = reaching.web(*web);
            }
        }
    }

    /// What an instruction is, now that it is known what reaches it.
    fn instruction(
        &mut self,
        index: usize,
        own: &mut Instr<'a>,
        reaching: &mut Reaching,
        results: &[Option<Value>],
        shapes: &[u32],
    ) {
        let read = self.operands(index, own, reaching, results, shapes);
        own.registers = read.registers;
        own.operands = read.tokens;
        if own.class.is_access() {
            [own.place, own.source_place] = self.places(own, &read.addresses);
        }
        let address = read.addresses.first().copied();
        let writes = own.destinations() > 0;
        own.result = writes.then(|| result(self.values, own, &read.sources, address));
        own.strong = self.strong(own, &read.sources);
        own.weak = self.values.word(&format!("{} {}", own.name, read.kinds));
        own.sources = read.sources;
    }

    /// Reads an instruction's guard and operands; a branch's label is none.
    fn operands(
        &mut self,
        index: usize,
        own: &Instr<'a>,
        reaching: &mut Reaching,
        results: &[Option<Value>],
        shapes: &[u32],
    ) -> Operands<'a> {
        let instr = own.instr;
        let mut read = Operands::default();
        let mut reader = Reader {
            scope: self.scopes[index],
            builder: self,
            reaching,
            results,
            shapes,
            registers: Vec::new(),
            tokens: Vec::new(),
            next: HashMap::new(),
        };
        if let Some(guard) = &instr.guard {
            read.sources.push(reader.register(&guard.register));
            if !guard.negated || own.is_conditional() {
                reader.tokens.push(Token::Mark(1));
            }
            read.tokens.push(std::mem::take(&mut reader.tokens));
            read.kinds.push('@');
        }
        let label = own.typed.control == Control::Branch;
        let operands = instr.operands.iter().enumerate().filter(|_| !label);
        for (position, operand) in operands {
            read.kinds.push(kind(operand));
            if own.typed.operands[position].access == Access::Both {
                // An accumulator.
                read.sources.push(reader.operand(operand));
            }
            if position < own.destinations() {
                reader.destination(operand, index);
            } else {
                let value = reader.operand(operand);
                if let Operand::Address(_) = operand {
                    read.addresses.push(value);
                }
                read.sources.push(value);
            }
            read.tokens.push(std::mem::take(&mut reader.tokens));
        }
        read.registers = reader.registers;
        read
    }

    /// The memory that an instruction accesses: what it names first, and what it names second.
    fn places(&mut self, own: &Instr, addresses: &[Value]) -> [Option<Place>; 2] {
        let width = width(&own.typed, &own.instr.operands).unwrap_or(0);
        let mut places = addresses
            .iter()
            .zip(spaces(&own.typed))
            .map(|(&address, space)| {
                let (base, offset) = self.values.split(address);
                Place {
                    space,
                    root: self.values.root(base),
                    base,
                    offset,
                    width,
                }
            });
        [places.next(), places.next()]
    }

    /// As [`Instr::strong`].
    fn strong(&mut self, own: &Instr, sources: &[Value]) -> u32 {
        let values = &mut *self.values;
        let mut parts = vec![values.int(own.name as i64)];
        parts.extend(sources);
        let label = own.typed.control == Control::Branch;
        if own.instr.guard.as_ref().is_some_and(|guard| guard.negated) && !label {
            parts.push(values.int(-1));
        }
        let whole = values.intern(Node::Operation("strong".into(), parts));
        values.word(&format!("{whole:?}"))
    }
}

/// The operands of an instruction, its guard first.
#[derive(Default)]
struct Operands<'a> {
    /// The parts of each.
    tokens: Vec<Vec<Token>>,
    /// The values of those that are read.
    sources: Vec<Value>,
    /// The values of those that are addresses.
    addresses: Vec<Value>,
    /// A letter for each.
    kinds: String,
    /// The definitions that registers stand for.
    registers: Vec<(&'a str, u32)>,
}
