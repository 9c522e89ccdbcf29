//! Small kernels through the simulator, from PTX text to results in memory.

use ptx::parser::parse;
use simt::*;

struct Run {
    device: Device,
    program: Program,
    limits: Limits,
}

impl Run {
    fn of(ptx: &str) -> Run {
        let module = parse(ptx).unwrap_or_else(|e| panic!("{e}"));
        let entry = entries(&module)[0].to_owned();
        let program = Program::lower(&module, ptx, &entry).unwrap_or_else(|e| panic!("{e}"));
        Run {
            device: Device::new(1 << 28),
            program,
            limits: Limits::default(),
        }
    }

    fn buffer(&mut self, values: &[u32]) -> u64 {
        let at = self
            .device
            .alloc(values.len() as u64 * 4, "buffer")
            .unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.device.write(at, &bytes).unwrap();
        at
    }

    fn words(&self, at: u64, n: u64) -> Vec<u32> {
        let bytes = self.device.read(at, n * 4).unwrap();
        bytes
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
            .collect()
    }

    /// Launches under a schedule; the arguments are the parameters' values in order.
    fn launch(
        &mut self,
        grid: u32,
        block: u32,
        params: &[u64],
        schedule: &str,
    ) -> Result<Stats, Stop> {
        self.launch_with(grid, block, params, schedule, 0, false)
    }

    fn launch_with(
        &mut self,
        grid: u32,
        block: u32,
        params: &[u64],
        schedule: &str,
        dynamic_shared: u32,
        cooperative: bool,
    ) -> Result<Stats, Stop> {
        let mut bytes = vec![0; self.program.param_bytes as usize];
        for (info, value) in self.program.params.iter().zip(params) {
            let at = info.offset as usize;
            bytes[at..at + info.bytes as usize]
                .copy_from_slice(&value.to_le_bytes()[..info.bytes as usize]);
        }
        let how = Launch {
            grid: Dim3::linear(grid),
            block: Dim3::linear(block),
            dynamic_shared,
            params: bytes,
            cooperative,
            number: 0,
        };
        let schedule = schedule.parse().unwrap();
        launch_unwatched(
            &mut self.device,
            &self.program,
            &how,
            &schedule,
            &self.limits,
            2,
        )
    }
}

const HISTOGRAM: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .entry histogram(.param .u64 in, .param .u32 n, .param .u64 bins)
{
    .reg .pred %p<7>;
    .reg .b32 %r<31>;
    .reg .b64 %rd<12>;
    .shared .align 4 .b8 h[64];
    ld.param.u64 %rd3, [in];
    ld.param.u32 %r12, [n];
    ld.param.u64 %rd4, [bins];
    mov.u32 %r30, %tid.x;
    mov.u32 %r5, %ntid.x;
    setp.gt.u32 %p1, %r30, 15;
    @%p1 bra $L1;
    shl.b32 %r13, %r30, 2;
    mov.u32 %r14, h;
    add.s32 %r15, %r14, %r13;
    st.shared.u32 [%r15], 0;
$L1:
    bar.sync 0;
    mov.u32 %r17, %ctaid.x;
    mad.lo.s32 %r29, %r17, %r5, %r30;
    setp.ge.s32 %p3, %r29, %r12;
    @%p3 bra $L2;
    cvta.to.global.u64 %rd1, %rd3;
    mul.wide.s32 %rd5, %r29, 4;
    add.s64 %rd6, %rd1, %rd5;
    ld.global.u32 %r1, [%rd6];
    shl.b32 %r1, %r1, 2;
    mov.u32 %r20, h;
    add.s32 %r21, %r20, %r1;
    atom.shared.add.u32 %r22, [%r21], 1;
$L2:
    bar.sync 0;
    @%p1 bra $L3;
    cvta.to.global.u64 %rd2, %rd4;
    mul.wide.s32 %rd7, %r30, 4;
    add.s64 %rd8, %rd2, %rd7;
    ld.shared.u32 %r26, [%r15];
    atom.global.add.u32 %r27, [%rd8], %r26;
$L3:
    ret;
}
"#;

#[test]
fn histogram_counts_under_every_schedule() {
    for schedule in [
        "lockstep",
        "lane-by-lane",
        "random:1",
        "random:2",
        "pct:3:3",
        "replay:",
    ] {
        let mut run = Run::of(HISTOGRAM);
        let data: Vec<u32> = (0..500).map(|i| i * 7 % 16).collect();
        let input = run.buffer(&data);
        let bins = run.buffer(&[0; 16]);
        run.launch(8, 64, &[input, 500, bins], schedule)
            .unwrap_or_else(|e| panic!("{schedule}: {e}"));
        let expected: Vec<u32> = (0..16)
            .map(|b| data.iter().filter(|d| **d == b).count() as u32)
            .collect();
        let mut expected = expected;
        // The rest of 512 threads has no element.
        assert_eq!(
            run.words(bins, 16),
            std::mem::take(&mut expected),
            "{schedule}"
        );
    }
}

const SCHEDULES: [&str; 5] = [
    "lockstep",
    "lane-by-lane",
    "random:1",
    "random:2",
    "pct:3:3",
];

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

/// Tiles, a reduction over a tile, dynamic shared memory and a grid barrier.
#[test]
fn a_grid_barrier_waits_for_all_blocks() {
    for ptx in [
        include_str!("../../../ptx/tests/samples/groups.sm_75.ptx"),
        include_str!("../../../ptx/tests/samples/groups.sm_90.lineinfo.ptx"),
    ] {
        for schedule in SCHEDULES {
            let mut run = Run::of(ptx);
            let data: Vec<u32> = (0..1000).collect();
            let input = run.buffer(&data);
            let out = run.buffer(&[0; 8]);
            let ended = run.launch_with(5, 64, &[input, out, 1000], schedule, 8, true);
            ended.unwrap_or_else(|e| panic!("{schedule}: {e}"));
            assert_eq!(run.words(out, 1), [999 * 1000 / 2], "{schedule}");
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

/// Every block counts to `n`, or for ever where its number is `n`.
const COUNT: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .entry count(.param .u32 n, .param .u32 endless)
{
    .reg .pred %p<4>;
    .reg .b32 %r<6>;
    ld.param.u32 %r1, [n];
    ld.param.u32 %r2, [endless];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, 0;
$L1:
    add.s32 %r4, %r4, 1;
    setp.eq.u32 %p1, %r3, %r2;
    setp.lt.u32 %p2, %r4, %r1;
    or.pred %p3, %p1, %p2;
    @%p3 bra $L1;
    ret;
}
"#;

/// A spent budget is no lack of progress where blocks go on ending.
#[test]
fn a_long_launch_is_not_a_stuck_one() {
    const NOBODY: u64 = 1 << 20;
    let stop = |blocks: u32, n: u64, endless: u64, schedule: &str| {
        let mut run = Run::of(COUNT);
        run.limits.steps = 1_000_000;
        run.launch(blocks, 32, &[n, endless], schedule).unwrap_err()
    };
    for schedule in ["lockstep", "lane-by-lane"] {
        let long = stop(1000, 1000, NOBODY, schedule);
        let Stop::Budget {
            steps,
            ended,
            blocks,
        } = long
        else {
            panic!("{schedule}: {long}");
        };
        assert!(steps > 1_000_000 && blocks == 1000, "{schedule}");
        assert!(ended > 0 && ended < 1000, "{schedule}: {ended}");
    }
    for schedule in ["lockstep", "lane-by-lane"] {
        for (what, stuck) in [
            ("one of many blocks", stop(100, 10, 60, schedule)),
            ("the only block", stop(1, 10, 0, schedule)),
            ("a long block", stop(1, 1 << 30, NOBODY, schedule)),
        ] {
            assert!(
                matches!(stuck, Stop::NoProgress { .. }),
                "{schedule}, {what}: {stuck}"
            );
        }
    }
}

/// Each thread takes a spin lock, adds one, and gives it back.
const LOCK: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .entry lock(.param .u64 mutex, .param .u64 sum)
{
    .reg .pred %p<2>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [mutex];
    ld.param.u64 %rd2, [sum];
$L1:
    TAKE
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra $L1;
    fence.sc.gpu;
    ld.global.u32 %r2, [%rd2];
    add.s32 %r2, %r2, 1;
    st.global.u32 [%rd2], %r2;
    fence.sc.gpu;
    atom.global.exch.b32 %r3, [%rd1], 0;
    ret;
}
"#;

/// Who waits for a lock leaves the turn to others soon, whatever it asks with.
#[test]
fn waiting_for_a_lock_is_cheap() {
    for take in [
        "atom.global.cas.b32 %r1, [%rd1], 0, 1;",
        "atom.global.exch.b32 %r1, [%rd1], 1;",
        "atom.global.or.b32 %r1, [%rd1], 1;",
    ] {
        for schedule in ["lockstep", "lane-by-lane", "pct:3:2"] {
            let mut run = Run::of(&LOCK.replace("TAKE", take));
            let (mutex, sum) = (run.buffer(&[0]), run.buffer(&[0]));
            let stats = run.launch(3, 64, &[mutex, sum], schedule).unwrap();
            assert_eq!(run.words(sum, 1), [192], "{take} {schedule}");
            assert!(stats.steps < 400_000, "{take} {schedule}: {}", stats.steps);
        }
    }
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

/// A kernel that spins on the clock until so many cycles have passed, and stores them; with `poll`, it looks at memory meanwhile.
fn spins(poll: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 cycles)\n{{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .b64 %d<8>;\n\
         ld.param.u64 %d0, [out];\ncvta.to.global.u64 %d0, %d0;\nld.param.u64 %d1, [cycles];\nmov.u64 %d2, %clock64;\n\
         LOOP:\n{poll}\nmov.u64 %d3, %clock64;\nsub.s64 %d4, %d3, %d2;\nsetp.lt.s64 %p1, %d4, %d1;\n@%p1 bra LOOP;\n\
         st.global.u64 [%d0], %d4;\nret;\n}}\n"
    )
}

#[test]
fn a_loop_that_waits_for_time_alone_is_short() {
    // A second of a GPU's clock.
    let cycles = 1_600_000_000;
    let mut run = Run::of(&spins(""));
    let out = run.buffer(&[0; 2]);
    let stats = run.launch(1, 64, &[out, cycles], "lockstep").unwrap();
    assert!(stats.steps < 2000, "{} steps", stats.steps);
    let waited = u64::from(run.words(out, 2)[0]) | u64::from(run.words(out, 2)[1]) << 32;
    assert!((cycles..4 * cycles).contains(&waited), "{waited} cycles");
}

#[test]
fn a_loop_that_polls_memory_sees_time_pass_as_all_do() {
    let mut run = Run::of(&spins("ld.volatile.global.u32 %r1, [%d0];"));
    let out = run.buffer(&[0; 2]);
    let stats = run.launch(1, 32, &[out, 80_000], "lockstep").unwrap();
    assert!(stats.steps > 5000, "{} steps", stats.steps);
}

#[test]
fn more_shared_memory_than_there_can_be_is_refused() {
    for arrays in [
        ".shared .align 16 .b8 a[512];\n.shared .align 16 .b8 b[18446744073709551615];",
        ".shared .b8 a[4294967295];\n.shared .b8 b[4294967295];\n.shared .b8 c[16];",
    ] {
        let ptx = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n{arrays}\n\
             .reg .b32 %r<2>;\nmov.u32 %r1, a;\nst.shared.u32 [%r1], %r1;\nret;\n}}\n"
        );
        let mut run = Run::of(&ptx);
        let out = run.buffer(&[0]);
        let stopped = run.launch(1, 32, &[out], "lockstep").unwrap_err();
        assert!(stopped.to_string().contains("shared"), "{stopped}");
    }
}

/// Each thread copies an element of some size from `in` to `out`, by all sizes of accesses, in the lanes below `n`.
fn copies(element: u32, count: u32, class: &str) -> String {
    let letter = if class == "b64" { "rd" } else { "r" };
    let registers: Vec<String> = (0..count).map(|k| format!("%{letter}2{k}")).collect();
    let (value, vector) = match count {
        1 => (registers[0].clone(), String::new()),
        _ => (
            format!("{{{}}}", registers.join(", ")),
            format!(".v{count}"),
        ),
    };
    let bytes = element * count;
    format!(
        r#"
.version 8.8
.target sm_90
.address_size 64
.visible .entry copies(.param .u64 in, .param .u64 out, .param .u32 n)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<40>;
    .reg .b64 %rd<40>;
    .shared .align 32 .b8 tile[2048];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra $L1;
    mul.wide.u32 %rd3, %r2, {bytes};
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    cvt.u32.u64 %r3, %rd3;
    mov.u32 %r4, tile;
    add.s32 %r3, %r3, %r4;
    ld.global{vector}.u{bits} {value}, [%rd1];
    st.shared{vector}.u{bits} [%r3], {value};
    ld.shared{vector}.u{bits} {value}, [%r3];
    st.global{vector}.u{bits} [%rd2], {value};
$L1:
    ret;
}}
"#,
        bits = element * 8
    )
}

#[test]
fn elements_of_all_sizes_are_copied_by_full_warps_and_by_others() {
    for (element, count) in [
        (1, 1),
        (1, 2),
        (1, 4),
        (2, 1),
        (2, 2),
        (2, 4),
        (4, 1),
        (4, 2),
        (4, 4),
        (8, 1),
        (8, 2),
    ] {
        for class in ["b32", "b64"] {
            if element == 8 && class == "b32" {
                continue;
            }
            let mut run = Run::of(&copies(element, count, class));
            // One byte further in both, where that is aligned: then a warp's bytes do not begin with a word.
            for (threads, shift) in [(32, 0), (32, u64::from(element * count)), (45, 0), (1, 0)] {
                let values: Vec<u32> = (0..512u32).map(|i| i.wrapping_mul(0x9e37_79b1)).collect();
                let from = run.buffer(&values);
                let to = run.buffer(&[0x5555_5555; 512]);
                let size = u64::from(element * count);
                run.launch(1, 64, &[from + shift, to + shift, threads], "lockstep")
                    .unwrap();
                let given = run.device.read(from, 2048).unwrap();
                let got = run.device.read(to, 2048).unwrap();
                let copied = shift as usize..(shift + threads * size) as usize;
                for at in 0..2048 {
                    let expected = if copied.contains(&at) {
                        given[at]
                    } else {
                        0x55
                    };
                    assert_eq!(
                        got[at], expected,
                        "{element} x {count} {class}, {threads} threads, byte {at}"
                    );
                }
            }
        }
    }
}

/// Loads a narrow element into registers of all widths and stores these whole.
const WIDENED: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .entry widened(.param .u64 in, .param .u64 out)
{
    .reg .b16 %h<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd3, %r1;
    add.s64 %rd1, %rd1, %rd3;
    shl.b64 %rd3, %rd3, 5;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.s8 %r2, [%rd1];
    ld.global.u8 %r3, [%rd1];
    ld.global.s8 %rd4, [%rd1];
    ld.global.u8 %rd5, [%rd1];
    ld.global.s8 %h1, [%rd1];
    cvt.u32.u16 %r4, %h1;
    st.global.u32 [%rd2], %r2;
    st.global.u32 [%rd2+4], %r3;
    st.global.u64 [%rd2+8], %rd4;
    st.global.u64 [%rd2+16], %rd5;
    st.global.u32 [%rd2+24], %r4;
    ret;
}
"#;

#[test]
fn narrow_elements_are_extended_to_their_registers() {
    let mut run = Run::of(WIDENED);
    let bytes: Vec<u8> = (0..32u8).map(|i| i.wrapping_mul(37)).collect();
    let words: Vec<u32> = bytes
        .chunks(4)
        .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
        .collect();
    let from = run.buffer(&words);
    let to = run.buffer(&[0; 8 * 32]);
    for block in [32, 20] {
        run.launch(1, block, &[from, to], "lockstep").unwrap();
        let got = run.words(to, 8 * 32);
        for (byte, row) in bytes.iter().zip(got.chunks(8)).take(block as usize) {
            let signed = i64::from(*byte as i8);
            let expected = [
                signed as u32,
                u32::from(*byte),
                signed as u32,
                (signed >> 32) as u32,
                u32::from(*byte),
                0,
                u32::from(signed as u16),
            ];
            assert_eq!(row[..7], expected, "{byte}");
        }
    }
}

/// Traps in the blocks from the one of this number on; the others write their number.
const TRAPS: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .entry traps(.param .u64 out, .param .u32 first)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [first];
    mov.u32 %r2, %ctaid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 trap;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r2;
    ret;
}
"#;

#[test]
fn what_nobody_watches_fails_on_several_cores_as_on_one() {
    let mut run = Run::of(TRAPS);
    assert!(run.program.facts.blocks_commute && !run.program.facts.order_sources);
    for first in [0u32, 1, 37, 199] {
        let to = run.buffer(&[u32::MAX; 200]);
        let stopped = run.launch(200, 32, &[to, u64::from(first)], "lockstep");
        let Err(Stop::Trap { block, .. }) = stopped else {
            panic!("{stopped:?}");
        };
        assert_eq!(block.0, first);
        let written: Vec<u32> = (0..first).collect();
        assert_eq!(
            run.words(to, u64::from(first)),
            written,
            "blocks before it have run"
        );
    }
    let to = run.buffer(&[u32::MAX; 200]);
    let stats = run.launch(200, 32, &[to, 200], "lockstep").unwrap();
    assert!(stats.parallel);
}
