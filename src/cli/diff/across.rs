//! `racetrap diff --across`: checks the `ptx` keys of cases over compiler releases and targets.

use super::super::progress::Progress;
use super::operand::{not_installed, write_kernels};
use super::{DiffArgs, Format};
use catalog::across::{Across, Comparison, Compilers};
use catalog::load::Catalog;
use report::Failure;
use report::exit;
use std::path::Path;
use toolchain::{Compiler, RELEASES, Release, cache_folder};

/// The default targets: the two that are pinned (the oldest and the simulated one), one between them and one after them.
const TARGETS: &[&str] = &["sm_75", "sm_80", "sm_90", "sm_100"];

/// The files that `--write` writes to its folder.
pub const FILES: [&str; 2] = ["across.json", "across.md"];

/// Compiles the cases that have a `ptx` key with each release for each target, and reports where the key holds.
///
/// # Errors
///
/// A pattern matches nothing, a compiler is not available, or a file cannot be written.
pub fn across(args: &DiffArgs, catalog: &Catalog) -> Result<(String, u8), Failure> {
    let selected = catalog
        .select(&args.operands)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let cases: Vec<_> = selected
        .into_iter()
        .filter(|entry| entry.case.ptx.is_some())
        .collect();
    if cases.is_empty() {
        return Err(Failure::usage("none of these cases has a key `ptx`")
            .help("without a pattern, all cases with a key `ptx` are checked"));
    }
    let releases: Vec<Release> = match args.cuda.is_empty() {
        true => RELEASES.to_vec(),
        false => args.cuda.clone(),
    };
    let targets: Vec<String> = match args.arch.is_empty() {
        true => TARGETS.iter().map(|t| (*t).to_owned()).collect(),
        false => args.arch.clone(),
    };
    let progress = Progress::spinner(true);
    let mut compilers = Compilers::new();
    for release in releases {
        let compiler = Compiler::of(release, &|text| progress.say(text)).map_err(not_installed)?;
        compilers.insert(release, compiler);
    }
    progress.end();
    let folder = tempfile::tempdir()
        .map_err(|e| Failure::inconclusive(format!("cannot create a temporary folder: {e}")))?;
    let root = folder
        .path()
        .canonicalize()
        .unwrap_or_else(|_| folder.path().to_owned());
    write_kernels(catalog, &root)?;
    let comparison = Comparison {
        catalog,
        cases,
        compilers: &compilers,
        targets: &targets,
        root: &root,
        kept: cache_folder().map(|cache| cache.join("racetrap/ptx")),
    };
    let live = Progress::spinner(true);
    let across = comparison.run(
        super::super::check::jobs(args.jobs),
        &|done, total, what| {
            live.say(&format!("{done} of {total} compiled; {what}"));
        },
    );
    live.end();
    let code = match across.holds() {
        true => exit::OK,
        false => exit::FINDINGS,
    };
    if let Some(folder) = &args.write {
        return Ok((write(&across, folder)?, code));
    }
    match args.format {
        Format::Json => Ok((json(&across)?, code)),
        Format::Text => Ok((across.terminal(args.all), code)),
    }
}

/// The command that renews `docs/across.json` and `docs/across.md`.
pub const RENEW: &str = "cargo run -- diff --across --write docs";

fn write(across: &Across, folder: &Path) -> Result<String, Failure> {
    let texts = [json(across)?, across.markdown(RENEW)];
    let mut out = String::new();
    for (name, text) in FILES.iter().zip(texts) {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .map_err(|e| Failure::usage(format!("cannot write {}: {e}", path.display())))?;
        out += &format!("wrote {}\n", path.display());
    }
    Ok(out + &across.terminal(false))
}

fn json(across: &Across) -> Result<String, Failure> {
    let text = across.json();
    text.map_err(|e| Failure::inconclusive(format!("cannot write JSON: {e}")))
}
