//! `racetrap check --fix`: the changes that mend what was found, tried beforehand.

use super::CheckArgs;
use check::mend::{Mended, mend, prove};
use check::{Source, Unwatched};
use report::{Diagnostic, Failure, Format, Report, Verdict};
use std::fmt::Write as _;
use std::path::Path;

/// What to do with the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fix {
    /// Show them.
    Show,
    /// Write them into the file.
    Write,
}

/// Tries the changes of a report's findings. In text those that hold are shown together, or written, and what there is to say is returned;
/// formats that carry changes get those that hold by themselves.
pub(super) fn fix(args: &CheckArgs, report: &mut Report) -> Result<String, Failure> {
    let Some(wanted) = args.fix else {
        return Ok(String::new());
    };
    let file = args.file();
    let is_source = file.extension().is_some_and(|e| e == "cu");
    if !is_source {
        return Err(Failure::usage(
            "`--fix` changes CUDA source, and this is none",
        ));
    }
    let unreadable = |error: std::io::Error| {
        Failure::usage(format!(
            "`--fix` cannot change `{}`: {error}",
            file.display()
        ))
    };
    let text = std::fs::read_to_string(file).map_err(unreadable)?;
    let found: Vec<Diagnostic> = report
        .checks
        .iter()
        .flat_map(|c| c.diagnostics.clone())
        .collect();
    let carried = [Format::Sarif, Format::Github];
    if carried
        .iter()
        .any(|f| args.format == *f || args.also.has(*f))
    {
        let mut tried = found.clone();
        prove(file, &text, &mut tried, |copy| checked(args, copy)).map_err(unreadable)?;
        let all = report.checks.iter_mut().flat_map(|c| &mut c.diagnostics);
        for (one, tried) in all.zip(tried) {
            *one = tried;
        }
    }
    if args.format != Format::Text && wanted == Fix::Show {
        return Ok(String::new());
    }
    let mended = mend(file, &text, found, |copy| checked(args, copy)).map_err(unreadable)?;
    if wanted == Fix::Write && mended.text != text {
        std::fs::write(file, &mended.text).map_err(unreadable)?;
    }
    Ok(shown(&mended, &text, file, wanted))
}

/// What is found in a copy of the file.
fn checked(args: &CheckArgs, copy: &Path) -> Option<(Verdict, Vec<Diagnostic>)> {
    let mut kernel = args.kernel.clone();
    kernel.entry.truncate(1);
    let mut request = kernel.request(copy).ok()?;
    args.second(&mut request).ok()?;
    request.inputs = args.inputs;
    request.further = args.files.iter().skip(1).cloned().collect();
    request.source = Source::File(copy.to_path_buf());
    let folder = args.file().parent().unwrap_or(Path::new("."));
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    request.compiler.includes.push(folder.to_path_buf());
    let all = match args.kernels() {
        Some(kernels) => {
            let all = check::check_each(&request, &kernels, &Unwatched).ok()?;
            all.into_iter()
                .map(|(_, one)| one.ok())
                .collect::<Option<Vec<_>>>()?
        }
        None => vec![check::check(&request, &Unwatched).ok()?],
    };
    let checks: Vec<report::Check> = all.into_iter().map(|one| one.check).collect();
    let unsure = checks
        .iter()
        .map(|c| c.verdict)
        .find(|v| matches!(v, Verdict::Inconclusive | Verdict::Unsupported));
    let verdict = unsure.or(checks.first().map(|c| c.verdict))?;
    Some((
        verdict,
        checks.into_iter().flat_map(|c| c.diagnostics).collect(),
    ))
}

fn shown(mended: &Mended, before: &str, file: &Path, wanted: Fix) -> String {
    let path = file.display().to_string();
    let count = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let mut out = String::from("\n");
    match (mended.held.len(), mended.failed.is_empty()) {
        (0, true) if mended.left == 0 => out += "fix: there is nothing to mend\n",
        (0, true) => {
            out += "fix: no finding comes with a change of the source; each help says what to do\n"
        }
        (0, false) => out += "fix: no change that was tried mends a finding\n",
        (held, _) => {
            let _ = writeln!(
                out,
                "fix: {}, compiled and checked again: what {} is gone",
                count(held, "change"),
                if held == 1 { "it mends" } else { "they mend" }
            );
        }
    }
    for one in &mended.held {
        let _ = writeln!(out, "  mends {one}");
    }
    for one in &mended.failed {
        let _ = writeln!(out, "  left out: {one}");
    }
    if mended.left > 0 {
        let _ = writeln!(
            out,
            "  {} left that no change mends",
            count(mended.left, "finding")
        );
    }
    if !mended.held.is_empty() {
        out.push('\n');
        out += &report::edit::diff(&path, before, &mended.text);
        out += match wanted {
            Fix::Show => "\nmake these changes with `--fix=write`\n",
            Fix::Write => "\nthese changes are made\n",
        };
    }
    report::safe(&out).into_owned()
}
