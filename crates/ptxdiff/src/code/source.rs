//! Where in the source an instruction comes from.

use crate::code::value::Values;
use ptx::ast::Loc;
use ptx::{SourceLine, SourceMap};
use std::collections::HashMap;

/// Where the lines of a text start.
pub(super) struct LineStarts(Vec<u32>);

impl LineStarts {
    pub(super) fn new(text: &str) -> LineStarts {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        LineStarts(breaks.map(|(at, _)| at as u32).collect())
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, byte: u32) -> u32 {
        self.0.partition_point(|&end| end < byte) as u32 + 1
    }
}

/// Source locations, each worked out once.
pub(super) struct Chains<'m> {
    map: &'m SourceMap,
    pub(super) lines: Vec<Vec<SourceLine>>,
    sites: Vec<Option<u32>>,
    by_loc: HashMap<u32, usize>,
}

impl<'m> Chains<'m> {
    pub(super) fn new(map: &'m SourceMap) -> Chains<'m> {
        Chains {
            map,
            lines: Vec::new(),
            sites: Vec::new(),
            by_loc: HashMap::new(),
        }
    }

    pub(super) fn index(&mut self, loc: &Loc) -> usize {
        let Chains {
            map,
            lines,
            sites,
            by_loc,
        } = self;
        *by_loc.entry(loc.span.start).or_insert_with(|| {
            lines.push(map.chain(loc));
            sites.push(None);
            lines.len() - 1
        })
    }

    /// File name, line and column of the innermost line, as one number.
    pub(super) fn site(&mut self, chain: usize, values: &mut Values) -> u32 {
        let line = &self.lines[chain][0];
        let known = line.line > 0;
        *self.sites[chain].get_or_insert_with(|| {
            let name = line.file.rsplit(['/', '\\']).next().unwrap_or_default();
            match known {
                true => 1 + values.word(&format!("{name}:{}:{}", line.line, line.column)),
                false => 0,
            }
        })
    }
}
