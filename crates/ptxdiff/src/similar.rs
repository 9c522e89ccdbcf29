//! How much two functions have in common, by their work.

use crate::class::InstructionClass;
use crate::class::Space;
use crate::code::{Code, Instr, Root};
use crate::loops::signature::{Key, Kind, whole_work};
use crate::loops::{Change, Loops};
use ptx::ast::Module;
use std::collections::HashMap;
use std::hash::Hash;

/// How one function has more than another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum More {
    /// So many per cent of its work are of other kinds.
    Kinds(u32),
    /// It does the same so many times as often.
    Times(f64),
}

/// What two functions, mine and the other, have in common.
pub struct Similarity {
    /// Work by direction and space.
    coarse: [HashMap<(Kind, Option<Space>), u32>; 2],
    /// Work by what its addresses start from.
    fine: [HashMap<Key, u32>; 2],
    /// Arithmetic instructions.
    arithmetic: [u32; 2],
}

impl Similarity {
    /// Compares the work of two functions.
    pub fn of(mine: (&Code, &Module), other: (&Code, &Module)) -> Similarity {
        let both = [mine, other];
        // Where an address does not tell its space, spaces can't be compared.
        let vague = both.iter().any(|(code, _)| {
            let mut places = code.instructions.iter().filter_map(|i| i.place);
            let called = code
                .instructions
                .iter()
                .any(|i| i.class == InstructionClass::Call);
            called || places.any(|p| space(p.space, p.root) == Space::Generic)
        });
        Similarity {
            coarse: both.map(|code| {
                count(code, |instr, key| {
                    let place = instr.place.filter(|_| key.kind.is_access() && !vague);
                    (key.kind, place.map(|p| space(p.space, p.root)))
                })
            }),
            fine: both.map(|code| count(code, |_, key| key)),
            arithmetic: both.map(|code| {
                let all = code.0.instructions.iter();
                all.filter(|i| i.class == InstructionClass::Arithmetic)
                    .count() as u32
            }),
        }
    }

    /// The part of the work of both together that is on both sides, in per cent.
    pub fn percent(&self) -> u32 {
        let (common, all, _) = shares(&self.coarse);
        (100 * common).checked_div(all).unwrap_or(100)
    }

    /// Whether the two have hardly anything in common.
    pub fn are_unrelated(&self) -> bool {
        let (common, all, smaller) = shares(&self.coarse);
        // Two accesses say nothing.
        smaller >= 24 && 3 * common < all && 5 * common < 3 * smaller
    }

    /// Whether my side does all that the other side does, and more.
    pub fn more(&self, loops: &Loops) -> Option<More> {
        let weight = |keys: &HashMap<Key, u32>| keys.keys().map(|k| k.kind.weight()).sum::<u32>();
        let [mine, other] = [&self.fine[0], &self.fine[1]];
        let common: u32 = mine
            .keys()
            .filter(|k| other.contains_key(k))
            .map(|k| k.kind.weight())
            .sum();
        let (all, theirs) = (weight(mine), weight(other));
        let alone = all - common;
        if theirs >= 24 && 10 * common >= 9 * theirs && 10 * alone >= 6 * all {
            return Some(More::Kinds(100 * alone / all.max(1)));
        }
        if loops.groups.iter().any(|g| g.change != Change::Same) || self.arithmetic[1] < 6 {
            return None;
        }
        let mut ratios: Vec<(f64, u32)> = other
            .iter()
            .filter(|(key, _)| key.kind != Kind::Barrier && key.kind.weight() > 0)
            .map(|(key, amount)| {
                let own = mine.get(key).copied().unwrap_or(0);
                (f64::from(own) / f64::from(*amount), key.kind.weight())
            })
            .collect();
        ratios.sort_by(|l, r| l.0.total_cmp(&r.0));
        let (whole, most): (u32, u32) =
            ratios
                .iter()
                .fold((0, 0), |(whole, most), (ratio, weight)| {
                    (
                        whole + weight,
                        most + if *ratio >= 1.5 { *weight } else { 0 },
                    )
                });
        let factor = ratios.get(ratios.len() / 2)?.0;
        let work = f64::from(self.arithmetic[0]) >= 1.4 * f64::from(self.arithmetic[1]);
        (work && 10 * most >= 7 * whole && factor >= 1.5).then_some(More::Times(factor))
    }
}

/// The space of an access, as far as its address tells.
fn space(space: Space, root: Root) -> Space {
    match (space, root) {
        (Space::Generic, Root::Parameter(_)) => Space::Global,
        (space, _) => space,
    }
}

fn count<K: Eq + Hash>(
    (code, module): (&Code, &Module),
    key: impl Fn(&Instr, Key) -> K,
) -> HashMap<K, u32> {
    let mut found = HashMap::new();
    for instr in &code.instructions {
        for (own, amount) in whole_work(instr, module) {
            if own.kind.weight() > 0 {
                *found.entry(key(instr, own)).or_default() += amount;
            }
        }
    }
    found
}

/// The weight of what is on both sides, of all, and of the smaller side.
fn shares(both: &[HashMap<(Kind, Option<Space>), u32>; 2]) -> (u32, u32, u32) {
    let weight =
        |own: &HashMap<(Kind, Option<Space>), u32>| own.keys().map(|k| k.0.weight()).sum::<u32>();
    let common = both[0]
        .keys()
        .filter(|k| both[1].contains_key(k))
        .map(|k| k.0.weight())
        .sum::<u32>();
    let (x, y) = (weight(&both[0]), weight(&both[1]));
    (common, x + y - common, x.min(y))
}
