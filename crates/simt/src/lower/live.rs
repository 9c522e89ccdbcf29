//! Which values are used in the end: those that memory, an address, control flow or another thread gets to see.
//!
//! Liveness from the uses backwards, through registers without regard to order, and through the parameters and results of calls, which
//! pass through frames: code that no optimiser has seen hands the result of an atomic on through functions whose callers drop it.
//! A parameter counts as read where a load in the same function overlaps with it, a result where some call's destination is.
//!
//! It says "used" too often and never too seldom, as long as nobody computes the address of a parameter from that of another variable.

use super::def_use::visit_operands;
use crate::op::*;
use crate::program::Program;
use std::collections::HashSet;
use std::ops::Range;

/// The rows that are used.
pub(super) fn rows(program: &Program) -> HashSet<Row> {
    let mut live = Live::default();
    for (function, code) in functions(program) {
        for i in &program.code[code] {
            if let Op::FrameAddress { offset, .. } = i.op {
                let one = i64::from(offset)..i64::from(offset) + 1;
                live.frames.push((function, one));
            }
        }
    }
    loop {
        let before = (live.rows.len(), live.frames.len());
        for (function, code) in functions(program) {
            for i in program.code[code].iter().rev() {
                live.step(program, function, i);
            }
        }
        if (live.rows.len(), live.frames.len()) == before {
            return live.rows;
        }
    }
}

fn functions(program: &Program) -> impl Iterator<Item = (usize, Range<usize>)> {
    let starts = program.functions.iter().map(|f| f.start as usize);
    let ends = starts.clone().skip(1).chain([program.code.len()]);
    starts
        .zip(ends)
        .enumerate()
        .map(|(index, (start, end))| (index, start..end))
}

/// What is known to be used.
#[derive(Default)]
struct Live {
    rows: HashSet<Row>,
    /// Bytes of a function's frame.
    frames: Vec<(usize, Range<i64>)>,
}

impl Live {
    fn has_frame(&self, function: usize, bytes: &Range<i64>) -> bool {
        let overlaps = |b: &Range<i64>| b.start < bytes.end && bytes.start < b.end;
        self.frames
            .iter()
            .any(|(f, b)| *f == function && overlaps(b))
    }

    fn add_frame(&mut self, function: usize, bytes: Range<i64>) {
        let known = self.frames.iter();
        if !known
            .clone()
            .any(|(f, b)| *f == function && b.start <= bytes.start && bytes.end <= b.end)
        {
            self.frames.push((function, bytes));
        }
    }

    fn has(&self, function: usize, carried: &Carried) -> bool {
        match carried {
            Carried::Frame { .. } => self.has_frame(function, &frame_of(carried)),
            Carried::Register(slot, class) => {
                row_of(*class, *slot).is_some_and(|row| self.rows.contains(&row))
            }
        }
    }

    fn add(&mut self, function: usize, carried: &Carried) {
        match carried {
            Carried::Frame { .. } => self.add_frame(function, frame_of(carried)),
            Carried::Register(slot, class) => self.rows.extend(row_of(*class, *slot)),
        }
    }

    fn step(&mut self, program: &Program, function: usize, i: &Instr) {
        let mut written = false;
        visit_operands(program, i, &mut |_, _| {}, &mut |row| {
            written |= self.rows.contains(&row);
        });
        let matters = match &i.op {
            // The carry flag is no row: what sets it counts as used.
            op if super::dependence::carries(op) => true,
            Op::Alu { .. }
            | Op::Setp { .. }
            | Op::Set { .. }
            | Op::Lop3Test { .. }
            | Op::Pack { .. }
            | Op::Special { .. }
            | Op::FrameAddress { .. }
            | Op::IsSpace { .. }
            | Op::MapShared(_)
            | Op::Cvta { .. } => written,
            Op::Memory(index) => {
                let m = &program.memory_ops[*index as usize];
                let length = i64::from(m.element) * i64::from(m.count);
                let bytes = m.offset..m.offset + length;
                match m.private && m.base == Base::Frame {
                    true if m.store => self.has_frame(function, &bytes),
                    true => {
                        if written {
                            self.add_frame(function, bytes);
                        }
                        written
                    }
                    false => true,
                }
            }
            Op::Call(call) => {
                call.args.iter().for_each(|a| self.add(function, a));
                let callees = match call.function {
                    Some(f) => f as usize..f as usize + 1,
                    None => 0..program.functions.len(),
                };
                for callee in callees {
                    let results = &program.functions[callee].results;
                    // A result that has no place of its own counts as used.
                    for (k, result) in results.iter().enumerate() {
                        if call.results.get(k).is_none_or(|to| self.has(function, to)) {
                            self.add(callee, result);
                        }
                    }
                }
                // The arguments are used, which is said above; of the results, what the callee makes of them.
                self.rows.extend(row_of(RegisterClass::D, call.pointer));
                self.rows.extend(row_of(RegisterClass::P, i.guard));
                return;
            }
            Op::System(call) => {
                call.args.iter().for_each(|a| self.add(function, a));
                true
            }
            _ => true,
        };
        if matters {
            visit_operands(
                program,
                i,
                &mut |row, _| _ = self.rows.insert(row),
                &mut |_| {},
            );
        }
    }
}

fn frame_of(carried: &Carried) -> Range<i64> {
    match carried {
        Carried::Frame { offset, bytes } => i64::from(*offset)..i64::from(offset + bytes),
        Carried::Register(..) => 0..0,
    }
}

#[cfg(test)]
mod tests {
    use crate::Program;
    use ptx::parser::parse;

    /// Whether the result of an exchange counts as used that a function hands back to a kernel, which does this with it.
    fn used(kernel: &str) -> bool {
        let ptx = format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n\
             .func (.param .b32 r) exchange(.param .b64 p) {{\n\
             .reg .b32 %r<3>; .reg .b64 %d;\n\
             ld.param.u64 %d, [p]; atom.exch.b32 %r1, [%d], 5; mov.b32 %r2, %r1;\n\
             st.param.b32 [r], %r2; ret;\n}}\n\
             .visible .entry k(.param .u64 memory) {{\n\
             .reg .b32 %r<4>; .reg .b64 %x; .reg .pred %p;\n\
             ld.param.u64 %x, [memory];\n\
             {{ .param .b64 a; .param .b32 b;\n\
             st.param.b64 [a], %x; call (b), exchange, (a);\n\
             {kernel} }}\n\
             DONE: ret;\n}}\n"
        );
        let module = parse(&ptx).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
        let program = Program::lower(&module, &ptx, "k").unwrap();
        program.atomic_ops[0].used
    }

    #[test]
    fn a_result_that_a_caller_drops_is_not_used() {
        assert!(!used(""));
        assert!(!used(
            "ld.param.b32 %r1, [b]; mov.b32 %r2, %r1; add.u32 %r3, %r2, 1;"
        ));
        assert!(used("ld.param.b32 %r1, [b]; st.global.u32 [%x+4], %r1;"));
        assert!(used(
            "ld.param.b32 %r1, [b]; setp.eq.u32 %p, %r1, 0; @%p bra DONE;"
        ));
        assert!(used("ld.param.b32 %r1, [b]; add.cc.u32 %r2, %r1, 1;"));
    }
}
