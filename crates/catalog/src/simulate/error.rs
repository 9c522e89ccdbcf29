//! Errors of preparing a case or starting a run.

use simt::memory::MemoryError;
use simt::tensor_map::MapError;
use simt::{LowerError, Stop};

/// A case whose kernels can't be made ready.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrepareError {
    /// The catalogue was read without its PTX.
    #[error("the PTX `{file}` is missing")]
    NoPtx {
        /// The file.
        file: String,
    },
    /// The GPU runs none of its targets.
    #[error("the kernel is compiled for {targets}, which a GPU of compute capability {}.{} does not run", capability.0, capability.1)]
    OtherGpu {
        /// The targets.
        targets: String,
        /// The GPU's compute capability.
        capability: (u32, u32),
    },
    /// The compiler is to refuse it.
    #[error("the case cannot run, because the compiler refuses its kernel")]
    Refused,
    /// Not PTX, or PTX that the parser does not know.
    #[error("{file}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// What the parser says.
        message: String,
    },
    /// The kernel has no function of that name, or several.
    #[error("{file}: {found} of the kernels is named `{entry}`; available: {entries}")]
    Entry {
        /// The PTX file.
        file: String,
        /// The name in the case.
        entry: String,
        /// `none`, or how many.
        found: String,
        /// Those that are there.
        entries: String,
    },
    /// The simulator can't run such a program.
    #[error("{file}: {error}")]
    Lower {
        /// The PTX file.
        file: String,
        /// Why.
        error: LowerError,
    },
}

/// A run that could not be started, for a reason that lies in the case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimulateError {
    /// Too few or too many arguments.
    #[error("`{entry}` takes {wanted} argument(s), but gets {given}")]
    ArgumentCount {
        /// The kernel.
        entry: String,
        /// Its parameters.
        wanted: usize,
        /// The arguments.
        given: usize,
    },
    /// A tensor map that CUDA would refuse.
    #[error("the tensor map `{tensor}`: {error}")]
    Tensor {
        /// Its name.
        tensor: String,
        /// What is wrong.
        error: MapError,
    },
    /// An argument that does not fit its parameter.
    #[error("argument {index} of `{entry}` is {given}, but its parameter is a `.{wanted}`")]
    ArgumentType {
        /// The kernel.
        entry: String,
        /// Which, from 1.
        index: usize,
        /// What it is.
        given: String,
        /// The parameter's type.
        wanted: String,
    },
    /// The buffers don't fit.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A symbol that the module does not have.
    #[error("the kernel's file has no variable `{symbol}` (or no kernel of the case uses it)")]
    NoSymbol {
        /// The symbol.
        symbol: String,
    },
    /// A buffer that is longer than the variable that it is.
    #[error("`{symbol}` has {held} bytes in the kernel's file, but {bytes} bytes in the case")]
    ShortSymbol {
        /// The symbol.
        symbol: String,
        /// Its size.
        held: u64,
        /// The case's.
        bytes: u64,
    },
    /// A launch that is only watched did not come to its end.
    #[error("`{entry}` did not end: {stop}")]
    Stopped {
        /// The kernel.
        entry: String,
        /// Why.
        stop: Stop,
    },
    /// The sequential kernel that serves as an oracle did not come to its end.
    #[error("the oracle `{entry}` did not end: {stop}")]
    Oracle {
        /// The kernel.
        entry: String,
        /// Why.
        stop: Stop,
    },
}
