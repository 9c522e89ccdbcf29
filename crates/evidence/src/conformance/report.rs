//! What came of a session, in words.

use super::Generator;
use super::compare::{Difference, Errors};
use super::minimise::minimised;
use super::session::Ran;
use super::values::THREADS;
use report::exit;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Minimised programs shown.
const MINIMISED: usize = 5;

/// Differences by instruction, errors of approximate instructions, programs without a comparison, a line
/// that sums up; and the exit code.
pub fn report(
    generator: &Generator,
    ran: &BTreeMap<u32, Ran>,
    with: &str,
    shown: usize,
) -> (String, u8) {
    let mut out = String::new();
    let mut groups: BTreeMap<&str, Vec<&Difference>> = BTreeMap::new();
    let mut errors: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let mut problems: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (number, ran) in ran {
        if let Some(comparison) = &ran.comparison {
            for d in &comparison.differences {
                groups.entry(&d.spelling).or_default().push(d);
            }
            for Errors {
                spelling,
                gpu,
                simulator,
            } in &comparison.errors
            {
                let worst = errors.entry(spelling).or_insert((0.0, 0.0));
                *worst = (worst.0.max(*gpu), worst.1.max(*simulator));
            }
        }
        if let Some(problem) = &ran.problem {
            problems
                .entry(problem.to_string())
                .or_default()
                .push(*number);
        }
    }
    for (n, (spelling, group)) in groups.iter().enumerate() {
        differences(&mut out, spelling, group, shown);
        if let Some(d) = group.first().filter(|_| n < MINIMISED) {
            let program = minimised(&generator.program(d.program), d.output);
            let _ = writeln!(out, "    all that it takes:");
            for line in program.lines() {
                let _ = writeln!(out, "    | {line}");
            }
        }
    }
    if !errors.is_empty() {
        let _ = writeln!(
            out,
            "largest errors of approximate instructions, 1 being the bound of the PTX manual:"
        );
        for (spelling, (gpu, simulator)) in &errors {
            let _ = writeln!(
                out,
                "    {spelling:<24} GPU {gpu:.3}, simulator {simulator:.3}"
            );
        }
    }
    for (problem, programs) in &problems {
        let first: Vec<_> = programs.iter().take(8).map(u32::to_string).collect();
        let _ = writeln!(
            out,
            "{} programs ({}): {problem}",
            programs.len(),
            first.join(", ")
        );
    }
    let failed = problems.values().map(Vec::len).sum::<usize>();
    let compared = ran.iter().filter(|(_, r)| r.comparison.is_some());
    let columns: usize = compared
        .map(|(number, _)| generator.program(*number).outputs.len())
        .sum();
    let _ = writeln!(
        out,
        "{} programs, {} values {with}: {} instructions differ, {failed} programs could not be compared",
        ran.len() - failed,
        columns * THREADS,
        groups.len(),
    );
    let code = match () {
        () if !groups.is_empty() => exit::FINDINGS,
        () if failed > 0 => exit::INCONCLUSIVE,
        () => exit::OK,
    };
    (out, code)
}

fn differences(out: &mut String, spelling: &str, group: &[&Difference], shown: usize) {
    let values: usize = group.iter().filter_map(|d| d.threads).sum();
    let hashed = group.iter().filter(|d| d.threads.is_none()).count();
    let _ = write!(out, "{spelling}: ");
    if values > 0 {
        let _ = write!(out, "{values} values in {} programs", group.len() - hashed);
    }
    if hashed > 0 {
        let comma = if values > 0 { ", " } else { "" };
        let _ = write!(
            out,
            "{comma}unknown values in {hashed} programs (of their columns only hashes are recorded)"
        );
    }
    let _ = writeln!(out);
    if let Some(d) = group.first() {
        let _ = writeln!(out, "    program {}: {}", d.program, d.text);
    }
    for example in group.iter().flat_map(|d| &d.examples).take(shown) {
        let _ = writeln!(out, "    {example}");
    }
}
