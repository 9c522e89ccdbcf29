//! Which definitions of a register reach its uses.
//!
//! Reaching definitions (A. V. Aho et al., "Compilers: Principles, Techniques, and Tools", 9.2.4), of the registers that have more
//! than one: compilers give most registers one. Definitions that meet in one use are one *web*, found by union-find.

use super::code::Instr;
use super::flow::Flow;
use std::collections::HashMap;

/// A register's definition: which instruction, and whether it may be skipped (it is guarded).
pub(super) struct Definition {
    pub instruction: usize,
    pub guarded: bool,
}

/// The definitions that reach the present place of a walk over the blocks.
pub(super) struct Reaching {
    /// The registers' definitions, where there are several.
    several: Vec<bool>,
    single: Vec<Option<u32>>,
    /// What reaches each block's start: registers and definitions.
    starts: Vec<HashMap<u32, Vec<u32>>>,
    now: HashMap<u32, Vec<u32>>,
    /// Union-find over definitions that meet in one use.
    parent: Vec<u32>,
}

impl Reaching {
    pub fn new(
        definitions: &[Vec<u32>],
        all: &[Definition],
        flow: &Flow,
        instructions: &[Instr<'_>],
    ) -> Reaching {
        let several: Vec<bool> = definitions.iter().map(|d| d.len() > 1).collect();
        let single = definitions.iter().map(|d| d.first().copied()).collect();
        let mut effects: Vec<Vec<(u32, u32)>> = vec![Vec::new(); flow.blocks.len()];
        let mut ordered: Vec<(u32, u32)> = Vec::new();
        for (register, own) in definitions.iter().enumerate().filter(|(_, d)| d.len() > 1) {
            ordered.extend(own.iter().map(|&definition| (definition, register as u32)));
        }
        ordered.sort_unstable();
        for (definition, register) in ordered {
            let block = instructions[all[definition as usize].instruction].block;
            effects[block].push((register, definition));
        }
        let mut starts: Vec<HashMap<u32, Vec<u32>>> = vec![HashMap::new(); flow.blocks.len()];
        let mut waiting: Vec<bool> = vec![true; flow.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..flow.blocks.len() {
                if !std::mem::take(&mut waiting[block]) {
                    continue;
                }
                let mut end = starts[block].clone();
                for &(register, definition) in &effects[block] {
                    define(&mut end, register, definition, all);
                }
                for &next in &flow.blocks[block].successors {
                    let start = &mut starts[next];
                    for (register, reached) in &end {
                        let known = start.entry(*register).or_default();
                        for definition in reached {
                            if let Err(at) = known.binary_search(definition) {
                                known.insert(at, *definition);
                                waiting[next] = true;
                                changed = true;
                            }
                        }
                    }
                }
            }
        }
        Reaching {
            several,
            single,
            starts,
            now: HashMap::new(),
            parent: (0..all.len() as u32).collect(),
        }
    }

    pub fn enter(&mut self, block: usize) {
        self.now = std::mem::take(&mut self.starts[block]);
    }

    pub fn at(&self, register: u32) -> Vec<u32> {
        // A register that nothing writes has no definition, and may be met here for the first time.
        match self
            .several
            .get(register as usize)
            .copied()
            .unwrap_or(false)
        {
            true => self.now.get(&register).cloned().unwrap_or_default(),
            false => self
                .single
                .get(register as usize)
                .copied()
                .flatten()
                .into_iter()
                .collect(),
        }
    }

    pub fn define(&mut self, register: u32, definition: u32, all: &[Definition]) {
        if self.several[register as usize] {
            define(&mut self.now, register, definition, all);
        }
    }

    pub fn web(&mut self, definition: u32) -> u32 {
        let mut root = definition;
        while self.parent[root as usize] != root {
            let grandparent = self.parent[self.parent[root as usize] as usize];
            self.parent[root as usize] = grandparent;
            root = grandparent;
        }
        root
    }

    pub fn unite(&mut self, definitions: &[u32]) {
        let roots: Vec<u32> = definitions.iter().map(|&d| self.web(d)).collect();
        let first = roots.iter().copied().min().unwrap_or_default();
        roots
            .iter()
            .for_each(|&root| self.parent[root as usize] = first);
    }
}

/// A definition kills the others of its register, unless it may be skipped.
fn define(now: &mut HashMap<u32, Vec<u32>>, register: u32, definition: u32, all: &[Definition]) {
    let reached = now.entry(register).or_default();
    if !all[definition as usize].guarded {
        reached.clear();
    }
    if let Err(at) = reached.binary_search(&definition) {
        reached.insert(at, definition);
    }
}
