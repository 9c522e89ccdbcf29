//! Functions and addresses that nobody gave.
//!
//! racetrap guesses numbers. Which function a pointer means, or where the pointers lead that lie in a structure in memory, it can't know, so
//! what comes of calling or following them is a warning that says who has to tell.

use super::Settled;
use crate::argument::Value;
use crate::parameters::{Kind, Parameter};
use crate::plan::{Origin, Planned};
use detect::rules::{Level, Rule};

/// The name of the first parameter that racetrap chose and that a test picks.
fn first(settled: &Settled, test: impl Fn(&Planned, &Parameter) -> bool) -> Option<String> {
    let plan = &settled.plan;
    let mut all = plan.values.iter().zip(&plan.parameters.0);
    let at = all.position(|(planned, parameter)| {
        planned.origin == Origin::Guessed && test(planned, parameter)
    });
    at.map(|index| plan.parameters.label(index))
}

/// Turns calls through pointers that nobody gave, and for which the file has no function, into warnings.
pub(super) fn functions(settled: &mut Settled) {
    let name = first(settled, |planned, parameter| {
        parameter.kind == Kind::Function && matches!(planned.value, Value::Scalar(..))
    });
    let Some(name) = name else {
        return;
    };
    let diagnostics = settled.explored.iter_mut().flat_map(|e| &mut e.diagnostics);
    for diagnostic in diagnostics.filter(|d| d.rule == Rule::InvalidCall) {
        diagnostic.level = diagnostic.level.min(Level::Warning);
        diagnostic.notes.insert(0, format!(
            "nobody said which function `{name}` is, and this file takes no function's address: name one with `--arg {name}=FUNCTION`"
        ));
    }
}

/// Turns accesses through pointers that lie in a guessed buffer into warnings: a structure that the kernel gets by address and that holds
/// addresses itself.
pub(super) fn addresses(settled: &mut Settled) {
    let name = first(settled, |_, parameter| {
        matches!(parameter.kind, Kind::Pointer(_)) && parameter.usage.points_at.is_some()
    });
    let Some(name) = name else {
        return;
    };
    let diagnostics = settled.explored.iter_mut().flat_map(|e| &mut e.diagnostics);
    for diagnostic in diagnostics.filter(|d| {
        let of_address = matches!(d.rule, Rule::OutOfBounds | Rule::MisalignedAccess);
        // Guessed numbers are small.
        let null = |note: &String| note.starts_with("the address is a null pointer");
        of_address && d.notes.iter().any(null)
    }) {
        diagnostic.level = diagnostic.level.min(Level::Warning);
        diagnostic.notes.insert(0, format!(
            "the kernel takes this address from `{name}`, and nobody said what `{name}` holds; `racetrap exec` checks it as the whole program calls it"
        ));
    }
}
