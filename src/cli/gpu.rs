//! The GPU of this machine, for commands that take `--device`.

use device::client::{Client, program};
use device::job::DeviceInfo;
use report::Failure;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name that stands for itself: it is looked for beside racetrap and in `PATH`.
pub const PROGRAM: &str = "racetrap-device";

/// How long the GPU may take to answer for the first time.
const PROBING: Duration = Duration::from_secs(60);

/// A client of the program that was named, and the GPU, which has answered it.
///
/// # Errors
///
/// There is no such program, or no GPU that it could use; `purpose` says what for: "cannot measure times".
pub fn answering(named: &Path, purpose: &str) -> Result<(PathBuf, Client, DeviceInfo), Failure> {
    let why_not = |why: &dyn std::error::Error| {
        Failure::inconclusive(format!("{purpose}, because there is no GPU: {why}"))
    };
    let path = match named.as_os_str() == PROGRAM {
        true => program().map_err(|e| why_not(&e))?,
        false => named.to_owned(),
    };
    let mut client = Client::of(path.clone(), ["--tied".into()]);
    let device = catalog::native::probe(&mut client, PROBING).map_err(|e| why_not(&e))?;
    Ok((path, client, device))
}
