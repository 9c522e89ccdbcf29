//! Replay tokens: a word that determines a run of a case.
//!
//! `scan/warp/volatile@n=33,threads=32,inputs=random:7,schedule=pct:3:2` names the case, its free sizes, the inputs and the
//! schedule. No part of it needs quoting in a shell.

use super::case::Case;
use super::draw::{Draw, Inputs, SizeError, Sizes, sizes};
use super::entry::{Catalog, Entry, Unresolved};
use super::error::Hint;
use super::values::SizeSpec;
use simt::ScheduleSpec;
use std::collections::BTreeMap;

/// A token that can't be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Its parts are not there.
    #[error(
        "`{token}` is not a replay token; a token looks like `scan/warp/volatile@n=33,inputs=ones,schedule=lockstep`"
    )]
    Form {
        /// The token.
        token: String,
    },
    /// No such case, or more than one.
    #[error(transparent)]
    Case(#[from] Unresolved),
    /// A part that is no size of the case.
    #[error("`{case}` has no size `{name}` to choose ({hint})")]
    NoSize {
        /// The case.
        case: String,
        /// The name.
        name: String,
        /// What was meant.
        hint: Hint,
    },
    /// A part that is missing.
    #[error("`{name}` is missing from the token")]
    Missing {
        /// The part.
        name: String,
    },
    /// A value that can't be.
    #[error("{name}={value}: {problem}")]
    Value {
        /// The part.
        name: String,
        /// Its value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Sizes that don't fit together.
    #[error(transparent)]
    Size(#[from] SizeError),
}

/// The token of a run.
pub fn token(id: &str, case: &Case, sizes: &Sizes, draw: &Draw) -> String {
    let mut text = format!("{id}@");
    for (name, _) in free(case) {
        if let Some(value) = sizes.get(name) {
            text.push_str(&format!("{name}={value},"));
        }
    }
    text.push_str(&format!(
        "inputs={},schedule={}",
        draw.inputs, draw.schedule
    ));
    text
}

/// The sizes of a case that are drawn.
pub fn free(case: &Case) -> impl Iterator<Item = (&str, &SizeSpec)> {
    case.sizes
        .iter()
        .filter(|(_, spec)| !matches!(spec, SizeSpec::Computed(_)))
        .map(|(name, spec)| (name.as_str(), spec))
}

/// The case and the run that a token stands for.
pub fn follow<'c>(catalog: &'c Catalog, token: &str) -> Result<(&'c Entry, Draw), TokenError> {
    let form = || TokenError::Form {
        token: token.to_owned(),
    };
    let (id, rest) = token.trim().split_once('@').ok_or_else(form)?;
    let entry = catalog.resolve(id)?;
    let mut given: BTreeMap<&str, &str> = BTreeMap::new();
    for part in rest.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(form)?;
        given.insert(name, value);
    }
    let mut take = |name: &str| {
        given.remove(name).ok_or_else(|| TokenError::Missing {
            name: name.to_owned(),
        })
    };
    let bad = |name: &str, value: &str, problem: String| TokenError::Value {
        name: name.to_owned(),
        value: value.to_owned(),
        problem,
    };
    let inputs = take("inputs")?;
    let inputs: Inputs = inputs
        .parse()
        .map_err(|()| bad("inputs", inputs, "use ones, iota or random:SEED".to_owned()))?;
    let schedule = take("schedule")?;
    let schedule: ScheduleSpec = schedule
        .parse()
        .map_err(|e| bad("schedule", schedule, format!("{e}")))?;
    let mut problem = None;
    let mut offsets = BTreeMap::new();
    sizes(&entry.case, &mut |name, domain| {
        let offset = take(name).and_then(|text| {
            let value: i64 = text
                .parse()
                .map_err(|_| bad(name, text, "not an integer".to_owned()))?;
            let spec = entry
                .case
                .sizes
                .get(name)
                .map(ToString::to_string)
                .unwrap_or_default();
            domain
                .offset(value)
                .ok_or_else(|| bad(name, text, format!("not in {spec}")))
        });
        let offset = offset.unwrap_or_else(|error| {
            problem.get_or_insert(error);
            0
        });
        offsets.insert(name.to_owned(), offset);
        offset
    })?;
    if let Some(error) = problem {
        return Err(error);
    }
    if let Some(name) = given.keys().next() {
        return Err(TokenError::NoSize {
            case: entry.id.clone(),
            name: (*name).to_owned(),
            hint: Hint::new(
                name,
                free(&entry.case)
                    .map(|(name, _)| name)
                    .collect::<Vec<_>>()
                    .into_iter(),
            ),
        });
    }
    Ok((
        entry,
        Draw {
            offsets,
            inputs,
            schedule,
        },
    ))
}
