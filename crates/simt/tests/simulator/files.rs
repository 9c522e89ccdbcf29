//! Kernels in files, `tests/filetests/*.ptx`, with what must come of them beside them.
//!
//! A file begins with a frame: a module with the kernel `k(out)`, in which the line `// case` stands for the instructions under test. Then
//! come the cases, apart by blank lines: what is tested (comments), instructions, and
//!
//! ```text
//! // run: 1 x 9, 2 x 23
//! ```
//!
//! which are the words of `out` after a launch of one warp under every schedule of [`SCHEDULES`], with `N x COUNT` for a word that stands
//! several times. Words are decimal, hexadecimal (`0x…`) or negative numbers.
//!
//! `ptxas` takes all of it, where there is one.

use crate::run::{Run, SCHEDULES};
use crate::spellings::assembles_for;
use std::path::Path;

/// The end of the frame.
const CASES: &str = "\n// cases\n";
const CASE: &str = "// case\n";
const RUN: &str = "// run:";

#[test]
fn kernels_in_files_compute_what_stands_beside_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (frame, cases) = text.split_once(CASES).expect("`// cases`");
        for case in cases.split("\n\n").map(str::trim).filter(|c| !c.is_empty()) {
            count += 1;
            wrong
                .extend(judge(frame, case).map(|why| format!("{}: {why}\n{case}", path.display())));
        }
    }
    assert!(count >= 20, "{count} cases");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What is wrong with a case.
fn judge(frame: &str, case: &str) -> Option<String> {
    let Some((body, wanted)) = case.split_once(RUN) else {
        return Some(format!("it has no line `{RUN} WORDS`"));
    };
    let wanted = match words(wanted) {
        Ok(wanted) => wanted,
        Err(why) => return Some(why),
    };
    // Comments of a case may have any characters, which `ptxas` does not take.
    let code = body.lines().filter(|line| !line.starts_with("//"));
    let ptx = frame.replacen(CASE, &(code.collect::<Vec<_>>().join("\n") + "\n"), 1);
    if assembles_for("sm_90", &ptx) == Some(false) {
        return Some("`ptxas` refuses it".to_owned());
    }
    for schedule in SCHEDULES {
        let mut run = Run::of(&ptx);
        let out = run.buffer(&vec![0xeeee_eeee; wanted.len()]);
        if let Err(stop) = run.launch(1, 32, &[out], schedule) {
            return Some(format!("under {schedule}: {stop}"));
        }
        let got = run.words(out, wanted.len() as u64);
        if got != wanted {
            return Some(format!("under {schedule}: {got:?}"));
        }
    }
    None
}

/// `1 x 9, 2 x 23`.
fn words(text: &str) -> Result<Vec<u32>, String> {
    let mut words = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (word, count) = part.split_once(" x ").unwrap_or((part, "1"));
        let count: usize = count
            .parse()
            .map_err(|_| format!("`{count}` is no count"))?;
        words.extend(std::iter::repeat_n(number(word)?, count));
    }
    Ok(words)
}

fn number(text: &str) -> Result<u32, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match number {
        Ok(number) if (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&number) => {
            Ok(number as u32)
        }
        _ => Err(format!("`{text}` is no word")),
    }
}

#[test]
fn a_wrong_case_is_told() {
    let frame = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n\
                 mov.u32 %r0, %tid.x;\n// case\nld.param.u64 %rd1, [out];\nmul.wide.u32 %rd0, %r0, 4;\nadd.s64 %rd1, %rd1, %rd0;\n\
                 st.global.u32 [%rd1], %r1;\nret;\n}\n";
    assert_eq!(judge(frame, "mov.u32 %r1, 3;\n// run: 3 x 32"), None);
    for (case, why) in [
        ("mov.u32 %r1, 3;\n// run: 3 x 31, 4", "under lockstep: [3"),
        ("mov.u32 %r1, 3;\n// ran: 3 x 32", "no line"),
        ("mov.u32 %r1, 3;\n// run: three x 32", "`three` is no word"),
        ("trap;\n// run: 3 x 32", "under lockstep"),
    ] {
        let told = judge(frame, case).expect(case);
        assert!(told.contains(why), "{told}");
    }
}
