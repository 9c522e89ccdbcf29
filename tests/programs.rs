//! Whole programs of `tests/programs`, built with `racetrap build` and run with `racetrap exec`.
//!
//! A program says in comments what is to come of it: `//~ run ARGUMENTS: RULE@LINES… [status=N]`, where LINES are those of the guilty
//! places in their file, or `clean` (perhaps with `unseen@LINES`, those that no thread ran), or `inconclusive`; `//~ on GPU ARGUMENTS: …`, the
//! same on that GPU; `//~ besides in CUDA N on GPU: RULE@LINES…`, what is found there in every run if that compiler built it; `//~ prints: TEXT`; `//~ nvcc OPTIONS`; `//~ with FILE`, another source; `//~ needs CUDA N`, the compiler's major
//! version. Without a CUDA compiler nothing can be built, and nothing is tested but what `programs/releases` has of compilers, and the program of
//! `programs/clients` that brings its own PTX; `ci/earlier-cuda.sh` does so with those of earlier releases.

#[path = "programs/clients.rs"]
mod clients;
#[path = "programs/loads.rs"]
mod loads;
#[path = "programs/numba.rs"]
mod numba;
#[path = "programs/releases.rs"]
mod releases;

use rstest::rstest;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const RACETRAP: &str = env!("CARGO_BIN_EXE_racetrap");

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// One run of a program, and what is to come of it.
struct Run {
    /// The GPU, where it is not the one that racetrap chooses.
    on: Option<String>,
    arguments: Vec<String>,
    expected: Vec<String>,
}

/// What a source says.
#[derive(Default)]
struct Directives {
    runs: Vec<Run>,
    prints: Vec<String>,
    /// What a compiler makes besides on a GPU: its version's beginning, the GPU, the findings.
    besides: Vec<(String, String, Vec<String>)>,
    nvcc: Vec<String>,
    with: Vec<String>,
    needs: Option<String>,
}

fn directives(text: &str) -> Directives {
    let mut all = Directives::default();
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for line in text.lines().filter_map(|l| l.strip_prefix("//~ ")) {
        if let Some(run) = line.strip_prefix("run").or(line.strip_prefix("on ")) {
            let (arguments, expected) = run.split_once(':').expect("`//~ run ARGUMENTS: EXPECTED`");
            let mut arguments = words(arguments);
            let on = line.starts_with("on ").then(|| arguments.remove(0));
            let expected = words(expected);
            all.runs.push(Run {
                on,
                arguments,
                expected,
            });
        } else if let Some(all_of) = line.strip_prefix("besides in CUDA ") {
            let (where_, found) = all_of.split_once(": ").unwrap();
            let (major, gpu) = where_.split_once(" on ").unwrap();
            all.besides
                .push((format!("{major}."), gpu.to_owned(), words(found)));
        } else if let Some(text) = line.strip_prefix("prints: ") {
            all.prints.push(text.to_owned());
        } else if let Some(options) = line.strip_prefix("nvcc ") {
            all.nvcc.extend(words(options));
        } else if let Some(file) = line.strip_prefix("with ") {
            all.with.push(file.to_owned());
        } else if let Some(major) = line.strip_prefix("needs CUDA ") {
            all.needs = Some(format!("{major}."));
        } else {
            panic!("unknown directive `{line}`");
        }
    }
    all
}

/// Builds a program into a folder.
fn build(sources: &[PathBuf], options: &[String], to: &Path) -> Output {
    let mut command = Command::new(RACETRAP);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["build", "--", "nvcc"]).args(options);
    command.arg("-o").arg(to).args(sources);
    command.output().unwrap()
}

/// `unseen@29` where the report names lines that no thread ran.
fn unseen(report: &Value) -> Option<String> {
    let lines = report["checks"][0]["unseen"]["lines"].as_array()?;
    let lines: Vec<String> = lines.iter().map(|l| l["line"].to_string()).collect();
    (!lines.is_empty()).then(|| format!("unseen@{}", lines.join(",")))
}

/// `data-race@14,16` for each finding, as sets of its guilty lines.
fn findings(report: &Value) -> BTreeSet<String> {
    let all = report["checks"][0]["findings"].as_array().unwrap();
    let one = |finding: &Value| {
        let places = finding["places"].as_array().unwrap();
        let rule = finding["rule"].as_str().unwrap();
        let guilty = places.iter().filter(|p| p["role"] == "guilty");
        let lines: BTreeSet<u64> = guilty.map(|p| p["line"].as_u64().unwrap()).collect();
        let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
        format!("{rule}@{}", lines.join(","))
    };
    all.iter().map(one).collect()
}

#[rstest]
#[case("reverse.cu")]
#[case("columns.cu")]
#[case("memory.cu")]
#[case("misuse.cu")]
#[case("strangers.cu")]
#[case("signals.cu")]
#[case("streams.cu")]
#[case("lifetimes.cu")]
#[case("siblings.cu")]
#[case("launches.cu")]
#[case("ends.cu")]
#[case("waits.cu")]
#[case("textures.cu")]
#[case("graphs.cu")]
#[case("nested.cu")]
#[case("registered.cu")]
#[case("beside.cu")]
#[case("causes.cu")]
#[case("hosts.cu")]
#[case("orders.cu")]
#[case("dependent.cu")]
#[case("tensors.cu")]
#[case("clusters.cu")]
#[case("rdc/main.cu")]
#[case("releases/references.cu")]
#[case("releases/groups.cu")]
#[case("releases/nodes.cu")]
fn a_program_is_judged_as_it_says(#[case] name: &str) {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let source = folder().join(name);
    let directives = directives(&std::fs::read_to_string(&source).unwrap());
    let version = nvcc.version().unwrap_or_default();
    let suits = directives
        .needs
        .as_ref()
        .is_none_or(|n| version.starts_with(n));
    if !suits {
        return;
    }
    assert!(!directives.runs.is_empty(), "{name} is never run");
    let temporary = tempfile::tempdir().unwrap();
    let program = temporary.path().join("program");
    let mut sources = vec![source];
    sources.extend(directives.with.iter().map(|file| folder().join(file)));
    let built = build(&sources, &directives.nvcc, &program);
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    is_judged(name, &program, &version, &directives);
}

/// Runs a program as its source says, and compares what comes of it. The compiler of this version has built it.
fn is_judged(name: &str, program: &Path, version: &str, directives: &Directives) {
    // What was run again for a trace changes nothing of the program, of its verdict and of what it launches itself; nor does the plain engine.
    let traced = [
        "reverse.cu",
        "streams.cu",
        "nested.cu",
        "orders.cu",
        "tensors.cu",
        "clusters.cu",
    ]
    .contains(&name);
    let ways: &[&[&str]] = match traced {
        true => &[&[], &["--trace"], &["--plain"]],
        false => &[&[]],
    };
    let temporary = tempfile::tempdir().unwrap();
    for (way, run) in ways
        .iter()
        .flat_map(|w| directives.runs.iter().map(move |r| (w, r)))
    {
        let to = temporary.path().join("report.json");
        let device = run.on.iter().flat_map(|gpu| ["--device", gpu]);
        let output = Command::new(RACETRAP)
            .args(["exec", "--format", "json", "--report"])
            .arg(&to)
            .args(*way)
            .args(device)
            .current_dir(folder().join("releases"))
            .arg("--")
            .arg(program)
            .args(&run.arguments)
            .output()
            .unwrap();
        let said = format!(
            "{name} {:?} {:?}: {output:?}\n{}",
            run.on,
            run.arguments,
            std::fs::read_to_string(&to).unwrap_or_default()
        );
        let report: Value = serde_json::from_slice(&std::fs::read(&to).expect(&said)).expect(&said);
        let verdict = report["checks"][0]["verdict"].as_str().expect(&said);
        let mut status = match verdict {
            "findings" => 1,
            "inconclusive" => 3,
            _ => 0,
        };
        let besides = directives.besides.iter().filter(|(release, gpu, _)| {
            version.starts_with(release.as_str()) && run.on.as_ref() == Some(gpu)
        });
        let mut wanted: BTreeSet<String> = besides.flat_map(|(_, _, all)| all.clone()).collect();
        let others = !wanted.is_empty();
        for word in &run.expected {
            match word.split_once('=') {
                Some(("status", number)) => status = number.parse().unwrap(),
                _ if ["clean", "inconclusive"].contains(&word.as_str()) => {
                    let word = if others { "findings" } else { word };
                    assert_eq!(verdict, word, "{said}");
                }
                _ => drop(wanted.insert(word.clone())),
            }
        }
        if way.contains(&"--trace") {
            has_traces(&report);
        }
        let names_unseen = wanted.iter().any(|w| w.starts_with("unseen"));
        let mut told = findings(&report);
        told.extend(unseen(&report).filter(|_| names_unseen));
        assert_eq!(told, wanted, "{said}");
        assert_eq!(output.status.code(), Some(status), "{said}");
        let printed = String::from_utf8_lossy(&output.stdout);
        for text in &directives.prints {
            assert!(printed.contains(text), "{said}");
        }
    }
}

/// Every race has its two accesses in its trace, the earlier one first, by the threads and at the lines that the finding names.
fn has_traces(report: &Value) {
    let checks = report["checks"].as_array().unwrap();
    let findings = checks
        .iter()
        .flat_map(|c| c["findings"].as_array().unwrap());
    for race in findings.filter(|f| f["rule"] == "data-race") {
        let steps = race["trace"]["steps"].as_array();
        let steps = steps.unwrap_or_else(|| panic!("no trace: {race:#}"));
        let at = |end: u64| steps.iter().position(|s| s["end"] == end);
        let (later, earlier) = (at(0).expect("an end"), at(1).expect("an end"));
        assert!(earlier < later, "{race:#}");
        for (index, step) in [(0, &steps[later]), (1, &steps[earlier])] {
            let place = &race["places"][index];
            assert_eq!(step["place"]["line"], place["line"], "{race:#}");
            assert_eq!(step["thread"], place["who"]["thread"], "{race:#}");
        }
    }
}

#[test]
fn every_program_is_tested() {
    let cases = include_str!("programs.rs");
    let read = |folder: PathBuf| std::fs::read_dir(folder).unwrap().flatten();
    let sources = read(folder()).filter(|e| e.path().extension().is_some_and(|x| x == "cu"));
    for source in sources {
        let name = source.file_name().into_string().unwrap();
        assert!(
            cases.contains(&format!("#[case(\"{name}\")]")),
            "{name} is not tested"
        );
    }
}

#[test]
fn a_static_runtime_is_refused_with_its_remedy() {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let program = temporary.path().join("program");
    // Linked without any runtime, which looks alike: kernels, and no library that they could come to.
    let built = Command::new(&nvcc.program.path)
        .args([
            "-cudart",
            "none",
            "-Xlinker",
            "--unresolved-symbols=ignore-all",
            "-o",
        ])
        .arg(&program)
        .arg(folder().join("ends.cu"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{built:?}");
    let output = Command::new(RACETRAP)
        .args(["exec", "--"])
        .arg(&program)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("racetrap build -- make"), "{said}");
}

#[test]
fn programs_keep_their_input_output_and_status() {
    let run = |arguments: &[&str]| {
        Command::new(RACETRAP)
            .arg("exec")
            .args(arguments)
            .output()
            .unwrap()
    };
    let output = run(&["--quiet", "--", "sh", "-c", "echo out; exit 5"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out\n");
    assert_eq!(
        output.status.code(),
        Some(5),
        "no launch, and a status of its own"
    );
    let output = run(&["--", "true"]);
    assert_eq!(output.status.code(), Some(3), "no launch");
    assert!(String::from_utf8_lossy(&output.stderr).contains("never called"));
    let output = run(&["--", "/nowhere/prog"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Known findings of programs: in a baseline, and by a comment; patterns select the kernels that are watched.
#[test]
fn known_findings_of_programs() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let here = temporary.path();
    let source = std::fs::read_to_string(folder().join("reverse.cu")).unwrap();
    let line = "    tile[t] = data[t];";
    let allowed = format!("    // racetrap: allow(data-race): for this test\n{line}");
    let allowed = source.replace(line, &allowed);
    assert_ne!(source, allowed);
    for (name, text) in [("plain", &source), ("allowed", &allowed)] {
        let file = here.join(format!("{name}.cu"));
        std::fs::write(&file, text).unwrap();
        let built = build(&[file], &[], &here.join(name));
        assert!(built.status.success(), "{built:?}");
    }
    let exec = |program: &str, options: &[&str]| {
        let output = Command::new(RACETRAP)
            .arg("exec")
            .args(options)
            .args(["--", &format!("./{program}"), "bug"])
            .current_dir(here)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (said, output.status.code().unwrap())
    };
    let (said, status) = exec("plain", &["--baseline", "known.json", "--update-baseline"]);
    assert!(said.contains("1 finding: 1 added") && status == 0, "{said}");
    let (said, status) = exec("plain", &["--baseline", "known.json"]);
    assert!(
        said.contains("accepted: 1 by the baseline") && status == 0,
        "{said}"
    );
    // An entry whose finding is gone is told, and goes.
    let fixed = source.replace(line, &format!("{line}\n    __syncthreads();"));
    let (file, built_again) = (here.join("plain.cu"), here.join("plain"));
    std::fs::write(&file, fixed).unwrap();
    assert!(
        build(std::slice::from_ref(&file), &[], &built_again)
            .status
            .success()
    );
    let (said, status) = exec("plain", &["--baseline", "known.json"]);
    assert!(
        said.contains("warning: the baseline lists `data-race` in `reverse<false>` of plain")
            && status == 0,
        "{said}"
    );
    let (said, status) = exec("plain", &["--baseline", "known.json", "--update-baseline"]);
    assert!(
        said.contains("0 added, 1 dropped") && !said.contains("warning") && status == 0,
        "{said}"
    );
    std::fs::write(&file, &source).unwrap();
    assert!(build(&[file], &[], &built_again).status.success());
    let (said, status) = exec("plain", &[]);
    assert!(said.contains("error[data-race]") && status == 1, "{said}");
    // The command that repeats it is in the report.
    assert!(
        said.contains("reproduce with: racetrap exec -- ./plain bug\n"),
        "{said}"
    );
    let (said, status) = exec("allowed", &[]);
    assert!(
        said.contains("accepted: 1 by a comment") && status == 0,
        "{said}"
    );
    let (said, status) = exec("allowed", &["--ignore-allow"]);
    assert!(said.contains("error[data-race]") && status == 1, "{said}");
    for (option, pattern, expected) in [
        ("--kernel", "rev*", 1),
        ("--kernel", "other", 3),
        ("--skip-kernel", "reverse", 3),
        ("--skip-kernel", "other", 1),
    ] {
        let (said, status) = exec("plain", &[option, pattern]);
        assert_eq!(status, expected, "{option} {pattern}: {said}");
    }
}

/// Words that a program prints under a name, and whether its sums round.
struct Printed {
    name: String,
    words: Vec<u32>,
    rounded: bool,
}

fn printed(text: &str) -> Vec<Printed> {
    let mut all: Vec<Printed> = Vec::new();
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("  ^ ") {
            all.last_mut().unwrap().rounded = kind == "rounded";
        } else if let Some(words) = line.strip_prefix("  ") {
            let words = words
                .split(' ')
                .map(|w| u32::from_str_radix(w, 16).unwrap());
            all.last_mut().unwrap().words.extend(words);
        } else {
            all.push(Printed {
                name: line.to_owned(),
                words: Vec::new(),
                rounded: line.ends_with(" rounded"),
            });
        }
    }
    all
}

/// Whether sums of a case are `.f32`, whose order and rounding the manual leaves open.
fn sums_of_singles(name: &str) -> bool {
    name.contains(" float ") || name.starts_with("mma.") && name.contains(".f32.")
}

/// What a program prints here on the fast engine, which the plain one prints as well, and what it printed on a GPU: `recorded/NAME.GPU.txt.gz`.
fn recorded(name: &str, gpu: &str) -> Option<(String, String)> {
    testing::needs_nvcc()?;
    let folder = folder().join("recorded");
    let recorded = std::fs::File::open(folder.join(format!("{name}.{gpu}.txt.gz"))).unwrap();
    let mut expected = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(recorded), &mut expected)
        .unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let program = temporary.path().join("program");
    let built = Command::new(RACETRAP)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "build",
            "--device",
            "sm_90",
            "--",
            "nvcc",
            "-std=c++17",
            "-o",
        ])
        .arg(&program)
        .arg(folder.join(format!("{name}.cu")))
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let printed = |engine: &[&str]| {
        let output = Command::new(RACETRAP)
            .args(["exec", "--device", "sm_90"])
            .args(engine)
            .arg("--")
            .arg(&program)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = printed(&[]);
    assert!(
        text == printed(&["--plain"]),
        "{name}: the plain engine differs"
    );
    Some((text, expected))
}

/// Which tensor maps CUDA makes and refuses, and what copies with them leave in memory, by checksums; what bulk reductions make of special numbers:
/// line for line as an H100 gave it.
#[rstest]
#[case("tensor", 1101)]
#[case("bulk", 10)]
fn what_copies_leave(#[case] name: &str, #[case] count: usize) {
    let Some((text, expected)) = recorded(name, "h100") else {
        return;
    };
    let lines: Vec<&str> = expected.lines().collect();
    assert_eq!(
        (lines.len(), text.lines().count()),
        (count, count),
        "{text}"
    );
    let wrong: Vec<(&str, &str)> = text.lines().zip(lines).filter(|(a, b)| a != b).collect();
    assert!(wrong.is_empty(), "{} lines: {wrong:#?}", wrong.len());
}

/// What instructions on matrices and video instructions give, word for word as an H200 gave it: `recorded/*.h200.txt.gz` is what the same
/// program printed there. Sums of `.f32` may round otherwise (PTX ISA, "mma": their order and rounding are unspecified).
#[rstest]
#[case("matrix")]
#[case("video")]
fn what_a_gpu_gave(#[case] name: &str) {
    let Some((text, expected)) = recorded(name, "h200") else {
        return;
    };
    let (here, there) = (printed(&text), printed(&expected));
    assert_eq!(here.len(), there.len());
    assert!(there.len() > 100);
    for (here, there) in here.iter().zip(&there) {
        let name = &there.name;
        assert_eq!(here.name, *name);
        assert_eq!(here.words.len(), there.words.len(), "{name}");
        for (at, (a, b)) in here.words.iter().zip(&there.words).enumerate() {
            if there.rounded && sums_of_singles(name) {
                let [a, b] = [a, b].map(|word| f32::from_bits(*word));
                // Some units of the last place of the largest number on the way.
                assert!(
                    (a - b).abs() <= 4e-6,
                    "{name}: word {at}: {a}, and {b} on the GPU"
                );
            } else {
                assert_eq!(a, b, "{name}: word {at}");
            }
        }
    }
}
