//! Options whose values are library types, selected by name. The libraries do not depend on the command line.

use catalog::equivalent::Kind;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use evidence::Under;
use evidence::conformance::family::Family;
use evidence::sanitizer::Tool;
use report::Format;

/// A type whose values an option can name.
pub trait Choice: Copy + Send + Sync + 'static {
    /// All possible values.
    const ALL: &'static [Self];
    /// The value's name on the command line.
    fn name(self) -> &'static str;
    /// Its description in `--help`.
    fn summary(self) -> &'static str;
}

/// Parses the name of a value.
pub fn choice<T: Choice>() -> impl TypedValueParser<Value = T> {
    let shown = |value: &T| {
        let summary = value.summary();
        let shown = PossibleValue::new(value.name());
        if summary.is_empty() {
            shown
        } else {
            shown.help(summary)
        }
    };
    PossibleValuesParser::new(T::ALL.iter().map(shown)).try_map(|name| {
        let found = T::ALL.iter().find(|value| value.name() == name);
        found.copied().ok_or("not one of the values")
    })
}

impl Choice for Format {
    const ALL: &'static [Format] = &Format::ALL;
    fn name(self) -> &'static str {
        Format::name(self)
    }
    fn summary(self) -> &'static str {
        match self {
            Format::Text => "Text for people",
            Format::Json => "A versioned JSON document (docs/report.schema.json)",
            Format::Github => {
                "Workflow commands, which GitHub shows at the lines of a pull request"
            }
            Format::Sarif => "SARIF 2.1.0, which code-scanning services read",
            Format::Junit => "JUnit XML, which CI systems and autograders read",
            Format::Html => "One page with pictures, for a browser; it loads nothing",
            Format::Markdown => "A table and the findings, for the summary of a job in CI",
            Format::Concise => "One line a finding",
        }
    }
}

impl Choice for Under {
    const ALL: &'static [Under] = &Under::ALL;
    fn name(self) -> &'static str {
        Under::name(self)
    }
    fn summary(self) -> &'static str {
        match self {
            Under::Races => "Races, by racetrap's own checks",
            Under::Sanitizer(tool) => Choice::summary(tool),
        }
    }
}

impl Choice for Tool {
    const ALL: &'static [Tool] = &Tool::ALL;
    fn name(self) -> &'static str {
        Tool::name(self)
    }
    fn summary(self) -> &'static str {
        match self {
            Tool::Racecheck => "Hazards in shared memory",
            Tool::Synccheck => "Barriers that not all threads reach",
            Tool::Memcheck => "Out-of-bounds and misaligned accesses",
            Tool::Initcheck => "Reads of uninitialised global memory",
        }
    }
}

impl Choice for Kind {
    const ALL: &'static [Kind] = &Kind::ALL;
    fn name(self) -> &'static str {
        Kind::name(self)
    }
    fn summary(self) -> &'static str {
        match self {
            Kind::RemoveBarrier => {
                "Remove a barrier of a block, warp or cluster; for a barrier with a reduction, each thread gets its own predicate"
            }
            Kind::RemoveFence => "Remove a fence, between threads or proxies",
            Kind::DropWait => {
                "Remove a wait: for asynchronous copies or products, for an mbarrier's phase, or for the launch in front"
            }
            Kind::RaiseCount => "Let a wait leave one more group of copies or products unfinished",
            Kind::DropArrival => "Remove an arrival at an mbarrier",
            Kind::FlipParity => "Let a wait for an mbarrier ask for the other parity",
            Kind::DropVolatile => "Turn a `volatile` load or store into a weak one",
            Kind::WeakenOrder => {
                "Weaken an ordering by one step: `acquire` and `release` become `relaxed`, a `relaxed` load or store \
                 weak, `acq_rel` either half"
            }
            Kind::NarrowScope => {
                "Narrow the scope of a fence or a strong operation by one step: `sys`, `gpu`, `cta`"
            }
            Kind::PlainAtomic => {
                "Replace an atomic operation with a weak load, the operation and a weak store"
            }
            Kind::RemoveRecord => {
                "In the plan of a case: do not record an event, so that nothing waits for it"
            }
            Kind::RemoveWait => "In the plan of a case: let a stream not wait for an event",
            Kind::RemoveSynchronize => "In the plan of a case: let the host not wait",
            Kind::UnblockStream => "In the plan of a case: make a blocking stream non-blocking",
        }
    }
}

impl Choice for Family {
    const ALL: &'static [Family] = &Family::ALL;
    fn name(self) -> &'static str {
        Family::name(self)
    }
    fn summary(self) -> &'static str {
        match self {
            Family::Integer => "Integer arithmetic and bit operations",
            Family::Carry => "Extended-precision instructions with a carry",
            Family::Logic => "Logic, shifts, permutations",
            Family::Compare => "Comparison and selection",
            Family::Float => "Single and double precision",
            Family::Half => "Half precision",
            Family::Convert => "Conversions",
            Family::Approximate => {
                "Approximate instructions, compared within the error bounds of the PTX manual"
            }
            Family::Warp => "Warp shuffles, votes, matches and reductions",
            Family::Atomic => "Atomic operations",
            Family::Random => "Random programs from all families, with control flow and memory",
        }
    }
}
