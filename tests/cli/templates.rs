//! The templates for CI services, run step by step as the services do, in a clean folder: `action.yml`, the workflow for GitHub, the job
//! for GitLab, and the hook's configuration. Stand-ins take the place of what is installed (`cargo install`, `apt-get`,
//! `racetrap setup`); a step that calls anything else that is not there fails.

#![cfg(unix)]

use serde_yaml::Value;
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
    serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The steps that run a command; `inputs` are the action's, its defaults where they are not given.
fn steps(all: &Value, inputs: &BTreeMap<&str, String>) -> Vec<Step> {
    let filled = |value: &Value| {
        let mut text = value.as_str().unwrap_or_default().to_owned();
        for (name, value) in inputs {
            text = text.replace(&format!("${{{{ inputs.{name} }}}}"), value);
        }
        assert!(!text.contains("${{"), "not filled in: {text}");
        text
    };
    let all = all.as_sequence().expect("steps").iter();
    all.filter(|step| step.get("run").is_some())
        .map(|step| {
            let env = step.get("env").and_then(Value::as_mapping);
            let variables = env.into_iter().flatten();
            Step {
                run: filled(&step["run"]),
                variables: variables
                    .map(|(name, value)| (name.as_str().unwrap().to_owned(), filled(value)))
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
    let mut inputs = BTreeMap::new();
    for (name, input) in action["inputs"].as_mapping().expect("inputs") {
        let default = input.get("default").and_then(Value::as_str);
        inputs.insert(
            name.as_str().unwrap(),
            default.unwrap_or_default().to_owned(),
        );
    }
    inputs.insert("files", "src/*.cu".to_owned());
    let steps = steps(&action["runs"]["steps"], &inputs);
    let shown = run(&machine, &steps);
    assert!(shown.contains("::error file="), "{shown}");
    assert!(machine.read("summary.md").contains("findings"));
    assert!(
        machine
            .read("racetrap-reports/src_kernel.cu.sarif")
            .contains("data-race")
    );
    // What is kept as an artifact is there.
    let kept = action["runs"]["steps"].as_sequence().unwrap().iter();
    let kept = kept.filter_map(|step| step.get("with")?.get("path")?.as_str());
    for path in kept {
        assert!(machine.folder.path().join(path).exists(), "{path}");
    }
    // racetrap was there, and was not installed again.
    assert!(!machine.read("called.txt").contains("cargo"));
}

/// Where racetrap is not there yet, the action installs it from its own folder.
#[test]
fn the_action_installs_racetrap() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let action = yaml("action.yml");
    let install = &steps(
        &Value::Sequence(vec![action["runs"]["steps"][0].clone()]),
        &BTreeMap::new(),
    )[0];
    fs::remove_file(machine.folder.path().join("bin/racetrap")).unwrap();
    let (shown, status) = machine.run(install);
    assert_eq!(status, 0, "{shown}");
    let called = machine.read("called.txt");
    assert_eq!(called, format!("cargo install --locked --path {ROOT}\n"));
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
    let lines = |name: &str| job[name].as_sequence().unwrap().clone();
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
    for path in job["artifacts"]["paths"].as_sequence().unwrap() {
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

/// Templates that can't be run without their service name scripts that are there, and the release builds what it uploads.
#[test]
fn other_templates_name_scripts_that_are_there() {
    for name in [
        "ci/workflows/github-actions-gpu.yml",
        "ci/workflows/github-actions-release.yml",
        "ci/workflows/gitlab-ci-gpu.yml",
    ] {
        yaml(name);
        let text = fs::read_to_string(Path::new(ROOT).join(name)).unwrap();
        let words = text.split_whitespace();
        let scripts: Vec<&str> = words
            .map(|word| word.trim_start_matches("gpu/"))
            .filter(|word| word.starts_with("ci/") && word.ends_with(".sh"))
            .collect();
        assert!(!scripts.is_empty(), "{name}");
        for script in scripts {
            assert!(
                Path::new(ROOT).join(script).is_file(),
                "{name} names {script}"
            );
        }
    }
}
