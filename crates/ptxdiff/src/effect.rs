//! Effects: what the compiler did. Each effect has one file. Its module comment is the page that `racetrap explain EFFECT`
//! prints, and its code finds the effect.
//!
//! An effect is attributed to one side, relative to the other: "store elided in A" means that B makes a store that A does
//! not. The reader decides which side is the original. The detectors work on canonical instructions, their matches and
//! their values ([`super::code`], [`super::compare`]) of both sides. They state what the PTX shows, never why.

mod moved;
mod observe;
mod view;

use super::Side;
use super::code::Instr;
use serde::{Deserialize, Serialize};
use std::fmt;
use view::View;

pub(super) use observe::observe;

macro_rules! effects {
    ($($variant:ident, $module:ident, $name:literal, $kept:literal, $one:literal, $many:literal, $summary:literal;)*) => {
        $(#[doc = $summary] pub mod $module;)*

        /// A transformation of one side, relative to the other.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum Effect { $(#[doc = $summary] #[serde(rename = $name)] $variant,)* }

        impl Effect {
            /// All effects, in the order of the manual.
            pub const ALL: &'static [Effect] = &[$(Effect::$variant,)*];

            /// The name that users type: `store-elided`.
            pub fn name(self) -> &'static str {
                match self { $(Effect::$variant => $name,)* }
            }
            /// The title for `count` occurrences, as used in a sentence.
            pub fn title(self, count: usize) -> &'static str {
                match self { $(Effect::$variant => if count == 1 { $one } else { $many },)* }
            }
            /// Whether the effect states an agreement of both sides instead of a difference.
            pub fn is_kept(self) -> bool {
                match self { $(Effect::$variant => $kept,)* }
            }
            /// A one-line summary.
            pub fn summary(self) -> &'static str {
                match self { $(Effect::$variant => $summary,)* }
            }
            /// The manual page: the file's module comment, as Markdown.
            pub fn page(self) -> String {
                let source = match self { $(Effect::$variant => include_str!(concat!("effect/", stringify!($module), ".rs")),)* };
                source.lines().map_while(|l| l.strip_prefix("//!"))
                    .map(|l| l.strip_prefix(' ').unwrap_or(l)).collect::<Vec<_>>().join("\n")
            }
        }
    };
}

effects! {
    StoreElided, store_elided, "store-elided", false, "store elided", "stores elided",
        "One side has a store that the other side does not have.";
    LoadElided, load_elided, "load-elided", false, "load elided", "loads elided",
        "One side has a load that the other side does not have.";
    AtomicElided, atomic_elided, "atomic-elided", false, "atomic operation elided", "atomic operations elided",
        "One side has an atomic operation that the other side does not have.";
    ValueKept, value_kept, "value-kept-in-register", false, "value kept in a register", "values kept in a register",
        "One side reads a word again; the other side still has its value in a register.";
    AccessesVectorised, accesses_vectorised, "accesses-vectorised", false, "group of accesses vectorised", "groups of accesses vectorised",
        "One side accesses several words with one instruction, the other side one by one.";
    AccessesMerged, accesses_merged, "accesses-merged", false, "group of accesses merged", "groups of accesses merged",
        "One side accesses a wide word, the other side its parts.";
    AccessMadeAtomic, access_made_atomic, "access-made-atomic", false, "access made atomic", "accesses made atomic",
        "One side uses an atomic operation, the other side plain accesses.";
    CopyMadeAsynchronous, copy_made_asynchronous, "copy-made-asynchronous", false, "copy made asynchronous", "copies made asynchronous",
        "One side copies with cp.async, the other side loads and stores.";
    LoadMoved, load_moved, "load-moved-across-barrier", false, "load moved across a barrier", "loads moved across a barrier",
        "A load is before a barrier on one side and after it on the other.";
    StoreMoved, store_moved, "store-moved-across-barrier", false, "store moved across a barrier", "stores moved across a barrier",
        "A store or atomic operation is before a barrier on one side and after it on the other.";
    AccessesReordered, accesses_reordered, "accesses-reordered", false, "exchange of volatile or atomic accesses", "exchanges of volatile or atomic accesses",
        "Two volatile or atomic accesses of a thread have changed places.";
    LoadHoisted, load_hoisted, "load-hoisted", false, "load hoisted out of a loop", "loads hoisted out of loops",
        "One side loads once what the other side loads in each iteration of a loop.";
    StoreSunk, store_sunk, "store-sunk", false, "store sunk out of a loop", "stores sunk out of loops",
        "One side stores once what the other side stores in each iteration of a loop.";
    LoopUnrolled, loop_unrolled, "loop-unrolled", false, "loop unrolled", "loops unrolled",
        "One side repeats the body of a loop that the other side has.";
    LoopSplit, loop_split, "loop-split", false, "loop split", "loops split",
        "One side has several loops for one loop of the other side.";
    LoopUnswitched, loop_unswitched, "loop-unswitched", false, "loop unswitched", "loops unswitched",
        "One side decides once between loops; the other side decides in each iteration of one.";
    LoopPipelined, loop_pipelined, "loop-pipelined", false, "loop pipelined", "loops pipelined",
        "One side starts the accesses of the next iteration in the present one.";
    BranchToSelection, branch_to_selection, "branch-to-selection", false, "branch turned into a selection", "branches turned into selections",
        "One side branches, the other side selects a value or predicates instructions.";
    StrengthReduced, strength_reduced, "strength-reduced", false, "operation turned into a cheaper one", "operations turned into cheaper ones",
        "One side divides or multiplies, the other side shifts, masks or adds.";
    OperationChanged, operation_changed, "operation-changed", false, "operation replaced by one that differs", "operations replaced by ones that differ",
        "One side computes a value in a cheaper way and gets something else for some operands.";
    Contracted, contracted, "contracted", false, "product and sum contracted", "products and sums contracted",
        "One side multiplies and adds in one instruction, the other side in two.";
    Approximated, approximated, "approximated", false, "operation approximated", "operations approximated",
        "One side uses an approximate floating-point instruction, the other side one that rounds.";
    DenormalsFlushed, denormals_flushed, "denormals-flushed", false, "operation that flushes subnormal numbers", "operations that flush subnormal numbers",
        "One side replaces subnormal numbers by zero, the other side does not.";
    LoadMadeReadOnly, load_made_read_only, "load-made-read-only", false, "load made read-only", "loads made read-only",
        "One side loads through the read-only cache, the other side does not.";
    MovedToConstantMemory, moved_to_constant_memory, "moved-to-constant-memory", false, "load from constant memory", "loads from constant memory",
        "One side loads from constant memory what the other side loads from global memory.";
    ValuesInLocalMemory, values_in_local_memory, "values-in-local-memory", false, "set of values in local memory", "sets of values in local memory",
        "One side keeps values in local memory, the other side in registers.";
    TailsMerged, tails_merged, "tails-merged", false, "access for several ways", "accesses for several ways",
        "One side has one access where the other side has one in each of several ways.";
    AtomicsAggregated, atomics_aggregated, "atomics-aggregated", false, "atomic operation aggregated", "atomic operations aggregated",
        "One side makes one atomic operation for several lanes, the other side one a lane.";
    AtomicToReduction, atomic_to_reduction, "atomic-to-reduction", false, "atomic turned into a reduction", "atomics turned into reductions",
        "One side uses the old value of an atomic operation, the other side does not.";
    CallInlined, call_inlined, "call-inlined", false, "call inlined", "calls inlined",
        "One side calls a function, the other side has its body in place of the call.";
    BarrierLost, barrier_lost, "barrier-lost", false, "barrier lost", "barriers lost",
        "One side has a barrier that the other side does not have.";
    BarrierKept, barrier_kept, "barrier-kept", true, "barrier kept", "barriers kept",
        "A barrier is on both sides.";
    BarrierMoved, barrier_moved, "barrier-moved", false, "barrier in a loop", "barriers in loops",
        "A barrier is in a loop on one side and outside of it on the other.";
    BarrierRenumbered, barrier_renumbered, "barrier-renumbered", false, "barrier with another number", "barriers with other numbers",
        "A barrier is on both sides with different numbers.";
    FenceRegrouped, fence_regrouped, "fence-regrouped", false, "ordering moved into a fence", "orderings moved into fences",
        "One side has a fence and a weaker access for a stronger access of the other side.";
    FenceLost, fence_lost, "fence-lost", false, "fence lost", "fences lost",
        "One side has a memory fence that the other side does not have.";
    FenceKept, fence_kept, "fence-kept", true, "fence kept", "fences kept",
        "A memory fence is on both sides.";
    SynchronisationWeakened, synchronisation_weakened, "synchronisation-weakened", false, "synchronisation weakened", "synchronisations weakened",
        "A fence, barrier or access orders less, or for fewer threads, than on the other side.";
    VolatileDropped, volatile_dropped, "volatile-dropped", false, "access no longer volatile", "accesses no longer volatile",
        "An access is volatile on one side and not on the other.";
    VolatileKept, volatile_kept, "volatile-kept", true, "access volatile on both sides", "accesses volatile on both sides",
        "An access is volatile on both sides.";
    DoesMore, does_more, "does-more", false, "kernel that does more", "kernels that do more",
        "One side does what the other side does, and more.";
    Unrelated, unrelated, "unrelated", false, "pair of unrelated kernels", "pairs of unrelated kernels",
        "The two kernels have little in common.";
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One occurrence of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Occurrence {
    /// Indices of A's instructions.
    pub a: Vec<usize>,
    /// Indices of B's instructions.
    pub b: Vec<usize>,
    /// How many copies of an unrolled loop's body there are.
    pub factor: Option<u32>,
    /// The difference, in words.
    pub note: Option<String>,
}

impl Occurrence {
    /// Indices of a side's instructions.
    pub fn of(&self, side: Side) -> &[usize] {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }
}

/// An effect with all its occurrences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The effect.
    pub effect: Effect,
    /// The side that has the effect; `None` if both sides agree.
    pub side: Option<Side>,
    /// The occurrences, at least one.
    pub occurrences: Vec<Occurrence>,
}
