//! Parses the log of a tool: the lines that start with `=========`.
//!
//! The summary at the end proves that the tool ran to its end, and states how much it found. Any line that belongs neither to a
//! report nor to the summary counts as a complaint. The tool prints such lines if it cannot use the GPU, cannot start the
//! program, or loses it.

use super::{Severity, Tool};

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Whether the tool says its name, as it does first of all.
    pub began: bool,
    /// What was found; `None` where there is no summary.
    pub summary: Option<Summary>,
    /// Reports that the tool left out, by its own count.
    pub left_out: u64,
    /// How bad it finds each single hazard, in the order of their records, which do not say so.
    pub hazards: Vec<Severity>,
    /// Lines that are neither of a report nor a summary: the tool speaks of itself.
    pub complaints: Vec<String>,
}

/// The counts of `RACECHECK SUMMARY` or `ERROR SUMMARY`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Reports that count as errors.
    pub errors: u64,
    /// Reports that count as warnings; racecheck alone has them.
    pub warnings: u64,
}

impl Summary {
    /// All reports.
    pub fn total(&self) -> u64 {
        self.errors.saturating_add(self.warnings)
    }
}

/// A summary that is not of the form it always has, or a second one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedSummary {
    /// The line.
    pub line: String,
}

/// Starts of the lines with which reports begin, as the recordings in `crates/evidence/tests/recordings/` show them. Their further lines are
/// indented.
fn reports(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::Racecheck => &[
            "Error: Race reported between ",
            "Warning: Race reported between ",
        ],
        Tool::Synccheck => &["Barrier error detected. "],
        Tool::Memcheck => &[
            "Invalid __global__ ",
            "Invalid __shared__ ",
            "Program hit ",
            "Warp assert",
            "Malloc/Free Error encountered ",
        ],
        Tool::Initcheck => &[
            "Uninitialized __global__ memory read ",
            "Host API memory access error ",
        ],
    }
}

/// What a report of a kernel that was stopped begins with; any tool makes them.
const STOPPED: &str = "Stack overflow";

/// How bad the tool finds the hazard that this line begins to report.
fn hazard(line: &str) -> Option<Severity> {
    let (severity, rest) = match line.split_once(": ")? {
        ("Error", rest) => (Severity::Error, rest),
        ("Warning", rest) => (Severity::Warning, rest),
        _ => return None,
    };
    let rest = rest.trim_start_matches("(Warp Level Programming) ");
    let order = rest.strip_prefix("Potential ")?.get(..3)?;
    let known = super::Hazard::named(order).is_some() && rest.contains(" hazard detected ");
    known.then_some(severity)
}

/// Reads a log.
///
/// # Errors
///
/// A line that says `SUMMARY:` but not what summaries say, or says it again: a tool sums up once.
pub fn parse(tool: Tool, text: &str) -> Result<Log, MalformedSummary> {
    let mut log = Log::default();
    for line in text.lines() {
        let Some(line) = line.trim_start().strip_prefix("=========") else {
            continue;
        };
        let indented = line.starts_with("  ");
        let line = line.trim();
        if indented || line.is_empty() {
            continue;
        }
        if line == "COMPUTE-SANITIZER" {
            log.began = true;
            continue;
        }
        if let (Tool::Racecheck, Some(severity)) = (tool, hazard(line)) {
            log.hazards.push(severity);
            continue;
        }
        let Some((which, counts)) = line.split_once("SUMMARY:") else {
            if line != STOPPED && !reports(tool).iter().any(|start| line.starts_with(start)) {
                log.complaints.push(line.to_owned());
            }
            continue;
        };
        let malformed = || MalformedSummary {
            line: line.to_owned(),
        };
        let counts = counts.trim();
        if let Some(count) = left_out(counts) {
            log.left_out = log.left_out.saturating_add(count);
            continue;
        }
        if log.summary.is_some() {
            return Err(malformed());
        }
        match which.trim() {
            "RACECHECK" if tool == Tool::Racecheck => {
                let (summary, left_out) = hazards(counts).ok_or_else(malformed)?;
                log.summary = Some(summary);
                log.left_out = log.left_out.saturating_add(left_out);
            }
            "ERROR" if tool != Tool::Racecheck => {
                log.summary = Some(Summary {
                    errors: number(counts, "error").ok_or_else(malformed)?,
                    warnings: 0,
                });
            }
            _ => return Err(malformed()),
        }
    }
    Ok(log)
}

/// `3 errors were not printed. Use --print-limit …`
fn left_out(counts: &str) -> Option<u64> {
    let (count, rest) = counts.split_once(' ')?;
    rest.contains("not printed").then(|| count.parse().ok())?
}

/// `2 hazards displayed (1 error, 1 warning)`, and how many were not displayed: beyond `--print-limit` the numbers of errors
/// and warnings still grow.
fn hazards(counts: &str) -> Option<(Summary, u64)> {
    let (total, rest) = counts.split_once(" displayed (")?;
    let (errors, warnings) = rest.strip_suffix(')')?.split_once(", ")?;
    let summary = Summary {
        errors: number(errors, "error")?,
        warnings: number(warnings, "warning")?,
    };
    let left_out = summary.total().checked_sub(number(total, "hazard")?)?;
    Some((summary, left_out))
}

/// `1 error`, `2 errors`
fn number(text: &str, noun: &str) -> Option<u64> {
    let (number, word) = text.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    (word.strip_suffix('s').unwrap_or(word) == noun).then_some(number)
}

/// The tool's version in what `compute-sanitizer --version` prints: `2025.3.1`.
pub fn version(text: &str) -> Option<String> {
    let word = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Version "))?
        .split_whitespace()
        .next()?;
    let parts: Vec<&str> = word.split('.').collect();
    let numbers = parts.iter().all(|part| part.parse::<u32>().is_ok());
    (numbers && parts.len() >= 3).then(|| parts[..3].join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(tool: Tool, line: &str) -> Result<Log, MalformedSummary> {
        parse(
            tool,
            &format!("========= COMPUTE-SANITIZER\n========= {line}\n"),
        )
    }

    #[test]
    fn summaries() {
        for (tool, line, errors, warnings) in [
            (
                Tool::Racecheck,
                "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)",
                0,
                0,
            ),
            (
                Tool::Racecheck,
                "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)",
                1,
                0,
            ),
            (
                Tool::Racecheck,
                "RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)",
                1,
                2,
            ),
            (
                Tool::Racecheck,
                "RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning) ",
                0,
                1,
            ),
            (Tool::Synccheck, "ERROR SUMMARY: 0 errors", 0, 0),
            (Tool::Memcheck, "ERROR SUMMARY: 1 error", 1, 0),
            (Tool::Initcheck, "ERROR SUMMARY: 12 errors", 12, 0),
        ] {
            let log = summary(tool, line).unwrap();
            assert_eq!(log.summary, Some(Summary { errors, warnings }), "{line}");
            assert_eq!((log.left_out, log.complaints.len()), (0, 0), "{line}");
        }
    }

    #[test]
    fn a_second_summary_is_malformed() {
        let lines = "========= ERROR SUMMARY: 1 error\n========= ERROR SUMMARY: 0 errors\n";
        let error = parse(Tool::Memcheck, lines).unwrap_err();
        assert_eq!(error.line, "ERROR SUMMARY: 0 errors");
    }

    #[test]
    fn numbers_too_large_are_no_panic() {
        let most = u64::MAX;
        let line = format!("========= ERROR SUMMARY: {most} errors were not printed\n");
        let log = parse(Tool::Memcheck, &line.repeat(2)).unwrap();
        assert_eq!((log.began, log.left_out), (false, most));
        let line =
            format!("RACECHECK SUMMARY: {most} hazards displayed ({most} errors, 9 warnings)");
        assert_eq!(
            summary(Tool::Racecheck, &line)
                .unwrap()
                .summary
                .unwrap()
                .total(),
            most
        );
        let line = format!("ERROR SUMMARY: {most}0 errors");
        assert!(summary(Tool::Memcheck, &line).is_err());
    }

    #[test]
    fn what_was_not_printed_is_no_summary() {
        let log = parse(
            Tool::Memcheck,
            "========= ERROR SUMMARY: 7 errors\n========= ERROR SUMMARY: 5 errors were not printed. Use --print-limit option to adjust the number of printed errors\n",
        )
        .unwrap();
        assert_eq!((log.summary.unwrap().errors, log.left_out), (7, 5));
    }

    #[test]
    fn hazards_beyond_the_limit_are_counted() {
        let line = "RACECHECK SUMMARY: 2000 hazards displayed (1798 errors, 2864 warnings)";
        let log = summary(Tool::Racecheck, line).unwrap();
        assert_eq!((log.summary.unwrap().total(), log.left_out), (4662, 2662));
    }

    #[test]
    fn hazards_have_their_severity_here() {
        for (line, severity) in [
            (
                "Error: Potential WAW hazard detected at __shared__ 0x400 in block (0,0,0) :",
                Some(Severity::Error),
            ),
            (
                "Warning: (Warp Level Programming) Potential RAW hazard detected (invalid memcpy_async synchronization) at __shared__ 0x400 in block (0,0,0) :",
                Some(Severity::Warning),
            ),
            (
                "Error: Potential RAR hazard detected at __shared__ 0x400",
                None,
            ),
            (
                "Doubt: Potential RAW hazard detected at __shared__ 0x400",
                None,
            ),
            ("Error: Potential", None),
        ] {
            let log = summary(Tool::Racecheck, line).unwrap();
            assert_eq!(log.hazards, Vec::from_iter(severity), "{line}");
            assert_eq!(log.complaints.is_empty(), severity.is_some(), "{line}");
            assert_eq!(summary(Tool::Memcheck, line).unwrap().complaints, [line]);
        }
    }

    #[test]
    fn malformed_summaries() {
        for (tool, line) in [
            (Tool::Racecheck, "RACECHECK SUMMARY: hazards displayed"),
            (
                Tool::Racecheck,
                "RACECHECK SUMMARY: 2 hazards displayed (1 error, 0 warnings)",
            ),
            (
                Tool::Racecheck,
                "RACECHECK SUMMARY: 0 hazards displayed (0 errors",
            ),
            (Tool::Synccheck, "ERROR SUMMARY: no errors"),
            (Tool::Synccheck, "ERROR SUMMARY:"),
            (
                Tool::Synccheck,
                "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)",
            ),
            (Tool::Memcheck, "ERROR SUMMARY: -1 errors"),
            (
                Tool::Memcheck,
                "LEAK SUMMARY: 0 bytes leaked in 0 allocations",
            ),
            (Tool::Racecheck, "ERROR SUMMARY: 0 errors"),
        ] {
            assert_eq!(summary(tool, line).unwrap_err().line, line);
        }
    }

    #[test]
    fn what_a_program_prints_is_not_the_tool() {
        let log = parse(Tool::Synccheck, "ERROR SUMMARY: 0 errors\n").unwrap();
        assert_eq!(log.summary, None);
    }

    #[test]
    fn complaints() {
        let log = summary(
            Tool::Memcheck,
            "Error: process didn't terminate successfully",
        )
        .unwrap();
        assert_eq!(
            log.complaints,
            ["Error: process didn't terminate successfully"]
        );
        let report = "Invalid __global__ read of size 4 bytes";
        assert_eq!(summary(Tool::Memcheck, report).unwrap().complaints, [""; 0]);
        assert_eq!(
            summary(Tool::Racecheck, report).unwrap().complaints,
            [report]
        );
    }

    #[test]
    fn versions() {
        let text = "NVIDIA (R) Compute Sanitizer\nCopyright (c) 2020-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build 36400806) (public-release)\n";
        assert_eq!(version(text).as_deref(), Some("2025.3.1"));
        for text in ["", "Version", "Version 1", "Version a.b.c"] {
            assert_eq!(version(text), None);
        }
    }
}
