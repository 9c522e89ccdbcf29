//! What parses but is no valid PTX: what `ptxas` refuses before it looks at values.
//!
//! One pass over the tree with the scopes of its blocks (PTX ISA, "Identifiers", "Parameterized Variable Names"). It checks that every
//! name is declared once, that labels and guards are what they have to be, and that register operands have the size and kind that the
//! instruction asks for ("Operand Type Checking"; [`semantics`](crate::semantics) says what it asks for).
//!
//! Instructions and modifiers that the table does not have are refused in files of a version that it covers. Beyond that it errs on the
//! side of acceptance: the types of a vector's elements, opaque operands (textures, fragments,
//! descriptors) and the values of modifiers are not judged. Loads, stores and conversions take wider registers than their type
//! ("Operand Size Exceeding Instruction-Type Size").

mod lanes;
mod scope;
#[cfg(test)]
mod tests;

use crate::ast::{
    Function, Instruction, Item, Label, Module, Operand, ScalarType, Span, Stmt, Variable,
};
use crate::semantics::{Access, Modifier, Opcode, OperandClass, Role, Type, TypedInstruction};
use scope::{Block, Named, Scopes, labels};
use std::collections::HashSet;

/// The version of PTX whose instructions the table has: the newest that is known.
pub const VERSION: (u32, u32) = (9, 0);

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Invalid {
    /// What is wrong.
    pub kind: InvalidKind,
    /// The declaration or instruction.
    pub span: Span,
}

/// The ways in which PTX can be invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum InvalidKind {
    #[error("`{0}` is not declared")]
    Undeclared(String),
    #[error("`{0}` is declared twice in one scope")]
    Twice(String),
    #[error("there is no label `{0}` in this function")]
    NoLabel(String),
    #[error("an alignment is a power of two, and {0} is none")]
    Alignment(u32),
    #[error("the guard `{0}` is not a predicate register")]
    Guard(String),
    #[error("`{0}` is a predicate, where the instruction takes a value of {1} bits")]
    Predicate(String, u16),
    #[error("`{0}` is not a predicate")]
    NoPredicate(String),
    #[error("`{name}` has {bits} bits, where the instruction takes {wanted}")]
    Size {
        name: String,
        bits: u32,
        wanted: u16,
    },
    #[error("`{0}` has type .{1}, which does not agree with the instruction's type .{2}")]
    Kind(String, &'static str, &'static str),
    #[error("the destination is not a register")]
    Destination,
    #[error("the instruction takes {wanted} operands, and {found} are given")]
    Count { wanted: &'static str, found: usize },
    #[error("the number of elements is {0}, where the instruction takes {1}")]
    Lanes(usize, usize),
    #[error("`{0}` takes no vector here")]
    NoVector(String),
    #[error("the number of {what} is {found}, where `{name}` is declared with {wanted}")]
    Arguments {
        name: String,
        what: &'static str,
        wanted: u32,
        found: usize,
    },
    #[error("the instruction has no address in brackets")]
    NoAddress,
    #[error("PTX has no instruction `{0}`")]
    Opcode(String),
    #[error("PTX has no modifier `.{0}`")]
    Modifier(String),
    #[error("`{0}` does not take the modifier `.{1}`")]
    Misplaced(String, String),
}

/// Checks a module.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn validate(module: &Module) -> Result<(), Invalid> {
    let mut defined: HashSet<&str> = HashSet::new();
    for function in functions(&module.items).filter(|f| f.body.is_some()) {
        if !defined.insert(&function.name) {
            return fail(InvalidKind::Twice(function.name.clone()), function.span);
        }
    }
    let names = Names::of(&module.items, module.version)?;
    functions(&module.items).try_for_each(|function| names.check(function))
}

fn functions(items: &[Item]) -> impl Iterator<Item = &Function> {
    items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    })
}

/// The names that a module declares, for checking its functions one by one.
#[derive(Debug)]
pub(crate) struct Names<'m> {
    block: Block<'m>,
    /// Whether the table has all instructions that the file's version may have.
    covered: bool,
}

impl<'m> Names<'m> {
    /// The names of variables and functions, with or without bodies. A function may call itself, and one that is declared only later.
    ///
    /// # Errors
    ///
    /// A variable's alignment is none.
    pub(crate) fn of(items: &'m [Item], version: (u32, u32)) -> Result<Names<'m>, Invalid> {
        let mut names = Block::default();
        for item in items {
            match item {
                Item::Function(function) => {
                    let named = Named::Function {
                        returns: u32::try_from(function.returns.len()).unwrap_or(u32::MAX),
                        parameters: u32::try_from(function.params.len()).unwrap_or(u32::MAX),
                    };
                    names.add(&function.name, named);
                }
                Item::Variable(variable) => {
                    aligned(variable)?;
                    names.add(&variable.name, Named::of(variable));
                }
                _ => {}
            }
        }
        Ok(Names {
            block: names,
            covered: version <= VERSION,
        })
    }

    /// Checks a function of the module.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong in it.
    pub(crate) fn check(&self, function: &Function) -> Result<(), Invalid> {
        check_function(function, &mut Scopes::inside(&self.block, self.covered))
    }
}

fn fail<T>(kind: InvalidKind, span: Span) -> Result<T, Invalid> {
    Err(Invalid { kind, span })
}

fn aligned(variable: &Variable) -> Result<(), Invalid> {
    match variable.align {
        Some(align) if !align.is_power_of_two() => {
            fail(InvalidKind::Alignment(align), variable.span)
        }
        _ => Ok(()),
    }
}

fn check_function<'m>(function: &'m Function, scopes: &mut Scopes<'m>) -> Result<(), Invalid> {
    let Some(body) = &function.body else {
        return Ok(());
    };
    scopes.enter();
    for variable in function.returns.iter().chain(&function.params) {
        aligned(variable)?;
        declare(variable, scopes)?;
    }
    let labels = labels(body);
    let outcome = block(body, scopes, &labels);
    scopes.leave();
    outcome
}

fn declare<'m>(variable: &'m Variable, scopes: &mut Scopes<'m>) -> Result<(), Invalid> {
    // `_` is a place for what is not wanted.
    if variable.name != "_" && !scopes.declare(variable) {
        return fail(InvalidKind::Twice(variable.name.clone()), variable.span);
    }
    Ok(())
}

fn block<'m>(
    body: &'m [Stmt],
    scopes: &mut Scopes<'m>,
    labels: &HashSet<&str>,
) -> Result<(), Invalid> {
    scopes.enter();
    let mut here: HashSet<&str> = HashSet::new();
    for stmt in body {
        match stmt {
            Stmt::Variable(variable) => {
                aligned(variable)?;
                declare(variable, scopes)?;
            }
            Stmt::Label(Label { name, span }) if !here.insert(name) => {
                return fail(InvalidKind::Twice(name.clone()), *span);
            }
            Stmt::BranchTargets(list) => {
                for target in &list.targets {
                    if !labels.contains(target.as_str()) {
                        return fail(InvalidKind::NoLabel(target.clone()), list.span);
                    }
                }
            }
            Stmt::Block(inner) => block(inner, scopes, labels)?,
            Stmt::Instruction(one) => instruction(one, scopes, labels)?,
            _ => {}
        }
    }
    scopes.leave();
    Ok(())
}

fn instruction(
    one: &Instruction,
    scopes: &Scopes<'_>,
    labels: &HashSet<&str>,
) -> Result<(), Invalid> {
    let wrong = |kind: InvalidKind| fail(kind, one.span);
    if let Some(guard) = &one.guard {
        match scopes.find(&guard.register) {
            None => return wrong(InvalidKind::Undeclared(guard.register.clone())),
            Some(Named::Register(ScalarType::Pred, _)) => {}
            Some(_) => return wrong(InvalidKind::Guard(guard.register.clone())),
        }
    }
    let typed = TypedInstruction::of(one);
    if scopes.covered {
        spelled(one, &typed).or_else(wrong)?;
    }
    if matches!(typed.opcode, Opcode::Other(_)) {
        return Ok(());
    }
    count(&typed.opcode, one.operands.len()).map_or(Ok(()), |wanted| {
        wrong(InvalidKind::Count {
            wanted,
            found: one.operands.len(),
        })
    })?;
    let memory = matches!(
        typed.opcode,
        Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red
    );
    if memory
        && !one
            .operands
            .iter()
            .any(|o| matches!(o, Operand::Address(_) | Operand::Index(..)))
    {
        return wrong(InvalidKind::NoAddress);
    }
    for (operand, role) in one.operands.iter().zip(&typed.operands) {
        names(operand, *role, scopes, labels).or_else(wrong)?;
        value(operand, *role, &typed, scopes).or_else(wrong)?;
    }
    match scopes.covered {
        true => lanes::check(one, &typed, scopes).or_else(wrong),
        false => Ok(()),
    }
}

/// Whether there is such an instruction, and its modifiers are some.
fn spelled(one: &Instruction, typed: &TypedInstruction) -> Result<(), InvalidKind> {
    if matches!(typed.opcode, Opcode::Other(_)) {
        return Err(InvalidKind::Opcode(one.opcode.clone()));
    }
    for word in &one.modifiers {
        let modifier = Modifier::of(word);
        // Words of several parts are too many for a list to have them all.
        if modifier == Modifier::Other && !word.contains("::") {
            return Err(InvalidKind::Modifier(word.clone()));
        }
        if !takes(&typed.opcode, modifier) {
            return Err(InvalidKind::Misplaced(one.opcode.clone(), word.clone()));
        }
    }
    Ok(())
}

/// Whether a modifier may stand at a load or store, which are executed by those that are known (PTX ISA, "ld", "ldu", "st"). Of other
/// instructions nothing is said.
fn takes(opcode: &Opcode, modifier: Modifier) -> bool {
    use Modifier::*;
    if !matches!(opcode, Opcode::Ld | Opcode::Ldu | Opcode::St) {
        return true;
    }
    let name = modifier.spelling().unwrap_or_default();
    matches!(
        modifier,
        Type(_)
            | Vector(_)
            | Weak
            | Relaxed
            | Acquire
            | Release
            | Volatile
            | Mmio
            | Cta
            | Cluster
            | Gpu
            | Sys
            | Global
            | Shared
            | SharedCta
            | SharedCluster
            | Local
            | Const
            | Param
            | ParamEntry
            | ParamFunc
            | Ca
            | Cg
            | Cs
            | Lu
            | Cv
            | Wb
            | Wt
            | Nc
            | Unified
    ) || name.starts_with("L1::")
        || name.starts_with("L2::")
}

/// Whether all names in an operand are declared.
fn names(
    operand: &Operand,
    role: Role,
    scopes: &Scopes<'_>,
    labels: &HashSet<&str>,
) -> Result<(), InvalidKind> {
    match operand {
        Operand::Name(name, component) => {
            let known = labels.contains(name.as_str())
                || scopes.find(name).is_some()
                || scope::special(name, component.as_deref(), scopes.covered);
            match (known, role.class) {
                (true, _) => Ok(()),
                (false, OperandClass::Target) => Err(InvalidKind::NoLabel(name.clone())),
                (false, _) => Err(InvalidKind::Undeclared(name.clone())),
            }
        }
        Operand::Offset(name, _) | Operand::Index(name, _) => match scopes.find(name) {
            Some(_) => Ok(()),
            None => Err(InvalidKind::Undeclared(name.clone())),
        },
        Operand::Neg(inner) | Operand::Not(inner) => names(inner, role, scopes, labels),
        Operand::Address(address) => {
            names(&address.base, role, scopes, labels)?;
            address
                .rest
                .iter()
                .try_for_each(|one| names(one, role, scopes, labels))
        }
        Operand::Vector(all) | Operand::List(all) => all
            .iter()
            .try_for_each(|one| names(one, role, scopes, labels)),
        Operand::Pair(first, second) => {
            names(first, role, scopes, labels)?;
            names(second, role, scopes, labels)
        }
        _ => Ok(()),
    }
}

/// Whether an operand has the size and kind that the instruction asks for.
fn value(
    operand: &Operand,
    role: Role,
    typed: &TypedInstruction,
    scopes: &Scopes<'_>,
) -> Result<(), InvalidKind> {
    let destination = role.access != Access::Read;
    let judged = matches!(role.class, OperandClass::Bits(_) | OperandClass::Predicate);
    let literal = matches!(
        operand,
        Operand::Int(..) | Operand::F32(_) | Operand::F64(_)
    );
    if destination && judged && literal {
        return Err(InvalidKind::Destination);
    }
    let Operand::Name(name, None) = operand else {
        return Ok(());
    };
    let Some(Named::Register(ty, 1)) = scopes.find(name) else {
        let variable =
            scopes.find(name).is_some() && !matches!(scopes.find(name), Some(Named::Register(..)));
        return match destination && judged && variable {
            true => Err(InvalidKind::Destination),
            false => Ok(()),
        };
    };
    match role.class {
        OperandClass::Bits(bits) if ty == ScalarType::Pred => {
            Err(InvalidKind::Predicate(name.clone(), bits))
        }
        OperandClass::Predicate if ty != ScalarType::Pred => {
            Err(InvalidKind::NoPredicate(name.clone()))
        }
        OperandClass::Bits(wanted) if strict(&typed.opcode) => {
            let (bits, own) = scope::described(ty);
            if matches!(wanted, 16 | 32 | 64) && bits != u32::from(wanted) {
                return Err(InvalidKind::Size {
                    name: name.clone(),
                    bits,
                    wanted,
                });
            }
            match typed.modifiers.types().next() {
                Some(Type::F32 | Type::F64) if uniform(&typed.opcode) && scope::integer(ty) => {
                    Err(mismatch(name, own, typed))
                }
                Some(of) if uniform(&typed.opcode) && of.is_integer() && scope::float(ty) => {
                    match of {
                        Type::B16 | Type::B32 | Type::B64 => Ok(()),
                        _ => Err(mismatch(name, own, typed)),
                    }
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn mismatch(name: &str, own: &'static str, typed: &TypedInstruction) -> InvalidKind {
    let of = typed.modifiers.types().next().map_or("", Type::name);
    InvalidKind::Kind(name.to_owned(), own, of)
}

/// Whether an instruction takes registers of exactly the size of its type.
fn strict(opcode: &Opcode) -> bool {
    use Opcode::*;
    uniform(opcode)
        || matches!(
            opcode,
            Setp | Selp | Popc | Clz | Brev | And | Or | Xor | Not | Shl | Shr | Lop3
        )
}

/// Whether all its operands are of one type.
fn uniform(opcode: &Opcode) -> bool {
    use Opcode::*;
    matches!(opcode, Add | Sub | Div | Rem | Abs | Neg | Min | Max)
}

/// How many operands an instruction takes, where that is another number than it has.
fn count(opcode: &Opcode, found: usize) -> Option<&'static str> {
    use Opcode::*;
    let (least, most, wanted) = match opcode {
        Mov | Abs | Neg | Not | Cnot | Popc | Clz | Brev => (2, 2, "2"),
        Sub | Mul | Div | Rem | And | Or | Xor | Shl | Shr => (3, 3, "3"),
        Mad | Fma | Selp | Slct | Bfe => (4, 4, "4"),
        Setp => (3, 4, "3 or 4"),
        Ld | Ldu | St => (2, 3, "2"),
        Add | Min | Max => (3, 4, "3"),
        _ => return None,
    };
    (found < least || found > most).then_some(wanted)
}
