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
use super::compare::Matching;
use super::cover::Cover;
use super::strength::weaker;
use ptx::ast::Module;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;

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
    LoadHoisted, load_hoisted, "load-hoisted", false, "load hoisted out of a loop", "loads hoisted out of loops",
        "One side loads once what the other side loads in each iteration of a loop.";
    LoopUnrolled, loop_unrolled, "loop-unrolled", false, "loop unrolled", "loops unrolled",
        "One side repeats the body of a loop that the other side has.";
    BranchToSelection, branch_to_selection, "branch-to-selection", false, "branch turned into a selection", "branches turned into selections",
        "One side branches, the other side selects a value or predicates instructions.";
    StrengthReduced, strength_reduced, "strength-reduced", false, "operation turned into a cheaper one", "operations turned into cheaper ones",
        "One side divides or multiplies, the other side shifts, masks or adds.";
    AtomicToReduction, atomic_to_reduction, "atomic-to-reduction", false, "atomic turned into a reduction", "atomics turned into reductions",
        "One side uses the old value of an atomic operation, the other side does not.";
    CallInlined, call_inlined, "call-inlined", false, "call inlined", "calls inlined",
        "One side calls a function, the other side has its body in place of the call.";
    BarrierLost, barrier_lost, "barrier-lost", false, "barrier lost", "barriers lost",
        "One side has a barrier that the other side does not have.";
    BarrierKept, barrier_kept, "barrier-kept", true, "barrier kept", "barriers kept",
        "A barrier is on both sides.";
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
    pub matching: &'v Matching,
    pub values: &'v Values,
    /// Instructions of the other side that another effect has explained: copies of a loop's body, an inlined function.
    pub explained: &'v [bool],
    /// The other side's accesses of one place and barriers of one class.
    pub alike: &'v Alike,
    /// Which accesses touch the same bytes.
    pub cover: &'v Cover,
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
        let elided = &self.cover.elided[self.side.other() as usize];
        let class = |index: usize| self.other.instructions[index].class;
        let wanted = elided.iter().filter(|&&index| wanted(class(index)));
        wanted
            .map(|&index| self.occurrence(Vec::new(), vec![index]))
            .collect()
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

/// All effects of two functions.
pub(super) fn observe(
    a: (&Code, &Module),
    b: (&Code, &Module),
    matching: &Matching,
    values: &Values,
) -> Vec<Observed> {
    let mut explained = [
        vec![false; a.0.instructions.len()],
        vec![false; b.0.instructions.len()],
    ];
    let alike = [alike(a.0), alike(b.0)];
    let mut cover = Cover::default();
    let mut found = Vec::new();
    let mut add = |effect, side, occurrences: Vec<Occurrence>| {
        if !occurrences.is_empty() {
            found.push(Observed {
                effect,
                side,
                occurrences,
            });
        }
    };
    let mut explanations: Vec<(Side, Vec<usize>)> = Vec::new();
    macro_rules! view {
        ($side:expr) => {
            match $side {
                Side::A => View {
                    side: Side::A,
                    mine: a.0,
                    other: b.0,
                    other_module: b.1,
                    matching,
                    values,
                    explained: &explained[1],
                    alike: &alike[1],
                    cover: &cover,
                },
                Side::B => View {
                    side: Side::B,
                    mine: b.0,
                    other: a.0,
                    other_module: a.1,
                    matching,
                    values,
                    explained: &explained[0],
                    alike: &alike[0],
                    cover: &cover,
                },
            }
        };
    }
    // First what accounts for many instructions at once.
    for side in [Side::A, Side::B] {
        let view = view!(side);
        let (occurrences, copies) = loop_unrolled::find(&view);
        add(Effect::LoopUnrolled, Some(side), occurrences);
        explanations.push((side, copies));
        let (occurrences, bodies) = call_inlined::find(&view);
        add(Effect::CallInlined, Some(side), occurrences);
        explanations.push((side, bodies));
    }
    for (side, indices) in explanations {
        let own = match side {
            Side::A => &mut explained[0],
            Side::B => &mut explained[1],
        };
        indices.into_iter().for_each(|index| own[index] = true);
    }
    cover = Cover::of([a.0, b.0], matching, values, [&explained[0], &explained[1]]);
    for side in [Side::A, Side::B] {
        let view = view!(side);
        add(Effect::StoreElided, Some(side), store_elided::find(&view));
        let loads = load_elided::find(&view);
        add(
            Effect::ValueKept,
            Some(side),
            value_kept::find(&view, &loads),
        );
        add(Effect::LoadElided, Some(side), loads);
        add(Effect::AtomicElided, Some(side), atomic_elided::find(&view));
        add(
            Effect::AccessesVectorised,
            Some(side),
            accesses_vectorised::find(&view),
        );
        add(
            Effect::AccessesMerged,
            Some(side),
            accesses_merged::find(&view),
        );
        add(
            Effect::AccessMadeAtomic,
            Some(side),
            access_made_atomic::find(&view),
        );
        add(
            Effect::CopyMadeAsynchronous,
            Some(side),
            copy_made_asynchronous::find(&view),
        );
        add(
            Effect::SynchronisationWeakened,
            Some(side),
            synchronisation_weakened::find(&view),
        );
        add(Effect::LoadMoved, Some(side), load_moved::find(&view));
        add(Effect::LoadHoisted, Some(side), load_hoisted::find(&view));
        add(
            Effect::BranchToSelection,
            Some(side),
            branch_to_selection::find(&view),
        );
        add(
            Effect::StrengthReduced,
            Some(side),
            strength_reduced::find(&view),
        );
        add(
            Effect::AtomicToReduction,
            Some(side),
            atomic_to_reduction::find(&view),
        );
        add(Effect::BarrierLost, Some(side), barrier_lost::find(&view));
        add(Effect::FenceLost, Some(side), fence_lost::find(&view));
        add(
            Effect::VolatileDropped,
            Some(side),
            volatile_dropped::find(&view),
        );
    }
    let view = view!(Side::A);
    add(Effect::BarrierKept, None, barrier_kept::find(&view));
    add(Effect::FenceKept, None, fence_kept::find(&view));
    add(Effect::VolatileKept, None, volatile_kept::find(&view));
    found.sort_by_key(|observed| (observed.effect, observed.side));
    found
}
