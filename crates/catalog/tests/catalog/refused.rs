//! Kernels that the compiler must refuse: what it said when it was pinned is what the case expects, on the lines that the
//! kernel tags; and the mistakes that such a case can have. Whether a compiler still says it is `pinned_ptx.rs`'s question.

use catalog::case_result::{self, Settings};
use catalog::load::Catalog;
use catalog::refused::Diagnostics;
use catalog::tree::Tree;
use insta::assert_snapshot;
use report::Verdict;
use std::path::Path;

#[test]
fn the_compiler_said_what_it_must() {
    let catalog = Catalog::embedded().unwrap();
    let refused = catalog.cases.iter().filter(|e| e.case.refusal().is_some());
    let mut tried = 0;
    for entry in refused {
        let trial = case_result::run(&catalog, entry, &Settings::default());
        assert_eq!(
            trial.verdict,
            Verdict::Caught,
            "{}: {}",
            entry.id,
            trial.summary
        );
        assert!(trial.ok() && trial.buggy && trial.runs == 0, "{}", entry.id);
        tried += 1;
    }
    assert!(tried > 0);
}

const KERNEL: &str = "\
__global__ void fill(int *out)
{
#ifdef BUG
    out[threadIdx.x] = one; //~ compile-error
#else
    out[threadIdx.x] = 1;
#endif
}
";

const RIGHT: &str = "\
title: Ones
kernel: fill/small.cu
buffers:
  out: {type: i32, length: 32, values: uninitialized}
launches:
  - {entry: fill, block: 32, args: [out]}
oracle:
  out: {each: 1}
expect:
  simulator: clean
";

const REFUSED: &str = "\
title: Ones, by a name that nobody declares
kernel: fill/small.cu
defines: {BUG: }
twin: right
expect:
  compiler: {errors: ['identifier \"one\" is undefined']}
";

const SAID: &str = "kernels/fill/small.cu(4): error: identifier \"one\" is undefined\n\n\
    1 error detected in the compilation of \"kernels/fill/small.cu\".";

fn tree(right: &str, refused: &str, kernel: &str) -> Tree {
    let mut tree = Tree::default();
    for (name, text) in [
        ("kernels/fill/small.cu", kernel),
        ("cases/fill/right.yaml", right),
        ("cases/fill/refused.yaml", refused),
    ] {
        tree.files.insert(name.to_owned(), text.to_owned().into());
    }
    tree
}

fn said_of(tree: &Tree) -> String {
    match Catalog::without_ptx(tree.clone(), Path::new("somewhere")) {
        Ok(catalog) => format!("{} good cases", catalog.cases.len()),
        Err(errors) => errors.to_string(),
    }
}

/// What is said when `from` becomes `to` in the case that is refused.
fn refused(from: &str, to: &str) -> String {
    assert!(REFUSED.contains(from));
    said_of(&tree(RIGHT, &REFUSED.replacen(from, to, 1), KERNEL))
}

/// What is said when `from` becomes `to` in the kernel.
fn kernel(from: &str, to: &str) -> String {
    assert!(KERNEL.contains(from));
    said_of(&tree(RIGHT, REFUSED, &KERNEL.replacen(from, to, 1)))
}

#[test]
fn the_unchanged_files_are_good() {
    assert_eq!(said_of(&tree(RIGHT, REFUSED, KERNEL)), "2 good cases");
}

#[test]
fn what_is_refused_never_runs() {
    assert_snapshot!(refused("expect:", "launches:\n  - {entry: fill}\nexpect:"), @"cases/fill/refused.yaml:6:3: a kernel that the compiler rejects never runs: remove `launches`");
    assert_snapshot!(refused("expect:", "limits: {runs: 1}\nwrong-results: true\nexpect:"), @r"
cases/fill/refused.yaml:6:16: a kernel that the compiler rejects never runs: remove `wrong-results`
cases/fill/refused.yaml:5:9: a kernel that the compiler rejects never runs: remove `limits`
");
    assert_snapshot!(refused("expect:", "expect:\n  simulator: caught"), @"cases/fill/refused.yaml:6:3: expect: a kernel that the compiler rejects never runs: give either `compiler` or the detectors in `expect`, not both");
    assert_snapshot!(refused("expect:", "expect:\n  native: caught"), @"cases/fill/refused.yaml:6:3: expect: a kernel that the compiler rejects never runs: give either `compiler` or the detectors in `expect`, not both");
    assert_snapshot!(refused("{BUG: }", "{}"), @r"
kernels/fill/small.cu:4:33: this annotation applies to no case: no case compiles its line
cases/fill/refused.yaml:3:10: `fill/right` runs the same kernel with the same defines, so the kernel compiles
");
}

#[test]
fn its_errors_are_named() {
    assert_snapshot!(refused("'identifier \"one\" is undefined'", ""), @"cases/fill/refused.yaml:6:22: the list of expected compiler errors is empty");
    assert_snapshot!(refused("['", "['x', 'x', '"), @"cases/fill/refused.yaml:6:22: an error is listed twice; list it once, even if several lines have it");
    assert_snapshot!(refused("errors:", "error:"), @"cases/fill/refused.yaml:6:14: unknown key `error` (did you mean `errors`?)");
    assert_snapshot!(refused("compiler: {errors: ['identifier \"one\" is undefined']}", "{}"), @"cases/fill/refused.yaml:6:3: expect: `expect` needs a verdict: `simulator: caught` or `simulator: clean`");
    assert_snapshot!(refused("twin: right\n", ""), @"cases/fill/refused.yaml:5:3: the case expects the simulator to catch a bug, but names no fixed `twin`");
}

#[test]
fn its_lines_are_tagged() {
    // An error at the end of the source has no line: whether a tag is missing shows when the case is judged.
    assert_snapshot!(kernel(" //~ compile-error", ""), @"2 good cases");
    assert_snapshot!(kernel("//~ compile-error", "//~ compile-error, data-race"), @"cases/fill/refused.yaml:2:9: a kernel that the compiler rejects never runs: its lines can only be tagged `compile-error`");
    assert_snapshot!(kernel("= 1;", "= 1; //~[right] compile-error"), @r"
kernels/fill/small.cu:6:38: this tag applies to `fill/right`, which is correct; name the buggy case in it: `//~[case] …`
cases/fill/right.yaml:10:3: a line is tagged `compile-error`, which needs `expect: {compiler: {errors: […]}}`
");
    assert_snapshot!(kernel("compile-error", "compile-eror"), @"kernels/fill/small.cu:4:33: unknown rule `compile-eror` (did you mean `compile-error`?)");
}

#[test]
fn what_the_compiler_said_is_pinned() {
    let tree = tree(RIGHT, REFUSED, KERNEL);
    let catalog = Catalog::without_ptx(tree.clone(), Path::new("somewhere")).unwrap();
    let of = Diagnostics::new(&catalog.find("fill/refused").unwrap().case);
    let errors = |tree: &Tree| {
        let catalog = Catalog::without_ptx(tree.clone(), Path::new("somewhere")).unwrap();
        let errors = catalog::verify::verify(&catalog);
        let errors = errors.iter().map(ToString::to_string);
        errors
            .filter(|e| e.contains("diagnostics"))
            .collect::<String>()
    };
    assert_snapshot!(errors(&tree), @"cases/fill/refused.yaml:2:9: the pinned compiler messages `kernels/fill/small.BUG.sm_90.diagnostics` are missing");

    let mut pinned = tree.clone();
    let text = of.text(&tree, "13.0.88", SAID, "/");
    pinned.files.insert(of.file.clone(), text.clone().into());
    assert_eq!(errors(&pinned), "");

    let mut edited = pinned.clone();
    let by_hand = text.replace("is undefined", "is unknown");
    edited.files.insert(of.file.clone(), by_hand.into());
    assert_snapshot!(errors(&edited), @"kernels/fill/small.BUG.sm_90.diagnostics: out of date: it was edited by hand");

    let mut left_over = pinned.clone();
    let old = "kernels/fill/old.sm_90.diagnostics".to_owned();
    left_over.files.insert(old, text.clone().into());
    assert_snapshot!(errors(&left_over), @"kernels/fill/old.sm_90.diagnostics: no case uses this file");

    let judged = |said: &str| {
        let mut tree = tree.clone();
        let text = of.text(&tree, "13.0.88", said, "/");
        tree.files.insert(of.file.clone(), text.into());
        let catalog = Catalog::without_ptx(tree, Path::new("somewhere")).unwrap();
        let entry = catalog.find("fill/refused").unwrap();
        let trial = case_result::run(&catalog, entry, &Settings::default());
        format!(
            "{} ({}): {}",
            trial.verdict.name(),
            trial.ok(),
            trial.summary
        )
    };
    assert_snapshot!(judged(SAID), @r#"caught (true): refused by the compiler: kernels/fill/small.cu:4: identifier "one" is undefined"#);
    assert_snapshot!(judged(&SAID.replace("one", "two")), @r#"false-alarm (false): unexpected compiler error: kernels/fill/small.cu:4: identifier "two" is undefined"#);
    assert_snapshot!(judged(&SAID.replace("(4)", "(6)")), @r#"false-alarm (false): unexpected compiler error: kernels/fill/small.cu:6: identifier "one" is undefined, on a line without the tag `compile-error`"#);
    assert_snapshot!(judged("nvcc fatal: out of memory"), @"inconclusive (false): `kernels/fill/small.BUG.sm_90.diagnostics` does not contain compiler errors");
}
