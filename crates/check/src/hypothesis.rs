//! A hypothesis: how a kernel may be launched, and with what. Plain data.
//!
//! Whoever gave all of it gets one hypothesis; what is left open is read in the file or guessed, and may be guessed otherwise.

use super::argument::Value;
use super::geometry::{From, Geometry};
use super::plan::{Origin as ArgumentOrigin, Plan, Planned};
use simt::ids::Dim3;

/// A launch with all that is passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// Its shape, unless that follows from what is passed ([`Hypothesis::shape`]).
    pub geometry: Geometry,
    /// What is passed.
    pub plan: Plan,
}

/// Where a part of a hypothesis comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user gave it.
    Given,
    /// The kernel declares it: `__launch_bounds__`, `.reqntid`.
    Declared,
    /// The text of the host program says it, in whole or with guesses for what it leaves open.
    Host,
    /// It follows from the file or from what the kernel does: names of constants, sizes of arrays, how a parameter is used.
    Deduced,
    /// What is likely.
    Default,
    /// It is what another argument is.
    Mirror,
}

/// A part of a hypothesis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// `grid`, `block`, `shared`, `cluster`, or an argument's name.
    pub name: String,
    /// As the command line takes it.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

impl Hypothesis {
    /// The launch's shape: that of the plan where it changes with what is guessed.
    pub fn shape(&self) -> &Geometry {
        self.plan.geometry(&self.geometry)
    }

    /// Threads of a block.
    pub fn block(&self) -> Dim3 {
        self.shape().block
    }

    /// Bytes of dynamic shared memory.
    pub fn dynamic_shared(&self) -> u32 {
        self.plan.dynamic_shared(&self.geometry)
    }

    /// Its parts, each with where it comes from.
    pub fn parts(&self) -> Vec<Part> {
        let shape = self.shape();
        let part = |name: &str, value: String, from: From| Part {
            name: name.to_owned(),
            value,
            origin: match from {
                From::Given => Origin::Given,
                From::Host => Origin::Host,
                From::Declared => Origin::Declared,
                From::Source => Origin::Deduced,
                From::Default => Origin::Default,
            },
        };
        let mut all = vec![
            part("grid", shape.grid.to_string(), shape.origins.grid),
            part("block", shape.block.to_string(), shape.origins.block),
        ];
        let shared = self.dynamic_shared();
        if shared > 0 {
            all.push(part("shared", shared.to_string(), shape.origins.shared));
        }
        if let Some(cluster) = shape.cluster {
            all.push(part("cluster", cluster.to_string(), shape.origins.cluster));
        }
        let arguments = self.plan.values.iter().enumerate();
        all.extend(arguments.map(|(index, planned)| Part {
            name: self.plan.parameters.label(index),
            value: planned.value.to_string(),
            origin: self.origin(index, planned),
        }));
        all
    }

    fn origin(&self, index: usize, planned: &Planned) -> Origin {
        let parameter = &self.plan.parameters.0[index];
        match (planned.origin, &planned.value) {
            (ArgumentOrigin::Given, _) => Origin::Given,
            (_, Value::Same(_)) => Origin::Mirror,
            (ArgumentOrigin::Host { .. } | ArgumentOrigin::Followed, _) => Origin::Host,
            (ArgumentOrigin::Guessed, _)
                if parameter.index.is_some() || parameter.usage.communicates =>
            {
                Origin::Deduced
            }
            (ArgumentOrigin::Guessed, _) => Origin::Default,
        }
    }

    /// Whether nothing is left to guess. Then it is the only hypothesis.
    pub fn fully_given(&self) -> bool {
        self.parts().iter().all(|part| part.origin == Origin::Given)
    }
}
