//! Which loads an address was computed from: what a wrong address may be the consequence of.
//!
//! Followed backwards from the address of an instruction, and from what decides whether it is executed, through registers alone and without
//! regard to order, up to the loads and atomics of shared and global memory. Variables of a thread that an unoptimised build keeps
//! in local memory are followed by their place in the frame. Blind spots: values that went through calls, or through memory between threads.

use super::def_use::{Use, visit_operands};
use crate::ids::Site;
use crate::op::*;
use crate::program::Program;
use ptx::semantics::Opcode;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The loads of memory between threads that the address of `site` was computed from.
pub fn address_loads(program: &Program, site: Site) -> BTreeSet<Site> {
    let frames = frame_rows(program);
    // A variable of a function: what its address is computed from, and how far behind that it is.
    let variable = |m: &MemoryOp| {
        let base = row_of(m.base.class(), m.base.slot());
        let of_frame = m.base == Base::Frame || base.is_some_and(|b| frames.contains(&b));
        (m.space == AddressSpace::Local || of_frame).then_some((base, m.offset))
    };
    let mut writers: HashMap<Row, Vec<usize>> = HashMap::new();
    let mut stores: HashMap<_, Vec<usize>> = HashMap::new();
    let mut open: Vec<Row> = Vec::new();
    for (at, i) in program.code.iter().enumerate() {
        let own = i.site == site;
        visit_operands(
            program,
            i,
            &mut |row, what| {
                if own && matches!(what, Use::Address | Use::Control) {
                    open.push(row);
                }
            },
            &mut |row| writers.entry(row).or_default().push(at),
        );
        if let Op::Memory(m) = i.op {
            let m = &program.memory_ops[m as usize];
            if let Some(place) = variable(m).filter(|_| m.store) {
                stores.entry(place).or_default().push(at);
            }
        }
    }
    let mut found = BTreeSet::new();
    let mut seen: HashSet<Row> = open.iter().copied().collect();
    let mut looked: HashSet<usize> = HashSet::new();
    while let Some(row) = open.pop() {
        let mut instructions = writers.get(&row).cloned().unwrap_or_default();
        while let Some(at) = instructions.pop() {
            if !looked.insert(at) {
                continue;
            }
            let i = &program.code[at];
            let passes = |what: Use| matches!(what, Use::Data | Use::Escape);
            match &i.op {
                Op::Atomic(_) => {
                    found.insert(i.site);
                    continue;
                }
                Op::Memory(m) => {
                    let m = &program.memory_ops[*m as usize];
                    match (variable(m), m.space) {
                        (Some(place), _) if !m.store => {
                            instructions.extend(stores.get(&place).into_iter().flatten());
                            continue;
                        }
                        (Some(_), _) => {}
                        (None, AddressSpace::Param | AddressSpace::Const) => continue,
                        (None, _) => {
                            found.insert(i.site);
                            continue;
                        }
                    }
                }
                _ => {}
            }
            visit_operands(
                program,
                i,
                &mut |row, what| {
                    if passes(what) && seen.insert(row) {
                        open.push(row);
                    }
                },
                &mut |_| {},
            );
        }
    }
    found
}

/// Rows that hold the address of a frame.
fn frame_rows(program: &Program) -> HashSet<Row> {
    let moved = |frames: &mut HashSet<Row>, d: Slot, a: Slot| {
        let from = row_of(RegisterClass::D, a);
        if from.is_some_and(|from| frames.contains(&from)) {
            frames.extend(row_of(RegisterClass::D, d));
        }
    };
    let mut frames = HashSet::new();
    // `mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;`
    for _ in 0..3 {
        for i in &program.code {
            match i.op {
                Op::FrameAddress { d, wide, .. } => {
                    let class = if wide {
                        RegisterClass::D
                    } else {
                        RegisterClass::W(32)
                    };
                    frames.extend(row_of(class, d));
                }
                Op::Cvta { d, a, .. } => moved(&mut frames, d, a),
                Op::Alu { d, s, .. } if program.site(i.site).instruction.opcode == Opcode::Mov => {
                    moved(&mut frames, d, s[0]);
                }
                _ => {}
            }
        }
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(body: &str) -> Vec<String> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {{
                .reg .u64 %rd<9>; .reg .u64 %SP; .reg .u64 %SPL; .reg .u32 %r<9>; .reg .pred %p<3>;
                .local .align 8 .b8 depot[16]; .shared .align 4 .b8 s[128];
                {body}
                ret; }}"
        );
        let module = ptx::parse(&text).unwrap();
        let program = Program::lower(&module, &text, "k").unwrap();
        let last = program
            .sites
            .iter()
            .rposition(|s| s.text.contains("st.global"))
            .unwrap();
        let all = address_loads(&program, Site(last as u32));
        let text = |site: Site| program.sites[site.0 as usize].text.clone();
        all.into_iter().map(text).collect()
    }

    #[test]
    fn an_index_comes_from_a_load() {
        let optimised = "ld.param.u64 %rd1, [p]; ld.shared.u32 %r1, [s]; ld.shared.u32 %r2, [s+4]; add.u32 %r1, %r1, 1;
            mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2;";
        assert_eq!(lines(optimised), ["ld.shared.u32 %r1, [s];"]);
        let guarded = "ld.param.u64 %rd1, [p]; ld.shared.u32 %r1, [s]; setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1], 1;";
        assert_eq!(lines(guarded), ["ld.shared.u32 %r1, [s];"]);
    }

    #[test]
    fn a_variable_keeps_it() {
        let unoptimised = "mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL; ld.param.u64 %rd1, [p]; ld.shared.u32 %r1, [s];
            st.u32 [%SP+4], %r1; ld.shared.u32 %r2, [s+4]; st.u32 [%SP+8], %r2; ld.u32 %r3, [%SP+4]; ld.u32 %r4, [%SP+8];
            mul.wide.u32 %rd2, %r3, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4;";
        assert_eq!(lines(unoptimised), ["ld.shared.u32 %r1, [s];"]);
    }

    #[test]
    fn a_loop_leads_back() {
        for (jump, may) in [("@%p1 bra $L;", true), ("", false)] {
            let text = format!(
                ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {{
                    .reg .u32 %r<9>; .reg .pred %p<3>; .shared .align 4 .b8 s[128];
                    $L: ld.shared.u32 %r1, [s];
                    st.shared.u32 [s+4], %r1; setp.eq.u32 %p1, %r1, 0; {jump} ret; }}"
            );
            let program = Program::lower(&ptx::parse(&text).unwrap(), &text, "k").unwrap();
            let at = |word: &str| {
                Site(
                    program
                        .sites
                        .iter()
                        .position(|s| s.text.starts_with(word))
                        .unwrap() as u32,
                )
            };
            assert!(super::super::may_come_before(&program, at("ld"), at("st")));
            assert_eq!(
                super::super::may_come_before(&program, at("st"), at("ld")),
                may
            );
        }
    }
}
