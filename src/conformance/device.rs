//! A program on a GPU: a conversation with `racetrap-device`, a line of JSON each way.

use super::build::{BLOCK, ENTRY, GRID, Program};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Why a program has no results from a GPU.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The process does not start.
    #[error("can't start {path}: {error}")]
    Start {
        /// Its path.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The process does not listen or answer any more.
    #[error("racetrap-device went away: {0}")]
    Gone(String),
    /// It took too long, and was killed.
    #[error("no results in {0} s: the kernel or its compilation hangs")]
    Hung(u64),
    /// It could not do it.
    #[error("the GPU did not run it: {0}")]
    Failed(String),
    /// It answered something else.
    #[error("racetrap-device answered what was not asked: {0}")]
    Answer(String),
}

/// What a GPU says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub name: String,
    /// The driver's version.
    pub driver: String,
}

/// A running `racetrap-device`.
#[derive(Debug)]
pub struct Gpu {
    child: Child,
    /// To a thread that writes: a process that does not read must not block this one.
    jobs: Option<Sender<String>>,
    replies: Receiver<String>,
}

impl Gpu {
    /// Starts the process.
    ///
    /// # Errors
    /// [`DeviceError::Start`].
    pub fn start(path: &Path) -> Result<Gpu, DeviceError> {
        let failed = |error| DeviceError::Start {
            path: path.display().to_string(),
            error,
        };
        let mut child = Command::new(path)
            .arg("--tied")
            // No program is compiled twice: the driver's cache on disk, which all processes share, only costs time.
            .env("CUDA_CACHE_DISABLE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (jobs, to_write) = channel::<String>();
        let (answers, replies) = channel();
        if let Some(mut input) = child.stdin.take() {
            std::thread::spawn(move || {
                for job in to_write {
                    if writeln!(input, "{job}")
                        .and_then(|()| input.flush())
                        .is_err()
                    {
                        return;
                    }
                }
            });
        }
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines() {
                    if line.map(|line| answers.send(line)).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Gpu {
            child,
            jobs: Some(jobs),
            replies,
        })
    }

    /// Runs a program; returns its output buffer and which GPU it was. After an error the process is not to be used again.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn run(
        &mut self,
        program: &Program,
        limit: Duration,
    ) -> Result<(Vec<u8>, About), DeviceError> {
        let input = program.input_bytes();
        let job = json!({
            "ptx": program.ptx,
            "buffers": [
                { "bytes": input.len(), "data": STANDARD.encode(&input) },
                { "bytes": program.output_len() },
            ],
            "steps": [{ "launch": {
                "entry": ENTRY,
                "grid": [GRID, 1, 1],
                "block": [BLOCK, 1, 1],
                "params": [{ "buffer": 0 }, { "buffer": 1 }],
            }}],
            "read": [1],
        });
        let gone = || DeviceError::Gone("it ended with no answer".into());
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(job.to_string()).map_err(|_| gone())?;
        let line = self
            .replies
            .recv_timeout(limit)
            .map_err(|error| match error {
                RecvTimeoutError::Timeout => DeviceError::Hung(limit.as_secs()),
                RecvTimeoutError::Disconnected => gone(),
            });
        if line.is_err() {
            let _ = self.child.kill();
        }
        let line = line?;
        let answer: Value =
            serde_json::from_str(&line).map_err(|e| DeviceError::Answer(e.to_string()))?;
        if let Some(failed) = answer.get("failed") {
            return Err(DeviceError::Failed(failed["error"].to_string()));
        }
        let done = &answer["done"];
        let output = done["buffers"][0]
            .as_str()
            .and_then(|text| STANDARD.decode(text).ok());
        let text = |key: &str| done["device"][key].as_str().unwrap_or("unknown").to_owned();
        match output {
            Some(bytes) if bytes.len() == program.output_len() => Ok((
                bytes,
                About {
                    name: text("name"),
                    driver: text("driver"),
                },
            )),
            _ => Err(DeviceError::Answer(line.chars().take(200).collect())),
        }
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // Nothing is under way that anybody waits for.
        self.jobs = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
