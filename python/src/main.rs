//! The command `racetrap` of the wheel; see `racetrap::cli`. Its libraries for whole programs lie beside it, and NVIDIA's wheels beside the
//! package.

use std::path::PathBuf;

/// What runs hold is counted, so that their limits on memory hold.
#[global_allocator]
static ALLOCATOR: meter::Metered = meter::Metered;

/// The newest toolkit that `pip install racetrap[cuda]` has brought: this program is `site-packages/racetrap/_bin/racetrap`, the compiler
/// `site-packages/nvidia/cu13/bin/nvcc`.
fn toolkit() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let packages = program.ancestors().nth(3)?.join("nvidia");
    let mut all: Vec<PathBuf> = std::fs::read_dir(packages)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| folder.join("bin/nvcc").is_file())
        .collect();
    all.sort();
    all.pop()
}

fn main() -> std::process::ExitCode {
    if let Some(folder) = toolkit() {
        toolchain::also_in(folder);
    }
    racetrap::cli::main()
}
