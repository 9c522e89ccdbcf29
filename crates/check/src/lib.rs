//! One kernel, from its file to a verdict.
//!
//! ```text
//! Request ─ input, host, geometry, parameters, plan ──► what the file says of the kernel and its launch
//!         ─ prepare ──► PTX that is ready to run, and the first hypothesis: a launch with all that is passed
//!         ─ search ◄─ guess/… ──► hypotheses, each with whose fault it is what it shows
//!         ─ run ─ explore, two_builds ──► the outcome of one hypothesis: what each build did under each schedule
//!         ─ judge, unseen, verdict ──► Checked: a worded report, findings, memory
//! ```
//!
//! What goes from one step to the next is data ([`Hypothesis`], `Outcome`, `Known`); words are made once, by `judge`.
//!
//! Data goes in as a [`Request`] and comes out as [`Checked`]; a [`Watch`] hears what is being done and may end it. Nothing here
//! reads a command line or prints: `racetrap check`, the public API and the mutants of a kernel are built on it.

pub mod argument;
mod change;
mod checked;
mod decides;
pub mod entry;
pub mod error;
pub mod explore;
mod fixed_point;
mod functions;
mod gated;
pub mod geometry;
mod guess;
pub mod host;
pub mod host_facts;
pub mod hypothesis;
pub mod input;
mod judge;
mod known;
pub mod limits;
pub mod mend;
pub mod number;
pub mod parameters;
pub mod plan;
mod prepare;
mod request;
mod roles;
mod run;
mod search;
mod seen;
mod shape;
pub mod tensor;
pub mod then;
mod two_builds;
mod unseen;
pub mod usage;
mod variables;
pub mod verdict;
mod work;

pub use argument::Argument;
pub use checked::Checked;
pub use error::{Error, ErrorKind};
pub use explore::Found;
pub use hypothesis::Hypothesis;
pub use prepare::{Prepared, program};
pub use request::{
    Budgets, Cancel, DEFAULT_INPUTS, Progress, Request, Schedules, Source, Then, Unwatched, Watch,
    device_memory,
};

use input::Wanted;
use prepare::until;
use report::Sources;
use std::sync::Arc;
use std::time::Instant;

/// Checks a kernel.
///
/// # Errors
///
/// What stops it before there is a verdict.
pub fn check(request: &Request, watch: &dyn Watch) -> Result<Checked, Error> {
    let mut sources = Sources::new();
    let started = Instant::now();
    let prepared = Prepared::new(request, usize::MAX, &mut sources, watch)?;
    run(request, &prepared, started, &mut sources, watch)
}

/// Looks for hypotheses of a kernel that is ready, and makes a verdict of what came of them.
fn run(
    request: &Request,
    prepared: &Prepared,
    started: Instant,
    sources: &mut Sources,
    watch: &dyn Watch,
) -> Result<Checked, Error> {
    let mut runner = run::Runner::new(prepared, request, watch, sources);
    let known = search::search(&mut runner)?;
    judge::judge(known, started, &mut runner)
}

/// Which kernels of a file are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// These, by their names, plain or mangled.
    Named(Vec<String>),
    /// Those that a pattern selects.
    Matching(ptx::KernelFilter),
    /// All.
    All,
}

/// Checks several kernels of one file, which is compiled once; each with what came of it. The time limit is one for all. An
/// argument counts for the kernels that have such a parameter.
///
/// # Errors
///
/// What stops it before there is a kernel.
pub fn check_each(
    request: &Request,
    kernels: &Kernels,
    watch: &dyn Watch,
) -> Result<Vec<(String, Result<Checked, Error>)>, Error> {
    let until = until(request);
    let mut sources = Sources::new();
    let wanted = match kernels {
        Kernels::Named(names) => Wanted::Each(names),
        Kernels::Matching(filter) => Wanted::Matching(filter),
        Kernels::All => Wanted::All,
    };
    let input = Arc::new(input::read(request, wanted, &mut sources, watch)?);
    let module = &input.builds[0].module;
    let names: Vec<String> = match kernels {
        Kernels::Named(names) => names.clone(),
        Kernels::Matching(filter) => entry::matching(&simt::entries(module), filter, &input.path)?
            .into_iter()
            .map(str::to_owned)
            .collect(),
        Kernels::All => simt::entries(module)
            .into_iter()
            .map(str::to_owned)
            .collect(),
    };
    if names.is_empty() {
        // Says that there is none.
        entry::choose(module, None, &input.path)?;
    }
    let mut all = Vec::new();
    for name in names {
        let entry = entry::choose(module, Some(&name), &input.path)?.to_owned();
        let parameters = parameters::Parameters::of(module, &entry, input.source.as_ref());
        let mut one = Request {
            entry: Some(name),
            ..request.clone()
        };
        one.arguments
            .retain(|a| parameters.find(&a.parameter).is_ok());
        let started = Instant::now();
        let checked = Prepared::of(&one, Arc::clone(&input), until)
            .and_then(|prepared| run(&one, &prepared, started, &mut sources, watch));
        match checked {
            Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
            checked => all.push((ptx::demangle(&entry), checked)),
        }
    }
    Ok(all)
}
