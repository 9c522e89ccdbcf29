//! What the tests of all crates share: the project's folder, and the programs that some of them need.
//!
//! A test that needs a program which this machine lacks is skipped: it says so, and is counted in the file that
//! `RACETRAP_SKIPPED` names. With `RACETRAP_REQUIRE_TOOLS=1` it fails instead. `ci/test.sh` sets both; under nextest,
//! which hides what passing tests print, `ci/which-tools.sh` says before the tests what is missing.
//!
//! ```no_run
//! # fn test() {
//! let Some(nvcc) = testing::needs_nvcc() else {
//!     return;
//! };
//! # }
//! # use racetrap_testing as testing;
//! ```
//!
//! Tests that draw their cases draw the same ones each time: whether a change passes is the change's doing. `RACETRAP_RANDOM=20` draws 20
//! times as many, and others each time; each test prints its seed, and `PROPTEST_RNG_SEED` with the same `RACETRAP_RANDOM` repeats it.
//! `ci/random.sh` does so for as long as one likes.

pub mod packages;

use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use toolchain::{Nvcc, Program, Searched, find_program};

/// How a random test draws: `cases` of them, always the same ones, unless `RACETRAP_RANDOM` or `PROPTEST_RNG_SEED` asks for others.
pub fn random(cases: u32) -> ProptestConfig {
    let times = std::env::var("RACETRAP_RANDOM").ok();
    let times = times.and_then(|times| times.parse::<u32>().ok());
    let mut config = ProptestConfig {
        cases: cases.saturating_mul(times.unwrap_or(1)),
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if matches!(config.rng_seed, RngSeed::Random) {
        let seed = match times {
            None => 1,
            Some(_) => rand::random(),
        };
        config.rng_seed = RngSeed::Fixed(seed);
    }
    if let (Some(_), RngSeed::Fixed(seed)) = (times, config.rng_seed) {
        println!("PROPTEST_RNG_SEED={seed}");
    }
    config
}

/// The project's folder, where `kernels`, `cases` and `docs` are.
pub fn root() -> PathBuf {
    let crates = env!("CARGO_MANIFEST_DIR");
    let folder = PathBuf::from(crates).join("../..");
    folder.canonicalize().unwrap_or(folder)
}

/// All Rust sources below a folder.
///
/// # Panics
/// The folder can't be read.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder that can be read");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let below = |path: PathBuf| match path.is_dir() {
        true => sources(&path),
        false if path.extension().is_some_and(|e| e == "rs") => vec![path],
        false => Vec::new(),
    };
    paths.flat_map(below).collect()
}

/// The CUDA compiler, or nothing where the test is to be skipped.
pub fn needs_nvcc() -> Option<Nvcc> {
    found("nvcc", Nvcc::find())
}

/// The assembler of PTX, or nothing where the test is to be skipped.
pub fn needs_ptxas() -> Option<Program> {
    found("ptxas", find_program("ptxas"))
}

/// The folder with GoogleTest's `include` and `lib`, or nothing where the test is to be skipped.
pub fn needs_googletest() -> Option<PathBuf> {
    needs_client("gtest", "GoogleTest")
}

/// The folder of a Python environment with Numba and the compiler that it uses, or nothing where the test is to be skipped.
pub fn needs_numba() -> Option<PathBuf> {
    needs_client("numba", "Numba")
}

/// The folder of a Python environment with numba-cuda and NVIDIA's bindings, or nothing where the test is to be skipped.
pub fn needs_numba_cuda() -> Option<PathBuf> {
    needs_client("numba-cuda", "numba-cuda")
}

/// The folder with CMake's `bin`, or nothing where the test is to be skipped.
pub fn needs_cmake() -> Option<PathBuf> {
    needs_client("cmake", "CMake")
}

fn needs_client(name: &str, title: &str) -> Option<PathBuf> {
    let folder = root().join(".toolchain/clients").join(name);
    if folder.join("ready").is_file() {
        return Some(folder);
    }
    lacks(&format!(
        "there is no {title} in {}; ci/clients.sh puts it there without root",
        folder.display()
    ));
    None
}

fn found<T>(tool: &str, result: Result<T, Searched>) -> Option<T> {
    match result {
        Ok(found) => Some(found),
        Err(Searched(places)) => {
            lacks(&format!(
                "there is no {tool} in {}; ci/cuda-toolkit.sh installs it without root",
                places.join(", ")
            ));
            None
        }
    }
}

/// Skips the running test for what this machine lacks, or fails it if that is required.
fn lacks(reason: &str) {
    let required = std::env::var("RACETRAP_REQUIRE_TOOLS").is_ok_and(|v| v == "1");
    assert!(!required, "RACETRAP_REQUIRE_TOOLS=1, but {reason}");
    skip(reason);
}

/// Says that the running test checks nothing here, and counts it as skipped; the test returns then.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("SKIPPED {}: {reason}\n", thread.name().unwrap_or("a test"));
    eprint!("{line}");
    if let Some(log) = std::env::var_os("RACETRAP_SKIPPED").filter(|log| !log.is_empty()) {
        let log = PathBuf::from(log);
        let opened = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&log);
        // One write, so that tests that run side by side do not mix their lines.
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", log.display()));
    }
}
