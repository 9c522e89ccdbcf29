//! What loops allow to say of single accesses, barriers and fences: whether the other side is short of one.
//!
//! Where every loop with some kind of work is the same on both sides, instructions can be counted: what is missing is missing. Where a loop was
//! unrolled, split or dissolved, numbers in the text say nothing about numbers of executions, and only work that the other side does not do at
//! all is missing.

use super::work::{self, Key, work};
use super::{Group, Loops};
use crate::class::InstructionClass;
use crate::code::{Code, Instr, Place};

impl Loops {
    /// Whether an instruction of a side stands for work of which text says nothing: its loop, or another one with this work, is another one
    /// on the other side, which does this work, too.
    pub fn is_explained(&self, code: &Code, side: usize, index: usize) -> bool {
        let instr = &code.instructions[index];
        let all = work(instr);
        !all.is_empty()
            && all.iter().all(|(key, _)| {
                let unclear = self.unclear.iter().any(|other| work::may_be(key, other));
                unclear && self.bags[1 - side].has(key)
            })
    }

    /// A side's accesses that have no partner, at addresses whose form the other side has nowhere: where loops differ, each may be any access of the
    /// other side that has no partner either.
    pub fn vague(
        &self,
        code: &Code,
        side: usize,
        alone: &[bool],
    ) -> Vec<(InstructionClass, Place)> {
        if self.groups.iter().all(Group::is_level) {
            return Vec::new();
        }
        let all = code.instructions.iter().zip(alone);
        let all =
            all.filter_map(|(instr, alone)| Some((instr.class, instr.place.filter(|_| *alone)?)));
        let mut vague: Vec<_> = all
            .filter(|(_, place)| !self.bases[1 - side].contains(&place.base))
            .collect();
        vague.dedup();
        vague
    }

    /// Whether loops of a nest differ, and the other side does in a loop, or does at all what stands in a loop here, to memory that an instruction
    /// accesses, by what its address starts from: how often and where, the text does not tell, for loops around it may have been unrolled, too.
    pub fn may_be_repeated(&self, code: [&Code; 2], side: usize, index: usize) -> bool {
        if !self.nested || self.groups.iter().all(Group::is_level) {
            return false;
        }
        let instr = &code[side].instructions[index];
        let looped = code[side].loop_of(index).is_some();
        instr.place.is_some_and(|place| {
            let other = code[1 - side].instructions.iter().enumerate();
            let mut alike = other.filter(|(_, own)| {
                let mut places = [own.place, own.source_place].into_iter().flatten();
                own.class.is_alike(instr.class)
                    && places.any(|own| own.may_share_space(&place) && !own.is_apart(&place))
            });
            alike.any(|(at, _)| looped || code[1 - side].loop_of(at).is_some())
        })
    }

    /// Whether an access may be one of these.
    pub fn may_be_any(&self, instr: &Instr, vague: &[(InstructionClass, Place)]) -> bool {
        instr.place.is_some_and(|place| {
            vague.iter().any(|(class, other)| {
                class.is_alike(instr.class)
                    && other.may_share_space(&place)
                    && !other.is_apart(&place)
            })
        })
    }

    /// Whether source lines speak against the other side's being short of an instruction's work: it does that work of the instruction's line as
    /// often on one way through the function, in a loop that is not the instruction's own one, of which the text does not tell how
    /// often it runs, or at an address that can't be compared.
    pub fn is_elsewhere(&self, code: [&Code; 2], side: usize, index: usize) -> bool {
        let instr = &code[side].instructions[index];
        let (Some((key, _)), true) = (work(instr).first().copied(), instr.site != 0) else {
            return false;
        };
        let other = 1 - side;
        let alike = |own: &Instr| {
            let mut all = work(own).into_iter();
            all.any(|(alike, _)| work::may_be(&key, &alike))
        };
        let twin = |own: &Instr| own.site == instr.site && alike(own);
        // What the compiler gave no line may be of any.
        let may_be_twin = |own: &Instr| [0, instr.site].contains(&own.site) && alike(own);
        let own = code[side].loop_of(index);
        let same = |one: usize| {
            let group = self.of[other][one].map(|group| &self.groups[group]);
            group.is_some_and(Group::is_level) && self.partner(other, one) == own
        };
        let twins = code[other].instructions.iter().enumerate();
        let mut twins = twins.filter(|(_, i)| may_be_twin(i)).peekable();
        if twins.peek().is_none() {
            return false;
        }
        let base = instr.place.map(|place| place.base);
        let told = twins.any(|(at, twin)| {
            let there = code[other].loop_of(at);
            let repeated = there.is_some_and(|one| own.is_none() || !same(one));
            // At an address that this side has nowhere, it may be this very access.
            let vague = twin.place.is_some_and(|place| {
                Some(place.base) != base && !self.bases[side].contains(&place.base)
            });
            repeated || vague
        });
        let own = longest(code[side], |i| u32::from(twin(i)));
        told || own <= longest(code[other], |i| u32::from(may_be_twin(i)))
    }

    /// Whether an instruction stands in front of a loop with such work, or behind it, in the same loop around both, and the other side has that
    /// loop: it may be the first or the last iteration of it.
    fn is_peeled(&self, code: &Code, side: usize, index: usize, key: &Key) -> bool {
        let (own, block) = (code.loop_of(index), code.instructions[index].block);
        let loops = &code.flow.loops;
        (0..loops.len()).any(|inner| {
            let header = loops[inner].header;
            let around = (0..loops.len())
                .filter(|l| *l != inner && loops[*l].nodes.contains(&header))
                .min_by_key(|l| loops[*l].nodes.len());
            let beside = [(block, header), (header, block)];
            let mut beside = beside.into_iter();
            let there = self.partner(side, inner);
            around == own
                && self.bags[side].amount(Some(inner), key) > 0
                && beside.any(|(x, y)| ptx::graph::dominates(&code.flow.idom, x, y))
                && there.is_some_and(|there| {
                    self.bags[1 - side].amount(Some(there), key) > 0
                        && (key.kind.is_access() || self.is_copied(side, inner, own))
                })
        })
    }

    /// Whether all accesses of a loop stand outside of it as well, in the loop around it, if there is one, more often than on the other side.
    fn is_copied(&self, side: usize, inner: usize, around: Option<usize>) -> bool {
        let partner = match around {
            None => None,
            Some(around) => match self.partner(side, around) {
                Some(partner) => Some(partner),
                None => return true,
            },
        };
        let mut accesses = self.bags[side]
            .within(Some(inner))
            .filter(|(key, _)| key.kind.is_access());
        accesses.all(|(key, _)| {
            self.bags[side].amount(around, key) > self.bags[1 - side].amount(partner, key)
        })
    }

    /// Whether the other side may be short of an instruction's work: it does not do as much of it in the partner of the instruction's loop, nor
    /// on any way through the function. Where it accesses an address of the very same form, addresses decide instead.
    pub fn is_short(&self, code: [&Code; 2], side: usize, index: usize) -> bool {
        let own = code[side].loop_of(index);
        let partner = match own {
            None => None,
            Some(own) => {
                let group = self.of[side][own].map(|group| &self.groups[group]);
                match group.map(|g| &g.loops[1 - side][..]) {
                    Some([one]) => Some(*one),
                    _ => return true,
                }
            }
        };
        let instr = &code[side].instructions[index];
        // Barriers of loops that differ don't tell which stretch of one side is which of the other.
        let differ = self.groups.iter().any(|g| !g.is_level());
        if differ && self.is_touched(code, side, instr) {
            return false;
        }
        let all = work(instr);
        let base = instr.place.map(|place| place.base);
        all.iter().any(|(key, _)| {
            let fewer = || self.longest(code, side, key) > self.longest(code, 1 - side, key);
            match self.is_looped(key) {
                true => {
                    let (bag, other) = (&self.bags[side], &self.bags[1 - side]);
                    let less = bag.amount(own, key) > other.amount(partner, key);
                    less && self.never_more(1 - side, key)
                        && fewer()
                        && !self.is_peeled(code[side], side, index, key)
                }
                false => {
                    let known = base.is_some_and(|base| self.bases[1 - side].contains(&base));
                    known && self.are_comparable(code, 1 - side, key) || fewer()
                }
            }
        })
    }

    /// Whether the other side accesses bytes of an instruction's place, at an address of the very same form, as often on one way through
    /// the function.
    fn is_touched(&self, code: [&Code; 2], side: usize, instr: &Instr) -> bool {
        let Some(place) = instr.place.or(instr.source_place) else {
            return false;
        };
        let key = |own: usize| (own, place, instr.class);
        let count = |own: usize| {
            if let Some(known) = self.touching.borrow().get(&key(own)) {
                return *known;
            }
            let found = longest(code[own], |i| u32::from(touches(i, instr.class, &place)));
            self.touching.borrow_mut().insert(key(own), found);
            found
        };
        count(1 - side) >= count(side)
    }

    /// Whether a kind of work stands in any loop.
    fn is_looped(&self, key: &Key) -> bool {
        let loops = self.bags.iter().flat_map(|bag| &bag.by_loop);
        let mut inside = loops
            .filter(|(of, _)| of.is_some())
            .flat_map(|(_, own)| own.keys());
        inside.any(|other| work::may_be(key, other))
    }

    /// Whether an instruction that has no partner, and no address, may be missing on the other side: where such instructions stand in loops,
    /// as [`Loops::is_short`] says.
    pub fn may_be_missing(&self, code: [&Code; 2], side: usize, index: usize) -> bool {
        let all = work(&code[side].instructions[index]);
        let looped = all.iter().any(|(key, _)| self.is_looped(key));
        !looped || self.is_short(code, side, index) && !self.is_elsewhere(code, side, index)
    }

    /// Whether a side does nowhere more of a kind of work than the other side in the partner of that loop.
    fn never_more(&self, side: usize, key: &Key) -> bool {
        self.bags[side].by_loop.keys().all(|own| {
            let partner = match own {
                None => Some(None),
                Some(own) => self.working_partner(side, *own).map(Some),
            };
            let theirs = partner.map_or(0, |p| self.bags[1 - side].amount(p, key));
            self.bags[side].amount(*own, key) <= theirs
        })
    }

    /// Whether all of a side's accesses that may be of this kind are at forms of address that the other side has, too.
    fn are_comparable(&self, code: [&Code; 2], side: usize, key: &Key) -> bool {
        if let Some(known) = self.comparable.borrow().get(&(side, *key)) {
            return *known;
        }
        let known = |instr: &Instr| {
            let places = [instr.place, instr.source_place];
            let mut bases = places.iter().flatten().map(|place| place.base);
            bases.all(|base| self.bases[1 - side].contains(&base))
        };
        let mut alike = code[side].instructions.iter().filter(|instr| {
            work(instr)
                .iter()
                .any(|(other, _)| work::may_be(key, other))
        });
        let all = alike.all(known);
        self.comparable.borrow_mut().insert((side, *key), all);
        all
    }

    /// [`longest`], worked out once a key.
    fn longest(&self, code: [&Code; 2], side: usize, key: &Key) -> u32 {
        if let Some(known) = self.longest.borrow().get(&(side, *key)) {
            return *known;
        }
        let amount = |instr: &Instr| {
            let own = work(instr).into_iter();
            own.filter(|(other, _)| work::may_be(key, other))
                .map(|(_, amount)| amount)
                .sum()
        };
        let found = longest(code[side], amount);
        self.longest.borrow_mut().insert((side, *key), found);
        found
    }
}

/// Whether an instruction reads or writes, as a class does, bytes of a place at an address of the same form.
fn touches(instr: &Instr, class: InstructionClass, place: &Place) -> bool {
    use InstructionClass::{Atomic, Load, Reduction, Store};
    let both = |class| matches!(class, Atomic(_) | Reduction(_));
    let alike = match class {
        Load(_) | Store(_) => instr.class.is_alike(class) || both(instr.class),
        Atomic(_) | Reduction(_) => both(instr.class),
        _ => instr.class == class,
    };
    let reaches = |from: &Place, to: &Place| {
        let after = to.offset.wrapping_sub(from.offset);
        (0..i64::from(from.width.max(1))).contains(&after)
    };
    let places = [instr.place, instr.source_place].into_iter().flatten();
    let mut same = places.filter(|own| own.base == place.base && own.may_share_space(place));
    alike && same.any(|own| reaches(&own, place) || reaches(place, &own))
}

/// The most of some work that is on one way through a function, each loop gone through once.
fn longest(code: &Code, amount: impl Fn(&Instr) -> u32) -> u32 {
    let blocks = &code.flow.blocks;
    let mut until = vec![0; blocks.len()];
    let mut most = 0;
    // The blocks stand in reverse post-order.
    for (number, block) in blocks.iter().enumerate() {
        let own = block.instructions.iter();
        until[number] += own.map(|&i| amount(&code.instructions[i])).sum::<u32>();
        most = most.max(until[number]);
        for &next in block.successors.iter().filter(|next| **next > number) {
            until[next] = until[next].max(until[number]);
        }
    }
    most
}
