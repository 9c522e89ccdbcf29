//! Options that take a value of a library's type by its name. The libraries know nothing of the command line.

use catalog::equivalent::Kind;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use evidence::conformance::family::Family;
use evidence::sanitizer::Tool;
use report::Format;

/// A type whose values an option can name.
pub trait Choice: Copy + Send + Sync + 'static {
    /// All values.
    const ALL: &'static [Self];
    /// The value's name on the command line.
    fn name(self) -> &'static str;
    /// What `--help` says of it.
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
            Format::Text => "For people",
            Format::Json => "One versioned JSON document (docs/report.schema.json)",
            Format::Github => "Workflow commands that GitHub shows at the lines of a pull request",
            Format::Sarif => "SARIF 2.1.0, which code-scanning services read",
            Format::Junit => "JUnit XML, which CI systems and autograders read",
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
            Tool::Memcheck => "Accesses out of bounds and misaligned",
            Tool::Initcheck => "Reads of global memory that nobody has written",
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
                "A barrier of the block or of a warp is removed; of one that reduces, each thread gets its own predicate"
            }
            Kind::RemoveFence => "A fence is removed",
            Kind::DropVolatile => "A `volatile` load or store becomes a weak one",
            Kind::WeakenOrder => {
                "An ordering becomes one step weaker: `acquire` and `release` become `relaxed`, a `relaxed` load or store \
                 weak, `acq_rel` either half"
            }
            Kind::NarrowScope => {
                "The scope of a fence or a strong operation becomes one step narrower: `sys`, `gpu`, `cta`"
            }
            Kind::PlainAtomic => {
                "An atomic operation becomes a weak load, the operation and a weak store"
            }
            Kind::RemoveRecord => {
                "In a case's plan: an event is not recorded, so that nothing waits for it"
            }
            Kind::RemoveWait => "In a case's plan: a stream does not wait for an event",
            Kind::RemoveSynchronize => "In a case's plan: the host does not wait",
            Kind::UnblockStream => "In a case's plan: a blocking stream becomes a non-blocking one",
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
            Family::Carry => "Extended precision: instructions with a carry",
            Family::Logic => "Logic, shifts, permutations",
            Family::Compare => "Comparison and selection",
            Family::Float => "Single and double precision",
            Family::Half => "Half precision",
            Family::Convert => "Conversions",
            Family::Approximate => "Approximations, compared within the bounds of the PTX manual",
            Family::Warp => "Shuffles, votes, matches, reductions of a warp",
            Family::Atomic => "Atomic operations",
            Family::Random => {
                "Instructions of all families that feed each other, with control flow and memory"
            }
        }
    }
}
