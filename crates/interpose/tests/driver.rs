//! The library in front of a driver, end to end, without a GPU: the driver is our own simulated one, which runs the instrumented PTX as it
//! would run any other. A client in C (`tests/client.c`) loads PTX, launches a kernel and prints what it has computed.

use context::options::{Options, VARIABLE};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A kernel: threads put a number each into shared memory, and take their neighbour's, behind a barrier or not.
fn shift(barrier: &str) -> String {
    format!(
        ".version 7.0
.target sm_75
.address_size 64
.visible .entry shift(.param .u64 at, .param .u32 count)
{{
  .reg .b32 %r<8>; .reg .b64 %rd<4>;
  .shared .align 4 .b8 t[256];
  ld.param.u64 %rd1, [at];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  mov.u32 %r3, t;
  shl.b32 %r4, %r1, 2;
  add.s32 %r5, %r3, %r4;
  st.shared.u32 [%r5], %r2;
  {barrier}
  xor.b32 %r4, %r4, 4;
  add.s32 %r5, %r3, %r4;
  ld.shared.u32 %r2, [%r5];
  st.global.u32 [%rd3], %r2;
  ret;
}}
"
    )
}

/// Blocks write one word, or each its own.
fn blocks(index: &str) -> String {
    format!(
        ".version 7.0
.target sm_75
.address_size 64
.visible .entry blocks(.param .u64 at, .param .u32 count)
{{
  .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [at];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, {index};
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  add.s32 %r2, %r2, 1;
  st.global.u32 [%rd3], %r2;
  ret;
}}
"
    )
}

/// Where cargo puts what a test is linked with.
fn deps() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    this.parent().unwrap().to_owned()
}

struct Ran {
    output: Output,
    records: Vec<Value>,
}

impl Ran {
    fn of(&self, kind: &str) -> Vec<&Value> {
        self.records.iter().filter_map(|r| r.get(kind)).collect()
    }

    /// Rules, and how many places a finding names.
    fn findings(&self) -> Vec<(String, usize)> {
        let told = |f: &&Value| {
            let rule = f["rule"].as_str().unwrap_or_default().to_owned();
            (rule, f["labels"].as_array().map_or(0, Vec::len))
        };
        self.of("finding").iter().map(told).collect()
    }

    fn doubts(&self) -> Vec<String> {
        let text = |d: &&Value| d["text"].as_str().unwrap_or_default().to_owned();
        self.of("doubt").iter().map(text).collect()
    }

    fn printed(&self) -> String {
        assert!(
            self.output.status.success(),
            "{}",
            String::from_utf8_lossy(&self.output.stderr)
        );
        String::from_utf8_lossy(&self.output.stdout)
            .trim()
            .to_owned()
    }
}

/// Runs the client on the simulated driver, by itself or behind the library.
fn run(ptx: &str, arguments: &[&str], behind: bool) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.ptx");
    std::fs::write(&file, ptx).unwrap();
    let client = folder.path().join("client");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client.c");
    let compiled = Command::new("cc")
        .args(["-w", "-o"])
        .arg(&client)
        .arg(source)
        .arg("-ldl")
        .status();
    assert!(compiled.unwrap().success());
    let simulated = deps().join("libracetrap_cuda.so");
    let first = match behind {
        true => deps().join("libracetrap_interpose.so"),
        false => simulated.clone(),
    };
    let library = folder.path().join("library");
    std::fs::create_dir(&library).unwrap();
    std::os::unix::fs::symlink(first, library.join("libcuda.so.1")).unwrap();
    let options = Options {
        driver: Some(simulated),
        ..Options::default()
    };
    let mut command = Command::new(&client);
    command.arg(&file).args(arguments);
    command
        .env("LD_LIBRARY_PATH", &library)
        .env_remove(VARIABLE);
    if behind {
        options.write(folder.path()).unwrap();
        command.env(VARIABLE, folder.path());
    }
    let output = command.output().unwrap();
    let text = std::fs::read_to_string(context::options::records(folder.path()));
    let lines = text.unwrap_or_default();
    let records = lines.lines().filter_map(|line| {
        let mut line: Value = serde_json::from_str(line).ok()?;
        Some(line["record"].take())
    });
    Ran {
        output,
        records: records.collect(),
    }
}

#[test]
fn a_race_in_shared_memory_is_told_with_both_places() {
    for how in ["", "extra", "ex", "limit", "release"] {
        let racy = run(&shift(""), &["shift", "1", "64", how], true);
        racy.printed();
        assert_eq!(racy.findings(), [("data-race".to_owned(), 2)], "{how}");
        assert_eq!(racy.doubts(), Vec::<String>::new(), "{how}");
    }
}

#[test]
fn a_right_kernel_computes_the_same_and_nothing_is_told() {
    for how in ["", "extra", "ex", "limit", "release"] {
        let arguments = ["shift", "1", "64", how];
        let right = run(&shift("bar.sync 0;"), &arguments, true);
        let native = run(&shift("bar.sync 0;"), &arguments, false);
        assert_eq!(right.printed(), native.printed());
        assert_eq!(right.findings(), []);
        assert_eq!(right.doubts(), Vec::<String>::new());
        let totals = right.of("totals");
        assert_eq!(totals[0]["kernels"][0]["watched"], 1, "{totals:?}");
    }
}

#[test]
fn blocks_race_in_global_memory() {
    let racy = run(&blocks("%tid.x"), &["blocks", "4", "64"], true);
    racy.printed();
    assert_eq!(racy.findings(), [("data-race".to_owned(), 2)]);
    let right = run(&blocks("%ctaid.x"), &["blocks", "4", "1"], true);
    assert_eq!(right.findings(), []);
    right.printed();
}

#[test]
fn launches_race_that_neither_streams_nor_events_nor_the_host_order() {
    let twice = |how| run(&blocks("%ctaid.x"), &["blocks", "4", "1", how], true);
    let racy = twice("streams");
    racy.printed();
    assert_eq!(racy.findings(), [("data-race".to_owned(), 2)]);
    for how in ["event", "host", "legacy"] {
        let right = twice(how);
        right.printed();
        assert_eq!(right.findings(), [], "{how}");
        assert_eq!(right.doubts(), Vec::<String>::new(), "{how}");
    }
    let unknown = twice("callback");
    unknown.printed();
    assert_eq!(unknown.findings(), []);
    let expected = "launches on several streams were not compared, because the program calls `cuLaunchHostFunc`";
    assert_eq!(unknown.doubts(), [expected]);
}

#[test]
fn copies_race_with_launches() {
    let beside = |how| run(&blocks("%ctaid.x"), &["blocks", "4", "1", how], true);
    for how in ["copy", "copy-first"] {
        let racy = beside(how);
        racy.printed();
        assert_eq!(racy.findings(), [("data-race".to_owned(), 2)], "{how}");
        let told = format!("{:?}", racy.of("finding"));
        let call = match how {
            "copy" => "`cuMemsetD32Async`",
            _ => "`cuMemcpyHtoDAsync`",
        };
        assert!(told.contains(call), "{told}");
    }
    let rows = beside("copy2d");
    rows.printed();
    assert_eq!(rows.findings(), [("data-race".to_owned(), 2)]);
    let told = format!("{:?}", rows.of("finding"));
    assert!(told.contains("`cuMemcpy2DAsync`"), "{told}");
    let apart = beside("copy2d-apart");
    apart.printed();
    assert_eq!((apart.findings(), apart.doubts()), (Vec::new(), Vec::new()));
    let right = beside("ordered-copy");
    right.printed();
    assert_eq!((right.findings(), right.doubts()), (Vec::new(), Vec::new()));
}

#[test]
fn a_program_that_is_made_to_end_tells_what_was_found() {
    use std::os::unix::process::ExitStatusExt as _;
    let racy = run(&shift(""), &["shift", "1", "64", "stopped"], true);
    assert_eq!(racy.output.status.signal(), Some(15));
    assert_eq!(racy.findings(), [("data-race".to_owned(), 2)]);
    assert_eq!(
        racy.doubts(),
        ["the program was made to end while kernels may have run"]
    );
    assert_eq!(racy.of("totals")[0]["kernels"][0]["watched"], 1);
}

/// What no driver takes is refused as the driver refuses it: the library in front of it follows no null, believes no header, and its sums don't
/// overflow into something that is launched.
#[test]
fn calls_that_the_driver_refuses_are_refused_behind_the_library() {
    let text = shift("bar.sync 0;");
    let arguments = ["shift", "1", "64", "wrong"];
    let native = run(&text, &arguments, false);
    let lines = native.printed();
    assert_eq!(lines.lines().count(), 15, "{lines}");
    let refused = |line: &str| !line.ends_with(": 0");
    assert!(lines.lines().all(refused), "{lines}");
    assert_eq!(run(&text, &arguments, true).printed(), lines);
}

#[test]
fn what_lies_behind_a_buffer_is_told() {
    // The buffer has 1,024 words.
    let right = run(&blocks("1023"), &["blocks", "1", "1"], true);
    assert_eq!(right.findings(), []);
    let wrong = run(&blocks("1024"), &["blocks", "1", "1"], true);
    assert_eq!(wrong.findings(), [("out-of-bounds".to_owned(), 1)]);
}
