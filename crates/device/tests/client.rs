//! The client of the device process against programs that stand in for it: every way in which a process can fail to
//! answer is told apart, and none of them leaves anything running.
#![cfg(unix)]

extern crate racetrap_device_client as device;

use device::client::{Client, ClientError, RunJob as _};
use device::job::{Job, Reply};
use std::time::{Duration, Instant};

const DONE: &str = r#"{"done":{"buffers":["AQI="],"printed":"","nanoseconds":[5],"device":{"name":"none","driver":"1","compute_capability":[9,0]}}}"#;

/// A client of a shell script.
fn client(script: &str) -> Client {
    let script = script.replace("DONE", &format!("'{DONE}'"));
    Client::of("/bin/sh".into(), ["-c".into(), script.into()])
}

fn run(client: &mut Client) -> Result<Reply, ClientError> {
    client.run(&Job::default(), Duration::from_secs(20))
}

fn failure(script: &str) -> ClientError {
    run(&mut client(script)).expect_err(script)
}

#[test]
fn one_process_serves_many_jobs() {
    let mut client = client("while read -r job; do echo DONE; done");
    for _ in 0..64 {
        let Reply::Done(done) = run(&mut client).unwrap() else {
            panic!("not done")
        };
        assert_eq!(
            (done.buffers[0].0.as_slice(), done.nanoseconds[0]),
            (&[1, 2][..], 5)
        );
    }
    assert_eq!(client.started(), 1);
}

#[test]
fn a_job_of_many_bytes_blocks_nobody() {
    // More than a pipe holds, to a process that reads nothing.
    let mut client = client("echo DONE; exec sleep 1");
    let job = Job {
        ptx: "x".repeat(1 << 20),
        ..Job::default()
    };
    let began = Instant::now();
    assert!(client.run(&job, Duration::from_secs(20)).is_ok());
    // And to one that never answers.
    let mut client = self::client("exec sleep 60");
    let error = client.run(&job, Duration::from_millis(200)).unwrap_err();
    assert!(matches!(error, ClientError::Hung { .. }), "{error}");
    drop(client);
    assert!(began.elapsed() < Duration::from_secs(45));
}

#[test]
fn a_process_that_hangs_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let mut client = client(&format!(
        "echo $$ > {}; read -r job; exec sleep 60",
        pid.display()
    ));
    let began = Instant::now();
    let error = client
        .run(&Job::default(), Duration::from_millis(500))
        .unwrap_err();
    assert!(
        matches!(error, ClientError::Hung { seconds } if seconds == 0.5),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "the job did not end within 0.5 s; its process was killed"
    );
    assert!(began.elapsed() < Duration::from_secs(10));
    let pid = std::fs::read_to_string(pid).unwrap();
    let alive = std::path::Path::new("/proc").join(pid.trim());
    assert!(!alive.exists(), "{}", alive.display());
}

#[test]
fn a_process_that_ends_is_told_by_its_status() {
    let error = failure("read -r job; echo went wrong >&2; exit 3");
    assert_eq!(
        error.to_string(),
        "the device process ended with status 3 without an answer; its output: went wrong"
    );
    assert!(matches!(error, ClientError::Exited { code: 3, .. }));
    // Ending well with no answer is no better.
    let error = failure("read -r job; exit 0");
    assert!(
        matches!(error, ClientError::Exited { code: 0, .. }),
        "{error}"
    );
}

#[test]
fn a_process_that_is_killed_is_told_by_its_signal() {
    let error = failure("read -r job; kill -11 $$");
    assert!(
        matches!(error, ClientError::Killed { signal: 11, .. }),
        "{error}"
    );
}

#[test]
fn no_driver_is_said_plainly() {
    let error = failure("echo 'libcuda.so.1: cannot open shared object file' >&2; exit 127");
    assert_eq!(
        error.to_string(),
        "this machine has no NVIDIA driver: libcuda.so.1: cannot open shared object file"
    );
    assert!(error.is_absence());
}

#[test]
fn no_program_is_an_error_of_its_own() {
    let mut client = Client::of("/nowhere/racetrap-device".into(), []);
    let error = run(&mut client).unwrap_err();
    assert!(matches!(error, ClientError::Start { .. }), "{error}");
    assert!(error.is_absence());
}

#[test]
fn an_answer_that_is_none_is_refused() {
    let mut client = client("while read -r job; do echo hello; done");
    for started in 1..3 {
        let error = run(&mut client).unwrap_err();
        assert!(matches!(error, ClientError::Garbage { .. }), "{error}");
        // Who knows what it would say next.
        assert_eq!(client.started(), started);
    }
    let error = failure("read -r job; printf 'no end of line'");
    assert!(matches!(error, ClientError::Garbage { .. }), "{error}");
}

#[test]
fn what_was_not_asked_for_is_not_taken_for_the_next_answer() {
    let mut client = client("while read -r job; do echo DONE; echo DONE; done");
    assert!(run(&mut client).is_ok());
    std::thread::sleep(Duration::from_millis(200));
    assert!(run(&mut client).is_ok());
    assert_eq!(client.started(), 2);
}

#[test]
fn a_process_that_died_is_replaced() {
    let mut client = client("read -r job; echo DONE");
    for _ in 0..3 {
        assert!(run(&mut client).is_ok());
        // Until its end is known.
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(client.started(), 3);
}

#[test]
fn after_an_error_that_stays_there_is_a_new_process() {
    let failed = r#"{"failed":{"error":{"call":{"name":"CUDA_ERROR_ASSERT","call":"cuStreamSynchronize","at":{"step":0},"sticky":true}},"device":null,"printed":"a"}}"#;
    let mut client = client(&format!("read -r job; echo '{failed}'; exit 1"));
    for started in 1..4 {
        let Reply::Failed { error, printed, .. } = run(&mut client).unwrap() else {
            panic!("not failed")
        };
        assert_eq!(
            (error.name(), printed.as_str()),
            (Some("CUDA_ERROR_ASSERT"), "a")
        );
        assert_eq!(client.started(), started);
    }
}

#[test]
fn an_idle_process_may_end_in_good_order() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ended");
    let mut client = client(&format!(
        "while read -r job; do echo DONE; done; sleep 0.2; : > {}",
        file.display()
    ));
    assert!(run(&mut client).is_ok());
    drop(client);
    assert!(file.exists());
}
