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
    let lines = job["script"].as_sequence().unwrap().iter();
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

/// A machine that builds archives for GPUs: nextest is a stand-in that makes an empty archive, and runs no test of one.
fn builder() -> Option<Machine> {
    let machine = Machine::new()?;
    // With its own nextest, it would not be a stand-in.
    let _ = fs::remove_file(machine.folder.path().join(".toolchain"));
    check_out(
        &machine,
        &[
            "ci",
            ".config",
            "Cargo.toml",
            "kernels",
            "cases",
            "sanitizer",
        ],
    );
    check_out(&machine, &["tests/device.rs"]);
    let log = machine.folder.path().join("called.txt");
    let say = format!("echo \"$(basename \"$0\") $*\" >>'{}'", log.display());
    machine.program("rustup", &say);
    machine.program(
        "cargo",
        &format!(
            "{say}\n[[ $* == *archive* ]] || exit 0\nwhile [[ $1 != --archive-file ]]; do shift; done\ntouch \"$2\""
        ),
    );
    machine.program(
        "cargo-nextest",
        "echo \"$*\" >>called.txt\nwhile [[ $1 != --profile ]]; do shift; done\nmkdir -p \"target/nextest/$2\"\necho '<testsuites/>' >\"target/nextest/$2/junit.xml\"",
    );
    Some(machine)
}

const PROFILES: [&str; 5] = ["gpu", "racecheck", "synccheck", "memcheck", "initcheck"];

/// What the machine with the GPU has done: every profile ran its part of the tests, and reports are where they are kept.
fn ran_on_a_gpu(machine: &Machine, part: &str) {
    let called = machine.read("gpu/called.txt");
    for profile in PROFILES {
        let ran = format!("--profile {profile} --partition count:{part}");
        assert!(called.contains(&ran), "{called}");
        let report = format!("gpu/results/{profile}.xml");
        assert!(machine.read(&report).contains("testsuites"), "{report}");
    }
    assert!(machine.read("gpu/results/summary.txt").contains("passed"));
}

#[test]
fn the_workflow_for_gpus() {
    let Some(machine) = builder() else {
        return;
    };
    let workflow = yaml("ci/workflows/github-actions-gpu.yml");
    let none = BTreeMap::new();
    all_pass(
        &machine,
        &steps(&workflow["jobs"]["archive"]["steps"], &none),
    );
    let named = |job: &str, action: &str| -> Value {
        let all = workflow["jobs"][job]["steps"].as_sequence().unwrap().iter();
        let mut uses = all.filter(|s| s.get("uses").and_then(Value::as_str) == Some(action));
        uses.next().expect(action)["with"].clone()
    };
    let kept = named("archive", "actions/upload-artifact@v4");
    let fetched = named("run", "actions/download-artifact@v4");
    assert_eq!(kept["name"], fetched["name"]);
    let artifact = kept["path"].as_str().unwrap();

    // Another machine, which has the artifact alone, and something that an earlier job left.
    let other = Machine {
        folder: tempfile::tempdir().unwrap(),
    };
    fs::copy(
        machine.folder.path().join(artifact),
        other.folder.path().join(artifact),
    )
    .unwrap();
    fs::create_dir_all(other.folder.path().join("gpu/results/old")).unwrap();
    let mut run = workflow["jobs"]["run"]["steps"].clone();
    for step in run.as_sequence_mut().unwrap() {
        if let Some(Value::String(text)) = step.get_mut("run") {
            *text = text.replace("${{ matrix.part }}", "2");
        }
    }
    all_pass(&other, &steps(&run, &none));
    ran_on_a_gpu(&other, "2/4");
    assert!(!other.folder.path().join("gpu/results/old").exists());
    let results = named("run", "actions/upload-artifact@v4");
    assert!(
        other
            .folder
            .path()
            .join(results["path"].as_str().unwrap())
            .is_dir()
    );
}

#[test]
fn the_jobs_for_gpus_on_gitlab() {
    let Some(machine) = builder() else {
        return;
    };
    let jobs = yaml("ci/workflows/gitlab-ci-gpu.yml");
    let (archive, run) = (&jobs["gpu-archive"], &jobs["gpu-run"]);
    assert_eq!(run["needs"][0].as_str(), Some("gpu-archive"));
    all_pass(&machine, &script(archive, &[]));
    assert!(
        machine
            .read("called.txt")
            .contains("cargo install cargo-nextest")
    );

    let other = Machine {
        folder: tempfile::tempdir().unwrap(),
    };
    for path in archive["artifacts"]["paths"].as_sequence().unwrap() {
        let name = path.as_str().unwrap();
        let moved = fs::rename(
            machine.folder.path().join(name),
            other.folder.path().join(name),
        );
        moved.unwrap();
    }
    let parts = run["parallel"].as_u64().unwrap().to_string();
    let node = [("CI_NODE_INDEX", "3"), ("CI_NODE_TOTAL", parts.as_str())];
    all_pass(&other, &script(run, &node));
    ran_on_a_gpu(&other, "3/4");
    let reports = run["artifacts"]["reports"]["junit"].as_str().unwrap();
    assert_eq!(reports, "gpu/results/*.xml");
}

/// A machine that makes a release: `cargo build` puts `program` where a build would, as far as `ci/release.sh` sees.
fn releaser(program: &str) -> Option<Machine> {
    let machine = Machine::new()?;
    if !machine.folder.path().join(".toolchain").exists() {
        testing::skip("the CUDA compiler is not in .toolchain: this would download it");
        return None;
    }
    check_out(
        &machine,
        &[
            "ci",
            "Cargo.toml",
            "README.md",
            "LICENSE-APACHE",
            "LICENSE-MIT",
            "tests/documented/scene",
            // For ci/cuda-toolkit.sh, which finds that all of it is there.
            "crates/toolchain/src/cuda-wheels.txt",
        ],
    );
    let here = machine.folder.path();
    let log = here.join("called.txt");
    let say = format!("echo \"$(basename \"$0\") $*\" >>'{}'", log.display());
    for name in ["rustup", "sudo", "gh"] {
        machine.program(name, &say);
    }
    // A root of its own has none of what this racetrap, which is not static, needs.
    let enter = format!(
        "{say}\nwhile [[ $1 != /bin/racetrap ]]; do root=$1; shift; done\ncd \"$root\"\nexec \"bin/racetrap\" \"${{@:2}}\""
    );
    machine.program("chroot", &enter);
    machine.program("unshare", &enter);
    machine.program("rustc", &format!("echo '{}'", here.display()));
    machine.program(
        "cargo",
        &format!(
            "{say}\nfolder=target/$(uname -m)-unknown-linux-musl/dist\nmkdir -p \"$folder\" target/dist\ntouch target/dist/libracetrap_cuda.so\n{program}\nchmod +x \"$folder/racetrap\""
        ),
    );
    Some(machine)
}

#[test]
fn the_release() {
    let racetrap = env!("CARGO_BIN_EXE_racetrap");
    // A static program in its place, which starts it.
    let source = format!(
        "#include <unistd.h>\nint main(int n, char **a) {{ a[0] = \"{racetrap}\"; return execv(a[0], a); }}\n"
    );
    let small = format!("cc -static -x c -o \"$folder/racetrap\" - <<'C'\n{source}C\n");
    let Some(machine) = releaser(&small) else {
        return;
    };
    let workflow = yaml("ci/workflows/github-actions-release.yml");
    let job = &workflow["jobs"]["linux"];
    let mut all = job["steps"].clone();
    for step in all.as_sequence_mut().unwrap() {
        if let Some(Value::String(token)) = step.get_mut("env").and_then(|e| e.get_mut("GH_TOKEN"))
        {
            assert_eq!(token, "${{ github.token }}");
            "secret".clone_into(token);
        }
    }
    let mut steps = steps(&all, &BTreeMap::new());
    for step in &mut steps {
        step.variables
            .insert("GITHUB_REF_NAME".to_owned(), "v0.1.0".to_owned());
    }
    all_pass(&machine, &steps);
    let called = machine.read("called.txt");
    for part in [
        "--target x86_64-unknown-linux-musl",
        "-p racetrap-cuda",
        "gh release create v0.1.0",
    ] {
        assert!(called.contains(part), "{part}: {called}");
    }
    assert!(called.contains("chroot empty /bin/racetrap check both.ptx"));
    // What is attached is there, is whole, and has all that belongs to it.
    let attached = called.lines().find(|line| line.starts_with("gh ")).unwrap();
    let attached: Vec<&str> = attached
        .split(' ')
        .filter(|w| w.starts_with("release/"))
        .collect();
    assert_eq!(attached.len(), 2, "{called}");
    let look = Step {
        run: format!(
            "cd release && sha256sum -c *.sha256 && tar -tzf {}",
            &attached[0]["release/".len()..]
        ),
        variables: BTreeMap::new(),
    };
    let (listed, status) = machine.run(&look);
    assert_eq!(status, 0, "{listed}");
    for part in [
        "/bin/racetrap\n",
        "/lib/racetrap/libracetrap_cuda.so\n",
        "/share/man/man1/racetrap-exec.1\n",
        "/share/racetrap.fish\n",
        "/LICENSE-MIT\n",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
}

/// What is too large, or needs the machine's libraries, is not released.
#[test]
fn a_release_is_small_and_static() {
    let racetrap = env!("CARGO_BIN_EXE_racetrap");
    let large =
        format!("cp '{racetrap}' \"$folder/racetrap\"; truncate -s 20000000 \"$folder/racetrap\"");
    for (program, complaint) in [
        (large.as_str(), "not below 20 MB"),
        ("cp /bin/true \"$folder/racetrap\"", "is not static"),
        ("echo '#!/bin/sh' >\"$folder/racetrap\"", "is not static"),
        (
            "echo 'int main() { return 0; }' | cc -static -x c -o \"$folder/racetrap\" -",
            "does not say: racetrap ",
        ),
    ] {
        let Some(machine) = releaser(program) else {
            return;
        };
        let (shown, status) = machine.run(&Step {
            run: "ci/release.sh release".to_owned(),
            variables: BTreeMap::new(),
        });
        assert_eq!(status, 1, "{shown}");
        assert!(shown.contains(complaint), "{shown}");
    }
}
