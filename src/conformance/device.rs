//! A program on a GPU: a conversation with `racetrap-device`, a line of JSON each way.

use super::build::{BLOCK, ENTRY, GRID, Program};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

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
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
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
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let to = child.stdin.take();
        let from = child
            .stdout
            .take()
            .ok_or_else(|| failed(std::io::Error::other("it has no standard output")))?;
        Ok(Gpu {
            child,
            to,
            from: BufReader::new(from),
        })
    }

    /// Runs a program; returns its output buffer and which GPU it was.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn run(&mut self, program: &Program) -> Result<(Vec<u8>, About), DeviceError> {
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
        let gone = |error: std::io::Error| DeviceError::Gone(error.to_string());
        let to = self
            .to
            .as_mut()
            .ok_or_else(|| DeviceError::Gone("it was stopped".into()))?;
        writeln!(to, "{job}")
            .and_then(|()| to.flush())
            .map_err(gone)?;
        let mut line = String::new();
        if self.from.read_line(&mut line).map_err(gone)? == 0 {
            return Err(DeviceError::Gone("it closed its output".into()));
        }
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
        // The end of its input is the end of the process.
        self.to = None;
        let _ = self.child.wait();
    }
}
