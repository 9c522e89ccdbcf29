//! The templates for runners with GPUs.

use super::*;

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
        let all = workflow["jobs"][job]["steps"].as_array().unwrap().iter();
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
    for step in run.as_array_mut().unwrap() {
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
    for path in archive["artifacts"]["paths"].as_array().unwrap() {
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
    for step in all.as_array_mut().unwrap() {
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
