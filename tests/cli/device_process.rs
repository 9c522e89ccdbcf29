//! The device process itself, with a stand-in for the driver (`tests/cli/driver.c`): memory, parameters, what is
//! printed, errors by name and place.
#![cfg(all(target_os = "linux", feature = "device"))]

use device::client::{Client, ClientError, RunJob as _, program};
use device::error::{At, DeviceError};
use device::job::{Buffer, Bytes, Done, Job, Launch, Param, Place, Reply, Step};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A client of a process whose driver is the stand-in.
struct Device {
    client: Client,
    _folder: tempfile::TempDir,
}

impl Device {
    fn with(variables: &[&str]) -> Device {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/driver.c");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", "-o"])
            .arg(folder.path().join("libcuda.so.1"))
            .arg(source)
            .status();
        assert!(status.unwrap().success());
        let mut arguments = vec![format!("LD_LIBRARY_PATH={}", folder.path().display())];
        arguments.extend(variables.iter().map(|v| (*v).to_owned()));
        arguments.push(program().unwrap().display().to_string());
        arguments.push("--tied".to_owned());
        Device {
            client: Client::of("env".into(), arguments.into_iter().map(Into::into)),
            _folder: folder,
        }
    }

    fn new() -> Device {
        Device::with(&[])
    }

    fn run(&mut self, job: &Job) -> Result<Reply, ClientError> {
        self.client.run(job, Duration::from_secs(30))
    }

    fn done(&mut self, job: &Job) -> Done {
        match self.run(job).unwrap() {
            Reply::Done(done) => done,
            Reply::Failed { error, .. } => panic!("{error}"),
        }
    }

    fn error(&mut self, job: &Job) -> DeviceError {
        match self.run(job).unwrap() {
            Reply::Done(done) => panic!("{done:?}"),
            Reply::Failed { error, .. } => error,
        }
    }
}

fn launch(entry: &str, params: Vec<Param>) -> Launch {
    Launch {
        entry: entry.to_owned(),
        grid: [2, 1, 1],
        block: [32, 1, 1],
        shared: 0,
        params,
        cooperative: false,
        cluster: None,
        dependent: false,
        stream: 0,
    }
}

fn job(launches: Vec<Launch>) -> Job {
    Job {
        ptx: ".version 8.0\n.target sm_75\n".to_owned(),
        steps: launches.into_iter().map(Step::Launch).collect(),
        ..Job::default()
    }
}

fn int(value: i32) -> Param {
    Param::Bytes(value.to_le_bytes().to_vec().into())
}

fn ints(bytes: &Bytes) -> Vec<i32> {
    bytes
        .0
        .chunks_exact(4)
        .map(|c| i32::from_le_bytes(c.try_into().unwrap()))
        .collect()
}

fn buffer(values: &[i32]) -> Buffer {
    Buffer::of(values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

#[test]
fn kernels_get_their_parameters_and_leave_their_results() {
    let mut device = Device::new();
    let job = Job {
        buffers: vec![
            buffer(&[9, 9]),
            buffer(&[1, 2, 3]),
            Buffer::uninitialized(4),
        ],
        read: vec![1, 0, 2],
        ..job(vec![
            launch("add", vec![Param::Buffer(1), int(10), int(3)]),
            launch("add", vec![Param::Buffer(1), int(-1), int(2)]),
        ])
    };
    let done = device.done(&job);
    let results: Vec<_> = done.buffers.iter().map(ints).collect();
    // The stand-in's fresh memory is no zeros: nobody has written the third one.
    assert_eq!(
        results,
        [vec![10, 11, 13], vec![9, 9], vec![0xa5a5_a5a5_u32 as i32]]
    );
    assert_eq!(done.nanoseconds, [2500, 2500]);
    assert_eq!(
        done.device.to_string(),
        format!(
            "stand-in, compute capability 9.0, driver {}",
            done.device.driver
        )
    );
    assert!(done.device.driver.contains("CUDA 13.0"));
}

#[test]
fn nothing_is_left_of_a_job() {
    let mut device = Device::new();
    let one = Job {
        buffers: vec![buffer(&[1]), Buffer::uninitialized(0)],
        host: vec![buffer(&[1])],
        ..job(vec![launch("memory", vec![])])
    };
    for _ in 0..3 {
        assert_eq!(device.done(&one).printed, "2\n");
    }
    assert_eq!(device.client.started(), 1);
}

#[test]
fn what_kernels_print_is_no_answer() {
    let mut device = Device::new();
    let mut loud = launch("print", vec![int(7)]);
    loud.cooperative = true;
    let done = device.done(&job(vec![loud, launch("print", vec![int(-8)])]));
    assert_eq!(
        done.printed,
        "cooperative\nthread 0 says 7\nthread 0 says -8\n"
    );
    assert_eq!(device.done(&job(vec![])).printed, "");
}

#[test]
fn a_launch_in_clusters_says_so_by_its_attribute() {
    let mut clustered = launch("print", vec![int(7)]);
    clustered.cluster = Some([2, 1, 1]);
    let done = Device::new().done(&job(vec![clustered]));
    assert_eq!(done.printed, "attribute 4: 2 1 1\nthread 0 says 7\n");
}

#[test]
fn parameters_that_are_not_given_are_zero() {
    let done = Device::new().done(&job(vec![launch("print", vec![])]));
    assert_eq!(done.printed, "thread 0 says 0\n");
}

#[test]
fn copies_streams_and_events() {
    let mut device = Device::new();
    let place = |index, offset| Place::Buffer { index, offset };
    let host = |index, offset| Place::Host { index, offset };
    let copy = |from, to, bytes, stream| Step::Copy {
        from,
        to,
        bytes,
        stream,
    };
    let done = device.done(&Job {
        buffers: vec![buffer(&[1, 2, 3, 4]), Buffer::uninitialized(8)],
        host: vec![buffer(&[7, 8]), Buffer::uninitialized(8)],
        steps: vec![
            copy(host(0, 4), place(0, 0), 4, 0),
            Step::Record {
                event: 5,
                stream: 0,
            },
            Step::Wait {
                event: 5,
                stream: 1,
            },
            copy(place(0, 0), place(1, 0), 8, 1),
            Step::Synchronize { stream: 1 },
            copy(place(1, 4), host(1, 0), 4, 2),
            copy(place(1, 4), host(1, 4), 0, 2),
        ],
        read: vec![0, 1],
        read_host: vec![1],
        ..Job::default()
    });
    let buffers: Vec<_> = done.buffers.iter().map(ints).collect();
    assert_eq!(buffers, [vec![8, 2, 3, 4], vec![8, 2]]);
    assert_eq!(ints(&done.host[0]), [2, 0]);
}

#[test]
fn intervals_are_timed_in_place_of_launches() {
    let mut device = Device::new();
    let mut job = job(vec![launch("print", vec![int(1)])]);
    let record = |event| Step::Record { event, stream: 0 };
    job.steps.insert(0, record(3));
    job.steps.push(record(1));
    job.intervals = vec![[3, 1]];
    let done = device.done(&job);
    assert_eq!((done.intervals, done.nanoseconds), (vec![2500], vec![]));
    job.intervals.push([3, 2]);
    assert_eq!(
        device.error(&job).to_string(),
        "invalid job: an interval uses event 2, which is never recorded"
    );
}

#[test]
fn the_host_copies_and_variables_are_found() {
    let mut device = Device::new();
    let host = |index, offset| Place::Host { index, offset };
    let variable = |symbol: &str, bytes, data| Buffer {
        bytes,
        data,
        read_bytes: None,
        symbol: Some(symbol.to_owned()),
    };
    let mut job = job(vec![]);
    job.buffers = vec![variable("table", 12, None)];
    job.host = vec![buffer(&[7, 8]), Buffer::uninitialized(8)];
    job.steps = vec![
        Step::Host {
            from: host(0, 4),
            to: host(1, 0),
            bytes: 4,
        },
        Step::Copy {
            from: host(0, 0),
            to: Place::Buffer {
                index: 0,
                offset: 4,
            },
            bytes: 4,
            stream: 0,
        },
    ];
    job.read = vec![0];
    job.read_host = vec![1];
    let done = device.done(&job);
    assert_eq!(ints(&done.buffers[0]), [10, 7, 30]);
    assert_eq!(ints(&done.host[0]), [8, 0]);
    job.buffers[0].bytes = 20;
    assert_eq!(
        device.error(&job).to_string(),
        "the PTX has no variable `table` of at least 20 bytes"
    );
    job.steps[0] = Step::Host {
        from: host(0, 0),
        to: Place::Buffer {
            index: 0,
            offset: 0,
        },
        bytes: 4,
    };
    assert_eq!(
        device.error(&job).to_string(),
        "invalid job: step 0: the host can copy only host memory"
    );
}

#[test]
fn only_what_is_asked_for_is_read() {
    let mut long = buffer(&[1, 2, 3]);
    long.read_bytes = Some(8);
    let done = Device::new().done(&Job {
        buffers: vec![long],
        read: vec![0],
        ..Job::default()
    });
    assert_eq!(ints(&done.buffers[0]), [1, 2]);
}

#[test]
fn more_than_48_kib_of_shared_memory_are_asked_for() {
    let mut device = Device::new();
    let with = |kib: u32| {
        let mut launch = launch("print", vec![int(1)]);
        launch.shared = kib << 10;
        job(vec![launch])
    };
    device.done(&with(200));
    let error = device.error(&with(228));
    let expected = DeviceError::Call {
        name: "CUDA_ERROR_INVALID_VALUE".to_owned(),
        call: "cuFuncSetAttribute".to_owned(),
        at: At::Step(0),
        sticky: false,
    };
    assert_eq!(error, expected);
}

#[test]
fn errors_before_a_kernel_runs_end_the_job_alone() {
    let mut device = Device::new();
    let mut ptx = job(vec![]);
    ptx.ptx = "nonsense".to_owned();
    let error = device.error(&ptx).to_string();
    assert!(
        error.contains("CUDA_ERROR_INVALID_PTX") && error.contains("near 'nonsense'"),
        "{error}"
    );
    ptx.ptx = "//\n.version 99.1\n".to_owned();
    let error = device.error(&ptx).to_string();
    assert!(error.contains("too old for PTX version 99.1"), "{error}");
    let error = device.error(&job(vec![
        launch("print", vec![]),
        launch("nowhere", vec![]),
    ]));
    assert_eq!(error.to_string(), "step 1: the PTX has no kernel `nowhere`");
    let error = device.error(&job(vec![launch("add", vec![Param::Buffer(0)])]));
    assert_eq!(
        error.to_string(),
        "invalid job: step 0: there is no buffer 0"
    );
    let mut large = launch("print", vec![]);
    large.block = [2048, 1, 1];
    let error = device.error(&job(vec![large]));
    assert!(
        error.to_string().contains("larger than the GPU allows"),
        "{error}"
    );
    assert_eq!(device.client.started(), 1);
}

#[test]
fn a_kernel_that_faults_costs_the_process() {
    let mut device = Device::new();
    let faulty = job(vec![
        launch("print", vec![int(3)]),
        launch("fault", vec![]),
        launch("print", vec![int(4)]),
    ]);
    let Reply::Failed {
        error,
        printed,
        device: info,
    } = device.run(&faulty).unwrap()
    else {
        panic!("not failed")
    };
    let expected = DeviceError::Call {
        name: "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
        call: "cuStreamSynchronize".to_owned(),
        at: At::Step(1),
        sticky: true,
    };
    assert_eq!(error, expected);
    assert!(error.is_of_the_kernel());
    assert_eq!(printed, "thread 0 says 3\n");
    assert_eq!(info.unwrap().name, "stand-in");
    // The next job has a new one.
    assert_eq!(
        device.done(&job(vec![launch("print", vec![])])).printed,
        "thread 0 says 0\n"
    );
    assert_eq!(device.client.started(), 2);
}

#[test]
fn on_several_streams_the_step_is_the_latest_possible() {
    let mut other = launch("print", vec![]);
    other.stream = 1;
    let mut job = job(vec![launch("fault", vec![]), other]);
    job.steps.push(Step::Synchronize { stream: 1 });
    let error = Device::new().error(&job);
    assert!(
        matches!(
            error,
            DeviceError::Call {
                at: At::UpTo(2),
                sticky: true,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_kernel_that_hangs_or_kills_its_process_is_told() {
    let mut device = Device::new();
    let hangs = job(vec![launch("hang", vec![])]);
    let error = device
        .client
        .run(&hangs, Duration::from_secs(1))
        .unwrap_err();
    assert!(matches!(error, ClientError::Hung { .. }), "{error}");
    let error = device.run(&job(vec![launch("crash", vec![])])).unwrap_err();
    assert!(
        matches!(error, ClientError::Killed { signal: 9, .. }),
        "{error}"
    );
    device.done(&Job::default());
    assert_eq!(device.client.started(), 3);
}

#[test]
fn a_driver_with_no_gpu_is_no_lack_of_a_driver() {
    let error = Device::with(&["STAND_IN_NO_DEVICE=1"]).error(&Job::default());
    assert_eq!(
        error.to_string(),
        "CUDA_ERROR_NO_DEVICE: there is a driver, but no GPU that this process may use"
    );
}

#[test]
fn only_the_device_process_needs_the_driver() {
    // The loader lists the libraries that a program needs, and does not start it.
    let needs_driver = |program: &Path| {
        let listed = Command::new(program)
            .env("LD_TRACE_LOADED_OBJECTS", "1")
            .output()
            .unwrap();
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        assert!(listed.contains("libc.so"), "{listed}");
        listed.contains("libcuda.so.1")
    };
    assert!(needs_driver(&program().unwrap()));
    assert!(!needs_driver(Path::new(env!("CARGO_BIN_EXE_racetrap"))));
}
