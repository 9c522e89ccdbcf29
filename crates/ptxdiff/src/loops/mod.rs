//! Which loop of one side became what on the other.
//!
//! Loops are compared by their [`mod@work`], weighted by what it tells; source lines only break ties. Loops that have most of their work in
//! common are partners, at best of the same depth; what is left over on one side belongs to the loop of the other side that has its work:
//! the remainder of an unrolled loop, the second part of a split one. A loop whose work stands outside of all loops of the other side was
//! dissolved.
//!
//! What follows is what may be said of single accesses. Where every loop with some kind of work is the same on both sides, instructions
//! can be counted: what is missing is missing. Where a loop was unrolled, split or dissolved, numbers in the text say nothing about numbers
//! of executions, and only work that the other side does not do at all is missing.

pub mod work;

use crate::Side;
use crate::class::InstructionClass;
use crate::code::value::Value;
use crate::code::{Code, Instr, Place};
use ptx::ast::Module;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use work::{Bag, Key, work};

/// What became of a group of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The same body as often.
    Same,
    /// One side repeats the body as many times.
    Unrolled(Side, u32),
    /// One side has several loops, one after the other.
    Split(Side),
    /// One side has several loops, of which one is executed.
    Unswitched(Side),
    /// Neither of these.
    Unclear,
}

/// Loops of both sides that do the same work.
#[derive(Clone, Debug)]
pub struct Group {
    /// A's and B's loops.
    pub loops: [Vec<usize>; 2],
    /// What became of them.
    pub change: Change,
}

/// The loops of two functions.
#[derive(Debug, Default)]
pub struct Loops {
    /// Loops that belong together.
    pub groups: Vec<Group>,
    /// The group of each of A's and B's loops.
    pub of: [Vec<Option<usize>>; 2],
    /// What A and B do, and where.
    pub bags: [Bag; 2],
    /// Work that stands in a loop that is another one on the other side.
    unclear: HashSet<Key>,
    /// The forms of address of A and of B.
    bases: [HashSet<Value>; 2],
    longest: RefCell<HashMap<(usize, Key), u32>>,
    touching: RefCell<HashMap<(usize, Place, InstructionClass), u32>>,
    comparable: RefCell<HashMap<(usize, Key), bool>>,
}

/// How much of a loop's work another stretch must have.
const ENOUGH: f64 = 0.6;

/// How much of what a loop has in common with the loop most like it, it must have in common with its partner.
const CLOSE: f64 = 0.6;

struct Comparing<'c> {
    code: [&'c Code<'c>; 2],
    bags: [Bag; 2],
    sites: [Vec<HashSet<u32>>; 2],
    /// Whether A and B call functions of their modules, in which loops may be.
    calls: [bool; 2],
}

impl Loops {
    /// Compares the loops of two functions.
    pub fn of((a, of_a): (&Code, &Module), (b, of_b): (&Code, &Module)) -> Loops {
        let comparing = Comparing {
            code: [a, b],
            bags: [Bag::of(a, of_a), Bag::of(b, of_b)],
            sites: [sites(a), sites(b)],
            calls: [calls(a, of_a), calls(b, of_b)],
        };
        let partners = comparing.partners();
        let mut groups: Vec<Group> = Vec::new();
        let mut of = [
            vec![None; a.flow.loops.len()],
            vec![None; b.flow.loops.len()],
        ];
        for &(x, y) in &partners {
            (of[0][x], of[1][y]) = (Some(groups.len()), Some(groups.len()));
            groups.push(Group {
                loops: [vec![x], vec![y]],
                change: Change::Unclear,
            });
        }
        let mut dissolved = Vec::new();
        let mut unplaced = Vec::new();
        for side in [0, 1] {
            for own in 0..of[side].len() {
                if of[side][own].is_some() || comparing.weight(side, Some(own)) == 0 {
                    continue;
                }
                match comparing.home(side, own, &partners) {
                    Home::Beside(other) => match of[1 - side][other] {
                        Some(group) => {
                            groups[group].loops[side].push(own);
                            of[side][own] = Some(group);
                        }
                        None => unplaced.push((side, own)),
                    },
                    Home::Within(context) => dissolved.push((side, own, context)),
                }
            }
        }
        for group in &mut groups {
            group.change = comparing.change(group);
        }
        for (side, own) in unplaced {
            let mut loops = [Vec::new(), Vec::new()];
            loops[side].push(own);
            of[side][own] = Some(groups.len());
            groups.push(Group {
                loops,
                change: Change::Unclear,
            });
        }
        for (side, own, context) in dissolved {
            let mut group = Group {
                loops: [Vec::new(), Vec::new()],
                change: Change::Unclear,
            };
            group.loops[side].push(own);
            if let Some(factor) = comparing.copies(side, own, context, &partners)
                && !comparing.calls[1 - side]
            {
                let other = [Side::B, Side::A][side];
                group.change = Change::Unrolled(other, factor);
            }
            of[side][own] = Some(groups.len());
            groups.push(group);
        }
        let mut unclear = HashSet::new();
        for group in groups.iter().filter(|g| g.change != Change::Same) {
            for side in [0, 1] {
                for own in &group.loops[side] {
                    unclear.extend(comparing.bags[side].within(Some(*own)).map(|(key, _)| *key));
                }
            }
        }
        Loops {
            groups,
            of,
            bags: comparing.bags,
            unclear,
            bases: [a, b].map(|code| {
                let places = code.instructions.iter().filter_map(|i| i.place);
                places.map(|place| place.base).collect()
            }),
            longest: RefCell::default(),
            touching: RefCell::default(),
            comparable: RefCell::default(),
        }
    }

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
            group.is_some_and(|g| g.change == Change::Same) && self.partner(other, one) == own
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
        let differ = self.groups.iter().any(|g| g.change != Change::Same);
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
                Some(own) => self.partner(side, *own).map(Some),
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

    /// The loop of the other side that a loop is, where it is one and the same.
    pub fn partner(&self, side: usize, own: usize) -> Option<usize> {
        let group = &self.groups[self.of[side][own]?];
        match (&group.loops[side][..], &group.loops[1 - side][..]) {
            ([_], [other]) => Some(*other),
            _ => None,
        }
    }
}

/// What became of a loop that has no partner.
enum Home {
    /// Its work is in this loop of the other side, whose partner is beside it.
    Beside(usize),
    /// Its work is in this loop of the other side, whose partner is around it, or outside of loops.
    Within(Option<usize>),
}

impl Comparing<'_> {
    fn weigh(&self, side: usize, of: Option<usize>, key: &Key) -> f64 {
        match (key.kind.weight(), self.weight(side, of)) {
            // A loop that does nothing else.
            (0, 0) => 1.0,
            (weight, _) => f64::from(weight),
        }
    }

    fn weight(&self, side: usize, of: Option<usize>) -> u32 {
        let all = self.bags[side].within(of);
        all.map(|(key, _)| key.kind.weight()).sum()
    }

    /// The part of a loop's work that a stretch of the other side has, too, by weight.
    fn covered(&self, side: usize, own: usize, other: Option<usize>) -> f64 {
        let (mut all, mut common) = (0.0, 0.0);
        for (key, _) in self.bags[side].within(Some(own)) {
            let weight = self.weigh(side, Some(own), key);
            all += weight;
            if self.bags[1 - side].amount(other, key) > 0 {
                common += weight;
            }
        }
        if all == 0.0 { 0.0 } else { common / all }
    }

    fn depth(&self, side: usize, own: usize) -> usize {
        let loops = &self.code[side].flow.loops;
        let header = loops[own].header;
        loops.iter().filter(|l| l.nodes.contains(&header)).count()
    }

    /// Loops that are most alike, one of A and one of B.
    fn partners(&self) -> Vec<(usize, usize)> {
        let count = [0, 1].map(|side: usize| self.code[side].flow.loops.len().min(LOOPS));
        let mut found = Vec::new();
        let mut covered: HashMap<(usize, usize), (f64, f64)> = HashMap::new();
        // What each loop has in common with the loop that is most like it: the remainder of an unrolled loop is like that loop, whose
        // partner is taken, and no partner of another one.
        let mut best = count.map(|count| vec![0.0f64; count]);
        for x in 0..count[0] {
            for y in 0..count[1] {
                let both = (self.covered(0, x, Some(y)), self.covered(1, y, Some(x)));
                covered.insert((x, y), both);
                best[0][x] = best[0][x].max(both.0 * both.1);
                best[1][y] = best[1][y].max(both.0 * both.1);
            }
        }
        let alike = |x: usize, y: usize| {
            let (there, back) = covered[&(x, y)];
            there * back
        };
        for x in 0..count[0] {
            for y in 0..count[1] {
                let (there, back) = covered[&(x, y)];
                if there.max(back) < ENOUGH || there.min(back) == 0.0 {
                    continue;
                }
                let (mine, theirs) = (&self.sites[0][x], &self.sites[1][y]);
                let lines = mine.intersection(theirs).count() as f64
                    / mine.len().min(theirs.len()).max(1) as f64;
                let same_depth = f64::from(u8::from(self.depth(0, x) == self.depth(1, y)));
                let (up, _, down) = self.ratios((x, y));
                let once = if up.is_empty() && down.is_empty() {
                    0.1
                } else {
                    0.0
                };
                let apart = x.abs_diff(y) as f64 / 1000.0;
                let score = there * back + 0.5 * same_depth + 0.3 * lines + once - apart;
                found.push((x, y, score));
            }
        }
        found.sort_by(|l, r| r.2.total_cmp(&l.2).then((l.0 + l.1).cmp(&(r.0 + r.1))));
        let mut taken = [HashSet::new(), HashSet::new()];
        let mut partners = Vec::new();
        for (x, y, _) in found {
            let free = !taken[0].contains(&x) && !taken[1].contains(&y);
            if free && alike(x, y) >= CLOSE * best[0][x].max(best[1][y]) {
                taken[0].insert(x);
                taken[1].insert(y);
                partners.push((x, y));
            }
        }
        partners
    }

    /// Where the work of a loop without a partner is.
    fn home(&self, side: usize, own: usize, partners: &[(usize, usize)]) -> Home {
        let back = |other: usize| {
            let pair = partners
                .iter()
                .find(|pair| [pair.0, pair.1][1 - side] == other);
            pair.map(|pair| [pair.0, pair.1][side])
        };
        let candidates = (0..self.code[1 - side].flow.loops.len().min(LOOPS))
            .map(|other| (self.covered(side, own, Some(other)), other))
            .filter(|(covered, _)| *covered >= ENOUGH);
        let lines = |other: usize| {
            self.sites[side][own]
                .intersection(&self.sites[1 - side][other])
                .count()
        };
        let best = candidates.max_by(|l, r| {
            l.0.total_cmp(&r.0)
                .then(lines(l.1).cmp(&lines(r.1)))
                .then(r.1.abs_diff(own).cmp(&l.1.abs_diff(own)))
        });
        let loops = &self.code[side].flow.loops;
        let around = |outer: usize| outer != own && loops[outer].nodes.contains(&loops[own].header);
        match best {
            Some((_, other)) => match back(other) {
                Some(partner) if around(partner) => Home::Within(Some(other)),
                _ => Home::Beside(other),
            },
            None => {
                // The partner of the smallest loop around it that has one.
                let outer = partners
                    .iter()
                    .filter(|pair| around([pair.0, pair.1][side]))
                    .min_by_key(|pair| loops[[pair.0, pair.1][side]].nodes.len());
                Home::Within(outer.map(|pair| [pair.0, pair.1][1 - side]))
            }
        }
    }

    /// How many times the work of A's loop stands in B's, by kind of work with its weight: what B has more often, as often and, as how many
    /// times A has it, less often.
    fn ratios(&self, (x, y): (usize, usize)) -> (Ratios, Ratios, Ratios) {
        let (mut up, mut level, mut down) = (Vec::new(), Vec::new(), Vec::new());
        for (key, amount) in self.bags[0].within(Some(x)) {
            let there = self.bags[1].amount(Some(y), key);
            if there == 0 {
                continue;
            }
            let ratio = f64::from(there) / f64::from(amount.amount);
            // A key without a counterpart of the same name has those that it may be.
            let weight = self.weigh(0, Some(x), key).min(self.weigh(1, Some(y), key));
            match ratio {
                MANY.. => up.push((ratio, weight)),
                _ if ratio <= 1.0 / MANY => down.push((1.0 / ratio, weight)),
                _ => level.push((ratio, weight)),
            }
        }
        (up, level, down)
    }

    fn change(&self, group: &Group) -> Change {
        let heaviest = |side: usize| {
            let amount = |own: &usize| {
                let all = self.bags[side].within(Some(*own));
                let all =
                    all.map(|(key, a)| f64::from(a.amount) * self.weigh(side, Some(*own), key));
                all.sum::<f64>()
            };
            group.loops[side]
                .iter()
                .copied()
                .max_by(|l, r| amount(l).total_cmp(&amount(r)))
        };
        let (Some(x), Some(y)) = (heaviest(0), heaviest(1)) else {
            return Change::Unclear;
        };
        let (up, level, down) = self.ratios((x, y));
        let weight = |ratios: &[(f64, f64)]| ratios.iter().map(|r| r.1).sum::<f64>();
        let [grown, same, shrunk] = [&up, &level, &down].map(|ratios| weight(ratios));
        if grown + same + shrunk == 0.0 {
            return Change::Unclear;
        }
        if grown > same + shrunk {
            let ratio = median(up).unwrap_or(1.0);
            return Change::Unrolled(Side::B, ratio.round() as u32);
        }
        if shrunk > same + grown {
            let ratio = median(down).unwrap_or(1.0);
            return Change::Unrolled(Side::A, ratio.round() as u32);
        }
        let ratio = if same >= grown + shrunk { 1.0 } else { 0.0 };
        match (group.loops[0].len(), group.loops[1].len()) {
            // At another depth, a loop around it was dissolved, and its body stands for another number of iterations.
            (1, 1) if ratio == 1.0 && self.depth(0, x) == self.depth(1, y) => Change::Same,
            (1, 1) => Change::Unclear,
            (1, several) | (several, 1) if several > 1 => {
                let side = usize::from(group.loops[1].len() > 1);
                let code = self.code[side];
                let header = |own: &usize| code.flow.loops[*own].header;
                let mut headers = group.loops[side].iter().map(header);
                let first = headers.next().unwrap_or_default();
                let apart = headers.all(|other| {
                    !code.flow.reaches(first, other) && !code.flow.reaches(other, first)
                });
                let side = [Side::A, Side::B][side];
                if apart {
                    Change::Unswitched(side)
                } else {
                    Change::Split(side)
                }
            }
            _ => Change::Unclear,
        }
    }

    /// How often a dissolved loop's body stands in a stretch of the other side, besides what its partner has of the same work.
    fn copies(
        &self,
        side: usize,
        own: usize,
        context: Option<usize>,
        partners: &[(usize, usize)],
    ) -> Option<u32> {
        let beside = context.and_then(|context| {
            let pair = partners
                .iter()
                .find(|pair| [pair.0, pair.1][1 - side] == context);
            pair.map(|pair| [pair.0, pair.1][side])
        });
        if context.is_some() != beside.is_some() {
            return None;
        }
        let (mut ratios, mut all, mut found) = (Vec::new(), 0.0, 0.0);
        for (key, amount) in self.bags[side].within(Some(own)) {
            let weight = self.weigh(side, Some(own), key);
            let there = self.bags[1 - side].amount(context, key);
            let left = there.saturating_sub(self.bags[side].amount(beside, key));
            all += weight;
            if left > 0 {
                found += weight;
                ratios.push((f64::from(left) / f64::from(amount.amount), weight));
            }
        }
        let ratio = median(ratios)?;
        (found >= all / 2.0 && ratio >= MANY).then(|| ratio.round() as u32)
    }
}

/// Numbers of times, with weights.
type Ratios = Vec<(f64, f64)>;

/// From how many times on a body is repeated.
const MANY: f64 = 1.75;

/// Loops of a function that are compared.
const LOOPS: usize = 200;

/// The median by weight; of two in the middle the larger one, because what a compiler saved in a copy lowers its number.
fn median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_by(|l, r| l.0.total_cmp(&r.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut passed = 0.0;
    values.into_iter().find_map(|(value, weight)| {
        passed += weight;
        (passed > half).then_some(value)
    })
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

/// Whether a function calls one that its module defines.
fn calls(code: &Code, module: &Module) -> bool {
    let callees = code.instructions.iter().filter_map(|i| match i.class {
        InstructionClass::Call => work::callee(i.instr),
        _ => None,
    });
    let mut defined = callees.filter_map(|name| work::defined(module, name));
    defined.next().is_some()
}

/// The source places of each loop's work.
fn sites(code: &Code) -> Vec<HashSet<u32>> {
    let mut sites = vec![HashSet::new(); code.flow.loops.len()];
    for (index, instr) in code.instructions.iter().enumerate() {
        if let Some(own) = code.loop_of(index)
            && instr.site != 0
            && !work(instr).is_empty()
        {
            sites[own].insert(instr.site);
        }
    }
    sites
}

/// The instructions of some loops that do work, by side.
pub fn workers(bags: &[Bag; 2], group: &Group) -> [Vec<usize>; 2] {
    [0, 1].map(|side: usize| {
        let loops = group.loops[side].iter();
        let all = loops.flat_map(|own| bags[side].within(Some(*own)));
        let mut found: Vec<usize> = all
            .flat_map(|(_, a)| a.instructions.iter().copied())
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    })
}
