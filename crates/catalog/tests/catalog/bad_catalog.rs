//! Every mistake that a catalogue's files can have, and the message that it gets.

use catalog::load::Catalog;
use catalog::pinned::Pin;
use catalog::tree::Tree;
use insta::assert_snapshot;
use std::path::Path;

const KERNEL: &str = "\
__global__ void scan(int *out, const int *in, int n)
{
#ifdef BUG
    out[0] = in[0]; //~[wrong] data-race#1 write
#endif
}
";

const CORRECT: &str = "\
title: A scan
kernel: scan/small.cu
sizes:
  n: 1..=64
  threads: [32, 64]
  blocks: ceil_div(n, threads)
buffers:
  data: {type: i32, length: n, values: random}
  out: {type: i32, length: n, values: uninitialized}
launches:
  - entry: scan
    grid: blocks
    block: threads
    args: [out, data, n]
oracle:
  out: inclusive_scan(data)
expect:
  simulator: clean
";

const WRONG: &str = "\
title: A scan with a race
kernel: scan/small.cu
defines: {BUG: 1}
twin: right
launches:
  - {entry: scan, args: []}
expect:
  simulator: caught
";

/// A catalogue of one kernel and two cases.
struct Files(Tree);

impl Files {
    fn new() -> Files {
        let mut files = Files(Tree::default());
        files.set("kernels/scan/small.cu", KERNEL);
        files.set("cases/scan/small/right.yaml", CORRECT);
        files.set("cases/scan/small/wrong.yaml", WRONG);
        files
    }

    fn set(&mut self, name: &str, text: &str) {
        self.0.files.insert(name.to_owned(), text.to_owned().into());
    }

    fn load(&self) -> String {
        match Catalog::without_ptx(self.0.clone(), Path::new("somewhere")) {
            Ok(catalog) => format!("{} good cases", catalog.cases.len()),
            Err(errors) => errors.to_string(),
        }
    }
}

fn changed(name: &str, original: &str, from: &str, to: &str) -> String {
    assert!(original.contains(from), "`{from}` is not in {name}");
    let mut files = Files::new();
    files.set(name, &original.replacen(from, to, 1));
    files.load()
}

/// What is said when `from` becomes `to` in the correct case.
fn right(from: &str, to: &str) -> String {
    changed("cases/scan/small/right.yaml", CORRECT, from, to)
}

/// What is said when `from` becomes `to` in the buggy case.
fn wrong(from: &str, to: &str) -> String {
    changed("cases/scan/small/wrong.yaml", WRONG, from, to)
}

/// What is said when `from` becomes `to` in the kernel.
fn kernel(from: &str, to: &str) -> String {
    changed("kernels/scan/small.cu", KERNEL, from, to)
}

#[test]
fn the_unchanged_files_are_good() {
    assert_eq!(Files::new().load(), "2 good cases");
}

#[test]
fn keys_and_shapes() {
    assert_snapshot!(right("title: A", "titel: A"), @"cases/scan/small/right.yaml:1:1: unknown key `titel` (did you mean `title`?)");
    assert_snapshot!(right("    grid: blocks", "    gird: blocks"), @"cases/scan/small/right.yaml:12:5: unknown key `gird` (did you mean `grid`?)");
    assert_snapshot!(right("random}", "random, zzz: 1}"), @"cases/scan/small/right.yaml:8:48: unknown key `zzz` (known: type, length, values, memory, symbol)");
    assert_snapshot!(right("inclusive_scan(data)", "{is: sum(data), fist: 1}"), @"cases/scan/small/right.yaml:16:24: unknown key `fist` (did you mean `first`?)");
    assert_snapshot!(right("title: A scan\n", ""), @"cases/scan/small/right.yaml:16:1: missing field `title`");
    assert_snapshot!(right("type: i32", "type: int"), @"cases/scan/small/right.yaml:8:16: `int` is not allowed here (known: i8, u8, i16, u16, i32, u32, i64, u64, f32, f64)");
    assert_snapshot!(right("[32, 64]", "[]"), @"cases/scan/small/right.yaml:5:12: sizes.threads: an empty list of choices");
    assert_snapshot!(right("[32, 64]", "[a, b]"), @r#"cases/scan/small/right.yaml:5:13: sizes.threads[0]: invalid i64: `a`"#);
    assert_snapshot!(right("[32, 64]", "{from: 32}"), @"cases/scan/small/right.yaml:5:12: sizes.threads: invalid type: map, expected a range `1..=1024`, a list of choices `[32, 64]`, a number, or an expression over other sizes");
    assert_snapshot!(right("grid: blocks", "grid: [1, 2, 3, 4]"), @"cases/scan/small/right.yaml:12:11: launches[0].grid: expected one to three lengths, got 4");
    assert_snapshot!(right("values: random", "values: rnadom"), @"cases/scan/small/right.yaml:8:40: buffers.data.values: unknown buffer fill `rnadom` (did you mean `random`?)");
    assert_snapshot!(right("values: random", "values: random:5"), @"cases/scan/small/right.yaml:8:40: buffers.data.values: `5` is not a range `LOW..=HIGH`");
    assert_snapshot!(right("values: random", "values: const"), @"cases/scan/small/right.yaml:8:40: buffers.data.values: `const` is not a buffer fill: use `uninitialized`, `zeros`, `iota`, `const:VALUE`, `random`, `random:LOW..=HIGH`, `each:EXPRESSION`, `copy:BUFFER`, or a list of numbers");
    assert_snapshot!(right("simulator: clean", "simulator: claen"), @"cases/scan/small/right.yaml:18:14: expect.simulator: unknown verdict `claen` (did you mean `clean`?)");
    assert_snapshot!(right("simulator: clean", "simulator: missed"), @"cases/scan/small/right.yaml:18:14: expect.simulator: `missed` needs a reason: {verdict: missed, why: …}");
    assert_snapshot!(right("buffers:\n", "buffers: [\n"), @"cases/scan/small/right.yaml:7:10: buffers: expected mapping start");
    assert_snapshot!(right("inclusive_scan(data)", "{first: 1}"), @"cases/scan/small/right.yaml:16:8: oracle.out: an oracle needs exactly one of `is`, `each`, `values` and `kernel`");
    assert_snapshot!(right("inclusive_scan(data)", "{each: 1, args: [data]}"), @"cases/scan/small/right.yaml:16:8: oracle.out: an oracle can have `args` only with `kernel`");
}

#[test]
fn expressions() {
    assert_snapshot!(right("ceil_div(n, threads)", "ceil_div(n, threads"), @"cases/scan/small/right.yaml:6:30: invalid expression `ceil_div(n, threads`: `)` expected");
    assert_snapshot!(right("ceil_div(n, threads)", "ceil_dvi(n, threads)"), @"cases/scan/small/right.yaml:6:11: invalid expression `ceil_dvi(n, threads)`: unknown function `ceil_dvi` (did you mean `ceil_div`?)");
    assert_snapshot!(right("ceil_div(n, threads)", "ceil_div(n, thread)"), @"cases/scan/small/right.yaml:6:11: this case has no size `thread` (did you mean `threads`?)");
    assert_snapshot!(right("ceil_div(n, threads)", "\"n + * 2\""), @"cases/scan/small/right.yaml:6:16: invalid expression `n + * 2`: expected a number, a name or `(`, found `*`");
    assert_snapshot!(right("1..=64", "1..=64 +"), @"cases/scan/small/right.yaml:4:14: invalid expression `1..=64 +`: expected an operand at the end of the expression");
    assert_snapshot!(right("args: [out, data, n]", "args: [out, data, n + 1 2]"), @"cases/scan/small/right.yaml:14:29: invalid expression `n + 1 2`: expected an operator or the end, found `2`");
    assert_snapshot!(right("inclusive_scan(data)", "inclusive_scan"), @"cases/scan/small/right.yaml:16:8: invalid expression `inclusive_scan`: an oracle is a call such as `inclusive_scan(data)`");
    assert_snapshot!(right("inclusive_scan(data)", "inclusive_scan(data, 2 +)"), @"cases/scan/small/right.yaml:16:32: invalid expression `inclusive_scan(data, 2 +)`: expected an operand at the end of the expression");
}

#[test]
#[rustfmt::skip]
fn names() {
    assert_snapshot!(right("args: [out, data, n]", "args: [out, dta, n]"), @"cases/scan/small/right.yaml:14:17: this case has no size or buffer `dta` (did you mean `data`?)");
    assert_snapshot!(right("inclusive_scan(data)", "inclusive_scan(daat)"), @"cases/scan/small/right.yaml:16:8: this case has no buffer `daat` (did you mean `data`?)");
    assert_snapshot!(right("  out: inclusive", "  result: inclusive"), @"cases/scan/small/right.yaml:16:11: this case has no buffer `result` (known: data, out)");
    assert_snapshot!(right("values: random", "values: copy:other"), @"cases/scan/small/right.yaml:8:40: this case has no buffer `other` (known: data, out)");
    assert_snapshot!(right("values: uninitialized", "values: copy:out"), @"cases/scan/small/right.yaml:9:8: the definition of `out` is circular (out → out)");
    assert_snapshot!(right("  n: 1..=64", "  n: 1..=blocks"), @"cases/scan/small/right.yaml:6:11: the definition of `blocks` is circular (blocks → n → blocks)");
    assert_snapshot!(right("  data: {", "  n: {type: i32, length: 1, values: zeros}\n  data: {"), @"cases/scan/small/right.yaml:8:6: `n` is both a size and a buffer");
    assert_snapshot!(right("  n: 1..=64", "  n: 1..=64\n  i: 3"), @"cases/scan/small/right.yaml:5:6: `i` is not a valid name: use letters, digits and `_`, but not `i`");
    assert_snapshot!(right("length: n, values: random", "values: random"), @"cases/scan/small/right.yaml:8:9: the buffer `data` has no `length`");
    assert_snapshot!(right("inclusive_scan(data)", "inclusive_scam(data)"), @"cases/scan/small/right.yaml:16:8: unknown oracle `inclusive_scam` (did you mean `inclusive_scan`?)");
    assert_snapshot!(right("inclusive_scan(data)", "inclusive_scan(data, n, n)"), @"cases/scan/small/right.yaml:16:8: the oracle `inclusive_scan(data[, segment])` is called with 3 argument(s)");
    assert_snapshot!(
                                    right("args: [", "repeat: {d: {from: 1, while: d < n, next: 2 * e}}\n    swap: [out, dat]\n    args: ["),
                                    @r"
cases/scan/small/right.yaml:14:17: this case has no size `e` (known: blocks, d, n, threads)
cases/scan/small/right.yaml:15:17: this case has no buffer `dat` (did you mean `data`?)
"
                                );
}

#[test]
fn twins_and_verdicts() {
    assert_snapshot!(wrong("twin: right", "twin: rihgt"), @"cases/scan/small/wrong.yaml:4:7: the twin `rihgt` is not a case in this folder (did you mean `right`?)");
    assert_snapshot!(wrong("twin: right\n", ""), @"cases/scan/small/wrong.yaml:7:14: the case expects the simulator to catch a bug, but names no fixed `twin`");
    assert_snapshot!(wrong("caught", "clean"), @"cases/scan/small/wrong.yaml:8:14: a case with a `twin` is buggy: expect `caught` from the simulator, or `missed` with a reason");
    assert_snapshot!(wrong("expect:", "wrong-results: true\nexpect:"), @"cases/scan/small/wrong.yaml:1:1: `wrong-results` needs an `oracle`");
    assert_snapshot!(right("expect:", "wrong-results: false\nexpect:"), @"cases/scan/small/right.yaml:17:16: `wrong-results` is only for buggy cases, which have a `twin`");
    assert_snapshot!(right("simulator: clean", "simulator: {verdict: missed, why: blind}"), @"cases/scan/small/right.yaml:18:14: a case without a `twin` is correct, so nothing can be missed");
    assert_snapshot!(right("oracle:\n  out: inclusive_scan(data)\n", ""), @"cases/scan/small/right.yaml:1:1: a correct case needs an `oracle` (or `prints`)");
    assert_snapshot!(right("launches:", "launches: []\nunused:"), @"cases/scan/small/right.yaml:11:1: unknown key `unused` (known: title, documents, kernel, defines, targets, twin, why, sizes, buffers, tensors, launches, plan, streams, oracle, prints, wrong-results, perf, ptx, equivalent, limits, expect)");
    let mut files = Files::new();
    files.set(
        "cases/scan/small/other.yaml",
        &WRONG.replace("twin: right", "twin: wrong"),
    );
    assert_snapshot!(files.load(), @r"
cases/scan/small/other.yaml:4:7: the twin `wrong` is itself a buggy case, with the twin `right`
cases/scan/small/other.yaml: a buggy case needs tags on its guilty lines in `kernels/scan/small.cu` (`//~[other] data-race#1 write`), or `wrong-results: true`
");
}

#[test]
fn explanations_of_mutants() {
    let one = |body: &str| format!("equivalent:\n  - {{mutation: {body}}}\nexpect:");
    let nowhere = one("remove-barrier, line: sync(), why: x");
    assert_snapshot!(right("expect:", &nowhere), @"cases/scan/small/right.yaml:18:38: `sync()` does not occur in `scan/small.cu`");
    let silent = one("remove-barrier, line: out, why: ' '");
    assert_snapshot!(right("expect:", &silent), @"cases/scan/small/right.yaml:18:48: the explanation is empty");
    let misspelt = one("remove-barier, line: out, why: x");
    assert_snapshot!(right("expect:", &misspelt), @"cases/scan/small/right.yaml:18:16: `remove-barier` is not allowed here (did you mean `remove-barrier`?)");
    let of_bug = one("remove-barrier, line: out, why: x");
    assert_snapshot!(wrong("expect:", &of_bug), @"cases/scan/small/wrong.yaml:8:3: only correct cases, which have no `twin`, have mutants to explain");
}

#[test]
fn kernels() {
    assert_snapshot!(right("scan/small.cu", "scan/smal.cu"), @"cases/scan/small/right.yaml:2:9: the kernel `kernels/scan/smal.cu` does not exist (did you mean `scan/small.cu`?)");
    assert_snapshot!(right("scan/small.cu", "scan/small.cu\ntargets: []"), @"cases/scan/small/right.yaml:3:10: the kernel needs at least one target");
    assert_snapshot!(right("scan/small.cu", "scan/small.cu\ntargets: [sm_90, sm_90]"), @"cases/scan/small/right.yaml:3:10: a target is named twice");
    let mut files = Files::new();
    files.set("kernels/scan/lonely.cu", "");
    assert_snapshot!(files.load(), @"kernels/scan/lonely.cu: no case runs this kernel; add a `cases/…/<case>.yaml` with `kernel: scan/lonely.cu`");
    let empty = Catalog::without_ptx(Tree::default(), Path::new("somewhere")).unwrap_err();
    assert_snapshot!(empty, @"somewhere: found no case (expected `cases/<family>/<case>.yaml` below this folder)");
}

#[test]
fn annotations() {
    assert_snapshot!(kernel("data-race", "data-rase"), @"kernels/scan/small.cu:4:32: unknown rule `data-rase` (did you mean `data-race`?)");
    assert_snapshot!(kernel("write", "wrote"), @"kernels/scan/small.cu:4:44: unknown action `wrote` (did you mean `write`?)");
    assert_snapshot!(kernel("[wrong]", "[worng]"), @"kernels/scan/small.cu:4:32: no case named `worng` runs this kernel (did you mean `wrong`?)");
    assert_snapshot!(kernel("[wrong] data", "[wrong data"), @"kernels/scan/small.cu:4:31: invalid annotation: expected `,` or `]` after the name of a case");
    assert_snapshot!(kernel("#ifdef BUG", "#ifdef OTHER\n//~ deadlock\n#endif\n#ifdef BUG"), @"kernels/scan/small.cu:4:5: this annotation applies to no case: no case compiles its line");
    assert_snapshot!(kernel("//~[wrong] data-race#1 write", ""), @"cases/scan/small/wrong.yaml: a buggy case needs tags on its guilty lines in `kernels/scan/small.cu` (`//~[wrong] data-race#1 write`), or `wrong-results: true`");
    assert_snapshot!(kernel("{\n#ifdef", "{ //~ deadlock\n#ifdef"), @"kernels/scan/small.cu:2:7: this tag applies to `scan/small/right`, which is correct; name the buggy case in it: `//~[case] …`");
    assert_snapshot!(kernel("#ifdef BUG", "#if BUG ? 1 : 0"), @"kernels/scan/small.cu:3: cannot evaluate this preprocessor condition around annotated lines: `? 1 : 0` is not understood");
    assert_snapshot!(kernel("#endif\n", ""), @"kernels/scan/small.cu:5: cannot evaluate this preprocessor condition around annotated lines: an `#if` has no `#endif`");
    assert_snapshot!(kernel("data-race#1 write", "bank-conflict"), @"cases/scan/small/wrong.yaml:1:1: a line is tagged `bank-conflict`, which needs the key `perf: {bank-conflict: {}}`");
}

#[test]
fn pinned_ptx() {
    let files = Files::new();
    let catalog = Catalog::without_ptx(files.0.clone(), Path::new("somewhere")).unwrap();
    let mut tree = files.0.clone();
    for entry in &catalog.cases {
        for target in ["sm_75", "sm_90"] {
            let pin = Pin::new(&entry.case, target);
            let text = pin.file(&tree, ".version 9.0\n", "/");
            tree.files.insert(pin.ptx, text.into());
        }
    }
    let load = |tree: &Tree| match Catalog::from_tree(tree.clone(), Path::new("somewhere")) {
        Ok(catalog) => format!("{} good cases", catalog.cases.len()),
        Err(errors) => errors.to_string(),
    };
    assert_eq!(load(&tree), "2 good cases");

    let mut missing = tree.clone();
    missing.files.remove("kernels/scan/small.BUG-1.sm_90.ptx");
    assert_snapshot!(load(&missing), @"cases/scan/small/wrong.yaml:2:9: the pinned PTX `kernels/scan/small.BUG-1.sm_90.ptx` is missing; create it with `racetrap dev renew`");

    let mut edited = tree.clone();
    edited.files.insert(
        "kernels/scan/small.cu".to_owned(),
        KERNEL.replace("in[0]", "in[1]").into(),
    );
    assert_snapshot!(load(&edited), @r"
kernels/scan/small.BUG-1.sm_75.ptx: out of date: `kernels/scan/small.cu` has changed since it was compiled; renew it with `racetrap dev renew`
kernels/scan/small.BUG-1.sm_90.ptx: out of date: `kernels/scan/small.cu` has changed since it was compiled; renew it with `racetrap dev renew`
kernels/scan/small.sm_75.ptx: out of date: `kernels/scan/small.cu` has changed since it was compiled; renew it with `racetrap dev renew`
kernels/scan/small.sm_90.ptx: out of date: `kernels/scan/small.cu` has changed since it was compiled; renew it with `racetrap dev renew`
");

    let mut by_hand = tree.clone();
    let ptx = by_hand.files["kernels/scan/small.sm_75.ptx"].replace("9.0", "8.0");
    by_hand
        .files
        .insert("kernels/scan/small.sm_75.ptx".to_owned(), ptx.into());
    assert_snapshot!(load(&by_hand), @"kernels/scan/small.sm_75.ptx: out of date: it was edited by hand; renew it with `racetrap dev renew`");

    let mut left_over = tree.clone();
    left_over.files.insert(
        "kernels/scan/old.sm_90.ptx".to_owned(),
        ".version 9.0".into(),
    );
    assert_snapshot!(load(&left_over), @"kernels/scan/old.sm_90.ptx: no case uses this file; remove it or run `racetrap dev renew`");
}

#[test]
fn folders() {
    let nowhere = Catalog::read(Path::new("no/such/folder")).unwrap_err();
    assert_snapshot!(nowhere, @"no/such/folder/kernels: the folder does not exist (a catalogue has `kernels/` and `cases/`)");
    let folder = tempfile::tempdir().unwrap();
    for name in ["kernels", "cases"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("cases/rubbish.yaml"), [0xff, 0xfe, 0x00]).unwrap();
    let rubbish = Catalog::read(folder.path()).unwrap_err().to_string();
    let rubbish = rubbish.replace(&folder.path().display().to_string(), "FOLDER");
    assert_snapshot!(rubbish, @"FOLDER/cases/rubbish.yaml: stream did not contain valid UTF-8");
}

#[test]
fn patterns_that_select_nothing() {
    let catalog = Catalog::without_ptx(Files::new().0, Path::new("somewhere")).unwrap();
    let chosen = |pattern: &str| {
        catalog
            .select(&[pattern.to_owned()])
            .map(|cases| cases.len())
    };
    assert_eq!(chosen("scan"), Ok(2));
    assert_eq!(chosen("scan/small/right"), Ok(1));
    assert_eq!(chosen("scan/*"), Ok(2));
    assert_eq!(chosen("*/right"), Ok(1));
    assert!(chosen("sca?").is_err());
    assert_snapshot!(chosen("wrogn").unwrap_err(), @"no case matches `wrogn` (did you mean `wrong`?); `racetrap list` lists all cases");
    assert_snapshot!(chosen("zzzzzz").unwrap_err(), @"no case matches `zzzzzz`; `racetrap list` lists all cases");
}
