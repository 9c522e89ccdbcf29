use crate::event_log::results;
use crate::op::*;
use crate::program::Program;
use proptest::prelude::*;

/// A kernel whose body, executed twice, may use thread numbers in `%r1`, the word `%r2` of shared memory, sums in `%r10` to `%r13`, and as
/// predicates: half of each warp, the second warp, two threads of the last, the first time around.
///
/// Its barriers of the whole block name their number, or have it in a register.
fn program(body: &str, in_register: bool) -> Program {
    let text = format!(
        ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<40>;\n\
         .reg .b64 %rd<9>;\n.shared .align 4 .b8 s[1024];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n\
         mul.wide.u32 %rd2, %r1, 64;\nadd.s64 %rd3, %rd1, %rd2;\nmov.u32 %r3, 0;\nmov.u32 %r9, 0;\nand.b32 %r4, %r1, 16;\n\
         setp.eq.u32 %p1, %r4, 0;\nshr.u32 %r5, %r1, 5;\nsetp.eq.u32 %p2, %r5, 1;\nsetp.gt.u32 %p3, %r1, 67;\nsetp.ne.u32 %p8, %r9, 0;\n\
         mov.u32 %r10, 1;\nmov.u32 %r11, 2;\nmov.u32 %r12, 3;\nmov.u32 %r13, 4;\nst.shared.u32 [%r2], %r1;\n\
         @%p8 bar.sync %r9;\nLOOP:\nsetp.eq.u32 %p4, %r3, 0;\n{body}add.s32 %r3, %r3, 1;\nsetp.lt.u32 %p7, %r3, 2;\n@%p7 bra LOOP;\n\
         st.global.u32 [%rd3], %r10;\nst.global.u32 [%rd3+4], %r11;\nst.global.u32 [%rd3+8], %r12;\nst.global.u32 [%rd3+12], %r13;\nret;\n}}"
    );
    let module = ptx::parser::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut program = Program::lower(&module, &text, "k").expect("it can be lowered");
    if in_register {
        let barriers = |program: &Program| -> Vec<(usize, BarrierOp)> {
            let all = program.code.iter().enumerate();
            all.filter_map(|(at, i)| match &i.op {
                Op::Barrier(b) => Some((at, (**b).clone())),
                _ => None,
            })
            .collect()
        };
        let all = barriers(&program);
        let (_, zero) = &all[0];
        assert_eq!(
            zero.id.0 & Slot::CONST,
            0,
            "the first one's is in a register"
        );
        let number = all[1].1.id;
        for (at, barrier) in &all[1..] {
            // The one that follows is of barrier 0.
            if barrier.id == number
                && let Op::Barrier(b) = &mut program.code[*at].op
            {
                b.id = zero.id;
            }
        }
    }
    program
}

/// A few barriers of all kinds among what parts threads and ends them.
fn instruction() -> impl Strategy<Value = String> {
    let guard = || {
        prop_oneof![
            8 => Just(""),
            1 => Just("@%p1 "),
            1 => Just("@%p2 "),
            1 => Just("@!%p3 "),
            1 => Just("@%p4 "),
        ]
    };
    let barrier = prop_oneof![
        10 => Just("bar.sync 0;\n"),
        2 => Just("bar.sync 1;\n"),
        1 => Just("barrier.sync 0;\n"),
        1 => Just("bar.sync 0, 96;\n"),
        1 => Just("bar.sync 0, 32;\n"),
        1 => Just("bar.arrive 0, 96;\n"),
        1 => Just("bar.red.popc.u32 %r10, 0, %p1;\n"),
    ];
    prop_oneof![
        8 => (guard(), barrier).prop_map(|(guard, barrier)| format!("{guard}{barrier}")),
        4 => (guard(), 10..14u32, 10..14u32)
            .prop_map(|(guard, d, a)| format!("{guard}add.s32 %r{d}, %r{a}, %r1;\n")),
        2 => (10..14u32).prop_map(|d| format!("ld.shared.u32 %r{d}, [%r2];\n")),
        2 => (10..14u32).prop_map(|s| format!("st.shared.u32 [%r2+4], %r{s};\n")),
        2 => prop::sample::select(vec!["%p1", "%p2", "%p3", "%p4"])
            .prop_map(|p| format!("@{p} bra A;\nadd.s32 %r11, %r11, 1;\nbar.sync 0;\nA:\n")),
        1 => prop::sample::select(vec!["%p1", "%p2", "%p3"])
            .prop_map(|p| format!("@{p} bra A;\nbar.sync 0;\nbra.uni B;\nA:\nbar.sync 0;\nB:\n")),
        1 => prop::sample::select(vec!["@%p1", "@%p2", "@%p3", "@%p3"])
            .prop_map(|guard| format!("{guard} exit;\n")),
    ]
}

/// The same with labels that are told apart, after a barrier.
fn body() -> impl Strategy<Value = String> {
    prop::collection::vec(instruction(), 1..10).prop_map(|lines| {
        let one = |(k, line): (usize, &String)| {
            let mut line = line.clone();
            for label in ["A", "B"] {
                line = line
                    .replace(&format!("{label};"), &format!("{label}{k};"))
                    .replace(&format!("{label}:"), &format!("{label}{k}:"));
            }
            line
        };
        let lines: String = lines.iter().enumerate().map(one).collect();
        format!("bar.sync 0;\n{lines}")
    })
}

proptest! {
    #![proptest_config(testing::random(600))]

    #[test]
    fn nobody_can_tell_that_warps_are_only_counted(
        body in body(),
        threads in prop::sample::select(vec![20u32, 64, 70, 96]),
        seed in 0..1000u32,
    ) {
        let (counted, written) = (program(&body, false), program(&body, true));
        for schedule in ["lockstep".to_owned(), format!("random:{seed}"), format!("pct:{seed}:3"), format!("weak:{seed}")] {
            let (ours, theirs) = (results(&counted, threads, &schedule), results(&written, threads, &schedule));
            prop_assert_eq!(ours, theirs, "{}", body);
        }
    }
}
