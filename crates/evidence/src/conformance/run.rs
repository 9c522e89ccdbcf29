//! A program on the simulator.

use super::build::{BLOCK, ENTRY, GRID, Program};
use ptx;
use simt::memory::MemoryError;
use simt::{self, Device, Dim3, Launch, Limits, LowerError, ScheduleSpec, Stop, launch_unwatched};

/// Why a program has no results on the simulator.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be read.
    #[error("the simulator does not read it: {0}")]
    Parse(String),
    /// It could not be decoded.
    #[error("the simulator does not decode it: {0}")]
    Lower(#[from] LowerError),
    /// Memory could not be had or read.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// It did not come to its end.
    #[error(transparent)]
    Stopped(#[from] Stop),
}

/// Runs a program and returns its output buffer.
///
/// # Errors
/// [`RunError`].
pub fn simulate(program: &Program) -> Result<Vec<u8>, RunError> {
    let module = ptx::parse(&program.ptx).map_err(|e| RunError::Parse(e.to_string()))?;
    let kernel = simt::Program::lower(&module, &program.ptx, ENTRY)?;
    let mut device = Device::new(1 << 28);
    let input = program.input_bytes();
    let from = device.alloc(input.len() as u64, "in")?;
    let length = program.output_len() as u64;
    let to = device.alloc(length, "out")?;
    device.write(from, &input)?;
    device.write(to, &vec![0; length as usize])?;
    let how = Launch {
        cluster: None,
        grid: Dim3::linear(GRID),
        block: Dim3::linear(BLOCK),
        dynamic_shared: 0,
        params: [from.to_le_bytes(), to.to_le_bytes()].concat(),
        cooperative: false,
        number: 0,
    };
    let limits = Limits::default();
    let schedule = &ScheduleSpec::Lockstep;
    launch_unwatched(&mut device, &kernel, &how, schedule, &limits, 1)?;
    Ok(device.read(to, length)?)
}
