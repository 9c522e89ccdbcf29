//! Where a barrier goes, by the text of the source: between which lines, or around which loop.

use super::{Frame, Guilty};
use crate::source::SourceFile;
use std::sync::Arc;

/// Words that indicate a block or warp barrier in a source line.
const BARRIERS: [&str; 6] = [
    "__syncthreads",
    "__syncwarp",
    ".sync(",
    "bar.sync",
    "barrier",
    "sync(",
];

/// Where to put a barrier that orders `earlier` before `later`.
///
/// Compares the outermost frames that differ, so that two inlined helpers are told apart by the lines that call them. If a
/// barrier already stands between the two lines, or the earlier access is on the later line, a loop leads from one access
/// to the other.
pub(crate) fn between(earlier: &Guilty, later: &Guilty) -> String {
    let mut pairs = earlier.frames.iter().rev().zip(later.frames.iter().rev());
    let Some((a, b)) = pairs
        .find(|(a, b)| (&a.file.path, a.line) != (&b.file.path, b.line))
        .or_else(|| earlier.frames.first().zip(later.frames.first()))
    else {
        return "between the two".to_string();
    };
    if a.file.path != b.file.path {
        return format!(
            "between line {} of {} and line {} of {}",
            a.line, a.file.path, b.line, b.file.path
        );
    }
    let (first, last) = (a.line.min(b.line), a.line.max(b.line));
    if first == last {
        return format!("between one execution of line {first} and the next");
    }
    let barred = barred(&a.file, first, last, a.line > b.line);
    let looped = in_loop(&a.file, first) && in_loop(&a.file, last);
    if barred && looped {
        format!("after line {last}, before line {first} runs again")
    } else if a.line > b.line && looped {
        format!(
            "between line {first} and line {last}, and after line {last} before the next iteration of the loop"
        )
    } else {
        format!("between line {first} and line {last}")
    }
}

/// Where to put a barrier that orders one line before another, by the text of the source: `between line 6 and line 8`.
pub fn barrier_between(
    (first, line): (&Arc<SourceFile>, u32),
    (second, later): (&Arc<SourceFile>, u32),
) -> String {
    let end = |file: &Arc<SourceFile>, line| Guilty {
        frames: vec![Frame {
            file: file.clone(),
            line,
            columns: 0..0,
            function: None,
        }],
        in_source: true,
        unread: None,
        toolkit: false,
        library: false,
        instruction: String::new(),
    };
    between(&end(first, line), &end(second, later))
}

/// Whether a barrier stands between two lines.
///
/// A barrier under an `#if` that encloses neither line may have been compiled out. If the later access is on the later line,
/// it was: otherwise the two accesses would be ordered. `backwards` means that the later access is on the earlier line.
fn barred(file: &SourceFile, first: u32, last: u32, backwards: bool) -> bool {
    let mut conditions = 0;
    (first + 1..last).any(|line| {
        let text = file.line(line).unwrap_or_default();
        let code = text.split("//").next().unwrap_or_default().trim();
        if code.starts_with("#if") {
            conditions += 1;
        } else if code.starts_with("#endif") {
            conditions -= 1;
        }
        (conditions <= 0 || backwards) && BARRIERS.iter().any(|barrier| code.contains(barrier))
    })
}

/// Whether a line is in a loop. Judged by indentation: the lines that enclose it are indented less.
pub(crate) fn in_loop(file: &SourceFile, line: u32) -> bool {
    let indentation = |text: &str| text.len() - text.trim_start().len();
    let above: Vec<&str> = file.text.lines().take(line as usize).collect();
    let Some((own, above)) = above.split_last() else {
        return false;
    };
    if loops(own) {
        return true;
    }
    let mut depth = indentation(own);
    for text in above.iter().rev().filter(|text| !text.trim().is_empty()) {
        if text.trim_start().starts_with('#') || indentation(text) >= depth {
            continue;
        }
        depth = indentation(text);
        if loops(text) {
            return true;
        }
        if depth == 0 {
            break;
        }
    }
    false
}

/// Whether a line contains a keyword that starts a loop.
fn loops(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| ["for", "while", "do"].contains(&word))
}

#[cfg(test)]
mod tests {
    use super::super::Frame;
    use super::*;
    use std::sync::Arc;

    const SCAN: &str = "\
__global__ void scan(int *data)
{
    __shared__ int s[64];
    s[threadIdx.x] = data[threadIdx.x];
    for (int d = 1; d < 64; d *= 2) {
        int left = threadIdx.x >= d ? s[threadIdx.x - d] : 0;

        __syncthreads();
        s[threadIdx.x] += left;
    }
    data[threadIdx.x] = s[threadIdx.x];
}
";

    fn end(line: u32) -> Guilty {
        let file = Arc::new(SourceFile::new("scan.cu".into(), SCAN.into()));
        Guilty {
            frames: vec![Frame {
                file,
                line,
                columns: 0..1,
                function: None,
            }],
            in_source: true,
            unread: None,
            toolkit: false,
            library: false,
            instruction: String::new(),
        }
    }

    #[test]
    fn a_barrier_that_may_be_compiled_out_is_none() {
        let file = |text: &str| SourceFile::new("k.cu".into(), text.into());
        let plain = file("a\n__syncthreads();\nb\n");
        assert!(barred(&plain, 1, 3, false));
        let conditional = file("a\n#ifndef BUG\n__syncthreads();\n#endif\nb\n");
        assert!(!barred(&conditional, 1, 5, false));
        assert!(barred(&conditional, 1, 5, true));
        assert!(
            barred(&conditional, 2, 4, false),
            "the lines are under it, too"
        );
        let both = file("a\n#ifndef BUG\nx\n#endif\n__syncthreads();\nb\n");
        assert!(barred(&both, 1, 6, false));
    }

    #[test]
    fn a_barrier_goes_where_none_is() {
        let at = |earlier, later| between(&end(earlier), &end(later));
        // In the order of the lines, nothing between them.
        assert_eq!(at(4, 6), "between line 4 and line 6");
        // The same, seen by a schedule that ran one warp ahead.
        assert_eq!(at(11, 9), "between line 9 and line 11");
        // The barrier of line 8 is between them: the next turn of the loop is too early.
        assert_eq!(at(9, 6), "after line 9, before line 6 runs again");
        assert_eq!(at(6, 9), "after line 9, before line 6 runs again");
        assert_eq!(at(9, 9), "between one execution of line 9 and the next");
    }

    #[test]
    fn loops_are_seen_by_indentation() {
        let file = &end(1).frames[0].file;
        let looped: Vec<u32> = (1..=12).filter(|line| in_loop(file, *line)).collect();
        assert_eq!(looped, [5, 6, 8, 9]);
    }
}
