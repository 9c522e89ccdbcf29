//! What a stretch of code does, as a bag: what it is compared by where its instructions stand elsewhere and in other numbers.
//!
//! Work is accesses (by direction and by what their address starts from, counted in bytes, so that a vector is worth its elements),
//! barriers, fences, exchanges between lanes, floating-point operations (a fused multiplication and addition is one of each) and operations on
//! integers. What only moves values, computes addresses or counts iterations is none: a compiler is free to do it in another way.

use crate::class::{InstructionClass, Space};
use crate::code::{Code, Instr, Place, Root, Token};
use ptx::ast::{Function, Instruction, Item, Module, Operand, Stmt};
use ptx::semantics::{Opcode, TypedInstruction};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Where an access goes, so far as it can be compared between two functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Where {
    /// To what starts at this parameter or variable.
    Root(Root),
    /// Somewhere in this space.
    Space(Space),
}

/// One kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Memory is read.
    Read,
    /// Memory is written.
    Write,
    /// Memory is updated by an atomic operation.
    Update,
    /// Threads wait for each other.
    Barrier,
    /// Accesses are ordered.
    Fence,
    /// Lanes exchange values.
    Exchange,
    /// A function is called.
    Call,
    /// A floating-point operation: the number of its family.
    Float(u8),
    /// An operation on integers that is hardly ever part of an address: its opcode's number.
    Logic(u32),
    /// Another operation on integers.
    Plain(u32),
}

/// Work that can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// What is done.
    pub kind: Kind,
    /// Where, if it is an access.
    pub to: Option<Where>,
}

impl Kind {
    /// How much it tells that two stretches have it in common.
    pub fn weight(self) -> u32 {
        match self {
            Kind::Read | Kind::Write | Kind::Update | Kind::Exchange => 12,
            Kind::Barrier | Kind::Fence => 16,
            Kind::Float(_) | Kind::Call => 6,
            Kind::Logic(_) => 3,
            Kind::Plain(_) => 0,
        }
    }

    /// Whether it is an access.
    pub fn is_access(self) -> bool {
        matches!(self, Kind::Read | Kind::Write | Kind::Update)
    }
}

impl Where {
    fn of(place: &Place) -> Where {
        match place.root {
            Root::Unknown => Where::Space(place.space),
            root => Where::Root(root),
        }
    }
}

/// The work of an instruction, with its amount; an asynchronous copy has two.
pub fn work(instr: &Instr) -> Vec<(Key, u32)> {
    let plain = |kind| vec![(Key { kind, to: None }, 1)];
    let access = |kind, place: Option<Place>| {
        place.map(|place| {
            let key = Key {
                kind,
                to: Some(Where::of(&place)),
            };
            (key, place.width.max(1))
        })
    };
    match instr.class {
        InstructionClass::Load(_) => access(Kind::Read, instr.place).into_iter().collect(),
        InstructionClass::Store(_) => access(Kind::Write, instr.place).into_iter().collect(),
        InstructionClass::Atomic(_) | InstructionClass::Reduction(_) => {
            access(Kind::Update, instr.place).into_iter().collect()
        }
        InstructionClass::AsyncCopy(_) => access(Kind::Write, instr.place)
            .into_iter()
            .chain(access(Kind::Read, instr.source_place))
            .collect(),
        InstructionClass::BlockBarrier | InstructionClass::WarpBarrier => plain(Kind::Barrier),
        InstructionClass::Fence => plain(Kind::Fence),
        InstructionClass::WarpExchange => plain(Kind::Exchange),
        InstructionClass::Call => plain(Kind::Call),
        InstructionClass::Arithmetic => arithmetic(instr),
        _ => Vec::new(),
    }
}

/// The work of an instruction; of a call, also that of the function that it names, where the module has its body, as if it did each thing once.
pub fn whole_work(instr: &Instr, module: &Module) -> Vec<(Key, u32)> {
    if instr.class != InstructionClass::Call {
        return work(instr);
    }
    let mut found = work(instr);
    let called: Vec<&str> = callee(instr.instr).into_iter().collect();
    each_called(module, called, &mut |class, typed| {
        let space = typed.memory.as_ref().map(|m| Space::from(m.space));
        let kind = match class {
            InstructionClass::Load(_) => Kind::Read,
            InstructionClass::Store(_) => Kind::Write,
            InstructionClass::Atomic(_) | InstructionClass::Reduction(_) => Kind::Update,
            InstructionClass::BlockBarrier | InstructionClass::WarpBarrier => Kind::Barrier,
            InstructionClass::Fence => Kind::Fence,
            InstructionClass::WarpExchange => Kind::Exchange,
            _ => return,
        };
        let to = space.filter(|_| kind.is_access()).map(Where::Space);
        let bytes = typed.memory.as_ref().and_then(|m| m.bytes());
        found.push((
            Key { kind, to },
            bytes.filter(|_| kind.is_access()).unwrap_or(1),
        ));
    });
    found
}

/// The function that a direct call names.
pub fn callee(call: &Instruction) -> Option<&str> {
    call.operands.iter().find_map(|operand| match operand {
        Operand::Name(name, None) if !name.starts_with('%') => Some(name.as_str()),
        _ => None,
    })
}

/// The function of this name, where the module has its body.
pub fn defined<'m>(module: &'m Module, name: &str) -> Option<&'m Function> {
    module.items.iter().find_map(|item| match item {
        Item::Function(f) if f.name == name && f.body.is_some() => Some(f),
        _ => None,
    })
}

/// Calls `visit` for each instruction of a body.
pub fn each<'m>(statements: &'m [Stmt], visit: &mut impl FnMut(&'m Instruction)) {
    for statement in statements {
        match statement {
            Stmt::Block(inner) => each(inner, visit),
            Stmt::Instruction(i) => visit(i),
            _ => {}
        }
    }
}

/// Calls `visit` for each instruction of functions and of those that they call, each function once.
pub fn each_called<'m>(
    module: &'m Module,
    mut open: Vec<&'m str>,
    visit: &mut impl FnMut(InstructionClass, &TypedInstruction),
) {
    let mut seen: HashSet<&str> = HashSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        let Some(function) = defined(module, name) else {
            continue;
        };
        each(
            function.body.as_deref().unwrap_or_default(),
            &mut |instruction| {
                open.extend(callee(instruction));
                let typed = TypedInstruction::of(instruction);
                visit(InstructionClass::of(&typed), &typed);
            },
        );
    }
}

fn arithmetic(instr: &Instr) -> Vec<(Key, u32)> {
    let of = |kind| (Key { kind, to: None }, 1);
    let float = instr.typed.modifiers.types().any(|ty| ty.is_float());
    match instr.typed.opcode {
        Opcode::Setp | Opcode::Set | Opcode::Cvt => Vec::new(),
        // The families: sums, products, quotients, roots, the rest by opcode.
        Opcode::Add | Opcode::Sub if float => vec![of(Kind::Float(0))],
        Opcode::Mul if float => vec![of(Kind::Float(1))],
        Opcode::Fma | Opcode::Mad if float => vec![of(Kind::Float(0)), of(Kind::Float(1))],
        Opcode::Div | Opcode::Rcp if float => vec![of(Kind::Float(2))],
        Opcode::Sqrt | Opcode::Rsqrt => vec![of(Kind::Float(3))],
        _ if float => vec![of(Kind::Float(4))],
        Opcode::Xor
        | Opcode::Or
        | Opcode::Popc
        | Opcode::Clz
        | Opcode::Brev
        | Opcode::Lop3
        | Opcode::Shf
        | Opcode::Bfe
        | Opcode::Prmt => vec![of(Kind::Logic(instr.opcode))],
        _ if counts(instr) => Vec::new(),
        _ => vec![of(Kind::Plain(instr.opcode))],
    }
}

/// Whether it adds a constant to a register that it writes: what a loop counts with.
fn counts(instr: &Instr) -> bool {
    let guarded = usize::from(instr.instr.guard.is_some());
    let operands = &instr.operands[guarded.min(instr.operands.len())..];
    match operands {
        [to, from, by] => {
            let constant = |tokens: &[Token]| matches!(tokens, [Token::Int(_)]);
            matches!(instr.typed.opcode, Opcode::Add | Opcode::Sub) && to == from && constant(by)
        }
        _ => false,
    }
}

/// How much of one kind of work stands somewhere, and which instructions do it.
#[derive(Clone, Debug, Default)]
pub struct Amount {
    /// Bytes of accesses, else a number of operations.
    pub amount: u32,
    /// The instructions.
    pub instructions: Vec<usize>,
    /// Whether functions that are called do it, which may be more often than their text says.
    pub called: bool,
}

/// The work of a function by the smallest loop around it.
#[derive(Debug, Default)]
pub struct Bag {
    /// All of it.
    pub by_loop: BTreeMap<Option<usize>, HashMap<Key, Amount>>,
}

impl Bag {
    /// The work of a function and, in place of calls, of what it calls in its module.
    pub fn of(code: &Code, module: &Module) -> Bag {
        let mut bag = Bag::default();
        for (index, instr) in code.instructions.iter().enumerate() {
            let own = bag.by_loop.entry(code.loop_of(index)).or_default();
            for (key, amount) in whole_work(instr, module) {
                let known = own.entry(key).or_default();
                known.amount += amount;
                known.instructions.push(index);
                known.called |= instr.class == InstructionClass::Call && key.kind != Kind::Call;
            }
        }
        bag
    }

    /// The work of one loop, or of none.
    pub fn within(&self, of: Option<usize>) -> impl Iterator<Item = (&Key, &Amount)> {
        self.by_loop.get(&of).into_iter().flatten()
    }

    /// How much of a kind of work may stand somewhere: what can't be told apart counts.
    pub fn amount(&self, of: Option<usize>, key: &Key) -> u32 {
        let Some(own) = self.by_loop.get(&of) else {
            return 0;
        };
        let exact = own.get(key).map_or(0, |a| a.amount);
        match key.to {
            Some(_) if exact == 0 => {
                let alike = own.iter().filter(|(other, _)| may_be(key, other));
                alike.map(|(_, a)| a.amount).sum()
            }
            _ => exact,
        }
    }

    /// Whether functions that are called there may do a kind of work.
    pub fn is_called(&self, of: Option<usize>, key: &Key) -> bool {
        self.within(of)
            .any(|(other, amount)| amount.called && may_be(key, other))
    }

    /// Whether a kind of work may stand anywhere.
    pub fn has(&self, key: &Key) -> bool {
        let all = self.by_loop.values().flat_map(|own| own.keys());
        all.into_iter().any(|other| may_be(key, other))
    }
}

/// Whether two kinds of work may be one.
pub fn may_be(a: &Key, b: &Key) -> bool {
    let space = |root: Root, space: Space| {
        let elsewhere = matches!(space, Space::Shared | Space::Local | Space::Const);
        !(matches!(root, Root::Parameter(_)) && elsewhere)
    };
    a.kind == b.kind
        && match (a.to, b.to) {
            (Some(Where::Root(x)), Some(Where::Root(y))) => x == y,
            (Some(Where::Space(x)), Some(Where::Space(y))) => {
                x == y || [x, y].contains(&Space::Generic)
            }
            (Some(Where::Root(x)), Some(Where::Space(y)))
            | (Some(Where::Space(y)), Some(Where::Root(x))) => space(x, y),
            (None, None) => true,
            _ => false,
        }
}
