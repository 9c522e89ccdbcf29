//! The log: the lines that start with `=========`.
//!
//! What counts is the summary at its end, which tells that the tool came to its end and how much it found. A line that
//! neither belongs to a report nor sums up is taken for a complaint, whatever it says: with such lines the tool tells that it was
//! refused the GPU, could not start the program, or lost it.

use super::Tool;

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// What was found; `None` where there is no summary.
    pub summary: Option<Summary>,
    /// Reports that the tool left out, by its own count.
    pub left_out: u64,
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
        self.errors + self.warnings
    }
}

/// A summary that is not of the form it always has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedSummary {
    /// The line.
    pub line: String,
}

/// Starts of the lines with which reports begin, as the recordings in `sanitizer/recordings/` show them. Their further lines are
/// indented.
fn reports(tool: Tool) -> &'static [&'static str] {
    match tool {
        Tool::Racecheck => &[
            "Error: Race reported between ",
            "Warning: Race reported between ",
        ],
        Tool::Synccheck => &["Barrier error detected. "],
        Tool::Memcheck => &["Invalid __global__ ", "Invalid __shared__ ", "Program hit "],
        Tool::Initcheck => &[
            "Uninitialized __global__ memory read ",
            "Host API memory access error ",
        ],
    }
}

/// Reads a log.
///
/// # Errors
///
/// A line that says `SUMMARY:` but not what summaries say.
pub fn parse(tool: Tool, text: &str) -> Result<Log, MalformedSummary> {
    let mut log = Log::default();
    for line in text.lines() {
        let Some(line) = line.trim_start().strip_prefix("=========") else {
            continue;
        };
        let indented = line.starts_with("  ");
        let line = line.trim();
        if indented || line.is_empty() || line == "COMPUTE-SANITIZER" {
            continue;
        }
        let Some((which, counts)) = line.split_once("SUMMARY:") else {
            if !reports(tool).iter().any(|start| line.starts_with(start)) {
                log.complaints.push(line.to_owned());
            }
            continue;
        };
        let malformed = || MalformedSummary {
            line: line.to_owned(),
        };
        let counts = counts.trim();
        if let Some(count) = left_out(counts) {
            log.left_out += count;
            continue;
        }
        match which.trim() {
            "RACECHECK" if tool == Tool::Racecheck => {
                log.summary = Some(hazards(counts).ok_or_else(malformed)?);
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

/// `2 hazards displayed (1 error, 1 warning)`
fn hazards(counts: &str) -> Option<Summary> {
    let (total, rest) = counts.split_once(" displayed (")?;
    let (errors, warnings) = rest.strip_suffix(')')?.split_once(", ")?;
    let summary = Summary {
        errors: number(errors, "error")?,
        warnings: number(warnings, "warning")?,
    };
    (number(total, "hazard")? == summary.total()).then_some(summary)
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
    fn what_was_not_printed_is_no_summary() {
        let log = parse(
            Tool::Memcheck,
            "========= ERROR SUMMARY: 7 errors\n========= ERROR SUMMARY: 5 errors were not printed. Use --print-limit option to adjust the number of printed errors\n",
        )
        .unwrap();
        assert_eq!((log.summary.unwrap().errors, log.left_out), (7, 5));
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
