//! Renders Markdown for the summary of a job, such as GitHub shows from `$GITHUB_STEP_SUMMARY`: a table of the checks, then each finding
//! with its text in a block of code.

use super::{Report, Verdict, terminal};
use std::fmt::Write as _;

/// Findings that are shown: a summary may have 1 MiB.
const SHOWN: usize = 50;

/// Renders the table and the findings.
pub fn render(report: &Report) -> String {
    let mut out = String::from("| verdict | check | what |\n|---|---|---|\n");
    for check in &report.checks {
        let sign = match check.verdict {
            Verdict::Inconclusive | Verdict::Unsupported => "⚠️",
            _ if check.ok => "✅",
            _ => "❌",
        };
        let _ = writeln!(
            out,
            "| {sign} {} | {} | {} |",
            check.verdict.name(),
            escaped(&check.name),
            escaped(&check.summary)
        );
    }
    let findings: Vec<_> = report.checks.iter().flat_map(|c| &c.diagnostics).collect();
    let shown = findings.iter().filter(|d| d.counts());
    for diagnostic in shown.clone().take(SHOWN) {
        let text = terminal::diagnostic(diagnostic, false);
        let fence = fence(&text);
        let _ = write!(
            out,
            "\n<details><summary>{}: {}</summary>\n\n{fence}text\n{text}{fence}\n\n</details>\n",
            diagnostic.rule,
            escaped(&diagnostic.title)
        );
    }
    if let Some(more) = shown.count().checked_sub(SHOWN + 1) {
        let _ = writeln!(out, "\n… and {} more findings.", more + 1);
    }
    out
}

/// Text that is nothing but text in Markdown and in a table of it: names come from strangers.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A fence that is longer than any in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::{escaped, fence};

    #[test]
    fn text_stays_text() {
        assert_eq!(
            escaped("<img> | `a` @me"),
            "&lt;img&gt; \\| \\`a\\` &#64;me"
        );
        assert_eq!(fence("a ``` b"), "````");
        assert_eq!(fence(""), "```");
    }
}
