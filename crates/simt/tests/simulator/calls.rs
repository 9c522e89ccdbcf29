//! Calls: of functions, through pointers and tables, of the system, and what may stand where a result goes.

use crate::run::{Run, SCHEDULES};
use ptx::parser::parse;
use simt::*;

/// Recursion, virtual calls and local arrays, optimised and not.
#[test]
fn recursive_and_virtual_calls_return() {
    for ptx in [
        include_str!("../../../ptx/tests/samples/recursion.sm_90.ptx"),
        include_str!("../../../ptx/tests/samples/recursion.sm_75.debug.ptx"),
    ] {
        for (n, area) in [(9u64, 4.0f32), (8, std::f32::consts::PI * 9.0)] {
            for schedule in SCHEDULES {
                let mut run = Run::of(ptx);
                let out = run.buffer(&[3; 64]);
                let areas = run.buffer(&[0; 64]);
                run.launch(1, 1, &[out, areas, n], schedule)
                    .unwrap_or_else(|e| panic!("{schedule}: {e}"));
                let fibonacci = [21, 34][n as usize - 8];
                let expected = fibonacci + 3 * (n as u32 & 15);
                assert_eq!(run.words(out, 1), [expected], "{schedule}");
                let found = f32::from_bits(run.words(areas, 1)[0]);
                assert!((found - area).abs() < 1e-5, "{schedule}: {found}");
            }
        }
    }
}

/// `printf`, `malloc`, `free`, `assert`, function pointers in a table.
#[test]
fn system_calls_work() {
    for ptx in [
        include_str!("../../../ptx/tests/samples/printf_assert.sm_75.debug.ptx"),
        include_str!("../../../ptx/tests/samples/printf_assert.sm_90.lineinfo.ptx"),
    ] {
        let mut run = Run::of(ptx);
        let p = run.buffer(&[0, 5, 0]);
        let stats = run.launch(1, 1, &[p, 1], "lockstep").unwrap();
        assert_eq!(stats.output, "25 -1.250000 tab\t\"quoted\" \\ end\n\n");
        assert_eq!(run.words(p, 3), [0, 5, 25]);
        let mut run = Run::of(ptx);
        let p = run.buffer(&[7, 5, 0]);
        let stop = run.launch(1, 1, &[p, 1], "lockstep").unwrap_err();
        assert!(
            matches!(&stop, Stop::Assert { message, .. } if message == "p[0] != 7"),
            "{stop}"
        );
    }
}

/// A variable names two functions, of which one has a strong store; one kernel calls what it names, the other one does not.
const NAMED: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .func (.param .b32 result) weak(.param .b64 to)
{
    .reg .b32 %r<2>;
    mov.u32 %r1, 17;
    st.param.b32 [result], %r1;
    ret;
}
.visible .func (.param .b32 result) strong(.param .b64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, 5;
    st.relaxed.gpu.u32 [%rd1], %r1;
    st.param.b32 [result], %r1;
    ret;
}
.visible .global .align 8 .u64 table[2] = {weak, strong};
.visible .entry direct(.param .u64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, 3;
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry pointer(.param .u64 to, .param .u64 which)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [which];
    mov.u64 %rd3, table;
    shl.b64 %rd2, %rd2, 3;
    add.s64 %rd3, %rd3, %rd2;
    ld.global.u64 %rd4, [%rd3];
    {
    .param .b64 a;
    .param .b32 b;
    st.param.b64 [a], %rd1;
    prototype : .callprototype (.param .b32 _) _ (.param .b64 _);
    call (b), %rd4, (a), prototype;
    ld.param.b32 %r1, [b];
    }
    st.global.u32 [%rd1+4], %r1;
    ret;
}
"#;

/// Functions that only a variable names are part of kernels that call through pointers alone: they say nothing of the others.
#[test]
fn functions_that_a_variable_names_are_for_kernels_that_call_pointers() {
    let tree = ptx::parse(NAMED).unwrap();
    let lower = |entry| Program::lower(&tree, NAMED, entry).unwrap();
    let [direct, pointer] = ["direct", "pointer"].map(lower);
    assert!(!direct.facts.strong_global);
    assert!(pointer.facts.strong_global);
    let launch = |program: &Program, which: u64| {
        let mut device = simt::Device::new(1 << 16);
        let at = device.alloc(8, "to").unwrap();
        let params = [at, which].map(u64::to_le_bytes).concat();
        let how = simt::Launch {
            cluster: None,
            grid: simt::Dim3::ONE,
            block: simt::Dim3::ONE,
            dynamic_shared: 0,
            params: params[..program.param_bytes as usize].to_vec(),
            cooperative: false,
            number: 0,
        };
        let (schedule, limits) = (simt::ScheduleSpec::Lockstep, simt::Limits::default());
        simt::launch_unwatched(&mut device, program, &how, &schedule, &limits, 1).unwrap();
        device.read(at, 8).unwrap()
    };
    assert_eq!(launch(&direct, 0)[..4], 3u32.to_le_bytes());
    assert_eq!(launch(&pointer, 0)[4..], 17u32.to_le_bytes());
    assert_eq!(
        launch(&pointer, 1),
        [5u32, 5].map(u32::to_le_bytes).concat()
    );
}

/// Found by fuzzing: a number, or a predicate, where a call's result goes is refused and written nowhere.
#[test]
fn results_of_calls_go_to_registers() {
    let mut ran = 0;
    for result in ["5", "%p1", "%q1"] {
        for callee in ["vprintf, (a, b)", "own, (a, b)"] {
            let ptx = format!(
                ".version 8.0\n.target sm_75\n.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 x, .param .b64 y);
.func (.reg .b32 %r) own(.reg .b64 %x, .reg .b64 %y) {{ mov.u32 %r, 1; ret; }}
.visible .entry k() {{
    .reg .b64 a, b; .reg .pred %p1; .reg .b128 %q1;
    mov.u64 a, 0; mov.u64 b, 0;
    call ({result}), {callee};
    ret; }}"
            );
            let Ok(tree) = parse(&ptx) else { continue };
            let Ok(program) = Program::lower(&tree, &ptx, "k") else {
                continue;
            };
            let mut run = Run {
                device: Device::new(1 << 16),
                program,
                limits: Limits::default(),
            };
            let ended = run.launch(1, 1, &[], "lockstep");
            assert!(ended.is_err(), "{result} {callee}");
            ran += 1;
        }
    }
    assert!(ran >= 2, "{ran}");
}

/// A format is read from wherever it begins to its zero, or to the end of its memory, in each space.
#[test]
fn texts_are_read_at_every_alignment() {
    const BYTES: usize = 44;
    let ptx = ".version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.visible .entry k(.param .u64 text, .param .u64 at) {
    .shared .align 4 .b8 there[44];
    .local .align 4 .b8 here[44];
    .reg .b64 %text, %at, %there, %here; .reg .b32 %i, %word; .reg .pred %more;
    ld.param.u64 %text, [text]; ld.param.u64 %at, [at];
    mov.u64 %there, there; cvta.shared.u64 %there, %there;
    mov.u64 %here, here; cvta.local.u64 %here, %here;
    mov.u32 %i, 0;
next:
    ld.u32 %word, [%text]; st.u32 [%there], %word; st.u32 [%here], %word;
    add.u64 %text, %text, 4; add.u64 %there, %there, 4; add.u64 %here, %here, 4;
    add.u32 %i, %i, 4; setp.lt.u32 %more, %i, 44; @%more bra next;
    sub.u64 %text, %text, 44; add.u64 %text, %text, %at;
    sub.u64 %there, %there, 44; add.u64 %there, %there, %at;
    sub.u64 %here, %here, 44; add.u64 %here, %here, %at;
    { .param .b64 f, a; .param .b32 r; st.param.b64 [f], %text; st.param.b64 [a], 0; call (r), vprintf, (f, a); }
    { .param .b64 f, a; .param .b32 r; st.param.b64 [f], %there; st.param.b64 [a], 0; call (r), vprintf, (f, a); }
    { .param .b64 f, a; .param .b32 r; st.param.b64 [f], %here; st.param.b64 [a], 0; call (r), vprintf, (f, a); }
    ret;
}";
    for zero in 0..=BYTES {
        let mut bytes: Vec<u8> = (0..BYTES).map(|i| b'a' + i as u8 % 26).collect();
        if let Some(byte) = bytes.get_mut(zero) {
            *byte = 0;
        }
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|four| u32::from_le_bytes(four.try_into().unwrap()))
            .collect();
        for at in 0..BYTES {
            let mut run = Run::of(ptx);
            let text = run.buffer(&words);
            let stats = run.launch(1, 1, &[text, at as u64], "lockstep").unwrap();
            let rest = bytes[at..].split(|byte| *byte == 0).next().unwrap();
            let once = std::str::from_utf8(rest).unwrap();
            // What lies behind a kernel's variables is still memory of its block or thread, and zero.
            assert_eq!(stats.output, once.repeat(3), "from {at}, zero at {zero}");
        }
    }
}
