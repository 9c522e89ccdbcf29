//! Which block of one side is which of the other.

use crate::code::Code;
use crate::flow::FlowBlock;
use std::collections::HashMap;

/// B's instructions, its blocks ordered as their partners in A.
pub(super) fn order(a: &Code, b: &Code) -> Vec<usize> {
    let partner = blocks(a, b);
    // A block without a partner follows the one before it.
    let mut keys: Vec<(usize, usize)> = Vec::with_capacity(b.flow.blocks.len());
    let mut last = 0;
    for (block, partner) in partner.iter().enumerate() {
        last = partner.unwrap_or(last);
        keys.push((last, block));
    }
    keys.sort_unstable();
    keys.iter()
        .flat_map(|&(_, block)| b.flow.blocks[block].instructions.iter().copied())
        .collect()
}

/// The block of A that each block of B is most likely to be.
fn blocks(a: &Code, b: &Code) -> Vec<Option<usize>> {
    let mut partners = Partners {
        a,
        b,
        of_a: vec![None; a.flow.blocks.len()],
        of_b: vec![None; b.flow.blocks.len()],
        bags: [bags(a), bags(b)],
    };
    if a.flow.blocks.is_empty() || b.flow.blocks.is_empty() {
        return partners.of_b;
    }
    let mut open = partners.equal();
    open.push((0, 0));
    open.reverse();
    while let Some((x, y)) = open.pop() {
        partners.join(x, y);
        if partners.of_a[x] != Some(y) {
            continue;
        }
        let (next, other) = (&a.flow.blocks[x].successors, &b.flow.blocks[y].successors);
        for (&next, &other) in next.iter().zip(other) {
            if partners.free(next, other) && partners.alike(next, other) >= 0.4 {
                open.push((next, other));
            }
        }
    }
    partners.rest();
    partners.of_b
}

/// The coarse keys of a block's instructions, sorted.
fn bags(code: &Code) -> Vec<Vec<u32>> {
    let bag = |block: &FlowBlock| {
        let mut keys: Vec<u32> = block
            .instructions
            .iter()
            .map(|&i| code.instructions[i].weak)
            .collect();
        keys.sort_unstable();
        keys
    };
    code.flow.blocks.iter().map(bag).collect()
}

struct Partners<'c> {
    a: &'c Code<'c>,
    b: &'c Code<'c>,
    of_a: Vec<Option<usize>>,
    of_b: Vec<Option<usize>>,
    bags: [Vec<Vec<u32>>; 2],
}

/// Blocks of which every two are compared.
const COMPARED: usize = 256;

impl Partners<'_> {
    fn free(&self, x: usize, y: usize) -> bool {
        self.of_a[x].is_none() && self.of_b[y].is_none()
    }

    fn join(&mut self, x: usize, y: usize) {
        if self.free(x, y) {
            (self.of_a[x], self.of_b[y]) = (Some(y), Some(x));
        }
    }

    /// Blocks that hold the same, once on each side.
    fn equal(&self) -> Vec<(usize, usize)> {
        let strong = |code: &Code| {
            let mut seen: HashMap<Vec<u32>, Option<usize>> = HashMap::new();
            for (index, block) in code.flow.blocks.iter().enumerate() {
                let keys = block
                    .instructions
                    .iter()
                    .map(|&i| code.instructions[i].strong)
                    .collect();
                seen.entry(keys)
                    .and_modify(|place| *place = None)
                    .or_insert(Some(index));
            }
            seen
        };
        let (a, b) = (strong(self.a), strong(self.b));
        let mut equal: Vec<(usize, usize)> = a
            .iter()
            .filter_map(|(keys, place)| Some(((*place)?, (*b.get(keys)?)?)))
            .collect();
        equal.sort_unstable();
        equal
    }

    /// The part of their instructions that two blocks have in common, 0 to 1.
    fn alike(&self, x: usize, y: usize) -> f64 {
        let (a, b) = (&self.bags[0][x], &self.bags[1][y]);
        let (mut i, mut j, mut common) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            match a[i].cmp(&b[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => (i, j, common) = (i + 1, j + 1, common + 1),
            }
        }
        match a.len().max(b.len()) {
            0 => 1.0,
            longer => common as f64 / longer as f64,
        }
    }

    /// What is left, the most alike first; in long functions only as many as can be compared.
    fn rest(&mut self) {
        let left = |of: &[Option<usize>]| -> Vec<usize> {
            (0..of.len())
                .filter(|&block| of[block].is_none())
                .take(COMPARED)
                .collect()
        };
        let mut found = Vec::new();
        for &x in &left(&self.of_a) {
            for &y in &left(&self.of_b) {
                let alike = self.alike(x, y);
                if alike >= 0.5 {
                    found.push((x, y, alike));
                }
            }
        }
        found.sort_by(|l, r| {
            r.2.total_cmp(&l.2)
                .then((l.0.abs_diff(l.1)).cmp(&r.0.abs_diff(r.1)))
        });
        for (x, y, _) in found {
            self.join(x, y);
        }
    }
}
