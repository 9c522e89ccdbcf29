//! Programs of several CUDA releases, without their compilers. `programs/releases` has what nvcc 11.8, 12.4 and 13.0 made of device code, which
//! `pin.sh` there makes anew, and by hand in C what they make of host code. These programs are linked with libraries that name functions and
//! their versions as those of the release do.

use super::{RACETRAP, directives, folder, is_judged};
use rstest::rstest;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A release of CUDA.
#[derive(Clone, Copy)]
struct Release {
    major: u32,
    /// Of the compiler.
    version: &'static str,
    /// The runtime's library, which the versions of its functions are named after.
    runtime: &'static str,
}

const ELEVEN: Release = Release {
    major: 11,
    version: "11.8",
    runtime: "libcudart.so.11.0",
};
const TWELVE: Release = Release {
    major: 12,
    version: "12.4",
    runtime: "libcudart.so.12",
};
const THIRTEEN: Release = Release {
    major: 13,
    version: "13.0",
    runtime: "libcudart.so.13",
};

fn sources() -> PathBuf {
    folder().join("releases")
}

/// The pinned files are those of the sources as they are.
fn is_pinned(version: &str) {
    let sums = std::fs::read_to_string(sources().join(format!("sources.{version}"))).unwrap();
    let mut names: Vec<String> = std::fs::read_dir(sources())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".cu"))
        .collect();
    names.sort();
    let output = Command::new("cksum")
        .args(&names)
        .current_dir(sources())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        sums,
        "sources have changed: tests/programs/releases/pin.sh, with the compiler of {version}"
    );
}

fn gcc(here: &Path, arguments: &[&str]) {
    let output = Command::new("gcc")
        .args(arguments)
        .current_dir(here)
        .output()
        .expect("gcc, which Rust links with");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A C program with all that it includes of its own folder.
fn text(source: &Path) -> String {
    let own = std::fs::read_to_string(source).unwrap();
    let included = own
        .lines()
        .filter_map(|l| l.strip_prefix("#include \"")?.strip_suffix('"'))
        .map(|name| text(&source.with_file_name(name)));
    let included: String = included.collect();
    own + &included
}

/// Links a C program as `program` with a library that has what it calls, in the release's version, and nothing more.
fn link(here: &Path, source: &str, release: Release) {
    let source = sources().join(source);
    let text = text(&source);
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let called: BTreeSet<&str> = words
        .filter(|w| w.trim_start_matches('_').starts_with("cu") && w.len() > 5)
        .collect();
    let called = called
        .into_iter()
        .filter(|name| text.contains(&format!("{name}(")));
    let names: String = called
        .map(|name| format!("void {name}(void) {{}}\n"))
        .collect();
    std::fs::write(here.join("names.c"), names).unwrap();
    let runtime = release.runtime;
    std::fs::write(here.join("versions"), format!("{runtime} {{ *; }};\n")).unwrap();
    let name = format!("-Wl,-soname,{runtime},--version-script=versions");
    gcc(
        here,
        &["-shared", "-fPIC", "-o", "libcudart.so", &name, "names.c"],
    );
    let define = format!("-DRELEASE={}", release.major);
    gcc(
        here,
        &[
            "-std=c11",
            "-Wall",
            "-Werror",
            &define,
            "-Wa,-I.",
            "-o",
            "program",
            source.to_str().unwrap(),
            "-L.",
            "-Wl,--no-as-needed",
            "-lcudart",
        ],
    );
}

/// What `racetrap exec` says of the program and what that prints, of which there must be a given text.
fn prints(here: &Path, arguments: &[&Path], expected: &str) -> String {
    let output = Command::new(RACETRAP)
        .args(["exec", "--", "./program"])
        .args(arguments)
        .current_dir(here)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

/// Programs are judged as their sources say, whichever compiler made their kernels.
#[rstest]
fn compilers_are_judged_alike(
    #[values(ELEVEN, TWELVE, THIRTEEN)] release: Release,
    #[values("groups", "nodes")] name: &str,
) {
    is_pinned(release.version);
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = temporary.path();
    for part in ["groups", "nodes", "twice", "runtime"] {
        let pinned = sources().join(format!("{part}.{}.fatbin", release.version));
        if pinned.exists() {
            std::fs::copy(pinned, here.join(format!("{part}.fatbin"))).unwrap();
        }
    }
    link(here, &format!("{name}.c"), release);
    let source = std::fs::read_to_string(sources().join(format!("{name}.cu"))).unwrap();
    let program = here.join("program");
    is_judged(name, &program, release.version, &directives(&source));
}

/// What nvcc 11.8 made of kernels with texture references, and of the host code that registers them.
#[test]
fn texture_references_of_an_earlier_compiler() {
    is_pinned(ELEVEN.version);
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    link(temporary.path(), "host.c", ELEVEN);
    let pinned = sources().join("references.11.8.ptx");
    let said = prints(temporary.path(), &[&pinned], "as nvcc 11.8 has it\n");
    // The errors that it provokes are checked, and nothing else is found.
    assert!(
        said.lines().any(|line| line.starts_with("clean ")),
        "{said}"
    );
}

/// A kernel that fetches by a reference before anything is bound to it gets zeros, as on an H200, and the finding says why.
#[test]
fn references_that_nothing_is_bound_to() {
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    link(temporary.path(), "host.c", ELEVEN);
    let output = Command::new(RACETRAP)
        .args(["exec", "--", "./program"])
        .arg(sources().join("references.11.8.ptx"))
        .arg("unbound")
        .current_dir(temporary.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed, "as nvcc 11.8 has it\n", "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    for title in [
        "error[out-of-bounds]: fetch through a texture reference that nothing is bound to",
        "error[out-of-bounds]: write through a surface reference that nothing is bound to",
    ] {
        assert!(said.contains(title), "{said}");
    }
    assert_eq!(said.matches("error[").count(), 2, "{said}");
}

/// Programs that were built for earlier releases of the runtime, whose structures and parameters differ.
#[rstest]
fn earlier_releases_of_the_runtime(#[values(ELEVEN, TWELVE, THIRTEEN)] release: Release) {
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    link(temporary.path(), "releases.c", release);
    let expected = format!("as release {} has it\n", release.major);
    prints(temporary.path(), &[], &expected);
}
