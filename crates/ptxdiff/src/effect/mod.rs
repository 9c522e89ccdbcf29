//! Effects: what the compiler did. Each effect has one file. Its module comment is the page that `racetrap explain EFFECT`
//! prints, and its code finds the effect.
//!
//! An effect is attributed to one side, relative to the other: "store elided in A" means that B makes a store that A does
//! not. The reader decides which side is the original. The detectors work on canonical instructions, their matches and
//! their values ([`super::code`], [`super::compare`]) of both sides. They state what the PTX shows, never why.

use super::Side;
use super::class::InstructionClass;
use super::code::value::Values;
use super::code::{Code, Instr, Place};
use super::compare::{Matching, Pair};
use super::cover::Cover;
use super::loops::work::{Kind, may_be, whole_work, work};
use super::loops::{Change, Group, Loops, workers};
use super::strength::weaker;
use ptx::ast::Module;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;

macro_rules! effects {
    ($($variant:ident, $module:ident, $name:literal, $kept:literal, $one:literal, $many:literal, $summary:literal;)*) => {
        mod moved;
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
                let source = match self { $(Effect::$variant => include_str!(concat!(stringify!($module), ".rs")),)* };
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

/// Two functions, seen from one of the sides.
pub(super) struct View<'v> {
    /// The side that may have the effect.
    pub side: Side,
    pub mine: &'v Code<'v>,
    pub other: &'v Code<'v>,
    pub other_module: &'v Module,
    pub my_module: &'v Module,
    pub matching: &'v Matching,
    pub values: &'v Values,
    /// Instructions of the other side that another effect has explained: copies of a loop's body, an inlined function.
    pub explained: &'v [bool],
    /// The other side's accesses of one place and barriers of one class.
    pub alike: &'v Alike,
    /// Which accesses touch the same bytes.
    pub cover: &'v Cover,
    /// Which loop became what.
    pub loops: &'v Loops,
    /// A's and B's instructions of which the text says nothing: their loop is another one on the other side.
    pub unclear: &'v [Vec<bool>; 2],
    /// A's and B's accesses and fences that are one with the other side's stronger access.
    pub regrouped: &'v [HashSet<usize>; 2],
    /// A's barriers and fences that were moved, or that something was moved across.
    pub crossed: &'v HashSet<usize>,
    /// A's and B's accesses that another effect has named: local and constant memory.
    pub named: &'v [HashSet<usize>; 2],
    /// What the functions do that my side calls and the other side does not.
    pub called: &'v HashSet<Kind>,
}

impl View<'_> {
    /// The other side's partner of mine.
    pub fn partner(&self, mine: usize) -> Option<usize> {
        match self.side {
            Side::A => self.matching.b_of(mine),
            Side::B => self.matching.a_of(mine),
        }
    }

    /// My partner of the other side's.
    pub fn back(&self, other: usize) -> Option<usize> {
        match self.side {
            Side::A => self.matching.a_of(other),
            Side::B => self.matching.b_of(other),
        }
    }

    /// An occurrence: my instructions and the other's.
    pub fn occurrence(&self, mine: Vec<usize>, other: Vec<usize>) -> Occurrence {
        let (a, b) = match self.side {
            Side::A => (mine, other),
            Side::B => (other, mine),
        };
        Occurrence {
            a,
            b,
            ..Occurrence::default()
        }
    }

    /// My instructions that have no partner.
    pub fn only_mine(&self) -> impl Iterator<Item = (usize, &Instr<'_>)> {
        let all = self.mine.instructions.iter().enumerate();
        all.filter(|(index, _)| self.partner(*index).is_none())
    }

    /// The other's instructions that have no partner and that nothing else has explained.
    pub fn only_other(&self) -> impl Iterator<Item = (usize, &Instr<'_>)> {
        let all = self.other.instructions.iter().enumerate();
        all.filter(|(index, _)| self.back(*index).is_none() && !self.explained[*index])
    }

    /// Those of the other side's wanted instructions that I do not have: each of mine without a partner stands for one of the same
    /// key, on the same source line if there is one. The passes, keys of mine and of the other's, come one after the other.
    pub fn lacking<K: Copy + Eq + Hash>(
        &self,
        wanted: impl Fn(&Instr) -> bool,
        passes: &[(fn(&Instr) -> Option<K>, fn(&Instr) -> Option<K>)],
    ) -> Vec<usize> {
        let mut left: Vec<usize> = self
            .only_other()
            .filter(|(_, i)| wanted(i))
            .map(|(i, _)| i)
            .collect();
        let mut mine: Vec<usize> = self
            .only_mine()
            .filter(|(_, i)| wanted(i))
            .map(|(i, _)| i)
            .collect();
        for (my_key, their_key) in passes {
            for same_line in [true, false] {
                // The last of each bucket is the first in order.
                let mut buckets: HashMap<(K, u32), Vec<usize>> = HashMap::new();
                let site = |instr: &Instr| if same_line { instr.site } else { 0 };
                for &index in left.iter().rev() {
                    let instr = &self.other.instructions[index];
                    if let Some(key) = their_key(instr) {
                        buckets.entry((key, site(instr))).or_default().push(index);
                    }
                }
                let mut found = HashSet::new();
                mine.retain(|&index| {
                    let instr = &self.mine.instructions[index];
                    let known = !same_line || instr.site != 0;
                    let bucket = my_key(instr)
                        .filter(|_| known)
                        .and_then(|key| buckets.get_mut(&(key, site(instr))));
                    match bucket.and_then(Vec::pop) {
                        Some(other) => {
                            found.insert(other);
                            false
                        }
                        None => true,
                    }
                });
                left.retain(|index| !found.contains(index));
            }
        }
        left
    }

    /// My barrier or fence and its partner, where none of them is weaker.
    pub fn kept(&self, mine: usize) -> Option<Occurrence> {
        let partner = self.partner(mine)?;
        let (x, y) = (
            &self.mine.instructions[mine],
            &self.other.instructions[partner],
        );
        let differ = weaker(x, y, "").is_some() || weaker(y, x, "").is_some();
        (!differ).then(|| self.occurrence(vec![mine], vec![partner]))
    }

    /// The other side's accesses of some class that I touch no byte of.
    pub fn elided(&self, wanted: impl Fn(InstructionClass) -> bool) -> Vec<Occurrence> {
        let theirs = self.side.other() as usize;
        let elided = self.cover.elided[theirs].iter().filter(|&&index| {
            let instr = &self.other.instructions[index];
            wanted(instr.class)
                && !self.named[theirs].contains(&index)
                && !work(instr)
                    .iter()
                    .any(|(key, _)| self.called.contains(&key.kind))
                && self.loops.is_short(self.code(), theirs, index)
        });
        elided
            .map(|&index| self.occurrence(Vec::new(), vec![index]))
            .collect()
    }

    /// A's and B's functions.
    fn code(&self) -> [&Code<'_>; 2] {
        match self.side {
            Side::A => [self.mine, self.other],
            Side::B => [self.other, self.mine],
        }
    }

    /// The groups of loops with a wanted change.
    pub fn changed(&self, wanted: impl Fn(Change) -> bool) -> Vec<Occurrence> {
        let groups = self.loops.groups.iter().filter(|g| wanted(g.change));
        groups
            .map(|group| {
                let [a, b] = workers(&self.loops.bags, group);
                Occurrence {
                    a,
                    b,
                    ..Occurrence::default()
                }
            })
            .collect()
    }

    /// My instructions that do the work of loops of a side, wherever they stand.
    pub fn copies(&self, group: &Group, side: usize) -> Vec<usize> {
        let loops = group.loops[side].iter();
        let keys: Vec<_> = loops
            .flat_map(|own| {
                self.loops.bags[side]
                    .within(Some(*own))
                    .map(|(key, _)| *key)
            })
            .filter(|key| key.kind.weight() > 0)
            .collect();
        let mine = self.mine.instructions.iter().enumerate();
        mine.filter(|(_, instr)| {
            let own = work(instr);
            own.iter()
                .any(|(key, _)| keys.iter().any(|other| may_be(key, other)))
        })
        .map(|(index, _)| index)
        .collect()
    }

    /// Whether the text says nothing of the order of a pair: its loops are others.
    pub fn is_unclear(&self, pair: &Pair) -> bool {
        self.unclear[0][pair.a] || self.unclear[1][pair.b]
    }

    /// Whether an instruction of mine is in a loop that is another one on the other side.
    pub fn is_copy_of_mine(&self, mine: usize) -> bool {
        self.unclear[self.side as usize][mine]
    }

    /// Whether the other side has this barrier on another way too, where I have it: then it is one, written twice.
    pub fn is_copy(&self, index: usize) -> bool {
        let own = &self.other.instructions[index];
        let mut blocks: Vec<usize> = Vec::new();
        let alike = self
            .alike
            .get(&(own.class, own.place))
            .into_iter()
            .flatten();
        for &partner in alike.filter(|&&i| self.back(i).is_some()) {
            let block = self.other.instructions[partner].block;
            if blocks.len() < WAYS && !blocks.contains(&block) {
                blocks.push(block);
                if self.other.exclusive(partner, index) {
                    return true;
                }
            }
        }
        false
    }
}

/// Blocks in which a copy is looked for.
const WAYS: usize = 32;

/// Accesses of one class and place, barriers of one class.
type Alike = HashMap<(InstructionClass, Option<Place>), Vec<usize>>;

fn alike(code: &Code) -> Alike {
    let mut alike = Alike::new();
    for (index, instr) in code.instructions.iter().enumerate() {
        if instr.place.is_some()
            || instr.class.is_barrier()
            || instr.class == InstructionClass::Fence
        {
            alike
                .entry((instr.class, instr.place))
                .or_default()
                .push(index);
        }
    }
    alike
}

/// What the functions do that calls of a side without a partner lead to.
fn called(code: &Code, module: &Module, is_alone: impl Fn(usize) -> bool) -> HashSet<Kind> {
    let calls = code.instructions.iter().enumerate();
    let calls = calls.filter(|(i, c)| c.class == InstructionClass::Call && is_alone(*i));
    let all = calls.flat_map(|(_, call)| whole_work(call, module));
    all.map(|(key, _)| key.kind).collect()
}

/// All effects of two functions.
pub(super) fn observe(
    a: (&Code, &Module),
    b: (&Code, &Module),
    matching: &Matching,
    values: &Values,
) -> Vec<Observed> {
    let code = [a.0, b.0];
    let empty = |of: bool| code.map(|c| vec![of; c.instructions.len()]);
    let alike = code.map(alike);
    let loops = Loops::of(a, b);
    let unclear = [0, 1].map(|side: usize| {
        let all = 0..code[side].instructions.len();
        all.map(|index| loops.is_explained(code[side], side, index))
            .collect::<Vec<bool>>()
    });
    let is_alone = [
        |index: usize, matching: &Matching| matching.of_a[index].is_none(),
        |index: usize, matching: &Matching| matching.of_b[index].is_none(),
    ];
    let called = [
        called(a.0, a.1, |index| is_alone[0](index, matching)),
        called(b.0, b.1, |index| is_alone[1](index, matching)),
    ];
    let mut explained = empty(false);
    let mut cover = Cover::default();
    let mut regrouped = [HashSet::new(), HashSet::new()];
    let mut crossed = HashSet::new();
    let mut named = [HashSet::new(), HashSet::new()];
    let mut found: Vec<Observed> = Vec::new();
    macro_rules! view {
        ($side:expr) => {{
            let (side, mine, other) = ($side, $side as usize, $side.other() as usize);
            View {
                side,
                mine: code[mine],
                other: code[other],
                other_module: [a.1, b.1][other],
                my_module: [a.1, b.1][mine],
                matching,
                values,
                explained: &explained[other],
                alike: &alike[other],
                cover: &cover,
                loops: &loops,
                unclear: &unclear,
                regrouped: &regrouped,
                crossed: &crossed,
                named: &named,
                called: &called[mine],
            }
        }};
    }
    macro_rules! add {
        ($effect:ident, $side:expr, $occurrences:expr) => {{
            let occurrences: Vec<Occurrence> = $occurrences;
            if !occurrences.is_empty() {
                found.push(Observed {
                    effect: Effect::$effect,
                    side: $side,
                    occurrences,
                });
            }
        }};
    }
    add!(Unrelated, None, unrelated::find(&view!(Side::A)));
    if !found.is_empty() {
        return found;
    }
    // First what accounts for many instructions at once.
    let mut explanations: Vec<(Side, Vec<usize>)> = Vec::new();
    for side in [Side::A, Side::B] {
        let view = view!(side);
        add!(LoopUnrolled, Some(side), loop_unrolled::find(&view));
        add!(LoopSplit, Some(side), loop_split::find(&view));
        add!(LoopUnswitched, Some(side), loop_unswitched::find(&view));
        let pipelined = loop_pipelined::find(&view);
        let prologues = pipelined.iter().flat_map(|o| match side {
            Side::A => &o.a,
            Side::B => &o.b,
        });
        explanations.push((side, prologues.copied().collect()));
        add!(LoopPipelined, Some(side), pipelined);
        let (occurrences, bodies) = call_inlined::find(&view);
        add!(CallInlined, Some(side), occurrences);
        explanations.push((side, bodies));
        let fences = fence_regrouped::find(&view);
        for o in &fences {
            regrouped[0].extend(&o.a);
            regrouped[1].extend(&o.b);
        }
        add!(FenceRegrouped, Some(side), fences);
    }
    for side in [0, 1] {
        let all = regrouped[side].iter().copied();
        let alone = |index: &usize| is_alone[side](*index, matching);
        let copies = (0..unclear[side].len())
            .filter(|&i| unclear[side][i])
            .filter(alone);
        for index in copies.chain(all) {
            explained[side][index] = true;
        }
    }
    for (side, indices) in explanations {
        let own = &mut explained[side as usize];
        indices.into_iter().for_each(|index| own[index] = true);
    }
    cover = Cover::of(code, matching, values, [&explained[0], &explained[1]]);
    for side in [Side::A, Side::B] {
        let view = view!(side);
        let local = values_in_local_memory::find(&view);
        let constant = moved_to_constant_memory::find(&view);
        for o in local.iter().chain(&constant) {
            named[0].extend(&o.a);
            named[1].extend(&o.b);
        }
        add!(ValuesInLocalMemory, Some(side), local);
        add!(MovedToConstantMemory, Some(side), constant);
    }
    let mut moved: Vec<Occurrence> = Vec::new();
    for side in [Side::A, Side::B] {
        let view = view!(side);
        for (effect, occurrences) in [
            (Effect::LoadMoved, load_moved::find(&view)),
            (Effect::StoreMoved, store_moved::find(&view)),
            (Effect::BarrierMoved, barrier_moved::find(&view)),
        ] {
            moved.extend(occurrences.iter().cloned());
            if !occurrences.is_empty() {
                found.push(Observed {
                    effect,
                    side: Some(side),
                    occurrences,
                });
            }
        }
    }
    let renumbered = barrier_renumbered::find(&view!(Side::A));
    moved.extend(renumbered.iter().cloned());
    add!(BarrierRenumbered, None, renumbered);
    add!(
        AccessesReordered,
        None,
        accesses_reordered::find(&view!(Side::A))
    );
    crossed.extend(moved.iter().flat_map(|o| o.a.iter().copied()));
    for side in [Side::A, Side::B] {
        let view = view!(side);
        let other_does_more = does_more::find(&view!(side.other()));
        if other_does_more.is_empty() {
            add!(StoreElided, Some(side), store_elided::find(&view));
            let loads = load_elided::find(&view);
            add!(ValueKept, Some(side), value_kept::find(&view, &loads));
            add!(LoadElided, Some(side), loads);
            add!(AtomicElided, Some(side), atomic_elided::find(&view));
            add!(BarrierLost, Some(side), barrier_lost::find(&view));
            add!(FenceLost, Some(side), fence_lost::find(&view));
        } else {
            add!(DoesMore, Some(side.other()), other_does_more);
        }
        add!(
            AccessesVectorised,
            Some(side),
            accesses_vectorised::find(&view)
        );
        add!(AccessesMerged, Some(side), accesses_merged::find(&view));
        add!(
            AccessMadeAtomic,
            Some(side),
            access_made_atomic::find(&view)
        );
        add!(
            CopyMadeAsynchronous,
            Some(side),
            copy_made_asynchronous::find(&view)
        );
        add!(
            SynchronisationWeakened,
            Some(side),
            synchronisation_weakened::find(&view)
        );
        add!(LoadHoisted, Some(side), load_hoisted::find(&view));
        add!(StoreSunk, Some(side), store_sunk::find(&view));
        add!(
            BranchToSelection,
            Some(side),
            branch_to_selection::find(&view)
        );
        add!(StrengthReduced, Some(side), strength_reduced::find(&view));
        add!(OperationChanged, Some(side), operation_changed::find(&view));
        add!(Contracted, Some(side), contracted::find(&view));
        add!(Approximated, Some(side), approximated::find(&view));
        add!(DenormalsFlushed, Some(side), denormals_flushed::find(&view));
        add!(
            LoadMadeReadOnly,
            Some(side),
            load_made_read_only::find(&view)
        );
        add!(TailsMerged, Some(side), tails_merged::find(&view));
        add!(
            AtomicsAggregated,
            Some(side),
            atomics_aggregated::find(&view)
        );
        add!(
            AtomicToReduction,
            Some(side),
            atomic_to_reduction::find(&view)
        );
        add!(VolatileDropped, Some(side), volatile_dropped::find(&view));
    }
    let view = view!(Side::A);
    add!(BarrierKept, None, barrier_kept::find(&view));
    add!(FenceKept, None, fence_kept::find(&view));
    add!(VolatileKept, None, volatile_kept::find(&view));
    found.sort_by_key(|observed| (observed.effect, observed.side));
    found
}
