//! The cases of a catalogue as tests, one each: what [`catalog_tests!`](crate::catalog_tests) expands to.
//!
//! On the simulator a case is judged by the race detector and by its results. On a GPU the tests are property tests: a case runs with 64
//! drawn inputs and geometries, and its results are compared with the oracle's. Under a tool (`racetrap dev under`) it runs with a few,
//! and is not judged here: that command does it by what the tool says, and by the receipt.
//!
//! With no GPU where one was asked for, the simulator judges instead, and the first line of the output says so.
//!
//! | variable | means |
//! |---|---|
//! | `RACETRAP_ON=gpu` | run the cases on a GPU; the nextest profiles set it by their script `which-gpu` |
//! | `RACETRAP_REQUIRE_GPU=1` | the same, and fail where there is no GPU |
//! | `RACETRAP_RECEIPT_DIR=FOLDER` | write a receipt for each case: `FOLDER/scan/warp/plain.json` |
//! | `RACETRAP_TOOL=NAME` | the tool that this process runs under |
//! | `RACETRAP_RECEIPT=FILE` | where to write the receipt then |

use catalog::case_result;
use catalog::error::CatalogErrors;
use catalog::load::{Catalog, Entry};
use catalog::native::{self, Native, NoGpu, Settings};
use catalog::renew::{RenewError, renew};
use device::client::Client;
use device::job::DeviceInfo;
use device::receipt::Receipt;
use libtest_mimic::{Arguments, Failed, Trial};
use report::terminal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long the driver may take to say what GPU there is; a tool makes it slow.
const PROBING: Duration = Duration::from_secs(60);

/// What follows the name of a case that only the simulator and the compiler can judge.
const NO_GPU: &str = "@no-gpu";

/// Makes the `main` of a test program with one test for each case of a catalogue.
///
/// The folder has `kernels` and `cases`, and is named relative to the package. The test needs `harness = false` in `Cargo.toml`:
///
/// ```toml
/// [[test]]
/// name = "kernels"
/// harness = false
/// ```
///
/// ```no_run
/// racetrap::catalog_tests!(".", renew);
/// # #[cfg(any())]
/// # fn main() {}
/// ```
///
/// With `renew`, PTX that is older than its kernel is compiled again, and written, before the tests are listed. Without it, such PTX is an
/// error. By itself the program judges on the simulator, with `RACETRAP_ON=gpu` on a GPU. `racetrap new DIR` makes a project with all
/// that belongs to it: the profiles `gpu`, `racecheck`, `synccheck`, `memcheck` and `initcheck` of nextest, and archives for machines with
/// a GPU and without Rust.
///
/// A test has the name of its case. Cases that no GPU can judge (what the compiler must refuse, unified memory) end in `@no-gpu`.
#[macro_export]
macro_rules! catalog_tests {
    ($folder:expr) => {
        fn main() -> ::std::process::ExitCode {
            $crate::harness::main(env!("CARGO_MANIFEST_DIR"), $folder, false)
        }
    };
    ($folder:expr, renew) => {
        fn main() -> ::std::process::ExitCode {
            $crate::harness::main(env!("CARGO_MANIFEST_DIR"), $folder, true)
        }
    };
}

/// The `main` of a test program. `package` is the package's folder when it was built; an archive that runs elsewhere is told by
/// cargo's variable, which nextest maps.
pub fn main(package: &str, folder: &str, renew: bool) -> ExitCode {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map_or(package.into(), PathBuf::from);
    tests(&package.join(folder), renew, std::env::args_os())
}

/// Runs the tests of a catalogue, as the arguments of a test program say.
pub fn tests(
    folder: &Path,
    renew: bool,
    arguments: impl IntoIterator<Item = OsString>,
) -> ExitCode {
    let arguments = Arguments::from_iter(arguments);
    let catalog = match load(folder, renew) {
        Ok(catalog) => catalog,
        Err(error) => {
            eprintln!("error: {}: {error}", folder.display());
            return ExitCode::FAILURE;
        }
    };
    let setting = Arc::new(Setting::new(folder, catalog, arguments.list));
    let trials = setting.catalog.cases.iter().enumerate();
    let trials = trials.map(|(index, entry)| {
        let shared = Arc::clone(&setting);
        Trial::test(test_name(entry), move || {
            shared.test(&shared.catalog.cases[index])
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn test_name(entry: &Entry) -> String {
    match entry.case.is_for_gpus() {
        true => entry.id.clone(),
        false => format!("{}{NO_GPU}", entry.id),
    }
}

/// Why a catalogue can't be tested.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It is wrong, or PTX in it is missing or older than its kernel.
    #[error("{}", errors.renewed_by(command))]
    Catalog {
        /// What is wrong.
        errors: CatalogErrors,
        /// The command that makes the PTX.
        command: String,
    },
    /// PTX is missing or old, and there is no compiler to make it.
    #[error("{}\n{}", errors.renewed_by(command), compiler.render(false))]
    NoCompiler {
        /// What is wrong.
        errors: CatalogErrors,
        /// The command that makes the PTX.
        command: String,
        /// What to do about the compiler.
        compiler: report::Failure,
    },
    /// A kernel does not compile.
    #[error("{}", .0.render(false))]
    Compile(report::Failure),
    /// PTX can't be made for another reason.
    #[error(transparent)]
    Renew(RenewError),
}

/// Loads a catalogue. With `renewing`, PTX that is missing or older than its kernel is made first, and said.
///
/// # Errors
///
/// What is wrong with the catalogue; a kernel that does not compile; no compiler, where one is needed.
pub fn load(folder: &Path, renewing: bool) -> Result<Catalog, LoadError> {
    let command = format!("racetrap dev renew {}", folder.display());
    let errors = match Catalog::read(folder) {
        Ok(catalog) => return Ok(catalog),
        Err(errors) => errors,
    };
    if !renewing || !errors.are_renewable() {
        return Err(LoadError::Catalog { errors, command });
    }
    match renew(folder, false, 1, &|file| eprintln!("compiling {file}")) {
        Ok(_) => Catalog::read(folder).map_err(|errors| LoadError::Catalog { errors, command }),
        Err(RenewError::Compile(error @ toolchain::CompileError::NoCompiler(_))) => {
            Err(LoadError::NoCompiler {
                errors,
                command,
                compiler: ::check::input::refused(error).into(),
            })
        }
        Err(RenewError::Compile(error)) => {
            Err(LoadError::Compile(::check::input::refused(error).into()))
        }
        Err(error) => Err(LoadError::Renew(error)),
    }
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What all tests of this process share.
struct Setting {
    folder: PathBuf,
    catalog: Catalog,
    /// Whether to run on a GPU at all.
    on_gpu: bool,
    required: bool,
    tool: Option<String>,
    /// The GPU, or why there is none; found out before the first test. `None` where nobody looked.
    gpu: Option<Result<DeviceInfo, NoGpu>>,
    /// The process that said so, for the first test: under a tool, starting one takes its time.
    client: Mutex<Option<Client>>,
}

impl Setting {
    fn new(folder: &Path, catalog: Catalog, listing: bool) -> Setting {
        let required = variable("RACETRAP_REQUIRE_GPU").is_some_and(|value| value == "1");
        let tool = variable("RACETRAP_TOOL");
        let on_gpu =
            required || tool.is_some() || variable("RACETRAP_ON").is_some_and(|on| on == "gpu");
        let (gpu, client) = match (on_gpu && !listing).then(probe) {
            Some(Ok(Gpu { device, client })) => (Some(Ok(device)), Some(client)),
            Some(Err(reason)) => (Some(Err(reason)), None),
            None => (None, None),
        };
        if let (false, Some(Err(reason))) = (required, &gpu) {
            println!("no GPU: judged by the simulator ({reason})");
        }
        Setting {
            folder: folder.to_owned(),
            catalog,
            on_gpu,
            required,
            tool,
            gpu,
            client: Mutex::new(client),
        }
    }

    fn test(&self, entry: &Entry) -> Result<(), Failed> {
        if !self.on_gpu || !entry.case.is_for_gpus() {
            return on_simulator(&self.catalog, entry, &self.folder);
        }
        match &self.gpu {
            None => on_simulator(&self.catalog, entry, &self.folder),
            Some(Ok(device)) => self.on_gpu(entry, device),
            Some(Err(reason)) => {
                leave(&Receipt {
                    tool: self.tool.clone(),
                    error: Some(reason.to_string()),
                    ..Receipt::blank(&entry.id)
                })?;
                if self.required {
                    return Err(format!("no GPU, and RACETRAP_REQUIRE_GPU=1: {reason}").into());
                }
                on_simulator(&self.catalog, entry, &self.folder)
            }
        }
    }

    fn on_gpu(&self, entry: &Entry, device: &DeviceInfo) -> Result<(), Failed> {
        let settings = match &self.tool {
            Some(tool) => Settings::under(tool),
            None => Settings::native(),
        };
        let kept = self.client.lock().map(|mut kept| kept.take());
        let mut client = match kept {
            Ok(Some(client)) => client,
            _ => Client::new()?,
        };
        let native = native::run(&self.catalog, entry, &mut client, device, &settings);
        // The process must have ended, and its tool have written what it saw, before the receipt says that all is done.
        drop(client);
        leave(&native.receipt)?;
        let verdict = format!("{}: {}", entry.id, on_device(&native, device));
        // Under a tool, what the tool says is judged.
        if self.tool.is_some() || native.ok() {
            println!("{verdict}");
            return Ok(());
        }
        Err(against(entry, &native, verdict).into())
    }
}

/// A GPU, and the process that talks to it.
#[derive(Debug)]
pub struct Gpu {
    /// What it says of itself.
    pub device: DeviceInfo,
    /// The process.
    pub client: Client,
}

/// The GPU of this machine.
///
/// # Errors
///
/// There is none.
pub fn probe() -> Result<Gpu, NoGpu> {
    let mut client = Client::new()?;
    let device = native::probe(&mut client, PROBING)?;
    Ok(Gpu { device, client })
}

/// The verdict of a run on a GPU, in a line.
pub fn on_device(native: &Native, device: &DeviceInfo) -> String {
    format!("{} on {device}: {}", native.verdict.name(), native.summary)
}

/// What a verdict that is not expected is told with.
pub fn against(entry: &Entry, native: &Native, mut text: String) -> String {
    if let Some(expected) = &entry.case.expect.native {
        text.push_str(&format!("\nexpected: {:?}", expected.verdict));
    }
    if let Some(counterexample) = &native.counterexample {
        text.push_str(&format!(
            "\nthe same on the simulator: racetrap replay {}",
            counterexample.token
        ));
    }
    text
}

fn on_simulator(catalog: &Catalog, entry: &Entry, folder: &Path) -> Result<(), Failed> {
    let settings = case_result::Settings {
        of_project: true,
        ..case_result::Settings::default()
    };
    let result = case_result::run(catalog, entry, &settings);
    let mut text = format!(
        "{}: {} on the simulator: {}",
        entry.id,
        result.verdict.name(),
        result.summary
    );
    if result.ok() {
        return Ok(());
    }
    for diagnostic in &result.diagnostics {
        text.push_str("\n\n");
        text.push_str(terminal::diagnostic(diagnostic, false).trim_end());
    }
    for failed in &result.ptx {
        text.push_str("\n\n");
        text.push_str(failed);
    }
    if let Some(said) = &result.refusal {
        text.push_str("\n\n");
        text.push_str(said.trim_end());
    }
    let folder = folder.display();
    text.push_str(&format!(
        "\n\nshow it: racetrap run {} -v --catalog '{folder}'",
        entry.id
    ));
    if let Some(smallest) = &result.counterexample {
        text.push_str(&format!(
            "\nrepeat it: racetrap replay '{}' --catalog '{folder}'",
            smallest.token
        ));
    }
    Err(text.into())
}

/// Writes the receipt where it was asked for.
fn leave(receipt: &Receipt) -> Result<(), Failed> {
    if let Some(path) = std::env::var_os("RACETRAP_RECEIPT") {
        receipt.write(&PathBuf::from(path))?;
    }
    if let Some(folder) = std::env::var_os("RACETRAP_RECEIPT_DIR") {
        receipt.write(&PathBuf::from(folder).join(format!("{}.json", receipt.case)))?;
    }
    Ok(())
}
