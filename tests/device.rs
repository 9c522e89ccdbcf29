//! The catalogue on a GPU, one test a case.
//!
//! By themselves the tests are property tests: a case runs with 64 drawn inputs and geometries, and its results are compared with the
//! oracle's. Under a tool (the wrappers in `sanitizer/` set the variables below) it runs with a few, and is not judged here: the
//! wrapper does it by what the tool says, and by the receipt.
//!
//! With no GPU the simulator's race detector judges the cases instead, and the first line of the output says so.
//!
//! | variable | means |
//! |---|---|
//! | `RACETRAP_REQUIRE_GPU=1` | fail where there is no GPU |
//! | `RACETRAP_RECEIPT_DIR=FOLDER` | write a receipt for each case: `FOLDER/scan/warp/plain.json` |
//! | `RACETRAP_TOOL=NAME` | the tool that this process runs under |
//! | `RACETRAP_RECEIPT=FILE` | where to write the receipt then |

use catalog::case_result;
use catalog::load::{Catalog, Entry};
use catalog::native::{self, Settings};
use device::client::Client;
use device::job::DeviceInfo;
use device::receipt::Receipt;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long the driver may take to say what GPU there is; a tool makes it slow.
const PROBING: Duration = Duration::from_secs(60);

/// What all tests of this process share.
struct Setting {
    catalog: Catalog,
    /// The GPU, or why there is none.
    gpu: Result<DeviceInfo, String>,
    /// The process that said so, for the first test: under a tool, starting one takes its time.
    client: Mutex<Option<Client>>,
    required: bool,
    tool: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let catalog = match Catalog::embedded() {
        Ok(catalog) => catalog,
        Err(errors) => {
            eprintln!("{errors}");
            return ExitCode::FAILURE;
        }
    };
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut client = Client::new();
    let gpu = match &mut client {
        _ if arguments.list => Err("not looked for".to_owned()),
        Ok(client) => native::probe(client, PROBING),
        Err(error) => Err(error.to_string()),
    };
    let required = variable("RACETRAP_REQUIRE_GPU").is_some_and(|value| value == "1");
    if let (Err(reason), false, false) = (&gpu, arguments.list, required) {
        println!("no GPU: judged by the simulator ({reason})");
    }
    let setting = Arc::new(Setting {
        catalog,
        gpu,
        client: Mutex::new(client.ok()),
        required,
        tool: variable("RACETRAP_TOOL"),
    });
    // What the compiler refuses runs nowhere: `tests/refused.rs`.
    let cases = setting.catalog.cases.iter().enumerate();
    let for_gpus = cases.filter(|(_, entry)| entry.case.is_for_gpus());
    let trials = for_gpus.map(|(index, _)| {
        let shared = Arc::clone(&setting);
        let name = setting.catalog.cases[index].id.clone();
        Trial::test(name, move || test(&shared, &shared.catalog.cases[index]))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn test(setting: &Setting, entry: &Entry) -> Result<(), Failed> {
    match &setting.gpu {
        Ok(device) => on_gpu(setting, entry, device),
        Err(reason) => {
            leave(&Receipt {
                tool: setting.tool.clone(),
                error: Some(reason.clone()),
                ..Receipt::blank(&entry.id)
            })?;
            if setting.required {
                return Err(format!("no GPU, and RACETRAP_REQUIRE_GPU=1: {reason}").into());
            }
            on_simulator(setting, entry)
        }
    }
}

fn on_gpu(setting: &Setting, entry: &Entry, device: &DeviceInfo) -> Result<(), Failed> {
    let settings = match &setting.tool {
        Some(tool) => Settings::under(tool),
        None => Settings::native(),
    };
    let kept = setting.client.lock().map(|mut kept| kept.take());
    let mut client = match kept {
        Ok(Some(client)) => client,
        _ => Client::new()?,
    };
    let native = native::run(&setting.catalog, entry, &mut client, device, &settings);
    // The process must have ended, and its tool have written what it saw, before the receipt says that all is done.
    drop(client);
    leave(&native.receipt)?;
    let verdict = format!(
        "{}: {} on {device}: {}",
        entry.id,
        native.verdict.name(),
        native.summary
    );
    if setting.tool.is_some() {
        // Judged by what the tool says.
        println!("{verdict}");
        return Ok(());
    }
    if native.ok() {
        println!("{verdict}");
        return Ok(());
    }
    let mut text = verdict;
    if let Some(expected) = &entry.case.expect.native {
        text.push_str(&format!("\nexpected: {:?}", expected.verdict));
    }
    if let Some(counterexample) = &native.counterexample {
        text.push_str(&format!(
            "\nthe same on the simulator: racetrap replay {}",
            counterexample.token
        ));
    }
    Err(text.into())
}

fn on_simulator(setting: &Setting, entry: &Entry) -> Result<(), Failed> {
    let trial = case_result::run(&setting.catalog, entry, &case_result::Settings::default());
    let text = format!(
        "{}: {} on the simulator: {}",
        entry.id,
        trial.verdict.name(),
        trial.summary
    );
    if trial.ok() {
        return Ok(());
    }
    Err(format!("{text}\nshow it: racetrap run {} -v", entry.id).into())
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
