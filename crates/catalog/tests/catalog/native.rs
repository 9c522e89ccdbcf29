//! Judging a case by its results, with the simulator in the GPU's place: jobs are made, done and compared as on a GPU.

use catalog::load::{Catalog, Entry};
use catalog::native::{self, Native, Settings, probe};
use detect::rules::Rule;
use device::client::{ClientError, RunJob};
use device::error::{At, DeviceError};
use device::job::{Buffer, DeviceInfo, Done, Job, Launch, Param, Place, Reply, Step, StreamKind};
use ptx::parse;
use report::Verdict;
use session::{self, Command, Options, Order, Session};
use simt::{Dim3, Limits, Program, ScheduleSpec, Stop};
use std::time::Duration;

/// Does jobs on the simulator.
struct Simulated {
    schedule: ScheduleSpec,
    jobs: u32,
}

impl Simulated {
    fn new(schedule: ScheduleSpec) -> Simulated {
        Simulated { schedule, jobs: 0 }
    }
}

fn info() -> DeviceInfo {
    DeviceInfo {
        name: "simulator".to_owned(),
        driver: "none".to_owned(),
        compute_capability: (9, 0),
    }
}

impl RunJob for Simulated {
    fn run(&mut self, job: &Job, limit: Duration) -> Result<Reply, ClientError> {
        assert_eq!(job.problem(), None);
        self.jobs += 1;
        let options = Options {
            schedule: self.schedule.clone(),
            limits: Limits {
                steps: 4_000_000,
                ..Limits::default()
            },
            ..Options::default()
        };
        let order = order(job);
        let sequence = order.sequence(&self.schedule);
        let mut session = Session::ordered(options, order, job.steps.len());
        let module = (!job.ptx.is_empty()).then(|| parse(&job.ptx).unwrap());
        let programs: Vec<Option<Program>> = job
            .steps
            .iter()
            .map(|step| match (step, &module) {
                (Step::Launch(l), Some(module)) => {
                    Some(Program::lower(module, &job.ptx, &l.entry).unwrap())
                }
                _ => None,
            })
            .collect();
        for program in programs.iter().flatten() {
            session.device().load(program).unwrap();
        }
        let [addresses, host] = [&job.buffers, &job.host].map(|buffers| {
            let allocate = |buffer: &Buffer| {
                let device = session.device();
                let address = match &buffer.symbol {
                    Some(symbol) => device.variable(symbol).unwrap(),
                    None => device.alloc(buffer.bytes, "buffer").unwrap(),
                };
                if let Some(data) = &buffer.data
                    && !data.0.is_empty()
                {
                    device.write(address, &data.0).unwrap();
                }
                address
            };
            buffers.iter().map(allocate).collect::<Vec<u64>>()
        });
        let at = |place: &Place| match place {
            Place::Buffer { index, offset } => addresses[*index] + offset,
            Place::Host { index, offset } => host[*index] + offset,
        };
        let mut failed = None;
        for index in sequence {
            if !session.may_run(index) {
                continue;
            }
            let launch = match &job.steps[index] {
                Step::Launch(launch) => launch,
                Step::Copy {
                    from, to, bytes, ..
                }
                | Step::Host { from, to, bytes } => {
                    session.copy(index, at(from), at(to), *bytes, 4).unwrap();
                    continue;
                }
                step => panic!("{step:?} does nothing to memory"),
            };
            let program = programs[index].as_ref().unwrap();
            assert_eq!(launch.params.len(), program.params.len());
            let mut params = vec![0; program.param_bytes as usize];
            for (given, param) in launch.params.iter().zip(&program.params) {
                let bytes = match given {
                    Param::Buffer(index) => addresses[*index].to_le_bytes().to_vec(),
                    Param::Host(index) => host[*index].to_le_bytes().to_vec(),
                    Param::Bytes(bytes) => bytes.0.clone(),
                };
                assert_eq!(bytes.len(), param.bytes as usize);
                params[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
            }
            let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
            let how = simt::Launch {
                cluster: launch.cluster.map(dim),
                grid: dim(launch.grid),
                block: dim(launch.block),
                dynamic_shared: launch.shared,
                params,
                cooperative: launch.cooperative,
                number: index as u32,
            };
            if session.launch_as_numbered(program, &how).is_err() {
                failed = Some(index);
            }
        }
        let (outcome, device) = session.finish();
        if let Some(Stop::Deadlock { .. } | Stop::NoProgress { .. }) = outcome.stopped {
            return Err(ClientError::Hung {
                seconds: limit.as_secs_f64(),
            });
        }
        let out_of_bounds = outcome.findings.iter().any(|f| f.rule == Rule::OutOfBounds);
        if failed.is_some() || out_of_bounds {
            let error = DeviceError::Call {
                name: "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
                call: "cuStreamSynchronize".to_owned(),
                at: At::Step(failed.unwrap_or(0)),
                sticky: true,
            };
            return Ok(Reply::Failed {
                error,
                device: Some(info()),
                printed: String::new(),
            });
        }
        let read = |buffers: &[Buffer], addresses: &[u64], index: usize| {
            let bytes = buffers[index].read_bytes.unwrap_or(buffers[index].bytes);
            device.read(addresses[index], bytes).unwrap().into()
        };
        let device_memory = |i: &usize| read(&job.buffers, &addresses, *i);
        let host_memory = |i: &usize| read(&job.host, &host, *i);
        Ok(Reply::Done(Done {
            buffers: job.read.iter().map(device_memory).collect(),
            host: job.read_host.iter().map(host_memory).collect(),
            printed: outcome.output,
            nanoseconds: vec![1; job.steps.len()],
            intervals: vec![1000; job.intervals.len()],
            device: info(),
        }))
    }
}

fn order(job: &Job) -> Order {
    let streams = job.streams.keys().last().map_or(0, |last| last + 1);
    let kind = |stream: usize| match job.streams.get(&stream) {
        None => session::StreamKind::NonBlocking,
        Some(StreamKind::Blocking) => session::StreamKind::Blocking,
        Some(StreamKind::Legacy) => session::StreamKind::Legacy,
    };
    let commands: Vec<_> = job.steps.iter().map(command).collect();
    Order::new(&commands, &(0..streams).map(kind).collect::<Vec<_>>())
}

fn command(step: &Step) -> Command {
    match step {
        Step::Launch(Launch { stream, .. }) | Step::Copy { stream, .. } => {
            Command::Operation { stream: *stream }
        }
        Step::Host { .. } => Command::Host,
        Step::Record { event, stream } => Command::Record {
            event: *event,
            stream: *stream,
        },
        Step::Wait { event, stream } => Command::Wait {
            event: *event,
            stream: *stream,
        },
        Step::Synchronize { stream } => Command::Synchronize { stream: *stream },
    }
}

fn tried(catalog: &Catalog, entry: &Entry, runs: u32, schedule: ScheduleSpec) -> Native {
    let settings = Settings {
        runs,
        ..Settings::native()
    };
    let mut gpu = Simulated::new(schedule);
    native::run(catalog, entry, &mut gpu, &info(), &settings)
}

#[test]
fn every_case_becomes_a_job_with_the_right_results() {
    let catalog = Catalog::embedded().unwrap();
    let mut caught = 0;
    for entry in catalog.cases.iter().filter(|e| e.case.is_for_gpus()) {
        let native = tried(&catalog, entry, 3, ScheduleSpec::LaneByLane);
        let (id, summary) = (&entry.id, &native.summary);
        assert!(native.ok(), "{id}: {:?}: {summary}", native.verdict);
        assert!(native.receipt.runs >= 1, "{id}");
        if !entry.case.is_buggy() {
            assert_eq!(native.verdict, Verdict::Clean, "{id}: {summary}");
            assert_eq!(native.receipt.runs, 3);
        }
        caught += u32::from(native.verdict == Verdict::Caught);
    }
    assert!(caught >= 20, "{caught}");
}

#[test]
fn what_the_compiler_refuses_is_no_job() {
    let catalog = Catalog::embedded().unwrap();
    let entry = catalog.find("host/other-events").unwrap();
    let native = tried(&catalog, entry, 3, ScheduleSpec::Lockstep);
    assert_eq!(native.verdict, Verdict::Inconclusive);
    assert!(
        native.summary.contains("the compiler refuses") && !native.ok(),
        "{}",
        native.summary
    );
}

#[test]
fn a_wrong_result_is_shrunk() {
    let catalog = Catalog::embedded().unwrap();
    let entry = catalog.find("scan/warp/plain-pointer").unwrap();
    let native = tried(&catalog, entry, 8, ScheduleSpec::LaneByLane);
    assert_eq!(native.verdict, Verdict::Caught);
    assert!(native.receipt.wrong > 0 && native.receipt.first_wrong.is_some());
    let shown = native.counterexample.unwrap();
    assert_eq!(shown.schedule, None);
    assert!(shown.threads <= 32, "{shown}");
    assert!(
        native.summary.contains("of 8 runs: ") && native.summary.contains("expected"),
        "{}",
        native.summary
    );
}

#[test]
fn right_by_luck_is_no_promise() {
    let catalog = Catalog::embedded().unwrap();
    let entry = catalog.find("scan/warp/volatile").unwrap();
    // In lockstep the bug does not show.
    let native = tried(&catalog, entry, 5, ScheduleSpec::Lockstep);
    assert_eq!(native.verdict, Verdict::Missed);
    assert_eq!(native.summary, "right by luck on this GPU: 5 runs");
    assert_eq!((native.receipt.runs, native.receipt.wrong), (5, 0));
}

#[test]
fn a_correct_case_that_goes_wrong_fails() {
    let catalog = Catalog::embedded().unwrap();
    let mut entry = catalog.find("scan/warp/plain-pointer").unwrap().clone();
    // As if the bug were none.
    entry.case.twin = None;
    let native = tried(&catalog, &entry, 4, ScheduleSpec::LaneByLane);
    assert_eq!(native.verdict, Verdict::FalseAlarm);
    assert!(!native.ok());
}

#[test]
fn faults_and_hangs_end_the_trial() {
    let catalog = Catalog::embedded().unwrap();
    let no_guard = catalog.find("vector/no-guard").unwrap();
    let native = tried(&catalog, no_guard, 64, ScheduleSpec::Lockstep);
    assert_eq!(native.verdict, Verdict::Caught, "{}", native.summary);
    let error = native.receipt.error.unwrap();
    assert!(
        error.starts_with("CUDA_ERROR_ILLEGAL_ADDRESS in step 0"),
        "{error}"
    );
    assert!(native.receipt.runs < 64);

    let spins = catalog.find("barrier/spin-before-barrier").unwrap();
    let native = tried(&catalog, spins, 64, ScheduleSpec::Lockstep);
    assert_eq!(native.verdict, Verdict::Caught, "{}", native.summary);
    assert!(native.receipt.hung);
    assert_eq!(native.receipt.runs, 1);
}

#[test]
fn what_says_nothing_about_the_case_is_inconclusive() {
    struct Broken;
    impl RunJob for Broken {
        fn run(&mut self, _: &Job, _: Duration) -> Result<Reply, ClientError> {
            Err(ClientError::Killed {
                signal: 11,
                said: String::new(),
            })
        }
    }
    let catalog = Catalog::embedded().unwrap();
    for id in ["vector/add", "vector/no-guard"] {
        let entry = catalog.find(id).unwrap();
        let native = native::run(&catalog, entry, &mut Broken, &info(), &Settings::native());
        assert_eq!(native.verdict, Verdict::Inconclusive);
        assert!(!native.ok() && native.receipt.runs == 0);
        assert_eq!(
            native.receipt.error.as_deref(),
            Some("the device process was killed by signal 11")
        );
    }
    let error = probe(&mut Broken, Duration::from_secs(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the device process was killed by signal 11"
    );
}

#[test]
fn a_tool_gets_few_runs_and_no_shrinking() {
    let catalog = Catalog::embedded().unwrap();
    let entry = catalog.find("scan/warp/plain-pointer").unwrap();
    let settings = Settings::under("racecheck");
    let mut gpu = Simulated::new(ScheduleSpec::LaneByLane);
    let native = native::run(&catalog, entry, &mut gpu, &info(), &settings);
    assert_eq!(native.receipt.tool.as_deref(), Some("racecheck"));
    assert_eq!(native.receipt.runs, settings.runs);
    assert_eq!(gpu.jobs, settings.runs);
}

#[test]
fn the_largest_ptx_that_the_gpu_can_run_is_chosen() {
    use catalog::gpu::ptx;
    use catalog::simulate::Prepared;
    let catalog = Catalog::embedded().unwrap();
    let entry = catalog.find("vector/add").unwrap();
    let prepared = Prepared::new(&catalog, entry).unwrap();
    for (capability, target) in [
        ((7, 5), "sm_75"),
        ((8, 9), "sm_75"),
        ((9, 0), "sm_90"),
        ((12, 0), "sm_90"),
    ] {
        let text = ptx(&catalog, &prepared, capability).unwrap();
        let line = text.lines().find(|l| l.starts_with(".target")).unwrap();
        assert_eq!(line, format!(".target {target}"));
    }
}
