//! Function pointers as arguments.
//!
//! A program gets the address of a device function from a variable that holds it (`__device__ op_t pointer = twice;`), so functions
//! whose addresses are taken are what such a parameter is meant for. Of those, the guess is the first one with as many parameters.

use super::argument::Value;
use super::parameters::Kind;
use super::plan::{Origin, Plan};
use ptx::demangle;
use simt::Program;

/// The address of a function, by its name, plain or mangled.
pub fn address(program: &Program, name: &str) -> Option<u64> {
    program.function_address(name).or_else(|| {
        let plain = |full: &str| super::entry::plain(full) == name || demangle(full) == name;
        let mut same = program.functions.iter().filter(|f| plain(&f.name));
        let one = same.next()?;
        program.function_address(&one.name)
    })
}

/// Lets guessed function pointers point to functions of the program.
pub fn guess(plan: &mut Plan, program: &Program) {
    for (planned, parameter) in plan.values.iter_mut().zip(&plan.parameters.0) {
        if parameter.kind != Kind::Function || planned.origin != Origin::Guessed {
            continue;
        }
        let wanted = parameters(&parameter.ty);
        let mut all = program.functions.iter().skip(1);
        let found = all.find(|f| wanted.is_none_or(|count| f.params.len() == count));
        if let Some(function) = found {
            let plain = super::entry::plain(&function.name);
            let same = program
                .functions
                .iter()
                .map(|f| super::entry::plain(&f.name));
            let name = match same.filter(|name| *name == plain).count() {
                1 => plain,
                _ => function.name.clone(),
            };
            planned.value = Value::Function(name);
        }
    }
}

/// How many parameters a function pointer's type names: `float (*)(float, int)`.
fn parameters(ty: &str) -> Option<usize> {
    let inside = ty.rsplit_once("(*)")?.1.trim().strip_prefix('(')?;
    let inside = inside.strip_suffix(')')?.trim();
    let mut depth = 0;
    let commas = inside.chars().filter(|c| {
        depth += i32::from("(<[".contains(*c)) - i32::from(")>]".contains(*c));
        *c == ',' && depth == 0
    });
    match inside {
        "" | "void" => Some(0),
        _ => Some(commas.count() + 1),
    }
}
