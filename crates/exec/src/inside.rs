//! A process that watches itself, as `racetrap.watch()` of Python does: it loads the library under the names by which others ask for the
//! driver and the runtime, before they do. The loader takes a library that it has already for one that is asked for by the same `DT_SONAME`
//! (glibc's `dlopen`; System V ABI, "Shared Object Dependencies"), so each name is an empty library of that name which brings the real one:
//! there is one library in the process, and one simulated device.
//!
//! Not seen: what the process has loaded before, and what it loads by the path of a file.

use crate::{library, run, stub_tools};
use context::options::{self, Options};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// What a process does to watch itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Variables that it sets, of its own environment.
    pub variables: Vec<(String, OsString)>,
    /// Libraries that it loads then, in this order, so that others see their symbols (`RTLD_GLOBAL`).
    pub load: Vec<PathBuf>,
}

/// The names by which the driver is asked for, and the runtime where its release does not matter (Numba 0.60).
const DRIVER: [&str; 3] = ["libcuda.so.1", "libcuda.so", "libcudart.so"];

/// Makes a folder for it.
///
/// # Errors
///
/// The folder can't be written.
pub fn prepare(library: &Path, folder: &Path, options: &Options) -> io::Result<Inside> {
    options.write(folder)?;
    let libraries = folder.join("lib");
    std::fs::create_dir_all(&libraries)?;
    library::install(library, &libraries, None)?;
    let own = folder.join("own");
    std::fs::create_dir_all(&own)?;
    let mut load = vec![library.to_owned()];
    for name in DRIVER {
        let file = own.join(name);
        std::fs::write(&file, stub_tools::forwarding_library(name, library))?;
        load.push(file);
    }
    let linker = own.join(run::LINKER);
    std::fs::write(&linker, stub_tools::empty_library(run::LINKER))?;
    load.push(linker);
    let mut variables = vec![
        (options::VARIABLE.to_owned(), folder.into()),
        ("CUPY_COMPILE_WITH_PTX".to_owned(), "1".into()),
        // Numba and Triton may look for files and not for names.
        ("NUMBA_CUDA_DRIVER".to_owned(), own.join(DRIVER[0]).into()),
        ("TRITON_LIBCUDA_PATH".to_owned(), libraries.into()),
    ];
    if std::env::var_os("TRITON_PTXAS_PATH").is_none() {
        let ptxas = stub_tools::ptxas(folder)?;
        variables.push(("TRITON_PTXAS_PATH".to_owned(), ptxas.into()));
    }
    Ok(Inside { variables, load })
}
