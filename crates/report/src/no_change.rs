//! Why a help names no change of the source: what a change would need that racetrap can't read in the kernel.
//!
//! The help says it where it is worded, in the rule's file ([`crate::rules`]); nobody judges it afterwards. All but [`NoChange::NotFound`] count as explained: there the help is all that can be said.

/// Why there is no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoChange {
    /// It depends on what the kernel is meant to compute: a bound, an initial value, which element is whose, when a loop ends.
    Meaning,
    /// Blocks of a launch wait for nobody: the work has to be split into launches, or into one buffer to read and one to write.
    Launches,
    /// Operations of the host are to be ordered, or done before the launch.
    Host,
    /// Threads of several roles share a barrier: who arrives, how many, and in which phase is the design of both sides.
    Protocol,
    /// The data need other types or another layout.
    Layout,
    /// A change may exist; no place was found for one that is sure to be right.
    NotFound,
}

impl NoChange {
    /// All of them.
    pub const ALL: [NoChange; 6] = [
        NoChange::Meaning,
        NoChange::Launches,
        NoChange::Host,
        NoChange::Protocol,
        NoChange::Layout,
        NoChange::NotFound,
    ];

    /// Whether a change of the kernel's source can't be named, so that explaining is the answer.
    pub fn is_explained(self) -> bool {
        self != NoChange::NotFound
    }

    /// What a change depends on, in words.
    pub fn words(self) -> &'static str {
        match self {
            NoChange::Meaning => "what the kernel is meant to compute",
            NoChange::Launches => "how the work is split into launches and buffers",
            NoChange::Host => "the host program",
            NoChange::Protocol => "what both sides of a barrier do",
            NoChange::Layout => "the types and the layout of the data",
            NoChange::NotFound => "a place that was not found",
        }
    }
}
