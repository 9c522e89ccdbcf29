//! What became of loops that do the same work, by how much of it they do in an iteration and by how they count.

use super::pairs::Comparing;
use super::signature::{Amount, Key};
use super::trips::is_in_each_iteration;
use super::{Change, Common, Group};
use crate::Side;

impl Comparing<'_> {
    /// How many times the work of A's loop stands in B's, by kind of work with its weight: what B has more often, as often and, as how many
    /// times A has it, less often.
    pub fn ratios(&self, (x, y): (usize, usize)) -> (Ratios, Ratios, Ratios) {
        let (mut up, mut level, mut down) = (Vec::new(), Vec::new(), Vec::new());
        for (key, amount) in self.bags[0].within(Some(x)) {
            let there = self.bags[1].amount(Some(y), key);
            if there == 0 {
                continue;
            }
            let called =
                self.bags[0].is_called(Some(x), key) || self.bags[1].is_called(Some(y), key);
            let ratio = match called {
                // How often what is called does it, is not known.
                true => 1.0,
                false => f64::from(there) / f64::from(amount.amount),
            };
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

    /// What became of partners, and of loops that were added to them.
    pub fn change(&self, group: &Group) -> Change {
        let (Some(x), Some(y)) = (self.heaviest(group, 0), self.heaviest(group, 1)) else {
            return Change::Unclear;
        };
        let (up, level, down) = self.ratios((x, y));
        let weight = |ratios: &Ratios| ratios.iter().map(|r| r.1).sum::<f64>();
        let [grown, same, shrunk] = [&up, &level, &down].map(weight);
        let both = (group.loops[0].len(), group.loops[1].len()) == (1, 1);
        let counted = self.counted((x, y), [&up, &down]);
        if let Some(change) = counted.filter(|change| both || *change != Change::Same) {
            let as_deep = self.depth(0, x) == self.depth(1, y);
            return if as_deep { change } else { Change::Unclear };
        }
        if grown > same + shrunk {
            let ratio = median(up).unwrap_or(1.0);
            return Change::Unrolled(Side::B, Some(ratio.round() as u32));
        }
        if shrunk > same + grown {
            let ratio = median(down).unwrap_or(1.0);
            return Change::Unrolled(Side::A, Some(ratio.round() as u32));
        }
        // Around the loops that are partners, and nothing else in common.
        let level = same >= grown + shrunk;
        match (group.loops[0].len(), group.loops[1].len()) {
            // At another depth, a loop around it was dissolved, and its body stands for another number of iterations.
            (1, 1) if level && self.depth(0, x) == self.depth(1, y) => Change::Same,
            (1, several) | (several, 1) if several > 1 => self.several(group),
            _ => Change::Unclear,
        }
    }

    /// What the work of partners says.
    pub fn common(&self, group: &Group) -> Common {
        let (Some(x), Some(y)) = (self.heaviest(group, 0), self.heaviest(group, 1)) else {
            return Common::None;
        };
        let (up, level, down) = self.ratios((x, y));
        let weight = |ratios: &Ratios| ratios.iter().map(|r| r.1).sum::<f64>();
        let [grown, same, shrunk] = [&up, &level, &down].map(weight);
        match (same, grown + shrunk) {
            (same, differs) if same + differs <= 0.0 => Common::None,
            (same, differs) if same >= differs => Common::Level,
            _ => Common::Shared,
        }
    }

    /// The loop of a side that does the most.
    fn heaviest(&self, group: &Group, side: usize) -> Option<usize> {
        let amount = |own: &usize| {
            let all = self.bags[side].within(Some(*own));
            let all = all.map(|(key, a)| f64::from(a.amount) * self.weigh(side, Some(*own), key));
            all.sum::<f64>()
        };
        let loops = group.loops[side].iter().copied();
        loops.max_by(|l, r| amount(l).total_cmp(&amount(r)))
    }

    /// What became of a loop by how often both run, or by what both count in, if their work does not speak against it: what stands more often in
    /// B and in A.
    fn counted(&self, (x, y): (usize, usize), grown: [&Ratios; 2]) -> Option<Change> {
        let (a, b) = (self.counts[0][x], self.counts[1][y]);
        let (times, fewer) = match (a.trips, b.trips) {
            (Some(a), Some(b)) if a == b => {
                let same = !self.run_as_often_and_differ((x, y));
                return Some(if same { Change::Same } else { Change::Unclear });
            }
            (Some(a), Some(b)) if a.min(b) > 0 => (
                f64::from(a.max(b)) / f64::from(a.min(b)),
                usize::from(b < a),
            ),
            _ => {
                let (a, b) = (a.step?.unsigned_abs() as f64, b.step?.unsigned_abs() as f64);
                (a.max(b) / a.min(b), usize::from(b > a))
            }
        };
        let side = [Side::A, Side::B][fewer];
        let known = a.trips.is_some() && b.trips.is_some();
        let own = grown[1 - fewer];
        let fits = |ratio: f64| (ratio / times - 1.0).abs() < 0.1;
        let repeated = match known {
            true => !own.is_empty(),
            // A pointer counts in bytes.
            false => {
                own.iter().any(|(ratio, _)| fits(*ratio))
                    && !own.iter().any(|(r, _)| *r > 1.1 * times)
            }
        };
        (repeated && times >= MANY).then(|| Change::Unrolled(side, Some(times.round() as u32)))
    }

    /// Whether two loops run as often, and most of what both do, one does more often in each iteration, and the other one not in a loop inside
    /// of it either.
    pub fn run_as_often_and_differ(&self, (x, y): (usize, usize)) -> bool {
        let trips = [self.counts[0][x].trips, self.counts[1][y].trips];
        if trips[0].is_none() || trips[0] != trips[1] {
            return false;
        }
        let inside = |side: usize, own: usize, key: &Key| {
            let loops = &self.code[side].flow.loops;
            (0..loops.len()).any(|inner| {
                let within = inner != own && loops[own].nodes.contains(&loops[inner].header);
                within && self.bags[side].amount(Some(inner), key) > 0
            })
        };
        let (mut level, mut differs) = (0.0, 0.0);
        for (key, amount) in self.bags[0].within(Some(x)) {
            let there = self.bags[1].amount(Some(y), key);
            let ratio = f64::from(there) / f64::from(amount.amount.max(1));
            let weight = self.weigh(0, Some(x), key).min(self.weigh(1, Some(y), key));
            let alike = match ratio {
                MANY.. => inside(0, x, key),
                _ if there > 0 && ratio <= 1.0 / MANY => inside(1, y, key),
                _ => true,
            };
            match alike {
                true if there > 0 => level += weight,
                true => {}
                false => differs += weight,
            }
        }
        differs > level
    }

    /// What became of a loop that is several on one side.
    fn several(&self, group: &Group) -> Change {
        let side = usize::from(group.loops[1].len() > 1);
        let code = self.code[side];
        let depth = |side: usize| {
            group.loops[side]
                .iter()
                .map(move |own| self.depth(side, *own))
        };
        if depth(side).max() < depth(1 - side).max() {
            // A loop around it was dissolved.
            return Change::Unclear;
        }
        let header = |own: &usize| code.flow.loops[*own].header;
        let mut headers = group.loops[side].iter().map(header);
        let first = headers.next().unwrap_or_default();
        let apart = headers
            .all(|other| !code.flow.reaches(first, other) && !code.flow.reaches(other, first));
        let around = |own: &usize| {
            let nodes = &code.flow.loops[*own].nodes;
            let mut others = group.loops[side].iter().filter(|other| *other != own);
            others.any(|other| nodes.contains(&header(other)))
        };
        match [Side::A, Side::B][side] {
            side if apart => Change::Unswitched(side),
            _ if group.loops[side].iter().any(around) => Change::Unclear,
            side => Change::Split(side),
        }
    }

    /// How often a dissolved loop's body stands in a stretch of the other side, besides what its partner has of the same work: as often as it
    /// runs, where that is known. Nothing where it does not; no number where that is not certain.
    pub fn copies(
        &self,
        side: usize,
        own: usize,
        context: Option<usize>,
        partners: &[(usize, usize)],
    ) -> Option<Option<u32>> {
        let beside = context.and_then(|context| {
            let pair = partners
                .iter()
                .find(|pair| [pair.0, pair.1][1 - side] == context);
            let around = || self.parent(side, own);
            pair.map_or_else(around, |pair| Some([pair.0, pair.1][side]))
        });
        let trips = self.counts[side][own].trips;
        let (mut ratios, mut all, mut found) = (Vec::new(), 0.0, 0.0);
        for (key, amount) in self.bags[side].within(Some(own)) {
            let weight = self.weigh(side, Some(own), key);
            let there = self.bags[1 - side].amount(context, key);
            let left = there.saturating_sub(self.bags[side].amount(beside, key));
            all += weight;
            found += if left > 0 { weight } else { 0.0 };
            let called =
                self.bags[1 - side].is_called(context, key) || amount.called && trips.is_none();
            if left > 0 && !called {
                ratios.push((f64::from(left) / f64::from(amount.amount), weight));
            }
        }
        let most = ratios
            .iter()
            .fold(0.0f64, |most, (ratio, _)| most.max(*ratio));
        let ratio = median(ratios)?;
        match trips {
            Some(0 | 1) => None,
            // Each iteration does something else.
            Some(trips) if self.is_conditional(side, own) => (found == all).then_some(Some(trips)),
            Some(trips) if ratio >= MANY => {
                Some((most >= 0.75 * f64::from(trips)).then_some(trips))
            }
            _ => (found >= all / 2.0 && ratio >= MANY).then(|| Some(ratio.round() as u32)),
        }
    }

    /// Whether all work of a loop is conditional.
    fn is_conditional(&self, side: usize, own: usize) -> bool {
        let weighs = |(key, _): &(&Key, &Amount)| key.kind.weight() > 0;
        let mut all = self.bags[side].within(Some(own)).filter(weighs).peekable();
        let always = |i: &usize| is_in_each_iteration(self.code[side], *i, own);
        all.peek().is_some() && !all.any(|(_, amount)| amount.instructions.iter().any(always))
    }
}

/// Numbers of times, with weights.
pub(super) type Ratios = Vec<(f64, f64)>;

/// From how many times on a body is repeated.
const MANY: f64 = 1.75;

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
