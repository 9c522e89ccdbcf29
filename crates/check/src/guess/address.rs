//! Functions and addresses that nobody gave.
//!
//! racetrap guesses numbers. Which function a pointer means, or where the pointers lead that lie in a structure in memory, it can't know, so
//! what comes of calling or following them is a warning that says who has to tell.

use super::{Guess, LONG};
use crate::argument::Value;
use crate::error::Error;
use crate::known::Known;
use crate::parameters::{Kind, Parameter};
use crate::plan::{Origin, Plan, Planned};
use crate::run::Runner;
use detect::rules::Rule;

pub(crate) struct Address;

impl Guess for Address {
    fn excuse(&self, known: &mut Known, _: &mut Runner<'_>) -> Result<(), Error> {
        if known.judged.longest() <= LONG {
            functions(known);
            addresses(known);
        }
        Ok(())
    }
}

/// The name of the first parameter that racetrap chose and that a test picks.
fn first(plan: &Plan, test: impl Fn(&Planned, &Parameter) -> bool) -> Option<String> {
    let mut all = plan.values.iter().zip(&plan.parameters.0);
    let at = all.position(|(planned, parameter)| {
        planned.origin == Origin::Guessed && test(planned, parameter)
    });
    at.map(|index| plan.parameters.label(index))
}

/// Turns calls through pointers that nobody gave, and for which the file has no function, into warnings.
fn functions(known: &mut Known) {
    let name = first(&known.judged.hypothesis.plan, |planned, parameter| {
        parameter.kind == Kind::Function && matches!(planned.value, Value::Scalar(..))
    });
    let Some(name) = name else {
        return;
    };
    for seen in known
        .findings_mut()
        .filter(|seen| seen.found.rule == Rule::InvalidCall)
    {
        seen.excuse(format!(
            "nobody said which function `{name}` is, and this file takes no function's address: name one with `--arg {name}=FUNCTION`"
        ));
    }
}

/// Turns accesses through pointers that lie in a guessed buffer into warnings: a structure that the kernel gets by address and that holds
/// addresses itself.
fn addresses(known: &mut Known) {
    let name = first(&known.judged.hypothesis.plan, |_, parameter| {
        matches!(parameter.kind, Kind::Pointer(_)) && parameter.usage.points_at.is_some()
    });
    let Some(name) = name else {
        return;
    };
    for seen in known.findings_mut() {
        let of_address = matches!(seen.found.rule, Rule::OutOfBounds | Rule::MisalignedAccess);
        // Guessed numbers are small.
        let null = |note: &String| note.starts_with("the address is a null pointer");
        if of_address && seen.found.notes.iter().any(null) {
            seen.excuse(format!(
                "the kernel takes this address from `{name}`, and nobody said what `{name}` holds; `racetrap exec` checks it as the whole program calls it"
            ));
        }
    }
}
