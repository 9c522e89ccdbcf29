use super::*;
use crate::event_log::results;
use proptest::prelude::*;

/// A kernel with thread numbers in `%r1`, four times that in `%r2`, and sixteen registers of data from `%r10` on, whose body is executed so many times.
fn program(body: &str, times: u32, without: bool) -> Program {
    let stores: String = (0..16)
        .map(|k| format!("st.global.u32 [%rd3+{}], %r{};\n", 4 * k, 10 + k))
        .collect();
    let clear: String = (10..26).map(|k| format!("mov.u32 %r{k}, {k};\n")).collect();
    let text = format!(
        ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<9>;\n.reg .b32 %r<40>;\n\
         .reg .b64 %rd<9>;\n.shared .align 4 .b8 s[1024];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n\
         mul.wide.u32 %rd2, %r1, 64;\nadd.s64 %rd3, %rd1, %rd2;\nmov.u32 %r3, 0;\nmov.u32 %r4, 64;\nand.b32 %r5, %r2, 60;\n\
         setp.lt.u32 %p1, %r1, 40;\nst.shared.u32 [%r2], %r1;\nst.shared.u32 [%r2+256], %r2;\nbar.sync 0;\n{clear}\
         LOOP:\n{body}add.s32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, {times};\n@%p2 bra LOOP;\n{stores}ret;\n}}"
    );
    let module = ptx::parser::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut program = Program::lower(&module, &text, "k").expect("it can be lowered");
    if without {
        program.load_runs.clear();
        program
            .memory_ops
            .iter_mut()
            .for_each(|op| op.run = RunPlace::default());
    }
    program
}

/// An instruction: mostly loads; addresses that are good, not aligned, outside, not written, of any layout.
fn instruction() -> impl Strategy<Value = String> {
    let data = || 10..26u32;
    let offset = prop_oneof![8 => (0..100i32).prop_map(|k| 4 * k), 1 => -40..40i32, 1 => Just(1020), 1 => Just(4_000_000)];
    let base = prop_oneof![4 => 2..6u32, 1 => data()];
    let guard = || prop_oneof![12 => Just(""), 1 => Just("@%p1 "), 1 => Just("@%p3 ")];
    prop_oneof![
        12 => (guard(), data(), base.clone(), offset.clone())
            .prop_map(|(guard, d, a, o)| format!("{guard}ld.shared.u32 %r{d}, [%r{a}+{o}];\n")),
        5 => (guard(), data(), data(), data())
            .prop_map(|(guard, d, a, b)| format!("{guard}add.s32 %r{d}, %r{a}, %r{b};\n")),
        1 => (4..6u32, data()).prop_map(|(d, a)| format!("and.b32 %r{d}, %r{a}, 124;\n")),
        1 => (data(), base, 0..100i32).prop_map(|(s, a, o)| format!("st.shared.u32 [%r{a}+{}], %r{s};\n", 4 * o)),
        1 => (data(), data()).prop_map(|(a, b)| format!("setp.lt.u32 %p3, %r{a}, %r{b};\n")),
        1 => Just("bar.warp.sync -1;\n".to_owned()),
        1 => Just("bar.sync 0;\n".to_owned()),
        1 => data().prop_map(|d| format!("ld.volatile.shared.u32 %r{d}, [%r2];\n")),
        1 => (data(), data()).prop_map(|(a, b)| format!("@%p1 bra A;\nadd.s32 %r{a}, %r{a}, %r{b};\nA:\n")),
    ]
}

/// The same with labels that are told apart.
fn body() -> impl Strategy<Value = String> {
    prop::collection::vec(instruction(), 1..40).prop_map(|lines| {
        let one = |(k, line): (usize, &String)| {
            line.replace("A;", &format!("A{k};"))
                .replace("A:", &format!("A{k}:"))
        };
        lines.iter().enumerate().map(one).collect()
    })
}

proptest! {
    #![proptest_config(testing::random(400))]

    #[test]
    fn nobody_can_tell_that_loads_are_performed_together(body in body(), seed in 0..1000u32) {
        let (with, without) = (program(&body, 2, false), program(&body, 2, true));
        for schedule in ["lockstep".to_owned(), format!("random:{seed}"), format!("pct:{seed}:3")] {
            prop_assert_eq!(results(&with, 64, &schedule), results(&without, 64, &schedule), "{}", body);
        }
    }
}

/// The runs of a body: how many loads each has.
fn runs(body: &str) -> Vec<usize> {
    program(body, 2, false)
        .load_runs
        .iter()
        .map(|run| run.loads.len())
        .collect()
}

fn load(d: u32, base: u32) -> String {
    format!("ld.shared.u32 %r{d}, [%r{base}+8];\n")
}

#[test]
fn loads_with_arithmetic_in_between_are_a_run() {
    let add = |d: u32, a: u32| format!("add.s32 %r{d}, %r{a}, 1;\n");
    let cases = [
        (load(10, 2), vec![]),
        (load(10, 2) + &load(11, 2), vec![2]),
        (
            load(10, 2) + &load(11, 4) + &add(12, 10) + &load(13, 2),
            vec![3],
        ),
        // What one loads was read or written before.
        (load(10, 2) + &add(12, 11) + &load(11, 2), vec![]),
        (load(10, 2) + &add(11, 12) + &load(11, 2), vec![]),
        (load(10, 2) + &load(10, 2), vec![]),
        (load(10, 2) + &load(2, 2), vec![]),
        // Its address depends on another.
        (load(10, 2) + &load(11, 10), vec![]),
        // Somebody may see in what order, or come from elsewhere.
        (
            load(10, 2) + "st.shared.u32 [%r2], %r1;\n" + &load(11, 2),
            vec![],
        ),
        (load(10, 2) + "bar.sync 0;\n" + &load(11, 2), vec![]),
        (load(10, 2) + "@%p1 bra L;\nL:\n" + &load(11, 2), vec![]),
        (load(10, 2) + "@%p1 " + &load(11, 2), vec![]),
        (load(10, 2) + "ld.shared.u32 %r11, [%r2+6];\n", vec![]),
    ];
    for (body, expected) in cases {
        assert_eq!(runs(&body), expected, "{body}");
    }
}

/// A turn that ends within a run: its last loads are performed in the next one, and only there.
#[test]
fn a_run_is_not_begun_in_a_turn_that_is_too_short_for_it() {
    let arithmetic = "add.s32 %r20, %r20, %r10;\n";
    let body = load(10, 2) + arithmetic + &load(11, 2) + &arithmetic.repeat(6) + &load(12, 4);
    let [with, without] = [false, true].map(|without| program(&body, 20_000, without));
    assert_eq!(with.load_runs.len(), 1);
    assert!(results(&with, 64, "lockstep") == results(&without, 64, "lockstep"));
}
