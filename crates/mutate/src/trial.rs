//! Launches and inputs on which the mutants of a kernel are run.
//!
//! One launch shows little: a reduction in two levels does nothing in its second one where a block is a single warp, and a kernel for
//! `mode == 3` does nothing where the mode is guessed to be 64. So what the user left open varies by itself:
//!
//! - the block: 256, 64 and 32 threads, and an odd number that is no multiple of a warp;
//! - the grid: one block, and three;
//! - all guessed integers together: one less, one more, a prime, around one block, and small;
//! - each guessed integer by itself: small, and each constant that the kernel compares anything with, since such a constant is what a
//!   way through the kernel asks for;
//! - guessed buffers of integers: few different values, zeros, and each of these constants everywhere.
//!
//! What the user gave stays as it is. A launch on which the kernel itself has findings says nothing about its mutants, and is left out.

use check::argument::{BufferSpec, Fill, Value};
use check::geometry::{self, Geometry, Given};
use check::parameters::{Kind, Parameters};
use check::plan::{Origin, Plan};
use check::{Prepared, Request};
use detect::rules::Rule;
use ptx::ast::{Function, Item, Module, Operand, Stmt};
use ptx::semantics::{Opcode, TypedInstruction};
use simt::Dim3;
use std::collections::BTreeSet;

/// Constants that are tried, at most.
const CONSTANTS: usize = 8;
/// Launches that are tried beside the first, at most.
const MOST: usize = 48;

/// A launch with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its shape.
    pub geometry: Geometry,
    /// Its arguments.
    pub plan: Plan,
    /// How it differs from the first one: `--block 256`, `` `n` = 127 ``; empty for the first one.
    pub how: String,
}

/// The launches beside `first`, the most telling ones first.
pub fn others(prepared: &Prepared, request: &Request, first: &Trial) -> Vec<Trial> {
    let mut all = Vec::new();
    all.extend(shapes(prepared, request, first));
    all.extend(together(first));
    let functions = prepared.programs[0].functions.iter();
    let functions: BTreeSet<&str> = functions.map(|f| f.name.as_str()).collect();
    let constants = compared(&prepared.input.builds[0].module, &functions);
    all.extend(single_integers(first, &constants));
    all.extend(buffers(first, &constants));
    let mut kept: Vec<Trial> = Vec::new();
    for trial in all {
        let same = |t: &Trial| t.geometry == trial.geometry && t.plan == trial.plan;
        if kept.len() < MOST && !same(first) && !kept.iter().any(same) {
            kept.push(trial);
        }
    }
    kept
}

/// Launches to start from where the first guess is at fault: with one block, where the kernel's blocks write one place; of other shapes,
/// where its barriers count more threads than the block has.
pub fn instead(
    prepared: &Prepared,
    request: &Request,
    first: &Trial,
    rule: Option<Rule>,
) -> Vec<Trial> {
    match rule {
        Some(Rule::InvalidBarrier) => shapes(prepared, request, first),
        _ => one_block(prepared, request, first).into_iter().collect(),
    }
}

fn one_block(prepared: &Prepared, request: &Request, first: &Trial) -> Option<Trial> {
    let guessed = request.launch.grid.is_none() && first.geometry.is_guessed();
    if !guessed || first.geometry.grid.count() == 1 {
        return None;
    }
    shaped(
        prepared,
        request,
        first.geometry.block,
        Dim3::ONE,
        "--grid 1",
    )
}

/// Other blocks and grids.
fn shapes(prepared: &Prepared, request: &Request, first: &Trial) -> Vec<Trial> {
    let Geometry { grid, block, .. } = first.geometry;
    if !first.geometry.is_guessed() {
        return Vec::new();
    }
    let mut out = Vec::new();
    if request.launch.block.is_none() {
        let line = |x: u32| Dim3::linear(x);
        let plane = |x: u32, y: u32| Dim3 { x, y, z: 1 };
        let blocks = match block.y > 1 {
            false => vec![line(256), line(64), line(32), line(97)],
            true => vec![plane(16, 16), plane(8, 8), plane(32, 4), plane(7, 5)],
        };
        for block in blocks {
            out.extend(shaped(
                prepared,
                request,
                block,
                grid,
                &format!("--block {block}"),
            ));
        }
    }
    if request.launch.grid.is_none() {
        // Blocks that the kernel does not tell apart may communicate by atomics all the same.
        let longer = |length: u32| if length > 1 { 3 } else { 1 };
        let three = Dim3 {
            x: 3,
            y: longer(grid.y),
            z: longer(grid.z),
        };
        for grid in [three, Dim3::ONE] {
            out.extend(shaped(
                prepared,
                request,
                block,
                grid,
                &format!("--grid {grid}"),
            ));
        }
    }
    out
}

/// A launch of that shape, with arguments as they are guessed for it.
fn shaped(
    prepared: &Prepared,
    request: &Request,
    block: Dim3,
    grid: Dim3,
    how: &str,
) -> Option<Trial> {
    let given = Given {
        grid: Some(grid),
        block: Some(block),
        shared: request.launch.shared,
        cluster: request.launch.cluster,
    };
    let module = &prepared.input.builds[0].module;
    let mut geometry = geometry::complete(given, &prepared.input, &prepared.entry, None).ok()?;
    geometry.cooperative |= prepared.first.geometry.cooperative;
    let sizes = geometry::sizes(&geometry, module, &prepared.entry);
    let parameters = Parameters::of(module, &prepared.entry, prepared.input.source.as_ref());
    let plan = Plan::new(parameters, &request.arguments, sizes, request.seed).ok()?;
    Some(Trial {
        geometry,
        plan,
        how: how.to_owned(),
    })
}

/// All guessed integers changed together.
fn together(first: &Trial) -> Vec<Trial> {
    let block = first.geometry.block.count();
    let changes: [&dyn Fn(u64) -> u64; 6] = [
        &|n| n.saturating_sub(1),
        &|n| n + 1,
        &|_| block + 1,
        &|_| block.saturating_sub(1),
        &|_| 3,
        &|_| 1,
    ];
    let changed = |change: &&dyn Fn(u64) -> u64| {
        let plan = first.plan.with_integers(change);
        let how = plan.integers().join(", ");
        (!how.is_empty()).then(|| Trial {
            geometry: first.geometry.clone(),
            plan,
            how,
        })
    };
    changes.iter().filter_map(changed).collect()
}

/// One guessed integer changed.
fn single_integers(first: &Trial, constants: &[i64]) -> Vec<Trial> {
    let mut out = Vec::new();
    // Behind a constant that is a bound lies the other way.
    let bounds = constants.iter().flat_map(|c| [*c, c.saturating_add(1)]);
    let mut values: Vec<i64> = [0, 1, 2, 3].into_iter().chain(bounds).collect();
    let mut known = BTreeSet::new();
    values.retain(|value| known.insert(*value));
    let parameters = &first.plan.parameters;
    for (index, parameter) in parameters.0.iter().enumerate() {
        let planned = &first.plan.values[index];
        let integer = matches!(parameter.kind, Kind::Scalar(element) if !element.is_float());
        if planned.origin != Origin::Guessed || !integer {
            continue;
        }
        for value in &values {
            let mut trial = first.clone();
            trial.plan.values[index].value = Value::Scalar(value.to_string(), None);
            trial.how = format!("`{}` = {value}", parameters.label(index));
            out.push(trial);
        }
    }
    out
}

/// Guessed buffers of integers with other contents.
fn buffers(first: &Trial, constants: &[i64]) -> Vec<Trial> {
    let fills = [Fill::random_in(0, 3), Fill::Zeros].into_iter();
    let everywhere = constants.iter().map(|c| Fill::integer(*c));
    fills
        .chain(everywhere)
        .filter_map(|fill| {
            let mut trial = first.clone();
            let mut how = Vec::new();
            for index in first.plan.guessed_buffers() {
                let label = first.plan.parameters.label(index);
                let value = &mut trial.plan.values[index].value;
                if let Value::Buffer(spec @ BufferSpec { .. }) = value
                    && !spec.element.is_float()
                    && holds(spec, &fill)
                {
                    spec.fill = fill.clone();
                    how.push(format!("{label}={spec}"));
                }
            }
            trial.how = how.join(", ");
            (!how.is_empty()).then_some(trial)
        })
        .collect()
}

/// Whether the elements of a buffer can have such a value.
fn holds(spec: &BufferSpec, fill: &Fill) -> bool {
    fill.misfit(spec.element).is_none()
}

/// The integers that these functions of a module compare anything with. Powers of two come last: they are bounds of loops and sizes more often than
/// values that a way through the kernel asks for.
fn compared(module: &Module, functions: &BTreeSet<&str>) -> Vec<i64> {
    fn inside(body: &[Stmt], found: &mut BTreeSet<i64>) {
        for statement in body {
            match statement {
                Stmt::Block(inner) => inside(inner, found),
                Stmt::Instruction(i) => {
                    let opcode = TypedInstruction::of(i).opcode;
                    if matches!(opcode, Opcode::Setp | Opcode::Set) {
                        found.extend(i.operands.iter().filter_map(|operand| match operand {
                            Operand::Int(value, _) => i64::try_from(*value).ok(),
                            Operand::Neg(inner) => match **inner {
                                Operand::Int(value, _) => i64::try_from(value).ok().map(|v| -v),
                                _ => None,
                            },
                            _ => None,
                        }));
                    }
                }
                _ => {}
            }
        }
    }
    let mut found = BTreeSet::new();
    let bodies = module.items.iter().filter_map(|item| match item {
        Item::Function(Function { name, body, .. }) if functions.contains(name.as_str()) => {
            body.as_deref()
        }
        _ => None,
    });
    bodies.for_each(|body| inside(body, &mut found));
    let mut all: Vec<i64> = found.into_iter().filter(|c| !(0..=3).contains(c)).collect();
    all.sort_by_key(|c| (c.unsigned_abs().is_power_of_two(), c.unsigned_abs()));
    all.truncate(CONSTANTS);
    all
}
