//! Whether advice works when followed: each finding's help names a change of the source where it can, the change is made, the source
//! is compiled and checked again, and then the finding must be gone and nothing new there; of the catalogue's cases, the oracle must
//! hold where nothing is left.
//!
//! docs/advice.md keeps the shares: of the errors and warnings of each suite, how many have such a change. A change that does not do
//! what its help says fails the test. `INSTA_UPDATE=always` renews the page.

use catalog::case_result::{self, Settings};
use catalog::load::{Catalog, Entry};
use catalog::pinned::{Pin, SIMULATED};
use check::{Request, Source, Unwatched};
use detect::rules::{Level, Rule};
use report::proof::{self, Proof};
use report::{Diagnostic, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use toolchain::{CompileOptions, Nvcc, Optimisation};

/// What came of one finding.
struct Tried {
    suite: &'static str,
    name: String,
    rule: Rule,
    help: String,
    /// `None` where no change is named.
    proof: Option<Proof>,
    diff: String,
}

fn open(all: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    all.iter().filter(|d| d.level > Level::Note)
}

/// Tries the changes of all findings of a source. `again` judges it changed.
fn each(
    suite: &'static str,
    name: &str,
    found: &[Diagnostic],
    again: &dyn Fn(&str, &str) -> Result<(Verdict, Vec<Diagnostic>), String>,
) -> Vec<Tried> {
    open(found)
        .map(|one| {
            let proof = one.edit.as_ref().map(|edit| {
                let [file] = edit.files()[..] else {
                    return Proof::NoVerdict("several files".to_owned());
                };
                match again(&file.path, &edit.applied(file)) {
                    Ok((verdict, now)) => proof::judge(edit, one, found, &now, verdict),
                    Err(why) => Proof::NoVerdict(why),
                }
            });
            Tried {
                suite,
                name: name.to_owned(),
                rule: one.rule,
                help: one.help.clone().unwrap_or_default(),
                proof,
                diff: one
                    .edit
                    .as_ref()
                    .map(report::Edit::diff)
                    .unwrap_or_default(),
            }
        })
        .collect()
}

/// The launch that a file's header states.
fn request(file: &Path, text: &str) -> Request {
    let mut request = Request::new(Source::File(file.to_path_buf()));
    let flags = text.lines().find_map(|line| line.strip_prefix("// flags:"));
    let mut flags = flags.unwrap_or_default().split_whitespace();
    while let Some(flag) = flags.next() {
        if flag == "--cooperative" {
            request.cooperative = true;
            continue;
        }
        let value = flags.next().unwrap();
        match flag {
            "--grid" => request.launch.grid = Some(check::geometry::parse(value).unwrap()),
            "--block" => request.launch.block = Some(check::geometry::parse(value).unwrap()),
            "--shared" => request.launch.shared = Some(value.parse().unwrap()),
            "--entry" => request.entry = Some(value.to_owned()),
            "--max-steps" => request.budgets.steps = value.parse().unwrap(),
            "--schedules" => {
                request.schedules = check::Schedules::UpTo(value.parse().unwrap());
            }
            "--arg" => request
                .arguments
                .push(check::argument::parse(value).unwrap()),
            other => panic!("no flag `{other}`"),
        }
    }
    request.budgets.jobs = 1;
    request
}

/// A file of `tests/judged`, `tests/homework` or `tests/alone`.
fn file(suite: &'static str, path: &Path) -> Vec<Tried> {
    let text = std::fs::read_to_string(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let judged = |text: &str| -> Result<(Verdict, Vec<Diagnostic>), String> {
        let copy = folder.path().join(name);
        std::fs::write(&copy, text).map_err(|e| e.to_string())?;
        let mut request = request(&copy, text);
        if suite == "tests/judged" {
            request.compiler.std = Some("c++17".to_owned());
            request.compiler.arch = Some("sm_90".to_owned());
        }
        let checked = check::check(&request, &Unwatched).map_err(|e| e.render(false))?;
        Ok((checked.check.verdict, checked.check.diagnostics))
    };
    match judged(&text) {
        Ok((_, found)) => each(suite, name, &found, &|_, text| judged(text)),
        // What the compiler here does not take for the default target.
        Err(why) => {
            println!("{suite}/{name}: {}", why.lines().next().unwrap_or_default());
            Vec::new()
        }
    }
}

/// A case of the catalogue.
fn case(catalog: &Catalog, entry: &Entry, nvcc: &Nvcc, root: &Path) -> Vec<Tried> {
    let settings = Settings::default();
    let settled = |mut all: Vec<Diagnostic>| {
        report::settle_causes(&mut all);
        all
    };
    let found = settled(case_result::run(catalog, entry, &settings).diagnostics);
    let again = |path: &str, text: &str| {
        let mut changed = catalog.clone();
        changed
            .tree
            .files
            .insert(path.to_owned(), text.to_owned().into());
        let folder = root.join(entry.id.replace('/', "-"));
        for (path, text) in changed
            .tree
            .files
            .iter()
            .filter(|(p, _)| p.starts_with("kernels/") && !p.ends_with(".ptx"))
        {
            let to = folder.join(path);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::write(to, text.as_bytes()).unwrap();
        }
        let pin = Pin::new(&entry.case, SIMULATED);
        let options = CompileOptions {
            defines: pin.defines.clone(),
            std: Some(catalog::pinned::STANDARD.to_owned()),
            arch: Some(pin.target.to_owned()),
            ..CompileOptions::default()
        };
        let ptx = nvcc
            .compile(&folder.join(&pin.source), Optimisation::Optimised, &options)
            .map_err(|e| e.to_string())?;
        let shown = pin.file(&changed.tree, &ptx, &folder.to_string_lossy());
        changed.tree.files.insert(pin.ptx.clone(), shown.into());
        let entry = changed.find(&entry.id).unwrap();
        let now = case_result::run(&changed, entry, &settings);
        let left = settled(now.diagnostics.clone());
        match open(&left).count() {
            0 if now.verdict != Verdict::Missed => Err(format!("the oracle: {}", now.summary)),
            _ => Ok((Verdict::Findings, left)),
        }
    };
    each("catalogue", &entry.id, &found, &again)
}

/// A piece of work: what it gives.
type Work<'w> = Box<dyn Fn() -> Vec<Tried> + Send + Sync + 'w>;

fn all_of(works: &[Work<'_>]) -> Vec<Tried> {
    let found = Mutex::new(BTreeMap::new());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(work) = works.get(at) else { break };
                    let one = work();
                    let _ = wrong(&one);
                    found.lock().unwrap().insert(at, one);
                }
            });
        }
    });
    found
        .into_inner()
        .unwrap()
        .into_values()
        .flatten()
        .collect()
}

fn works<'w>(
    catalog: &'w Catalog,
    nvcc: &'w Nvcc,
    root: &'w Path,
    keep: &dyn Fn(&str) -> bool,
) -> Vec<Work<'w>> {
    let mut works: Vec<Work<'w>> = Vec::new();
    for (suite, folder) in [
        ("tests/judged", "tests/judged/buggy"),
        ("tests/homework", "tests/homework"),
        ("tests/alone", "tests/alone"),
    ] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(testing::root().join(folder))
            .unwrap()
            .map(|f| f.unwrap().path())
            .collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "cu"));
        files.sort();
        for path in files {
            let text = std::fs::read_to_string(&path).unwrap();
            let right = text.starts_with("// right");
            if !right
                && keep(&format!(
                    "{suite}/{}",
                    path.file_name().unwrap().to_str().unwrap()
                ))
            {
                works.push(Box::new(move || file(suite, &path)));
            }
        }
    }
    for entry in catalog
        .cases
        .iter()
        .filter(|e| e.case.is_meant_buggy() && e.case.refusal().is_none())
    {
        if keep(&entry.id) {
            works.push(Box::new(move || case(catalog, entry, nvcc, root)));
        }
    }
    works
}

fn try_all(keep: &dyn Fn(&str) -> bool) -> Option<Vec<Tried>> {
    let nvcc = testing::needs_nvcc()?;
    let catalog = Catalog::embedded().unwrap();
    let root = tempfile::tempdir().unwrap();
    let works = works(&catalog, &nvcc, root.path(), keep);
    Some(all_of(&works))
}

/// Prints what did not hold; how many.
fn wrong(all: &[Tried]) -> usize {
    let mut wrong = 0;
    for one in all {
        match &one.proof {
            Some(Proof::Holds) => {}
            None => println!(
                "no change: {} {}: {}: {}",
                one.suite, one.name, one.rule, one.help
            ),
            Some(proof) => {
                wrong += 1;
                println!(
                    "WRONG: {} {}: {}: {}\n  {proof}\n{}",
                    one.suite, one.name, one.rule, one.help, one.diff
                );
            }
        }
    }
    wrong
}

fn page(all: &[Tried]) -> String {
    let mut suites: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for one in all {
        let sums = suites.entry(one.suite).or_default();
        sums.0 += 1;
        sums.1 += usize::from(one.proof == Some(Proof::Holds));
    }
    let mut out = String::from(
        "# Advice that works\n\n<!-- generated by `INSTA_UPDATE=always cargo nextest run --test advice` -->\n\nA finding's `help:` comes with a change of the source where one can be named (`racetrap check --fix`). `tests/advice.rs` makes each\nchange, compiles and checks again: the finding must be gone, nothing new may come, and the results of the catalogue's cases must be those\nof their oracles. Errors and warnings:\n\n| suite | findings | with a change that was proven | share |\n|---|---|---|---|\n",
    );
    for (suite, (findings, proven)) in suites {
        let _ = writeln!(
            out,
            "| {suite} | {findings} | {proven} | {} % |",
            100 * proven / findings.max(1)
        );
    }
    out += "\nNo change failed. The others explain what to do: where a value comes from that should not be, which launches to order, how large a\nbuffer has to be, what a loop waits for.\n";
    out
}

#[test]
fn all_advice_works() {
    let Some(all) = try_all(&|_| true) else {
        return;
    };
    let wrong = wrong(&all);
    let page = page(&all);
    println!("{page}");
    assert_eq!(wrong, 0, "advice that does not work");
    let path = testing::root().join("docs/advice.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|v| v == "always") {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap_or_default(),
        page,
        "docs/advice.md is stale"
    );
}

/// A sample: what begins with a few letters.
#[test]
fn some_advice_works() {
    let sample = [
        "tests/judged/buggy/co",
        "tests/judged/c",
        "tests/homework/re",
        "tests/alone/s",
        "transpose/",
        "reduce/atomic",
        "staging/no",
    ];
    let Some(all) = try_all(&|name| sample.iter().any(|part| name.starts_with(part))) else {
        return;
    };
    assert_eq!(wrong(&all), 0, "advice that does not work");
    let proven = all
        .iter()
        .filter(|one| one.proof == Some(Proof::Holds))
        .count();
    assert!(proven >= 10, "{proven} of {}", all.len());
}
