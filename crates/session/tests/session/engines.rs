//! Both engines do the same, to the byte: what a program leaves in memory and prints, what is found in it, what is counted, and how it ends.
//!
//! The programs ([`generate`]) look like compiled loops. Each runs on the plain engine ([`simt::Engine::Plain`]) and on the fast one, under several
//! schedules and on several cores, and everything in [`Outcome`] has to be the same. `ci/random.sh` draws other programs.
//!
//! [`judge`] compares what is found in them with the plain detector.
//!
//! Each shortcut of the fast engine was broken on purpose, once; the table says what noticed it. It was made before the programs of [`rare`] and those whose
//! threads keep to their own words were drawn.
//!
//! | shortcut | mistake | noticed by |
//! |---|---|---|
//! | bases remembered from access to access (now gone) | not renewed where loads are performed together | `kernels::a_store_goes_where_the_loop_has_moved_on_to`, `tests/programs/columns.cu` |
//! | `whole_row` | two halves of a warp taken for one row | memory |
//! | `whole_row` | of lanes that store to one word, the lowest wins | memory |
//! | `whole_row` | alignment not looked at | memory |
//! | `load_runs` | a load moved before an instruction that reads its destination | memory |
//! | `load_runs` | … that writes its destination | memory |
//! | `load_runs` | … that writes its address | memory |
//! | `load_run` | loads that were not performed count as performed | memory |
//! | `load_run` | unwritten words not looked at | findings |
//! | `load_run` | performed as a whole where the schedule counts accesses | steps |
//! | `inline` | inactive lanes are written | steps |
//! | `transfer` (words) | inactive lanes are written | memory |
//! | `whole_block` | threads that have exited not looked at | findings |
//! | `whole_block` | barriers at different places not told apart | findings |
//! | `word_update` | the new value returned | memory |
//! | `word_update` | first updates do not count as written | findings |
//! | `bounds` (range of the last access) | alignment not looked at | findings |
//! | `warp` (shuffles of all lanes) | a source out of range taken | memory |
//! | `hooks` (reads told together) | told after what came later | communication |
//! | `whole_block` | threads that went around the barrier before not looked at | not noticed here |
//! | `transfer` (bytes side by side) | a first byte in the middle of a word | not noticed here |
//! | reads and atomics that the race detector sets aside | forgotten instead of told; told with a later stamp | not noticed here: these programs race before it matters |

mod generate;
mod judge;
mod rare;

use generate::Kernel;
use proptest::prelude::*;
use ptx::parser::parse;
use session::{Options, Outcome, Session};
use simt::{Device, Dim3, Engine, Launch, Limits, Program, ScheduleSpec};

/// Schedules that are compared, besides lockstep on several cores.
const SCHEDULES: [&str; 7] = [
    "lockstep",
    "lane-by-lane",
    "in-step",
    "random:1",
    "pct:2:3",
    "weak",
    "weak:3",
];

/// Warp-instructions of a program: few of those that end take more, and each of those that never do takes all of them, sixteen times.
const STEPS: u64 = 20_000;

/// What memory holds at the beginning.
fn begun(kernel: &Kernel) -> Vec<u8> {
    let zeros = u64::from(kernel.zeros());
    let byte = |k: u64| match k < zeros {
        true => ((k * 37) >> 2) as u8,
        false => 0,
    };
    (0..kernel.bytes()).map(byte).collect()
}

fn launch(kernel: &Kernel, memory: u64) -> Launch {
    Launch {
        cluster: None,
        grid: Dim3::linear(kernel.blocks),
        block: Dim3::linear(kernel.threads),
        dynamic_shared: 0,
        params: memory.to_le_bytes().to_vec(),
        cooperative: kernel.cooperative,
        number: 0,
    }
}

/// Runs a kernel that nobody watches; how it ended, and what it left in memory.
fn run_unwatched(
    kernel: &Kernel,
    program: &Program,
    schedule: &str,
    engine: Engine,
) -> (String, Vec<u8>) {
    let schedule: ScheduleSpec = schedule.parse().unwrap();
    let limits = Limits {
        steps: STEPS,
        engine,
        ..Limits::default()
    };
    let mut device = Device::new(64 << 20);
    let memory = device.alloc(kernel.bytes(), "memory").unwrap();
    device.write(memory, &begun(kernel)).unwrap();
    device.load(program).unwrap();
    let how = launch(kernel, memory);
    let ended = simt::launch_unwatched(&mut device, program, &how, &schedule, &limits, 1);
    let left = device.read(memory, kernel.bytes()).unwrap();
    (format!("{ended:?}"), left)
}

/// Runs a kernel; what came of it, and what it left in memory.
fn run(
    kernel: &Kernel,
    program: &Program,
    schedule: &str,
    engine: Engine,
    jobs: usize,
) -> (Outcome, Vec<u8>) {
    let schedule: ScheduleSpec = schedule.parse().unwrap();
    let mut session = Session::new(Options {
        schedule,
        jobs,
        communication: true,
        perf: true,
        device_bytes: 64 << 20,
        limits: Limits {
            steps: STEPS,
            engine,
            ..Limits::default()
        },
    });
    let bytes = kernel.bytes();
    let memory = session.device().alloc(bytes, "memory").unwrap();
    session.device().write(memory, &begun(kernel)).unwrap();
    let _ = session.launch(program, &launch(kernel, memory));
    let (outcome, device) = session.finish();
    let left = device.read(memory, bytes).unwrap();
    (outcome, left)
}

/// Everything that is to be the same, one thing after the other.
fn parts(outcome: &Outcome) -> Vec<(&'static str, String)> {
    vec![
        ("end", format!("{:?}", outcome.stopped)),
        ("output", outcome.output.clone()),
        ("steps", outcome.steps.to_string()),
        ("independence", format!("{:?}", outcome.independence)),
        ("findings", format!("{:#?}", outcome.findings)),
        ("coverage", format!("{:?}", outcome.coverage)),
        ("communication", format!("{:?}", outcome.communication)),
        ("decisions", format!("{:?}", outcome.traces)),
    ]
}

fn engines_agree(kernel: &Kernel) -> Result<(), TestCaseError> {
    let ptx = kernel.ptx();
    let module = parse(&ptx).map_err(|e| TestCaseError::fail(format!("{e}\n{ptx}")))?;
    let program = Program::lower(&module, &ptx, "k")
        .map_err(|e| TestCaseError::fail(format!("{e}\n{ptx}")))?;
    for schedule in SCHEDULES {
        let (plain, expected) = run(kernel, &program, schedule, Engine::Plain, 1);
        let cores: &[usize] = match schedule {
            "lockstep" => &[1, 3],
            _ => &[1],
        };
        for jobs in cores {
            let (fast, left) = run(kernel, &program, schedule, Engine::Fast, *jobs);
            let place = (0..left.len()).find(|k| left[*k] != expected[*k]);
            prop_assert!(
                place.is_none(),
                "{schedule}, {jobs} cores: byte {place:?} of memory\n{ptx}"
            );
            for ((what, a), (_, b)) in parts(&plain).into_iter().zip(parts(&fast)) {
                prop_assert!(
                    a == b,
                    "{schedule}, {jobs} cores: {what}\nplain: {a}\nfast: {b}\n{ptx}"
                );
            }
        }
    }
    for schedule in ["lockstep", "random:1"] {
        let [plain, fast] = [Engine::Plain, Engine::Fast]
            .map(|engine| run_unwatched(kernel, &program, schedule, engine));
        prop_assert!(
            plain == fast,
            "{schedule}, unwatched\nplain: {}\nfast: {}\n{ptx}",
            plain.0,
            fast.0
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(testing::random(100))]
    #[test]
    fn both_engines_do_the_same(kernel in generate::kernel()) {
        engines_agree(&kernel)?;
    }
}
