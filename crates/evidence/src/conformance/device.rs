//! A program on a GPU: a job for `racetrap-device`.

use super::build::{BLOCK, ENTRY, GRID, Program};
use device::client::{Client, ClientError, RunJob as _};
use device::error;
use device::job::{Buffer, DeviceInfo, Job, Launch, Param, Reply, Step};
use std::path::Path;
use std::time::Duration;

/// Why a program has no results from a GPU.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is no answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// It could not do it.
    #[error("the GPU did not run it: {0}")]
    Failed(error::DeviceError),
    /// It answered without the output buffer, or with one of another length.
    #[error("racetrap-device answered without the program's outputs")]
    Outputs,
}

/// A `racetrap-device` that programs are run by, one after the other.
#[derive(Debug)]
pub struct Gpu(Client);

impl Gpu {
    /// One of this program, whose driver's compiler optimises so far (0 to 4); the process is started with the first job.
    pub fn new(path: &Path, jit_level: Option<u8>) -> Gpu {
        let mut arguments = vec!["--tied".to_owned()];
        if let Some(level) = jit_level {
            arguments.extend(["--jit-level".to_owned(), level.to_string()]);
        }
        let client = Client::of(path.to_owned(), arguments.into_iter().map(Into::into));
        // No program is compiled twice: the driver's cache on disk, which all processes share, only costs time.
        Gpu(client.with_env("CUDA_CACHE_DISABLE", "1"))
    }

    /// Runs a program; returns its output buffer and which GPU it was. `limit` is the time for all of it, the
    /// compilation included.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn run(
        &mut self,
        program: &Program,
        limit: Duration,
    ) -> Result<(Vec<u8>, DeviceInfo), DeviceError> {
        match self.0.run(&job(program), limit)? {
            Reply::Done(mut done) => match done.buffers.pop() {
                Some(output) if output.0.len() == program.output_len() => {
                    Ok((output.0, done.device))
                }
                _ => Err(DeviceError::Outputs),
            },
            Reply::Failed { error, .. } => Err(DeviceError::Failed(error)),
        }
    }
}

fn job(program: &Program) -> Job {
    Job {
        ptx: program.ptx.clone(),
        buffers: vec![
            Buffer::of(program.input_bytes()),
            Buffer::uninitialized(program.output_len() as u64),
        ],
        steps: vec![Step::Launch(Launch {
            entry: ENTRY.to_owned(),
            grid: [GRID, 1, 1],
            block: [BLOCK, 1, 1],
            shared: 0,
            params: vec![Param::Buffer(0), Param::Buffer(1)],
            cooperative: false,
            cluster: None,
            dependent: false,
            stream: 0,
        })],
        read: vec![1],
        ..Job::default()
    }
}
