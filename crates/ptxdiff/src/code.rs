//! A function as the diff sees it: canonical order, values, places and keys.
//!
//! [`Code::of`] walks over the blocks once: `build` keeps what reaches each instruction, `read` reads its operands, `result` says what it
//! computes, `source` where it comes from, `roots` what addresses start from.

mod build;
mod read;
mod result;
mod roots;
mod source;
pub mod value;

use super::class::{InstructionClass, Space};
use super::flow::Flow;
use build::Builder;
use ptx::ast::*;
use ptx::flatten::Flat;
use ptx::semantics::{AtomicOperation, Control, TypedInstruction};
use ptx::{CfgError, SourceLine, SourceMap};
use source::{Chains, LineStarts};
use value::{Value, Values};

pub(crate) use read::plain_symbol;

/// A place in memory that an access names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The space.
    pub space: Space,
    /// The address without its constant.
    pub base: Value,
    /// What the address starts from.
    pub root: Root,
    /// The constant, in bytes.
    pub offset: i64,
    /// Bytes of one access; 0 where the type does not tell.
    pub width: u32,
}

/// What an address starts from: the one variable or parameter that is a term of it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// A variable.
    Variable(Value),
    /// A parameter of the kernel.
    Parameter(Value),
    /// None, or several.
    Unknown,
}

impl Place {
    /// Whether the two start from different parameters, which are different places to a program whose arguments don't overlap.
    pub fn is_apart(&self, other: &Place) -> bool {
        match (self.root, other.root) {
            (Root::Parameter(x), Root::Parameter(y)) => x != y,
            _ => false,
        }
    }

    /// Something for a key: equal where the bases are.
    pub(super) fn base_number(&self) -> i64 {
        self.base.number()
    }

    /// Whether the two may be in one space: an access that names none may be in any.
    pub fn may_share_space(&self, other: &Place) -> bool {
        self.space == other.space || [self.space, other.space].contains(&Space::Generic)
    }
}

/// One part of an instruction, for the comparison under a renaming of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// A register: the number of the definitions that its uses have in common.
    Register(u32),
    /// A number, a literal, a symbol's plain name …
    Word(u32),
    /// An integer.
    Int(i64),
    /// What begins or ends a group of parts.
    Mark(u8),
}

/// An instruction in its canonical place.
#[derive(Clone, Debug)]
pub struct Instr<'a> {
    /// As parsed.
    pub instr: &'a Instruction,
    /// What it means.
    pub typed: TypedInstruction,
    /// What it is for.
    pub class: InstructionClass,
    /// Its block, an index into [`Flow::blocks`].
    pub block: usize,
    /// Where in the source it comes from: an index into [`Code::chains`].
    pub chain: Option<usize>,
    /// Its line in the PTX file, from 1.
    pub line: u32,
    /// The memory that it accesses; of an asynchronous copy, what it writes.
    pub place: Option<Place>,
    /// The memory that an asynchronous copy reads.
    pub source_place: Option<Place>,
    /// What it computes, the first destination's value.
    pub result: Option<Value>,
    /// What it works on: guard, sources, in order.
    pub sources: Vec<Value>,
    /// Instructions of the same opcode, modifiers, values and places have the same.
    pub(super) strong: u32,
    /// Instructions of the same opcode, modifiers and kinds of operands have the same.
    pub(super) weak: u32,
    /// Opcode and modifiers.
    pub(super) name: u32,
    /// The opcode.
    pub(super) opcode: u32,
    /// Source file, line and column; 0: unknown.
    pub(super) site: u32,
    /// The operands, each as its parts.
    pub(super) operands: Vec<Vec<Token>>,
    /// The definitions that its registers stand for, by register.
    pub(super) registers: Vec<(&'a str, u32)>,
}

impl Instr<'_> {
    /// Whether it chooses between two ways by a predicate.
    pub fn is_conditional(&self) -> bool {
        self.typed.control == Control::Branch && self.instr.guard.is_some()
    }

    /// What an atomic operation or a reduction does, its space, scope and order apart.
    pub(super) fn atomic_operation(&self) -> Option<AtomicOperation> {
        self.typed.memory.as_ref()?.operation
    }

    /// How many of its operands are registers that it writes.
    pub(super) fn destinations(&self) -> usize {
        self.typed.destinations()
    }
}

/// A function in canonical form.
#[derive(Debug)]
pub struct Code<'a> {
    /// The function.
    pub function: &'a Function,
    /// Its instructions, block after block, without unconditional branches.
    pub instructions: Vec<Instr<'a>>,
    /// Its blocks; [`super::flow::FlowBlock::instructions`] are indices into [`Code::instructions`].
    pub flow: Flow,
    /// Source locations, innermost line first; see [`SourceMap::chain`].
    pub chains: Vec<Vec<SourceLine>>,
}

impl<'a> Code<'a> {
    /// The canonical form of a function of a module whose text is `text`.
    ///
    /// # Errors
    ///
    /// A name declared twice, or a branch whose target does not exist.
    pub fn of(
        text: &str,
        map: &SourceMap,
        function: &'a Function,
        values: &mut Values,
    ) -> Result<Code<'a>, CfgError> {
        let flat = Flat::of(function)?;
        let mut flow = Flow::of(&flat)?;
        let mut builder = Builder::new(function, &flat, values);
        let lines = LineStarts::new(text);
        let mut instructions = Vec::with_capacity(flat.instructions.len());
        let mut chains = Chains::new(map);
        for (block, flowing) in flow.blocks.iter_mut().enumerate() {
            for index in &mut flowing.instructions {
                let own = &flat.instructions[*index];
                let chain = own.loc.map(|loc| chains.index(loc));
                let site = chain.map_or(0, |chain| chains.site(chain, builder.values));
                *index = instructions.len();
                instructions.push(builder.start(own.instr, own.scope, block));
                let last = instructions.len() - 1;
                let instr: &mut Instr = &mut instructions[last];
                (instr.chain, instr.site) = (chain, site);
                instr.line = lines.line(own.instr.span.start);
            }
        }
        builder.resolve(&flow, &mut instructions);
        roots::complete(builder.values, &mut instructions);
        Ok(Code {
            function,
            instructions,
            flow,
            chains: chains.lines,
        })
    }

    /// The line of the kernel's own source that an instruction belongs to: inside inlined functions the innermost line that stands in the
    /// file of the kernel, so that code from a header is attributed to its call.
    pub fn source(&self, index: usize) -> Option<&SourceLine> {
        let chain = &self.chains[self.instructions[index].chain?];
        let own = chain.last()?;
        let line = chain
            .iter()
            .find(|line| line.file == own.file)
            .or(chain.first())?;
        (line.line > 0).then_some(line)
    }

    /// The functions that an instruction was inlined from, innermost first.
    pub fn inlined_from(&self, index: usize) -> impl Iterator<Item = &str> {
        let chain = self.instructions[index]
            .chain
            .map(|chain| &self.chains[chain][..]);
        let chain = chain.unwrap_or_default();
        let inlined = chain.len().saturating_sub(1);
        chain[..inlined]
            .iter()
            .filter_map(|line| line.function.as_deref())
    }

    /// Whether instruction `a` is executed before `b` whenever `b` is.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        let (from, to) = (self.instructions[a].block, self.instructions[b].block);
        match from == to {
            true => a < b,
            false => ptx::graph::dominates(&self.flow.idom, from, to),
        }
    }

    /// Whether `a` and `b` are never executed one after the other.
    pub fn exclusive(&self, a: usize, b: usize) -> bool {
        let (from, to) = (self.instructions[a].block, self.instructions[b].block);
        from != to && !self.flow.reaches(from, to) && !self.flow.reaches(to, from)
    }

    /// The smallest loop around an instruction.
    pub fn loop_of(&self, index: usize) -> Option<usize> {
        self.flow.innermost[self.instructions[index].block]
    }
}
