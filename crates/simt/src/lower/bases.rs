//! Accesses whose addresses start from one register, unchanged from the first of them to the last.
//!
//! An unrolled loop reads `[%r7]`, `[%r7+4]`, `[%r7+8]` and so on. How the addresses of a warp lie to each other is the same for all of
//! them, so the execution loop looks at the first one's and remembers it (`exec::whole_row`).

use super::def_use::visit_operands;
use crate::op::*;
use crate::program::Program;
use std::collections::HashMap;

/// A group that may still grow: its first access, and its number once there is a second one.
struct Open {
    leader: u32,
    group: Option<u32>,
}

/// Where a stretch of code begins that is entered there alone: one flag an instruction, and one for the end.
pub fn starts(program: &Program) -> Vec<bool> {
    let mut starts = vec![false; program.code.len() + 1];
    for i in &program.code {
        match &i.op {
            Op::Branch { target } => starts[*target as usize] = true,
            Op::BranchIndexed { targets, .. } => {
                targets.iter().for_each(|t| starts[*t as usize] = true);
            }
            _ => {}
        }
    }
    for function in &program.functions {
        starts[function.start as usize] = true;
    }
    starts
}

/// Fills in [`MemoryOp::group`]. A group lies within a stretch of code that is entered at its beginning alone, and left by
/// no call.
pub fn find(program: &mut Program) {
    let starts = starts(program);
    let mut groups: Vec<(u32, BaseGroup)> = Vec::new();
    let (mut open, mut last): (HashMap<Row, Open>, u32) = (HashMap::new(), 0);
    for (at, i) in program.code.iter().enumerate() {
        if starts[at] {
            open.clear();
        }
        if let Op::Memory(index) = i.op {
            let op = &program.memory_ops[index as usize];
            let row = row_of(op.base.class(), op.base.slot());
            if let Some(row) = row.filter(|_| op.word && op.used_if == Slot::TRUE) {
                match open.get_mut(&row) {
                    Some(of) => {
                        let group = *of.group.get_or_insert_with(|| {
                            last += 1;
                            groups.push((of.leader, BaseGroup::Leads(last)));
                            last
                        });
                        groups.push((index, BaseGroup::Follows(group)));
                    }
                    // What some lanes skip says nothing of the later ones.
                    None if i.guard == Slot::TRUE => {
                        let (leader, group) = (index, None);
                        open.insert(row, Open { leader, group });
                    }
                    None => {}
                }
            }
        }
        if matches!(
            i.op,
            Op::Call(_) | Op::Branch { .. } | Op::BranchIndexed { .. }
        ) {
            open.clear();
        }
        visit_operands(program, i, &mut |_, _| {}, &mut |row| {
            open.remove(&row);
        });
    }
    for (index, group) in groups {
        program.memory_ops[index as usize].group = group;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(body: &str) -> Vec<BaseGroup> {
        let text = format!(
            ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n\
             .shared .align 4 .b8 s[256];\nmov.u32 %r1, s;\nmov.u32 %r2, s;\nsetp.eq.u32 %p1, %r1, 0;\n{body}\nret;\n}}"
        );
        let module = ptx::parser::parse(&text).expect("it parses");
        let program = Program::lower(&module, &text, "k").expect("it can be lowered");
        program.memory_ops.iter().map(|op| op.group).collect()
    }

    #[test]
    fn accesses_through_one_register_are_a_group_until_it_changes() {
        use BaseGroup::*;
        let read = |to: u32, from: u32| format!("ld.shared.u32 %r{to}, [%r{from}+4];\n");
        let pair = read(3, 1) + &read(4, 1);
        let cases = [
            (read(3, 1), vec![Alone]),
            (pair.clone(), vec![Leads(1), Follows(1)]),
            (
                read(3, 1) + &read(4, 2) + &read(5, 2) + &read(6, 1),
                vec![Leads(2), Leads(1), Follows(1), Follows(2)],
            ),
            // The register is written in between, by the access itself too.
            (
                read(3, 1) + "add.u32 %r1, %r1, 4;\n" + &read(4, 1),
                vec![Alone, Alone],
            ),
            (read(1, 1) + &read(4, 1), vec![Alone, Alone]),
            // Somebody may come from elsewhere, or some lanes may have gone.
            (
                read(3, 1) + "L:\n" + &read(4, 1) + "@%p1 bra L;\n",
                vec![Alone, Alone],
            ),
            (
                read(3, 1) + "@%p1 bra L;\n" + &read(4, 1) + "L:\n",
                vec![Alone, Alone],
            ),
            // Some lanes may have skipped the first.
            (format!("@%p1 {pair}"), vec![Alone, Alone]),
            (
                format!("{pair}@%p1 {}", read(5, 1)),
                vec![Leads(1), Follows(1), Follows(1)],
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(groups(&body), expected, "{body}");
        }
    }
}
