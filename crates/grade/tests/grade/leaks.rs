//! Attacks: what students must not learn, they don't learn.

use crate::course::{example, one};
use racetrap_grade::Graded;
use racetrap_grade::build::Compiler;
use racetrap_grade::course::Course;
use racetrap_grade::format::classroom50::Origin;
use racetrap_grade::format::{autolab, classroom50, gradescope, junit, prairielearn, text};
use racetrap_grade::grade::grade_files;
use racetrap_grade::view::{When, view};
use std::path::Path;

const SIZE: &str = "7919";
const SECRET: &str = "the-secret-of-this-assignment";

/// The reduction with one hidden input, whose size is easy to find in a text.
fn course(folder: &Path) -> Option<Course> {
    testing::needs_nvcc()?;
    let text = std::fs::read_to_string(example("reduction").join("assignment.yaml")).unwrap();
    let (head, tail) = text.split_once("    draws: 3\n").unwrap();
    let (_, tail) = tail.split_once('\n').unwrap();
    let text = format!("{head}    sizes: {{threads: 256, blocks: 31, n: {SIZE}}}\n{tail}");
    let text = text.replace("change this text before you use the assignment", SECRET);
    let text = text.replace(
        "  forbid: [asm, __asm, __asm__, \"thrust/\", \"cub/\", \"cooperative_groups\"]\n",
        "",
    );
    // All that may be told is told.
    let text = text.replace(
        "hidden: {before: rule, after: lines}",
        "hidden: {before: schedule, after: schedule}",
    );
    let solution = folder.join("solution");
    std::fs::create_dir(&solution).unwrap();
    std::fs::copy(
        example("reduction").join("solution/reduction.cu"),
        solution.join("reduction.cu"),
    )
    .unwrap();
    let path = folder.join("assignment.yaml");
    std::fs::write(&path, text).unwrap();
    Some(Course::open(&path, Compiler::find()).unwrap())
}

/// All that a student may get to see of a grade.
fn seen(graded: &Graded, course: &Course) -> String {
    let mut out = String::new();
    for when in [When::BeforeDue, When::AfterDue] {
        let view = view(graded, &course.assignment, when);
        out += &text::render(&view);
        out += &prairielearn::render(&view, graded.refused.is_some());
        out += &autolab::render(&view);
        out += &classroom50::render(&view, &Origin::default());
        out += &junit::render(&[view]);
    }
    out + &gradescope::render(graded, &course.assignment)
}

fn grade(course: &Course, source: &str) -> (Graded, String) {
    let files = one("reduction.cu", source);
    let mut interim = String::new();
    let graded = grade_files(course, &files, "eve", &mut |step| {
        interim += &seen(step, course)
    })
    .unwrap();
    let seen = seen(&graded, course) + &interim;
    (graded, seen)
}

#[test]
fn nothing_of_hidden_inputs_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let Some(course) = course(folder.path()) else {
        return;
    };
    let solution =
        std::fs::read_to_string(example("reduction").join("solution/reduction.cu")).unwrap();
    let begin = "    int t = threadIdx.x;\n";
    assert!(solution.contains(begin));
    // Each is right on visible inputs, and tells as loudly as it can what it sees on the hidden one.
    let attacks = [
        (
            "wrong",
            "    if (n > 5000) { out[blockIdx.x] = n; return; }\n",
        ),
        (
            "prints",
            "    if (n > 5000) { printf(\"n = %d\\n\", n); out[blockIdx.x] = in[n - 1]; return; }\n",
        ),
        ("asserts", "    assert(n < 5000);\n"),
        ("traps", "    if (n > 5000) __trap();\n"),
        ("reaches out", "    if (n > 5000) out[n] = in[n * 2];\n"),
        ("races", "    if (n > 5000) out[0] = threadIdx.x + n;\n"),
        (
            "never ends",
            "    if (n > 5000) for (volatile int k = 0; k < n * 100000; ) if (k > n) k = 0;\n",
        ),
        (
            "waits",
            "    if (n > 5000 && threadIdx.x < n % 32) __syncthreads();\n",
        ),
        (
            "is slow",
            "    if (n > 5000) for (volatile int k = 0; k < n; k++) { }\n",
        ),
    ];
    let hidden = course.drawn.last().unwrap();
    let expected = course.expected.last().unwrap();
    let sums: Vec<String> = expected.buffers["out"]
        .chunks(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()).to_string())
        .filter(|s| s.len() > 3)
        .collect();
    assert_eq!(hidden.sizes["n"].to_string(), SIZE);
    for (name, attack) in attacks {
        let source = format!(
            "#include <cstdio>\n#include <cassert>\n{}",
            solution.replacen(begin, &format!("{begin}{attack}"), 1)
        );
        let (graded, seen) = grade(&course, &source);
        assert!(graded.refused.is_none(), "{name}: {:?}", graded.refused);
        if name != "is slow" {
            assert!(graded.points < graded.of, "{name} is not noticed");
        }
        // Those who teach see it.
        assert!(serde_json::to_string(&graded).unwrap().contains(SIZE));
        let mut secrets = vec![
            SIZE.to_owned(),
            SECRET.to_owned(),
            hidden.seed.to_string(),
            "(30,".into(),
        ];
        secrets.extend(sums.iter().cloned());
        secrets.extend(["31 blocks", "= 31", "7936", "blocks = 31"].map(str::to_owned));
        for secret in secrets {
            assert!(!seen.contains(&secret), "{name} shows `{secret}`:\n{seen}");
        }
    }
}

#[test]
fn files_of_the_course_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let Some(course) = course(folder.path()) else {
        return;
    };
    if toolchain::Nvcc::confined() == toolchain::sandbox::Confined::LimitsOnly {
        testing::skip("this system has no Landlock");
        return;
    }
    let solution = folder.path().join("solution/reduction.cu");
    let (assignment, solution) = (
        folder.path().join("assignment.yaml"),
        solution.display().to_string(),
    );
    let stolen = "__global__ void reduction(const float *in, float *out, int n) { out[0] = n; }\n";
    for attack in [
        format!("#include \"{solution}\"\n"),
        format!("#define FILE \"{solution}\"\n#include FILE\n"),
        format!("#include \"{}\"\n{stolen}", assignment.display()),
        format!(
            "#if __has_include(\"{solution}\")\n#include \"{solution}\"\n#else\n#error no\n#endif\n"
        ),
        format!("#line 1 \"{solution}\"\n#include \"reduction.cu\"\n"),
        "#include \"/proc/self/cwd/../solution/reduction.cu\"\n".to_owned(),
        "#include \"../solution/reduction.cu\"\n".to_owned(),
        format!(
            "#include \"/proc/{}/environ\"\n{stolen}",
            std::process::id()
        ),
        format!(
            "#include \"/proc/{}/cmdline\"\n{stolen}",
            std::process::id()
        ),
    ] {
        let (graded, seen) = grade(&course, &attack);
        assert_eq!(graded.points, 0.0, "{attack}\n{seen}");
        assert!(
            !seen.contains(SECRET) && !seen.contains("partial["),
            "{attack}\n{seen}"
        );
    }
}

#[test]
fn lines_of_other_files_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let Some(course) = course(folder.path()) else {
        return;
    };
    let solution = folder
        .path()
        .join("solution/reduction.cu")
        .display()
        .to_string();
    // It races, and says that the line is one of the reference.
    let source = format!(
        "__global__ void reduction(const float *in, float *out, int n)\n{{\n#line 7 \"{solution}\"\nout[0] = in[0] + threadIdx.x + n;\n}}\n"
    );
    let (graded, seen) = grade(&course, &source);
    assert!(!graded.causes.is_empty(), "{graded:?}");
    assert!(
        !seen.contains("partial") && !seen.contains("solution"),
        "{seen}"
    );
    assert!(
        !serde_json::to_string(&graded.causes)
            .unwrap()
            .contains("partial"),
        "{:?}",
        graded.causes
    );
    let source = format!(
        "#line 7 \"{solution}\"\n__global__ void reduction(const float *in, float *out, int n) {{ oops }}\n"
    );
    let (_, seen) = grade(&course, &source);
    assert!(!seen.contains("partial"), "{seen}");
}

#[test]
fn compilations_end() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut course) = course(folder.path()) else {
        return;
    };
    course.assignment.build.seconds = 3.0;
    course.compiler.cache = None;
    // Two to the power of thirty.
    let mut bomb = "#define A0 x += 1;\n".to_owned();
    for step in 1..=30 {
        bomb += &format!("#define A{step} A{0} A{0}\n", step - 1);
    }
    bomb += "__global__ void reduction(const float *in, float *out, int n) { float x = in[0]; A30 out[0] = x; }\n";
    let started = std::time::Instant::now();
    let (graded, _) = grade(&course, &bomb);
    assert!(graded.refused.is_some() && graded.points == 0.0);
    assert!(started.elapsed().as_secs() < 60);
}
