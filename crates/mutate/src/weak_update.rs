//! Replaces an atomic operation with a weak load, the operation and a weak store.
//!
//! The values are those of `atom` and `red` without interference (PTX ISA, "atom", "red"): the destination gets the old value,
//! and a compare-and-swap that does not match stores nothing.

use ptx::ast::{Guard, Instruction, Item, Operand, Span, Stmt};
use ptx::parse;
use ptx::semantics::{AtomicOperation, Effect, MemoryEffect, Space, Type, TypedInstruction};
use std::fmt::Write as _;

/// Names of temporary registers. Their own scope separates them from the kernel's registers.
const OLD: &str = "%racetrap_old";
const NEW: &str = "%racetrap_new";
const TEST: &str = "%racetrap_test";

/// The statements that replace `i`; `None` if it is not an atomic operation that the simulator implements.
pub fn of(i: &Instruction, typed: &TypedInstruction, memory: &MemoryEffect) -> Option<Stmt> {
    Some(Stmt::Block(placed(
        &Plain::of(i, typed, memory)?.text(),
        i.span,
    )?))
}

/// The statements of a text, which stand where an instruction stood.
pub(super) fn placed(text: &str, span: Span) -> Option<Vec<Stmt>> {
    let mut body = parsed(text)?;
    body.iter_mut().for_each(|s| place(s, span));
    Some(body)
}

/// An atomic operation, taken apart.
struct Plain<'i> {
    operation: AtomicOperation,
    ty: Type,
    /// The type of the same width without a meaning: `b32`.
    bits: Type,
    /// `.shared`, as a suffix.
    space: String,
    guard: Option<&'i Guard>,
    destination: Option<&'i Operand>,
    address: &'i Operand,
    /// The value that a compare-and-swap looks for.
    compared: Option<&'i Operand>,
    values: Vec<Operand>,
}

impl<'i> Plain<'i> {
    fn of(
        i: &'i Instruction,
        typed: &TypedInstruction,
        memory: &MemoryEffect,
    ) -> Option<Plain<'i>> {
        let (operation, ty) = (memory.operation?, memory.element?);
        let bits = match ty.bits() {
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            128 => Type::B128,
            _ => return None,
        };
        let space = typed.modifiers.iter().find(|m| Space::of(**m).is_some());
        let mut operands = i.operands.iter();
        let destination = match memory.effect {
            Effect::ReadModifyWrite => Some(operands.next()?),
            _ => None,
        };
        let address = operands.next()?;
        let compared = match operation {
            AtomicOperation::Cas => Some(operands.next()?),
            _ => None,
        };
        Some(Plain {
            operation,
            ty,
            bits,
            space: space
                .and_then(|m| m.spelling())
                .map_or(String::new(), |s| format!(".{s}")),
            guard: i.guard.as_ref(),
            destination,
            address,
            compared,
            values: elements(operands.next()?),
        })
    }

    fn text(&self) -> String {
        let (bits, count) = (self.bits.name(), self.values.len());
        let guard = self.guard.map(negated);
        let yes = guard
            .as_ref()
            .map_or(String::new(), |guard| format!("@{guard} "));
        let (space, address) = (&self.space, self.address);
        let vector = match count {
            1 => String::new(),
            _ => format!(".v{count}"),
        };
        let mut out = format!(".reg .{bits} {OLD}<{count}>, {NEW}<{count}>;\n.reg .pred {TEST};\n");
        let mut line = |text: String| {
            let _ = writeln!(out, "{text};");
        };
        line(format!(
            "{yes}ld{space}{vector}.{bits} {}, {address}",
            all(OLD, count)
        ));
        let mut store = yes.clone();
        if let Some(compared) = self.compared {
            line(self.test(compared, guard.as_deref()));
            store = format!("@{TEST} ");
        }
        for (k, b) in self.values.iter().enumerate() {
            self.new_value(k, b, &mut line);
        }
        line(format!(
            "{store}st{space}{vector}.{bits} {address}, {}",
            all(NEW, count)
        ));
        // Last, for the destination may be the address or an operand.
        for (k, d) in self
            .destination
            .iter()
            .flat_map(|d| elements(d))
            .enumerate()
        {
            if !matches!(&d, Operand::Name(name, None) if name == "_") {
                line(format!("{yes}mov.{bits} {d}, {OLD}{k}"));
            }
        }
        out
    }

    /// Whether a compare-and-swap finds what it looks for, under the instruction's own guard, too.
    fn test(&self, compared: &Operand, guard: Option<&str>) -> String {
        let bits = self.bits.name();
        match (self.bits, guard) {
            (Type::B128, guard) => wide_test(compared, guard),
            (_, None) => format!("setp.eq.{bits} {TEST}, {OLD}0, {compared}"),
            (_, Some(guard)) => format!("setp.eq.and.{bits} {TEST}, {OLD}0, {compared}, {guard}"),
        }
    }

    /// What makes the new value of element `k` from the old one and `b`.
    fn new_value(&self, k: usize, b: &Operand, line: &mut impl FnMut(String)) {
        let (old, new) = (format!("{OLD}{k}"), format!("{NEW}{k}"));
        let (bits, operation) = (self.bits.name(), self.operation.name());
        match self.operation {
            AtomicOperation::Exch | AtomicOperation::Cas => line(format!("mov.{bits} {new}, {b}")),
            AtomicOperation::And | AtomicOperation::Or | AtomicOperation::Xor => {
                line(format!("{operation}.{bits} {new}, {old}, {b}"));
            }
            AtomicOperation::Min | AtomicOperation::Max => {
                line(format!("{operation}.{} {new}, {old}, {b}", self.ty.name()));
            }
            AtomicOperation::Add => {
                let rounding = if self.ty.is_float() { ".rn" } else { "" };
                let ty = match self.ty {
                    Type::B32 => Type::U32,
                    Type::B64 => Type::U64,
                    ty => ty,
                };
                line(format!("add{rounding}.{} {new}, {old}, {b}", ty.name()));
            }
            // "inc: (r >= s) ? 0 : r+1", "dec: (r == 0 || r > s) ? s : r-1".
            AtomicOperation::Inc => {
                line(format!("setp.ge.u32 {TEST}, {old}, {b}"));
                line(format!("add.u32 {new}, {old}, 1"));
                line(format!("selp.b32 {new}, 0, {new}, {TEST}"));
            }
            AtomicOperation::Dec => {
                line(format!("setp.eq.u32 {TEST}, {old}, 0"));
                line(format!("setp.gt.or.u32 {TEST}, {old}, {b}, {TEST}"));
                line(format!("sub.u32 {new}, {old}, 1"));
                line(format!("selp.b32 {new}, {b}, {new}, {TEST}"));
            }
        }
    }
}

/// A guard as a predicate operand: `!%p1`.
fn negated(guard: &Guard) -> String {
    let not = if guard.negated { "!" } else { "" };
    format!("{not}{}", guard.register)
}

/// The temporary registers of that name, as one operand.
fn all(name: &str, count: usize) -> String {
    match count {
        1 => format!("{name}0"),
        _ => {
            let names: Vec<_> = (0..count).map(|k| format!("{name}{k}")).collect();
            format!("{{{}}}", names.join(", "))
        }
    }
}

/// Whether 128 bits are equal: both halves are.
fn wide_test(compared: &Operand, with: Option<&str>) -> String {
    let half = |name: &str| format!("%racetrap_{name}<2>");
    let first = match with {
        None => "setp.eq.b64".to_owned(),
        Some(_) => "setp.eq.and.b64".to_owned(),
    };
    let with = with.map_or(String::new(), |with| format!(", {with}"));
    format!(
        ".reg .b64 {}, {};\n\
         mov.b128 {{%racetrap_is0, %racetrap_is1}}, {OLD}0;\n\
         mov.b128 {{%racetrap_want0, %racetrap_want1}}, {compared};\n\
         {first} {TEST}, %racetrap_is0, %racetrap_want0{with};\n\
         setp.eq.and.b64 {TEST}, %racetrap_is1, %racetrap_want1, {TEST}",
        half("is"),
        half("want")
    )
}

fn elements(operand: &Operand) -> Vec<Operand> {
    match operand {
        Operand::Vector(parts) => parts.clone(),
        one => vec![one.clone()],
    }
}

/// The statements that PTX text has inside a function's braces.
fn parsed(text: &str) -> Option<Vec<Stmt>> {
    let module =
        format!(".version 8.0\n.target sm_90\n.address_size 64\n.func f()\n{{\n{text}}}\n");
    let function = parse(&module)
        .ok()?
        .items
        .into_iter()
        .find_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        });
    function?.body
}

/// Lets the statements stand where the atomic stood, so that findings name its line.
fn place(statement: &mut Stmt, span: Span) {
    match statement {
        Stmt::Instruction(i) => i.span = span,
        Stmt::Variable(v) => v.span = span,
        _ => {}
    }
}
