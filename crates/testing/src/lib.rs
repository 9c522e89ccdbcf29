//! What the tests of all crates share. Nothing but tests depends on this crate.

use std::path::PathBuf;

/// The project's folder, where `kernels`, `cases` and `docs` are.
pub fn root() -> PathBuf {
    let crates = env!("CARGO_MANIFEST_DIR");
    let folder = PathBuf::from(crates).join("../..");
    folder.canonicalize().unwrap_or(folder)
}
