//! What a value comes to, through registers, whatever the order of the instructions.
//!
//! A program is read as a graph: rows and instructions are its nodes, a row leads to the instructions that compute with it and those to
//! the rows that they write. Which rows come to a marked node is one walk backwards from the marks, for all rows at once: time and memory
//! are linear in the operands, however long the chains are and wherever they stand in the text.

use super::def_use::visit_operands;
use crate::op::Row;
use crate::program::Program;

/// A graph of rows, instructions and a few nodes more, with its edges turned round.
pub(super) struct Graph {
    /// The first row of each class.
    first: [usize; 4],
    /// The first instruction.
    code: usize,
    nodes: usize,
    /// Edges, each with its end first.
    edges: Vec<(u32, u32)>,
    marked: Vec<u32>,
}

impl Graph {
    /// The rows and instructions of a program, and `more` nodes, not connected yet.
    pub fn of(program: &Program, more: usize) -> Graph {
        let first = [
            0,
            program.rows_w,
            program.rows_w + program.rows_d,
            program.rows_w + program.rows_d + program.preds,
        ];
        let code = first[3] + 1;
        Graph {
            first,
            code,
            nodes: code + program.code.len() + more,
            edges: Vec::new(),
            marked: Vec::new(),
        }
    }

    /// The node of a row.
    pub fn row(&self, row: Row) -> u32 {
        self.rows()(row) as u32
    }

    /// The same, when the graph is there no more.
    pub fn rows(&self) -> impl Fn(Row) -> usize + Copy + use<> {
        let first = self.first;
        move |row: Row| first[usize::from(row.0)] + row.1 as usize
    }

    /// The node of an instruction.
    pub fn instruction(&self, at: usize) -> u32 {
        (self.code + at) as u32
    }

    /// A node that is neither, by its number.
    pub fn further(&self, code: usize, number: usize) -> u32 {
        (self.code + code + number) as u32
    }

    /// What is at `from` comes to `to`.
    pub fn edge(&mut self, from: u32, to: u32) {
        self.edges.push((to, from));
    }

    /// A node that is asked for.
    pub fn mark(&mut self, node: u32) {
        self.marked.push(node);
    }

    /// For each node, whether it comes to a marked one; the marks are taken away.
    pub fn comes_to_marks(&mut self) -> Vec<bool> {
        self.edges.sort_unstable();
        self.edges.dedup();
        let mut reached = vec![false; self.nodes];
        let mut open = std::mem::take(&mut self.marked);
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut reached[node as usize], true) {
                continue;
            }
            let from = self.edges.partition_point(|(to, _)| *to < node);
            let into = self.edges[from..].iter().take_while(|(to, _)| *to == node);
            open.extend(into.map(|(_, from)| from));
        }
        reached
    }
}

/// Which instructions read each row: who is to be looked at again when more is known of it.
pub(super) struct Readers {
    /// Rows with an instruction each, sorted.
    all: Vec<(Row, u32)>,
}

impl Readers {
    /// Those of a program.
    pub fn of(program: &Program) -> Readers {
        let mut all = Vec::new();
        for (at, i) in program.code.iter().enumerate() {
            visit_operands(
                program,
                i,
                &mut |row, _| all.push((row, at as u32)),
                &mut |_| {},
            );
        }
        all.sort_unstable();
        all.dedup();
        Readers { all }
    }

    /// The instructions that read a row.
    pub fn of_row(&self, row: Row) -> impl Iterator<Item = usize> {
        let from = self.all.partition_point(|(r, _)| *r < row);
        let these = self.all[from..].iter().take_while(move |(r, _)| *r == row);
        these.map(|(_, at)| *at as usize)
    }
}

/// Instructions that are to be looked at, each once until it is to be looked at again.
pub(super) struct Queue {
    open: Vec<u32>,
    waits: Vec<bool>,
}

impl Queue {
    /// All of a program's instructions, the first one first.
    pub fn all(program: &Program) -> Queue {
        Queue {
            open: (0..program.code.len() as u32).rev().collect(),
            waits: vec![true; program.code.len()],
        }
    }

    /// One is to be looked at, again perhaps.
    pub fn push(&mut self, at: usize) {
        if !std::mem::replace(&mut self.waits[at], true) {
            self.open.push(at as u32);
        }
    }

    /// The next one.
    pub fn pop(&mut self) -> Option<usize> {
        let at = self.open.pop()? as usize;
        self.waits[at] = false;
        Some(at)
    }
}
