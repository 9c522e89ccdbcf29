//! The catalogue on our own `libcuda.so.1`, with `racetrap-device` and its client crate `cust` as they are, and no GPU: what
//! `racetrap exec` tells of each case is what the simulator tells of the same runs, finding by finding.
//!
//! Each case runs in a process of its own under `racetrap exec`: this program again, as [`client`]. Left out is what is of only one of
//! the two: findings about the API's use, places in the host's part (a case's YAML there, the Rust of `racetrap-device` here), and
//! cases with unified memory, which no job can describe.

use catalog::draw::{Draws, runner};
use catalog::gpu::{self, JobError};
use catalog::load::{Catalog, Entry};
use catalog::plan::{Plan, plan};
use catalog::simulate::Prepared;
use detect::rules::{Level, Rule};
use device::client::{Client, RunJob as _};
use device::job::{Job, Reply};
use proptest::strategy::{Strategy as _, ValueTree as _};
use report::{merge, settle_causes};
use serde_json::Value;
use simt::ScheduleSpec;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const RACETRAP: &str = env!("CARGO_BIN_EXE_racetrap");
/// The file with the jobs that this process is the client for.
const JOBS: &str = "RACETRAP_TEST_LIBRARY_JOBS";
/// Runs of a case: the largest sizes, the smallest ones, and one between.
const RUNS: u32 = 3;
/// The GPU that both simulate: whose PTX the catalogue's simulator runs.
const CAPABILITY: (u32, u32) = (9, 0);

/// The runs of a case, the same wherever they are drawn.
fn plans(entry: &Entry) -> Vec<Plan> {
    let mut random = runner(0, &entry.id);
    let draw = |run| {
        let draws = Draws {
            case: &entry.case,
            schedule: Some(ScheduleSpec::Lockstep),
            weak: false,
            run,
        };
        let draw = draws.new_tree(&mut random).expect("a run").current();
        let sizes = draw.sizes(&entry.case).expect("sizes");
        plan(&entry.case, sizes, draw.inputs).expect("a plan")
    };
    (0..RUNS).map(draw).collect()
}

/// A rule, and the guilty lines of the kernel.
type Told = BTreeSet<(String, Vec<u64>)>;

fn is_of_the_api(rule: &str) -> bool {
    [Rule::InvalidApiUse, Rule::UncheckedError, Rule::Leak]
        .iter()
        .any(|r| r.name() == rule)
}

/// What the simulator finds in those runs.
fn simulated(catalog: &Catalog, entry: &Entry) -> Told {
    let prepared = Prepared::new(catalog, entry).expect("prepared");
    let mut all = Vec::new();
    for plan in plans(entry) {
        let ran = prepared
            .run(&plan, &ScheduleSpec::Lockstep, None)
            .expect("a run");
        merge(
            &mut all,
            prepared.diagnose(&plan, &ran, ran.findings.iter()),
        );
        // A kernel that goes wrong ends its process, and that is the case's last run on a GPU.
        if ran.stopped.is_some() {
            break;
        }
    }
    settle_causes(&mut all);
    let file = entry.kernel_file();
    let told = all.iter().filter(|d| d.level > Level::Note).map(|d| {
        let here = d
            .labels
            .iter()
            .filter(|l| l.is_guilty() && l.source.path == file);
        let mut lines: Vec<u64> = here.map(|l| l.line.into()).collect();
        lines.sort_unstable();
        lines.dedup();
        (d.rule.name().to_owned(), lines)
    });
    told.collect()
}

/// What `racetrap exec` finds in them.
fn executed(catalog: &Catalog, entry: &Entry) -> Result<Told, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let report = folder.path().join("report.json");
    let jobs = folder.path().join("jobs.json");
    let text = serde_json::to_vec(&all_jobs(catalog, entry)).map_err(|e| e.to_string())?;
    std::fs::write(&jobs, text).map_err(|e| e.to_string())?;
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(RACETRAP);
    let device = format!("sm_{}{}", CAPABILITY.0, CAPABILITY.1);
    // The simulator's run is one, too.
    let often = ["--first", "1000000", "--schedules", "1"];
    command.arg("exec").args(often).args(["--device", &device]);
    if let Some(steps) = entry.case.limits.steps {
        command.args(["--max-steps", &steps.to_string()]);
    } else {
        command.args(["--max-steps", "20000000"]);
    }
    command.args(["--format", "json", "--report"]).arg(&report);
    command
        .arg("--")
        .arg(this)
        .args(["--exact", "client", "--nocapture"]);
    let output = command
        .env(JOBS, &jobs)
        .output()
        .map_err(|e| e.to_string())?;
    let said = || {
        let (out, err) = (&output.stdout, &output.stderr);
        format!(
            "{}{}",
            String::from_utf8_lossy(out),
            String::from_utf8_lossy(err)
        )
    };
    if !String::from_utf8_lossy(&output.stdout).contains("all runs are done") {
        return Err(format!("the client has not come to its end:\n{}", said()));
    }
    let text = std::fs::read(&report).map_err(|e| format!("{e}\n{}", said()))?;
    let report: Value = serde_json::from_slice(&text).map_err(|e| format!("{e}\n{}", said()))?;
    let findings = report["checks"][0]["findings"]
        .as_array()
        .ok_or("no findings")?;
    let file = entry.kernel_file();
    let told = findings
        .iter()
        .filter(|f| f["level"] != "note")
        .map(|finding| {
            let places = finding["places"].as_array().cloned().unwrap_or_default();
            let here = places
                .iter()
                .filter(|p| p["role"] == "guilty" && p["file"] == file);
            let mut lines: Vec<u64> = here.filter_map(|p| p["line"].as_u64()).collect();
            lines.sort_unstable();
            lines.dedup();
            (
                finding["rule"].as_str().unwrap_or_default().to_owned(),
                lines,
            )
        });
    Ok(told.filter(|(rule, _)| !is_of_the_api(rule)).collect())
}

/// The runs of a case, as `racetrap-device` gets them.
fn all_jobs(catalog: &Catalog, entry: &Entry) -> Vec<Job> {
    let prepared = Prepared::new(catalog, entry).expect("prepared");
    let ptx = gpu::ptx(catalog, &prepared, CAPABILITY).expect("PTX");
    let plans = plans(entry).into_iter();
    plans
        .map(|plan| gpu::job(&prepared, &plan, ptx).expect("a job"))
        .collect()
}

/// The program under `racetrap exec`: gives the runs of one case to `racetrap-device`. It does not open the catalogue, which takes longer.
#[test]
fn client() {
    let Some(path) = std::env::var_os(JOBS) else {
        return;
    };
    let text = std::fs::read(path).expect("the jobs");
    let jobs: Vec<Job> = serde_json::from_slice(&text).expect("jobs");
    let mut client = Client::new().expect("racetrap-device");
    for job in jobs {
        match client.run(&job, Duration::from_secs(60)) {
            Ok(Reply::Done(_)) => {}
            Ok(Reply::Failed { error, .. }) => {
                assert!(error.is_of_the_kernel(), "{error}");
                break;
            }
            Err(error) => panic!("{error}"),
        }
    }
    drop(client);
    println!("all runs are done");
}

#[test]
fn the_catalogue_is_judged_on_our_library_as_on_the_simulator() {
    let catalog = Catalog::embedded().expect("the catalogue");
    let managed = |entry: &Entry| {
        let prepared = Prepared::new(&catalog, entry).expect("prepared");
        let job = gpu::job(&prepared, &plans(entry)[0], "");
        matches!(job, Err(JobError::Managed { .. }))
    };
    let wanted: Vec<&Entry> = (catalog.cases.iter())
        .filter(|entry| entry.case.is_for_gpus() && !managed(entry))
        .collect();
    assert!(wanted.len() > 200, "{}", wanted.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(entry) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let simulated = simulated(&catalog, entry);
            match executed(&catalog, entry) {
                Ok(told) if told == simulated => {}
                Ok(told) => wrong.push(format!(
                    "{}:\n  only on the simulator: {:?}\n  only on the library: {:?}",
                    entry.id,
                    simulated.difference(&told).collect::<Vec<_>>(),
                    told.difference(&simulated).collect::<Vec<_>>()
                )),
                Err(why) => wrong.push(format!("{}: {why}", entry.id)),
            }
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        let all = threads.into_iter().map(|t| t.join().expect("a thread"));
        all.flatten().collect()
    });
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        wanted.len(),
        wrong.join("\n")
    );
}
