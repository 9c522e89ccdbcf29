//! The example course, and classes.

use racetrap_grade::build::Compiler;
use racetrap_grade::class::{Override, Shard, entries, grade_class, is_class, merged, named};
use racetrap_grade::course::Course;
use racetrap_grade::format::table::{self, Roster};
use racetrap_grade::selftest::selftest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The assignments of the example course.
pub const ASSIGNMENTS: [&str; 5] = [
    "vector-add",
    "tiled-product",
    "reduction",
    "scan",
    "histogram",
];

/// The folder of an assignment of the example course.
pub fn example(name: &str) -> PathBuf {
    testing::root().join("examples/course").join(name)
}

/// Where the PTX lies that tests use where there is no compiler.
pub fn pinned(name: &str) -> PathBuf {
    testing::root().join("crates/grade/tests/pinned").join(name)
}

/// An assignment of the example course, with pinned PTX.
pub fn open(name: &str) -> Course {
    open_at(&example(name).join("assignment.yaml"), name)
}

/// An assignment at a path, with the PTX that is pinned for another one.
pub fn open_at(path: &Path, name: &str) -> Course {
    let compiler = Compiler {
        pinned: Some(pinned(name)),
        ..Compiler::find()
    };
    Course::open(path, compiler).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A submission of one file.
pub fn one(name: &str, text: &str) -> racetrap_grade::submission::Files {
    racetrap_grade::submission::Files {
        texts: BTreeMap::from([(name.to_owned(), text.to_owned())]),
        ignored: Vec::new(),
    }
}

#[test]
fn selftests_of_the_example_course_hold() {
    for name in ASSIGNMENTS {
        if !pinned(name).is_dir() && testing::needs_nvcc().is_none() {
            continue;
        }
        let done = selftest(&open(name)).unwrap();
        assert!(done.ok(), "{name}:\n{}", done.render());
        assert!(done.lines.len() > 5);
    }
}

#[test]
fn a_selftest_that_expects_too_much_fails() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(example("reduction").join("assignment.yaml")).unwrap();
    let text = text
        .replace("lose: [races]", "lose: [memory]")
        .replace("{total: 100}", "{total: 99}")
        .replace(
            "solution: solution",
            &format!(
                "solution: {}",
                example("reduction").join("solution").display()
            ),
        )
        .replace(
            "    solution:",
            &format!("    {}:", example("reduction").join("solution").display()),
        )
        .replace(
            "    starter:",
            &format!("    {}:", example("reduction").join("starter").display()),
        );
    let path = folder.path().join("assignment.yaml");
    std::fs::write(&path, text).unwrap();
    let done = selftest(&open_at(&path, "reduction")).unwrap();
    let wrong: Vec<&String> = done
        .lines
        .iter()
        .filter(|(ok, _)| !ok)
        .map(|(_, line)| line)
        .collect();
    assert_eq!(wrong.len(), 3, "{}", done.render());
    assert!(wrong[0].contains("total: 100, expected 99"), "{}", wrong[0]);
    assert!(
        wrong[1].contains("loses no points of memory") && wrong[1].contains("data-race on lines"),
        "{}",
        wrong[1]
    );
}

/// A folder with submissions of three students, two of whom hand in the same.
fn class() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let solution =
        std::fs::read_to_string(example("reduction").join("solution/reduction.cu")).unwrap();
    let starter =
        std::fs::read_to_string(example("reduction").join("starter/reduction.cu")).unwrap();
    for (name, text) in [("ada", &solution), ("bob", &starter), ("cyn", &solution)] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("reduction.cu"), text).unwrap();
    }
    std::fs::create_dir(folder.path().join("dan")).unwrap();
    folder
}

#[test]
fn a_class_is_graded_once_a_source_and_resumed() {
    let course = open("reduction");
    let submissions = class();
    assert!(is_class(submissions.path(), &course));
    assert!(!is_class(&submissions.path().join("ada"), &course));
    let entries = entries(submissions.path()).unwrap();
    let results = tempfile::tempdir().unwrap();
    let told = Mutex::new(Vec::new());
    let progress = |name: &str| told.lock().unwrap().push(name.to_owned());
    let graded = grade_class(&course, &entries, Some(results.path()), 2, &progress);
    let points: Vec<(&str, f64)> = graded
        .graded
        .iter()
        .map(|g| (g.submission.name.as_str(), g.points))
        .collect();
    assert_eq!(
        points,
        [("ada", 100.0), ("bob", 5.0), ("cyn", 100.0), ("dan", 0.0)]
    );
    assert_eq!((graded.kept, graded.sources), (0, 2));
    assert_eq!(told.lock().unwrap().len(), 4);

    // As if it had been killed: one result is not there, one is half written, one is of another source.
    let file = |name: &str| results.path().join(format!("{name}.json"));
    std::fs::remove_file(file("bob")).unwrap();
    let whole = std::fs::read(file("cyn")).unwrap();
    std::fs::write(file("cyn"), &whole[..whole.len() / 2]).unwrap();
    let again = grade_class(&course, &entries, Some(results.path()), 1, &|_| {});
    assert_eq!((again.kept, again.sources), (1, 1));
    let names = |all: &[racetrap_grade::Graded]| -> Vec<(String, f64)> {
        all.iter()
            .map(|g| (g.submission.name.clone(), g.points))
            .collect()
    };
    assert_eq!(names(&again.graded), names(&graded.graded));
    assert_eq!(
        names(&merged(results.path()).unwrap()),
        names(&graded.graded)
    );
    std::fs::write(submissions.path().join("ada/reduction.cu"), "no").unwrap();
    let changed = grade_class(&course, &entries, Some(results.path()), 1, &|_| {});
    assert_eq!(changed.sources, 1);
}

#[test]
fn shards_grade_a_class_together() {
    let course = open("reduction");
    let submissions = class();
    let all = entries(submissions.path()).unwrap();
    let results = tempfile::tempdir().unwrap();
    for index in 0..3 {
        let shard = Shard { index, count: 3 };
        let part: Vec<_> = all.iter().filter(|e| shard.has(&e.name)).cloned().collect();
        grade_class(&course, &part, Some(results.path()), 1, &|_| {});
    }
    assert_eq!(merged(results.path()).unwrap().len(), 4);
}

#[test]
fn a_table_keeps_the_columns_of_the_roster() {
    let course = open("reduction");
    let submissions = class();
    let graded = grade_class(
        &course,
        &named(vec![
            submissions.path().join("ada"),
            submissions.path().join("bob"),
        ]),
        None,
        1,
        &|_| {},
    );
    let roster = "\u{feff}Student,SIS Login ID,Section\n\"Lovelace, Ada\",Ada,1\nNobody,eve,2\n";
    let roster = Roster::read(roster, Some("SIS Login ID")).unwrap();
    let overrides = BTreeMap::from([(
        "bob".to_owned(),
        Override {
            points: 7.5,
            reason: "=explained".into(),
        },
    )]);
    let table = table::render(
        &graded.graded,
        &course.assignment,
        Some(&roster),
        &overrides,
    );
    let rows: Vec<Vec<String>> = csv::Reader::from_reader(table.as_bytes())
        .records()
        .map(|r| r.unwrap().iter().map(str::to_owned).collect())
        .collect();
    assert!(table.starts_with(
        "Student,SIS Login ID,Section,points,of,status,review,override,sha256,compiles,"
    ));
    assert_eq!(
        rows[0][..6],
        ["Lovelace, Ada", "Ada", "1", "100", "100", "graded"]
    );
    assert_eq!(rows[1][..6], ["Nobody", "eve", "2", "", "", "missing"]);
    assert_eq!(
        rows[2][..8],
        ["", "bob", "", "7.5", "100", "overridden", "", "'=explained"]
    );
    assert!(
        Roster::read("a,b\n", Some("c"))
            .unwrap_err()
            .to_string()
            .contains("it has: a, b")
    );
}

const WITH_HARNESS: &str = "\
racetrap-assignment: 1
id: neighbours
title: Sum of neighbours
submission: {require: [sum.cuh]}
build: {harness: [main.cu]}
kernel:
  entry: run
  grid: 1
  block: threads
  arguments:
    in: {type: i32, length: threads, fill: each:i * i}
    out: {type: i32, length: threads}
compare:
  out: {each: i * i + (i + 1) % threads * ((i + 1) % threads)}
inputs:
  - {id: small, sizes: {threads: 64}}
parts:
  - {id: compiles, points: 1, check: compile, gate: true}
  - {id: results, points: 4, check: output}
  - {id: races, points: 5, check: races}
";

#[test]
fn functions_are_graded_inside_the_harness() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("assignment.yaml");
    std::fs::write(&path, WITH_HARNESS).unwrap();
    let harness = "#include \"sum.cuh\"\n__global__ void run(const int *in, int *out)\n{\n    __shared__ int tile[64];\n    out[threadIdx.x] = sum(tile, in[threadIdx.x], threadIdx.x, blockDim.x);\n}\n";
    std::fs::write(folder.path().join("main.cu"), harness).unwrap();
    let course = Course::open(&path, Compiler::find()).unwrap();
    let right = "__device__ int sum(int *tile, int mine, int t, int n)\n{\n    tile[t] = mine;\n    __syncthreads();\n    return mine + tile[(t + 1) % n];\n}\n";
    let grade = |text: &str| {
        racetrap_grade::grade::grade_files(&course, &one("sum.cuh", text), "x", &mut |_| {})
            .unwrap()
    };
    let graded = grade(right);
    assert_eq!(
        (graded.points, graded.causes.len()),
        (10.0, 0),
        "{graded:#?}"
    );
    let racy = grade(&right.replace("    __syncthreads();\n", ""));
    assert!(racy.points < 10.0);
    // The lines are those of the student, though the kernel is the course's.
    let lines: Vec<(&str, u32)> = racy.causes[0]
        .lines
        .iter()
        .map(|l| (l.file.as_str(), l.line))
        .collect();
    assert_eq!(lines, [("sum.cuh", 3), ("sum.cuh", 4)]);
    assert_eq!(
        racy.causes[0].lines[0].text.as_deref(),
        Some("tile[t] = mine;")
    );
    // A file of the harness's name does not take its place.
    let mut files = one("sum.cuh", right);
    files.texts.insert(
        "main.cu".into(),
        "__global__ void run(const int *in, int *out) {}".into(),
    );
    assert!(course.source(&files).unwrap().files["main.cu"].contains("sum.cuh"));
    assert_eq!(
        grade("__device__ int sum(int *tile, int mine) { return mine; }").points,
        0.0
    );
}

#[test]
fn what_cannot_be_decided_waits_for_a_person() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let course = open("reduction");
    let right = crate::corpus::reductions().remove(0).2;
    // A form of a video instruction that the simulator refuses.
    let odd = r#"    if (n == 64) {
        int d;
        asm volatile("vadd.u32.u32.u32.min %0, %1, %1, %2;" : "=r"(d) : "r"(t), "r"(n));
        partial[0] += d - d;
    }
    if (t == 0)"#;
    let unknown = right.replace("    if (t == 0)", odd);
    assert_ne!(unknown, right);
    let graded = racetrap_grade::grade::grade_files(
        &course,
        &one("reduction.cu", &unknown),
        "x",
        &mut |_| {},
    )
    .unwrap();
    assert!(graded.refused.is_none(), "{:?}", graded.refused);
    assert!(!graded.is_final());
    for part in graded.parts.iter().filter(|p| p.id != "compiles") {
        assert_eq!(part.earned, None, "{part:?}");
    }
    assert!(
        graded.review[0].why.contains("vadd.u32"),
        "{:?}",
        graded.review
    );
}

const WITH_FILES: &str = "\
racetrap-assignment: 1
id: twice
title: Twice
submission: {require: [twice.cu]}
build: {}
kernel:
  entry: twice
  grid: 1
  block: 4
  arguments:
    in: {type: u16, length: 4, file: in.raw}
    out: {type: u16, length: 4}
compare:
  out: {}
inputs:
  - {id: given, sizes: {}, expected: {out: out.raw}}
parts:
  - {id: compiles, points: 1, check: compile}
  - {id: results, points: 9, check: output}
";

#[test]
fn inputs_and_expected_results_may_be_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("assignment.yaml");
    std::fs::write(&path, WITH_FILES).unwrap();
    std::fs::write(folder.path().join("in.raw"), [1, 0, 2, 0, 3, 0, 0, 1]).unwrap();
    let opened = || Course::open(&path, Compiler::find());
    assert!(opened().unwrap_err().to_string().contains("out.raw"));
    std::fs::write(folder.path().join("out.raw"), [2, 0, 4, 0, 6, 0]).unwrap();
    let said = opened().unwrap_err().to_string();
    assert!(
        said.contains("6 bytes") && said.contains("8 are compared"),
        "{said}"
    );
    std::fs::write(folder.path().join("out.raw"), [2, 0, 4, 0, 6, 0, 0, 2]).unwrap();
    let course = opened().unwrap();
    if testing::needs_nvcc().is_none() {
        return;
    }
    let right = "__global__ void twice(const unsigned short *in, unsigned short *out)\n{\n    out[threadIdx.x] = 2 * in[threadIdx.x];\n}\n";
    let points = |text: &str| {
        racetrap_grade::grade::grade_files(&course, &one("twice.cu", text), "x", &mut |_| {})
            .unwrap()
            .points
    };
    assert_eq!(points(right), 10.0);
    assert_eq!(points(&right.replace("2 *", "3 *")), 1.0);
    std::fs::write(&path, WITH_FILES.replace("file: in.raw", "file: ../in.raw")).unwrap();
    assert!(opened().is_err());
}
