//! Replaces an atomic operation with a weak load, the operation and a weak store.
//!
//! The values are those of `atom` and `red` without interference (PTX ISA, "atom", "red"): the destination gets the old value,
//! and a compare-and-swap that does not match stores nothing.

use ptx::ast::{Instruction, Item, Operand, Span, Stmt};
use ptx::parse;
use std::fmt::Write as _;

/// Names of temporary registers. Their own scope separates them from the kernel's registers.
const OLD: &str = "%racetrap_old";
const NEW: &str = "%racetrap_new";
const TEST: &str = "%racetrap_test";

/// The statements that replace `i`; `None` if it is not an atomic operation that the simulator implements.
pub fn of(i: &Instruction) -> Option<Stmt> {
    let mut body = parsed(&text(i)?)?;
    body.iter_mut().for_each(|s| place(s, i.span));
    Some(Stmt::Block(body))
}

fn text(i: &Instruction) -> Option<String> {
    let has = |names: &[&'static str]| names.iter().copied().find(|name| i.has(name));
    let operation = has(&[
        "add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas",
    ])?;
    let ty = has(&[
        "u32", "s32", "u64", "s64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "b16", "b32",
        "b64", "b128",
    ])?;
    let bits = match ty {
        "f16" | "bf16" | "b16" => "b16",
        "u64" | "s64" | "f64" | "b64" => "b64",
        "b128" => "b128",
        _ => "b32",
    };
    let space =
        has(&["shared::cta", "shared", "global"]).map_or(String::new(), |s| format!(".{s}"));
    let reduction = i.opcode == "red";
    let mut operands = i.operands.iter();
    let destination = if reduction { None } else { operands.next() };
    let address = operands.next()?;
    let b = elements(operands.next()?);
    let compared = (operation == "cas").then(|| b[0].clone());
    let b = match operation {
        "cas" => elements(operands.next()?),
        _ => b,
    };
    let count = b.len();
    let vector = if count > 1 {
        format!(".v{count}")
    } else {
        String::new()
    };
    let (yes, with) = match &i.guard {
        None => (String::new(), None),
        Some(g) => {
            let not = if g.negated { "!" } else { "" };
            (
                format!("@{not}{} ", g.register),
                Some(format!("{not}{}", g.register)),
            )
        }
    };
    let mut out = format!(".reg .{bits} {OLD}<{count}>, {NEW}<{count}>;\n.reg .pred {TEST};\n");
    let mut line = |text: String| {
        let _ = writeln!(out, "{text};");
    };
    let all = |name: &str| match count {
        1 => format!("{name}0"),
        _ => {
            let names: Vec<_> = (0..count).map(|k| format!("{name}{k}")).collect();
            format!("{{{}}}", names.join(", "))
        }
    };
    line(format!(
        "{yes}ld{space}{vector}.{bits} {}, {address}",
        all(OLD)
    ));
    let mut store = yes.clone();
    if let Some(compared) = &compared {
        // Under the instruction's own guard, too.
        match bits {
            "b128" => line(wide_test(compared, with.as_deref())),
            _ => line(match &with {
                None => format!("setp.eq.{bits} {TEST}, {OLD}0, {compared}"),
                Some(with) => format!("setp.eq.and.{bits} {TEST}, {OLD}0, {compared}, {with}"),
            }),
        }
        store = format!("@{TEST} ");
    }
    for (k, b) in b.iter().enumerate() {
        let (old, new) = (format!("{OLD}{k}"), format!("{NEW}{k}"));
        match operation {
            "exch" | "cas" => line(format!("mov.{bits} {new}, {b}")),
            "and" | "or" | "xor" => line(format!("{operation}.{bits} {new}, {old}, {b}")),
            "min" | "max" => line(format!("{operation}.{ty} {new}, {old}, {b}")),
            "add" => {
                let rounding = if ty.contains('f') { ".rn" } else { "" };
                let ty = match ty {
                    "b32" => "u32",
                    "b64" => "u64",
                    ty => ty,
                };
                line(format!("add{rounding}.{ty} {new}, {old}, {b}"));
            }
            // "inc: (r >= s) ? 0 : r+1", "dec: (r == 0 || r > s) ? s : r-1".
            "inc" => {
                line(format!("setp.ge.u32 {TEST}, {old}, {b}"));
                line(format!("add.u32 {new}, {old}, 1"));
                line(format!("selp.b32 {new}, 0, {new}, {TEST}"));
            }
            _ => {
                line(format!("setp.eq.u32 {TEST}, {old}, 0"));
                line(format!("setp.gt.or.u32 {TEST}, {old}, {b}, {TEST}"));
                line(format!("sub.u32 {new}, {old}, 1"));
                line(format!("selp.b32 {new}, {b}, {new}, {TEST}"));
            }
        }
    }
    line(format!(
        "{store}st{space}{vector}.{bits} {address}, {}",
        all(NEW)
    ));
    // Last, for the destination may be the address or an operand.
    for (k, d) in destination.iter().flat_map(|d| elements(d)).enumerate() {
        if !matches!(&d, Operand::Name(name, None) if name == "_") {
            line(format!("{yes}mov.{bits} {d}, {OLD}{k}"));
        }
    }
    Some(out)
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
