//! Which loops of both sides are partners, and where the work of the others is.

use super::change::Ratios;
use super::signature::{self, Bag, Key, work};
use super::trips::{Count, count};
use crate::class::InstructionClass;
use crate::code::Code;
use crate::evaluate::Definitions;
use ptx::ast::Module;
use std::collections::{HashMap, HashSet};

/// How much of a loop's work another stretch must have.
const ENOUGH: f64 = 0.6;

/// How much of what a loop has in common with the loop most like it, it must have in common with its partner.
const CLOSE: f64 = 0.6;

/// Loops of a function that are compared.
const LOOPS: usize = 200;

/// What is known of the loops of two functions.
pub(super) struct Comparing<'c> {
    pub code: [&'c Code<'c>; 2],
    pub bags: [Bag; 2],
    /// How A's and B's loops count.
    pub counts: [Vec<Count>; 2],
    sites: [Vec<HashSet<u32>>; 2],
    /// Whether A and B call functions of their modules, in which loops may be.
    pub calls: [bool; 2],
}

/// What became of a loop that has no partner.
pub(super) enum Home {
    /// Its work is in this loop of the other side, whose partner is beside it.
    Beside(usize),
    /// Its work is in this loop of the other side, whose partner is around it, or outside of loops.
    Within(Option<usize>),
}

impl<'c> Comparing<'c> {
    pub fn of(
        (a, of_a): (&'c Code<'c>, &Module),
        (b, of_b): (&'c Code<'c>, &Module),
    ) -> Comparing<'c> {
        let counts = |code: &'c Code<'c>| {
            let definitions = Definitions::of(code);
            let loops = 0..code.flow.loops.len();
            loops.map(|own| count(code, &definitions, own)).collect()
        };
        Comparing {
            code: [a, b],
            bags: [Bag::of(a, of_a), Bag::of(b, of_b)],
            counts: [counts(a), counts(b)],
            sites: [sites(a), sites(b)],
            calls: [calls(a, of_a), calls(b, of_b)],
        }
    }

    pub fn weigh(&self, side: usize, of: Option<usize>, key: &Key) -> f64 {
        match (key.kind.weight(), self.weight(side, of)) {
            // A loop that does nothing else.
            (0, 0) => 1.0,
            (weight, _) => f64::from(weight),
        }
    }

    pub fn weight(&self, side: usize, of: Option<usize>) -> u32 {
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

    pub fn depth(&self, side: usize, own: usize) -> usize {
        let loops = &self.code[side].flow.loops;
        let header = loops[own].header;
        loops.iter().filter(|l| l.nodes.contains(&header)).count()
    }

    /// The smallest loop around a loop.
    pub fn parent(&self, side: usize, own: usize) -> Option<usize> {
        let loops = &self.code[side].flow.loops;
        let header = loops[own].header;
        let around = (0..loops.len()).filter(|l| *l != own && loops[*l].nodes.contains(&header));
        around.min_by_key(|l| loops[*l].nodes.len())
    }

    /// Loops that are most alike, one of A and one of B.
    pub fn partners(&self) -> Vec<(usize, usize)> {
        let alike = Alike::of(self);
        let mut found = Vec::new();
        for x in 0..alike.best[0].len() {
            for y in 0..alike.best[1].len() {
                found.extend(self.score(&alike, x, y).map(|score| (x, y, score)));
            }
        }
        found.sort_by(|l, r| r.2.total_cmp(&l.2).then((l.0 + l.1).cmp(&(r.0 + r.1))));
        let mut taken = [HashSet::new(), HashSet::new()];
        let mut partners = Vec::new();
        for (x, y, _) in found {
            let free = !taken[0].contains(&x) && !taken[1].contains(&y);
            let least = CLOSE * alike.best[0][x].max(alike.best[1][y]);
            if free && alike.product(x, y) >= least {
                taken[0].insert(x);
                taken[1].insert(y);
                partners.push((x, y));
            }
        }
        self.around(&mut partners, taken);
        partners
    }

    /// How well two loops fit, if they may be partners.
    fn score(&self, alike: &Alike, x: usize, y: usize) -> Option<f64> {
        let (there, back) = alike.covered[&(x, y)];
        let little = there.max(back) < ENOUGH || there.min(back) == 0.0;
        if little || self.run_as_often_and_differ((x, y)) {
            return None;
        }
        let (mine, theirs) = (&self.sites[0][x], &self.sites[1][y]);
        let lines =
            mine.intersection(theirs).count() as f64 / mine.len().min(theirs.len()).max(1) as f64;
        let same_depth = f64::from(u8::from(self.depth(0, x) == self.depth(1, y)));
        let (up, _, down) = self.ratios((x, y));
        let once = f64::from(u8::from(up.is_empty() && down.is_empty())) / 10.0;
        let apart = x.abs_diff(y) as f64 / 1000.0;
        Some(there * back + 0.5 * same_depth + 0.3 * lines + once - apart)
    }

    /// Adds the loops around partners, as deep as each other, of which nothing else says whose partners they are.
    fn around(&self, partners: &mut Vec<(usize, usize)>, mut taken: [HashSet<usize>; 2]) {
        let mut at = 0;
        while let Some(&(x, y)) = partners.get(at) {
            at += 1;
            let (Some(x), Some(y)) = (self.parent(0, x), self.parent(1, y)) else {
                continue;
            };
            let free = !taken[0].contains(&x) && !taken[1].contains(&y);
            if free && self.depth(0, x) == self.depth(1, y) {
                taken[0].insert(x);
                taken[1].insert(y);
                partners.push((x, y));
            }
        }
    }

    /// Whether most of a loop's work stands several times in a loop of the other side.
    fn is_repeated(&self, side: usize, own: usize, other: usize) -> bool {
        let pair = if side == 0 {
            (own, other)
        } else {
            (other, own)
        };
        let (up, level, down) = self.ratios(pair);
        let weight = |ratios: &Ratios| ratios.iter().map(|r| r.1).sum::<f64>();
        let [up, level, down] = [&up, &level, &down].map(weight);
        let (more, less) = if side == 0 { (up, down) } else { (down, up) };
        more > level + less
    }

    /// Where the work of a loop without a partner is.
    pub fn home(&self, side: usize, own: usize, partners: &[(usize, usize)]) -> Home {
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
                // Another loop, that has copies of it.
                None if self.is_repeated(side, own, other) => Home::Within(Some(other)),
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
}

/// What loops have in common, by weight.
struct Alike {
    /// The part of A's loop that B's has, and the part of B's that A's has.
    covered: HashMap<(usize, usize), (f64, f64)>,
    /// What each loop has in common with the loop that is most like it: the remainder of an unrolled loop is like that loop, whose
    /// partner is taken, and no partner of another one.
    best: [Vec<f64>; 2],
}

impl Alike {
    fn of(comparing: &Comparing) -> Alike {
        let loops = comparing.code.map(|code| code.flow.loops.len().min(LOOPS));
        let mut alike = Alike {
            covered: HashMap::new(),
            best: loops.map(|count| vec![0.0; count]),
        };
        for x in 0..loops[0] {
            for y in 0..loops[1] {
                let there = comparing.covered(0, x, Some(y));
                let back = comparing.covered(1, y, Some(x));
                alike.covered.insert((x, y), (there, back));
                alike.best[0][x] = alike.best[0][x].max(there * back);
                alike.best[1][y] = alike.best[1][y].max(there * back);
            }
        }
        alike
    }

    fn product(&self, x: usize, y: usize) -> f64 {
        let (there, back) = self.covered[&(x, y)];
        there * back
    }
}

/// Whether a function calls one that its module defines.
fn calls(code: &Code, module: &Module) -> bool {
    let callees = code.instructions.iter().filter_map(|i| match i.class {
        InstructionClass::Call => signature::callee(i.instr),
        _ => None,
    });
    let mut defined = callees.filter_map(|name| signature::defined(module, name));
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
