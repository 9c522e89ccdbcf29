//! Which element of a matrix which lane holds in which register.

use crate::ids::LANES;

/// How the elements of a matrix are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arrangement {
    /// The first factor of `mma` (PTX ISA, "Matrix Fragments for mma.m16n8k16" and its neighbours).
    First,
    /// The second factor of `mma`.
    Second,
    /// Accumulators of `mma`. Those of `wmma`, which the manual leaves open, are these, too, on an H200, several side by side.
    Sum,
    /// Runs along a row, as many rows and copies as there are lanes for: the first factor of `wmma`. Its arrangement is not specified
    /// (PTX ISA, "Matrix Fragments for WMMA"); this one takes the fewest loads.
    Rows,
    /// Runs along a column: the second factor of `wmma`.
    Columns,
}

/// A matrix in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// Elements that a lane holds.
    pub each: usize,
    /// Elements of a register.
    pub parts: usize,
    /// Who holds what.
    pub arrangement: Arrangement,
}

impl Fragment {
    /// Whether the lanes hold every element equally often.
    pub fn is_whole(&self) -> bool {
        let (runs_along, across) = match self.arrangement {
            Arrangement::Columns => (self.rows, self.columns),
            _ => (self.columns, self.rows),
        };
        let all = self.rows * self.columns;
        let held = LANES * self.each;
        match self.arrangement {
            Arrangement::Rows | Arrangement::Columns => {
                self.each > 0
                    && runs_along.is_multiple_of(self.each)
                    && held.is_multiple_of(all)
                    && across * (runs_along / self.each) <= LANES
            }
            Arrangement::First => self.rows.is_multiple_of(8) && held == all,
            Arrangement::Second => self.columns == 8 && held == all,
            Arrangement::Sum => {
                self.rows.is_multiple_of(8) && self.columns.is_multiple_of(8) && held == all
            }
        }
    }

    /// Row and column of an element of a lane, counted through its registers.
    pub fn place(&self, lane: usize, index: usize) -> (usize, usize) {
        let (group, thread) = (lane / 4, lane % 4);
        let (register, part) = (index / self.parts, index % self.parts);
        let pair = index / 2;
        match self.arrangement {
            Arrangement::First => {
                let tall = self.rows / 8;
                let row = group + 8 * (register % tall);
                let column = thread * self.parts + part + 4 * self.parts * (register / tall);
                (row, column)
            }
            Arrangement::Second => {
                let row = thread * self.parts + part + 4 * self.parts * register;
                (row, group)
            }
            // As many columns as an H200 turns about: m8n32k16.
            Arrangement::Sum if self.columns > 16 => (2 * thread + index % 2, group + 8 * pair),
            Arrangement::Sum => {
                let tall = self.rows / 8;
                let row = group + 8 * (pair % tall);
                (row, 2 * thread + index % 2 + 8 * (pair / tall))
            }
            Arrangement::Rows => {
                let (row, column) = self.run(lane, self.columns, self.rows);
                (row, column + index)
            }
            Arrangement::Columns => {
                let (column, row) = self.run(lane, self.rows, self.columns);
                (row + index, column)
            }
        }
    }

    /// Which line a lane's run is of, and where in it the run begins.
    fn run(&self, lane: usize, length: usize, lines: usize) -> (usize, usize) {
        let pieces = length / self.each;
        let lane = lane % (lines * pieces);
        (lane / pieces, lane % pieces * self.each)
    }
}
