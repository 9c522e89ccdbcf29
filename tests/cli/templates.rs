//! The templates for CI services, run step by step as the services do, in a clean folder: `action.yml`, the workflow for GitHub, the job
//! for GitLab, and the hook's configuration. Stand-ins take the place of what is installed (`cargo install`, `apt-get`,
//! `racetrap setup`); a step that calls anything else that is not there fails.

#![cfg(unix)]

mod gpu;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const KERNEL: &str = "\
__global__ void kernel(int *data) {
    __shared__ int tile[256];
    tile[threadIdx.x] = data[threadIdx.x];
    data[threadIdx.x] = tile[255 - threadIdx.x];
}
";

/// A step and the variables that it sets.
struct Step {
    run: String,
    variables: BTreeMap<String, String>,
}

/// A machine of a service: a folder with a project, and programs that say what they were called with.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Option<Machine> {
        testing::needs_nvcc()?;
        let machine = Machine {
            folder: tempfile::tempdir().unwrap(),
        };
        let here = machine.folder.path();
        fs::create_dir_all(here.join("src")).unwrap();
        fs::write(here.join("src/kernel.cu"), KERNEL).unwrap();
        let tools = Path::new(ROOT).join(".toolchain");
        if tools.is_dir() {
            std::os::unix::fs::symlink(tools, here.join(".toolchain")).unwrap();
        }
        let log = here.join("called.txt");
        let say = format!("echo \"$(basename \"$0\") $*\" >>'{}'", log.display());
        for name in ["cargo", "apt-get", "docker"] {
            machine.program(name, &say);
        }
        // Of racetrap's own repository, it fetches what is there.
        machine.program(
            "curl",
            &format!("{say}\nfor last; do :; done\ncp '{ROOT}'/\"${{last##*/raw/main/}}\" ."),
        );
        let racetrap = env!("CARGO_BIN_EXE_racetrap");
        machine.program(
            "racetrap",
            &format!("{say}\n[[ $1 == setup ]] && exit\nexec '{racetrap}' \"$@\""),
        );
        Some(machine)
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.folder.path().join("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/usr/bin/env bash\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a step as the services do: `bash -e`, in the project's folder. Its output, and its status.
    fn run(&self, step: &Step) -> (String, i32) {
        let here = self.folder.path();
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.run])
            .current_dir(here)
            .env_clear()
            .env("HOME", here.join("home"))
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", here.join("bin").display()),
            )
            .envs(std::env::var_os("CUDA_PATH").map(|path| ("CUDA_PATH", path)))
            .env("GITHUB_STEP_SUMMARY", here.join("summary.md"))
            .env("GITHUB_ACTION_PATH", ROOT)
            .envs(&step.variables)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (
            String::from_utf8_lossy(&text).into_owned(),
            output.status.code().unwrap_or(-1),
        )
    }

    fn read(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

fn yaml(name: &str) -> Value {
    let text = fs::read_to_string(Path::new(ROOT).join(name)).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The steps that run a command; `inputs` are the action's, its defaults where they are not given.
fn steps(all: &Value, inputs: &BTreeMap<&str, String>) -> Vec<Step> {
    let filled = |value: &Value| {
        let mut text = value.as_str().unwrap_or_default().to_owned();
        for (name, value) in inputs {
            text = text.replace(&format!("${{{{ inputs.{name} }}}}"), value);
        }
        // What the service knows about the job and where the action comes from.
        let known = [
            ("github.job }}-${{ strategy.job-index", "races-0"),
            (
                "inputs.release || format('{0}/{1}/releases/download/{2}', github.server_url, github.action_repository, github.action_ref)",
                "/no/release",
            ),
        ];
        for (name, is) in known {
            text = text.replace(&format!("${{{{ {name} }}}}"), is);
        }
        assert!(!text.contains("${{"), "not filled in: {text}");
        text
    };
    let all = all.as_array().expect("steps").iter();
    all.filter(|step| step.get("run").is_some())
        .map(|step| {
            let env = step.get("env").and_then(Value::as_object);
            let variables = env.into_iter().flatten();
            Step {
                run: filled(&step["run"]),
                variables: variables
                    .map(|(name, value)| (name.clone(), filled(value)))
                    .collect(),
            }
        })
        .collect()
}

/// Runs all steps; only the last may fail, and must: the kernel has a race.
fn run(machine: &Machine, steps: &[Step]) -> String {
    let (last, before) = steps.split_last().expect("steps");
    for step in before {
        let (shown, status) = machine.run(step);
        assert_eq!(status, 0, "{}\n{shown}", step.run);
    }
    let (shown, status) = machine.run(last);
    assert_eq!(status, 1, "{}\n{shown}", last.run);
    shown
}

#[test]
fn the_action() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let action = yaml("action.yml");
    let mut inputs = defaults(&action);
    inputs.insert("files", "src/*.cu".to_owned());
    let steps = steps(&action["runs"]["steps"], &inputs);
    let shown = run(&machine, &steps);
    assert!(shown.contains("::error file="), "{shown}");
    assert!(machine.read("summary.md").contains("findings"));
    assert!(
        machine
            .read("racetrap-reports/racetrap.sarif")
            .contains("data-race")
    );
    // What is kept as an artifact is there.
    let kept = action["runs"]["steps"].as_array().unwrap().iter();
    let kept = kept.filter(|step| step["uses"].as_str() == Some("actions/upload-artifact@v4"));
    let kept = kept.filter_map(|step| step["with"]["path"].as_str());
    for path in kept {
        assert!(machine.folder.path().join(path).exists(), "{path}");
    }
    // racetrap was there, and was not installed again.
    assert!(!machine.read("called.txt").contains("cargo"));
}

/// One log for all files, with one run for each job of a matrix; lines of `files` bring options of their own, and quoted blanks stay.
#[test]
fn the_action_checks_several_files_by_their_own_options() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let here = machine.folder.path();
    fs::write(here.join("src/a copy.cu"), KERNEL).unwrap();
    fs::write(
        here.join("src/right.cu"),
        KERNEL.replace("tile[255 - threadIdx.x]", "tile[threadIdx.x]"),
    )
    .unwrap();
    let files = "src/*.cu\n\n'src/a copy.cu' src/none*.cu --block 64 --arg 'data=i32[64]:iota'";
    let step = Step {
        run: format!("{ROOT}/ci/action.sh"),
        variables: [
            ("RACETRAP_FILES", files),
            ("RACETRAP_OPTIONS", "--deny 'warning'"),
            ("RACETRAP_CATEGORY", "racetrap-races-3"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect(),
    };
    let (shown, status) = machine.run(&step);
    assert_eq!(status, 1, "{shown}");
    let called = machine.read("called.txt");
    let checks: Vec<&str> = called
        .lines()
        .filter(|l| l.starts_with("racetrap check"))
        .collect();
    assert_eq!(checks.len(), 3, "{called}");
    let own = |check: &&&str| check.contains("--block 64 --arg data=i32[64]:iota");
    assert_eq!(checks.iter().filter(own).count(), 1, "{called}");
    assert!(
        checks.iter().all(|c| c.contains("--deny warning")),
        "{called}"
    );
    let log: Value =
        serde_json::from_str(&machine.read("racetrap-reports/racetrap.sarif")).unwrap();
    let runs = log["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["automationDetails"]["id"], "racetrap-races-3/");
    let results = runs[0]["results"].as_array().unwrap();
    let in_file = |name: &str| {
        results
            .iter()
            .any(|r| r["locations"].to_string().contains(name))
    };
    assert!(
        in_file("kernel.cu") && in_file("a%20copy.cu") && !in_file("right.cu"),
        "{results:?}"
    );
    assert_eq!(runs[0]["invocations"].as_array().unwrap().len(), 3);

    // Nothing of these texts is a command.
    let hostile = Step {
        run: step.run.clone(),
        variables: [(
            "RACETRAP_FILES".to_owned(),
            "$(touch here) `touch here` src/'".to_owned(),
        )]
        .into(),
    };
    let (shown, status) = machine.run(&hostile);
    assert_eq!(status, 2, "{shown}");
    assert!(
        shown.contains("::error title=racetrap::") && !here.join("here").exists(),
        "{shown}"
    );
}

/// Where racetrap is not there yet, the action takes a release's archive if its checksum is right, and else builds it from its own folder.
#[test]
fn the_action_gets_racetrap() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let action = yaml("action.yml");
    let mut get = steps(&action["runs"]["steps"], &defaults(&action)).swap_remove(0);
    let here = machine.folder.path();
    fs::remove_file(here.join("bin/racetrap")).unwrap();
    get.variables.insert(
        "GITHUB_PATH".to_owned(),
        here.join("path.txt").display().to_string(),
    );
    let (shown, status) = machine.run(&get);
    assert_eq!(status, 0, "{shown}");
    let called = machine.read("called.txt");
    let folder = here.join("home/.cache/racetrap");
    let built = format!(
        "cargo install --locked --path {ROOT} --features grade --root {}\n",
        folder.display()
    );
    assert_eq!(called, built);
    assert_eq!(
        machine.read("path.txt"),
        format!("{}/bin\n", folder.display())
    );

    let release = here.join("release");
    let archive = format!("racetrap-{}-linux.tar.gz", std::env::consts::ARCH);
    let pack = format!(
        "mkdir -p r/racetrap-1/bin release && echo '#!/bin/sh' >r/racetrap-1/bin/racetrap && chmod +x r/racetrap-1/bin/racetrap && \
         tar -C r -czf release/{archive} racetrap-1 && cd release && sha256sum {archive} >{archive}.sha256"
    );
    let (shown, status) = machine.run(&Step {
        run: pack,
        variables: BTreeMap::new(),
    });
    assert_eq!(status, 0, "{shown}");
    get.variables
        .insert("RACETRAP_RELEASE".to_owned(), release.display().to_string());
    let (shown, status) = machine.run(&get);
    assert_eq!(status, 0, "{shown}");
    assert_eq!(
        machine.read("called.txt"),
        built,
        "it was built all the same"
    );
    assert!(folder.join("bin/racetrap").is_file());

    // Somebody has changed it.
    fs::remove_dir_all(&folder).unwrap();
    fs::write(
        release.join(format!("{archive}.sha256")),
        format!("{}  {archive}\n", "0".repeat(64)),
    )
    .unwrap();
    let (shown, status) = machine.run(&get);
    assert_eq!(status, 1, "{shown}");
    assert!(
        shown.contains("is not what its checksum says") && !folder.exists(),
        "{shown}"
    );
    assert_eq!(machine.read("called.txt"), built);
}

/// The inputs of an action, with their defaults.
fn defaults(action: &Value) -> BTreeMap<&str, String> {
    let inputs = action["inputs"].as_object().expect("inputs").iter();
    inputs
        .map(|(name, input)| {
            let default = input.get("default").and_then(Value::as_str);
            (name.as_str(), default.unwrap_or_default().to_owned())
        })
        .collect()
}

#[test]
fn the_workflow_for_github() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let workflow = yaml("ci/workflows/github-actions.yml");
    let steps = steps(&workflow["jobs"]["races"]["steps"], &BTreeMap::new());
    let shown = run(&machine, &steps);
    assert!(shown.contains("title=data-race"), "{shown}");
    assert!(machine.read("summary.md").contains("data-race"));
    assert!(machine.read("called.txt").contains("racetrap setup\n"));
}

#[test]
fn the_job_for_gitlab() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let job = &yaml("ci/workflows/gitlab-ci.yml")["racetrap"];
    let lines = |name: &str| job[name].as_array().unwrap().clone();
    let all = [lines("before_script"), lines("script")].concat();
    let steps: Vec<Step> = all
        .iter()
        .map(|line| Step {
            run: line.as_str().unwrap().to_owned(),
            variables: BTreeMap::new(),
        })
        .collect();
    run(&machine, &steps);
    let report = job["artifacts"]["reports"]["junit"].as_str().unwrap();
    assert!(machine.read(report).contains("data-race"));
    for path in job["artifacts"]["paths"].as_array().unwrap() {
        assert!(machine.read(path.as_str().unwrap()).contains("<svg"));
    }
}

/// The hook that the configuration names is there, can be run, and takes the files that its pattern matches.
#[test]
fn the_hook() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hook = &hooks[0];
    assert_eq!(hook["files"].as_str(), Some("\\.(cu|ptx)$"));
    let entry = hook["entry"].as_str().unwrap();
    let (shown, status) = machine.run(&Step {
        run: format!("{ROOT}/{entry} src/kernel.cu"),
        variables: BTreeMap::new(),
    });
    assert_eq!(status, 1, "{shown}");
    assert!(shown.contains("error[data-race]"), "{shown}");
}

/// A file of the repository, or a folder, as a checkout in the machine's folder has it.
fn check_out(machine: &Machine, names: &[&str]) {
    for name in names {
        let to = machine.folder.path().join(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let copied = Command::new("cp")
            .arg("-R")
            .arg(Path::new(ROOT).join(name))
            .arg(&to)
            .status()
            .unwrap();
        assert!(copied.success(), "{name}");
    }
}

/// The lines of a job for GitLab as steps.
fn script(job: &Value, variables: &[(&str, &str)]) -> Vec<Step> {
    let lines = job["script"].as_array().unwrap().iter();
    let variables: BTreeMap<String, String> = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    lines
        .map(|line| Step {
            run: line.as_str().unwrap().to_owned(),
            variables: variables.clone(),
        })
        .collect()
}

fn all_pass(machine: &Machine, steps: &[Step]) -> String {
    let mut all = String::new();
    for step in steps {
        let (shown, status) = machine.run(step);
        assert_eq!(status, 0, "{}\n{shown}", step.run);
        all += &shown;
    }
    all
}
