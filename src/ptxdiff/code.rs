//! A function as the diff sees it: canonical order, values, places and keys.

use super::class::{Class, Space, destinations, width};
use super::flow::{Flow, is_conditional};
use super::reaching::{Definition, Reaching};
use super::value::{Node, Value, Values};
use crate::ptx::ast::*;
use crate::ptx::flatten::{Declared, Flat, ScopeId};
use crate::ptx::{CfgError, SourceLine, SourceMap, demangle};
use std::collections::HashMap;

/// A place in memory that an access names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The space.
    pub space: Space,
    /// The address without its constant.
    pub base: Value,
    /// The constant, in bytes.
    pub offset: i64,
    /// Bytes of one access; 0 where the type does not tell.
    pub width: u32,
}

impl Place {
    /// Something for a key: equal where the bases are.
    pub(super) fn base_number(&self) -> i64 {
        self.base.number()
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
    /// What it is for.
    pub class: Class,
    /// Its block, an index into [`Flow::blocks`].
    pub block: usize,
    /// Where in the source it comes from: an index into [`Code::chains`].
    pub chain: Option<usize>,
    /// Its line in the PTX file, from 1.
    pub line: u32,
    /// The memory that it accesses.
    pub place: Option<Place>,
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
    /// The canonical form of a function of `module`, whose text is `text`.
    ///
    /// # Errors
    ///
    /// A name declared twice, or a branch whose target does not exist.
    pub fn of(
        module: &'a Module,
        text: &str,
        map: &SourceMap,
        function: &'a Function,
        values: &mut Values,
    ) -> Result<Code<'a>, CfgError> {
        let flat = Flat::of(function)?;
        let mut flow = Flow::of(&flat)?;
        let mut builder = Builder::new(module, function, &flat, values);
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
            false => crate::ptx::graph::dominates(&self.flow.idom, from, to),
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

/// Where the lines of a text start.
pub(crate) struct LineStarts(Vec<u32>);

impl LineStarts {
    pub(crate) fn new(text: &str) -> LineStarts {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        LineStarts(breaks.map(|(at, _)| at as u32).collect())
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, byte: u32) -> u32 {
        self.0.partition_point(|&end| end < byte) as u32 + 1
    }
}

/// Source locations, each worked out once.
struct Chains<'m> {
    map: &'m SourceMap,
    lines: Vec<Vec<SourceLine>>,
    sites: Vec<Option<u32>>,
    by_loc: HashMap<u32, usize>,
}

impl<'m> Chains<'m> {
    fn new(map: &'m SourceMap) -> Chains<'m> {
        Chains {
            map,
            lines: Vec::new(),
            sites: Vec::new(),
            by_loc: HashMap::new(),
        }
    }

    fn index(&mut self, loc: &Loc) -> usize {
        let Chains {
            map,
            lines,
            sites,
            by_loc,
        } = self;
        *by_loc.entry(loc.span.start).or_insert_with(|| {
            lines.push(map.chain(loc));
            sites.push(None);
            lines.len() - 1
        })
    }

    /// File name, line and column of the innermost line, as one number.
    fn site(&mut self, chain: usize, values: &mut Values) -> u32 {
        let line = &self.lines[chain][0];
        let known = line.line > 0;
        *self.sites[chain].get_or_insert_with(|| {
            let name = line.file.rsplit(['/', '\\']).next().unwrap_or_default();
            match known {
                true => 1 + values.word(&format!("{name}:{}:{}", line.line, line.column)),
                false => 0,
            }
        })
    }
}

/// What a name in an operand is.
#[derive(Clone, Copy)]
enum Named {
    Register(u32),
    Symbol(u32, Value),
    Special(Value),
}

struct Builder<'a, 'v> {
    values: &'v mut Values,
    flat: &'v Flat<'a>,
    /// Parameters of a kernel, by name.
    parameters: HashMap<&'a str, u32>,
    names: HashMap<(ScopeId, &'a str), Named>,
    scopes: Vec<ScopeId>,
    /// Definitions of each register.
    definitions: Vec<Vec<u32>>,
    all: Vec<Definition>,
    registers: HashMap<(ScopeId, &'a str), u32>,
}

impl<'a, 'v> Builder<'a, 'v> {
    fn new(
        _module: &'a Module,
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
    fn start(&mut self, instr: &'a Instruction, scope: ScopeId, block: usize) -> Instr<'a> {
        let index = self.all_instructions();
        for operand in &instr.operands[..destinations(instr).min(instr.operands.len())] {
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
            class: Class::of(instr),
            block,
            chain: None,
            line: 0,
            place: None,
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
    fn name(&mut self, scope: ScopeId, name: &'a str, component: Option<&str>) -> Named {
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
    fn resolve(&mut self, flow: &Flow, instructions: &mut [Instr<'a>]) {
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
                for operand in &instr.instr.operands
                    [..destinations(instr.instr).min(instr.instr.operands.len())]
                {
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

    fn instruction(
        &mut self,
        index: usize,
        own: &mut Instr<'a>,
        reaching: &mut Reaching,
        results: &[Option<Value>],
        shapes: &[u32],
    ) {
        let scope = self.scopes[index];
        let instr = own.instr;
        let written = destinations(instr).min(instr.operands.len());
        let mut reader = Reader {
            builder: self,
            scope,
            reaching,
            results,
            shapes,
            registers: Vec::new(),
            tokens: Vec::new(),
            next: HashMap::new(),
        };
        let mut tokens = Vec::with_capacity(instr.operands.len() + 1);
        let mut sources = Vec::new();
        let mut kinds = String::new();
        if let Some(guard) = &instr.guard {
            let value = reader.register(&guard.register);
            sources.push(value);
            if !guard.negated || is_conditional(instr) {
                reader.tokens.push(Token::Mark(1));
            }
            tokens.push(std::mem::take(&mut reader.tokens));
            kinds.push('@');
        }
        let label = matches!(instr.opcode.as_str(), "bra");
        let mut address = None;
        for (position, operand) in instr.operands.iter().enumerate() {
            if label {
                continue;
            }
            kinds.push(kind(operand));
            if position < written {
                reader.destination(operand, index);
            } else {
                let value = reader.operand(operand);
                if let Operand::Address(_) = operand {
                    address = address.or(Some(value));
                }
                sources.push(value);
            }
            tokens.push(std::mem::take(&mut reader.tokens));
        }
        own.registers = reader.registers;
        own.operands = tokens;
        let values = &mut *self.values;
        if own.class.is_access()
            && let Some(address) = address
        {
            let (base, offset) = values.split(address);
            own.place = Some(Place {
                space: Space::of(instr),
                base,
                offset,
                width: width(instr).unwrap_or(0),
            });
        }
        own.result = (written > 0).then(|| result(values, instr, &sources, address));
        let mut strong = vec![values.int(own.name as i64)];
        strong.extend(&sources);
        if let Some(guard) = &instr.guard
            && guard.negated
            && !label
        {
            strong.push(values.int(-1));
        }
        let strong = values.intern(Node::Operation("strong".into(), strong));
        own.strong = values.word(&format!("{strong:?}"));
        own.weak = values.word(&format!("{} {kinds}", own.name));
        own.sources = sources;
    }
}

/// Calls `visit` for every name in an operand.
fn each_name<'a>(operand: &'a Operand, visit: &mut impl FnMut(&'a str, Option<&'a str>)) {
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
fn kind(operand: &Operand) -> char {
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
pub(super) fn plain_symbol(name: &str) -> String {
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
struct Reader<'x, 'a, 'v> {
    builder: &'x mut Builder<'a, 'v>,
    scope: ScopeId,
    reaching: &'x mut Reaching,
    results: &'x [Option<Value>],
    shapes: &'x [u32],
    registers: Vec<(&'a str, u32)>,
    tokens: Vec<Token>,
    /// How many destinations of each register this instruction has had.
    next: HashMap<u32, usize>,
}

impl<'a> Reader<'_, 'a, '_> {
    /// The value of a register that is read here.
    fn register(&mut self, name: &'a str) -> Value {
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

    fn destination(&mut self, operand: &'a Operand, index: usize) {
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

    fn operand(&mut self, operand: &'a Operand) -> Value {
        match operand {
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

/// What an instruction computes.
fn result(
    values: &mut Values,
    instr: &Instruction,
    sources: &[Value],
    address: Option<Value>,
) -> Value {
    // The guard is no source of the value.
    let sources = &sources[usize::from(instr.guard.is_some()).min(sources.len())..];
    let integer = instr.modifiers.last().is_some_and(|m| {
        matches!(
            m.as_str(),
            "u32" | "s32" | "b32" | "u64" | "s64" | "b64" | "u16" | "s16" | "b16"
        )
    });
    match (instr.opcode.as_str(), sources) {
        ("ld", _) if Class::of(instr) == Class::Parameter => match address.map(|a| values.split(a))
        {
            Some((base, offset)) => match values.node(base) {
                Node::Symbol(name) => match name.strip_prefix("param").and_then(|n| n.parse().ok())
                {
                    Some(index) => values.intern(Node::Parameter(index, offset)),
                    None => values.intern(Node::Load("param".into(), base)),
                },
                _ => values.intern(Node::Load("param".into(), base)),
            },
            None => values.intern(Node::Unknown),
        },
        ("ld" | "ldu", _) => match address {
            Some(address) => values.intern(Node::Load(Space::of(instr).to_string(), address)),
            None => values.intern(Node::Unknown),
        },
        ("mov", [only]) | ("cvta", [only]) => *only,
        // A wider integer is the same number.
        ("cvt", [only])
            if integer && !instr.has("sat") && instr.modifiers.len() == 2 && widens(instr) =>
        {
            *only
        }
        ("add", [a, b]) if integer => values.add(*a, *b, 1),
        ("sub", [a, b]) if integer => values.add(*a, *b, -1),
        ("neg", [a]) if integer => values.scale(*a, -1),
        ("mul", [a, b]) if integer && (instr.has("lo") || instr.has("wide")) => {
            values.multiply(*a, *b)
        }
        ("mad", [a, b, c]) if integer && (instr.has("lo") || instr.has("wide")) => {
            let product = values.multiply(*a, *b);
            values.add(product, *c, 1)
        }
        ("shl", [a, b]) => match values.constant(*b) {
            Some(by @ 0..=62) => values.scale(*a, 1 << by),
            _ => values.intern(Node::Operation("shl".into(), sources.to_vec())),
        },
        (opcode, _) => {
            let mut name = opcode.to_owned();
            for modifier in &instr.modifiers {
                name.push('.');
                name.push_str(modifier);
            }
            values.intern(Node::Operation(name, sources.to_vec()))
        }
    }
}

/// `cvt.to.from` to a type at least as wide.
fn widens(instr: &Instruction) -> bool {
    let bits = |modifier: &String| {
        modifier
            .get(1..)
            .and_then(|digits| digits.parse::<u32>().ok())
    };
    match instr.modifiers.as_slice() {
        [to, from] => bits(to) >= bits(from) && !from.starts_with('f') && !from.starts_with("bf"),
        _ => false,
    }
}
