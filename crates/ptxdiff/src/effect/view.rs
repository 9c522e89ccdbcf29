//! Two functions as a detector of an effect sees them, and the questions that several detectors ask.

use super::Occurrence;
use crate::Side;
use crate::class::InstructionClass;
use crate::code::value::Values;
use crate::code::{Code, Instr, Place};
use crate::compare::{Matching, Pair};
use crate::cover::Cover;
use crate::loops::signature::{may_be, work};
use crate::loops::{Change, Group, Loops, workers};
use crate::proof::{Proof, Prover};
use crate::strength::weaker;
use ptx::ast::Module;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Two functions, seen from one of the sides.
pub(in crate::effect) struct View<'v> {
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
    /// What proves claims on execution.
    pub prover: &'v Prover<'v>,
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

    /// Whether both sides come from the same lines of source, at least in part.
    pub fn has_common_lines(&self) -> bool {
        let sites = |code: &Code| -> HashSet<u32> {
            let all = code.instructions.iter().map(|i| i.site);
            all.filter(|site| *site != 0).collect()
        };
        !sites(self.mine).is_disjoint(&sites(self.other))
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

    /// The other side's accesses of some class that I make less often, as far as that can be proved.
    pub fn elided(&self, wanted: impl Fn(InstructionClass) -> bool) -> Vec<Occurrence> {
        let theirs = self.side.other() as usize;
        let alone = self.cover.elided[theirs].iter().filter(|&&index| {
            wanted(self.other.instructions[index].class) && !self.named[theirs].contains(&index)
        });
        alone.filter_map(|&index| self.lacks(index)).collect()
    }

    /// What I do less often than the other side, which has no counterpart of mine: where that can be proved.
    pub fn lacks(&self, theirs: usize) -> Option<Occurrence> {
        let proof = self.prover.lacks(self.side, theirs)?;
        Some(self.proved(proof, Vec::new(), vec![theirs]))
    }

    /// An occurrence of an effect that says how often something is executed.
    pub fn proved(&self, _: Proof, mine: Vec<usize>, other: Vec<usize>) -> Occurrence {
        self.occurrence(mine, other)
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
pub(in crate::effect) type Alike = HashMap<(InstructionClass, Option<Place>), Vec<usize>>;

/// The accesses and barriers of a function by class and place.
pub(in crate::effect) fn alike(code: &Code) -> Alike {
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
