//! Whether advice works when followed: each finding's help names a change of the source where it can, the change is made, the source
//! is compiled and checked again, and then the finding must be gone and nothing new there. The kernel must still compute the same: of the
//! catalogue's cases the oracle decides; a file of `tests/alone` or `tests/homework` must, with all its changes, leave in memory what the
//! right version beside it leaves.
//!
//! docs/advice keeps what came of each finding, one page a suite. A change that does not do what its help says fails the test.
//! `INSTA_UPDATE=always` renews the pages. `RACETRAP_ADVICE=copy_,bulk_` tries the files and cases alone whose names begin so, and compares nothing with the pages.

#[path = "advice/page.rs"]
mod page;

use catalog::case_result::{self, Settings};
use catalog::load::{Catalog, Entry};
use catalog::pinned::Pin;
use check::mend::mend;
use check::{Checked, Request, Source, Unwatched};
use detect::rules::{Level, Rule};
use report::edit::Change;
use report::proof::{self, Proof};
use report::{Diagnostic, Edit, NoChange, Verdict};
use rstest::rstest;
use session::buffer::{Elements, Number};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use toolchain::{CompileOptions, Nvcc, Optimisation};

/// What came of one finding.
struct Tried {
    name: String,
    rule: Rule,
    lines: String,
    help: String,
    /// `None` where no change is named.
    proof: Option<Proof>,
    /// Why none is.
    no_change: NoChange,
    diff: String,
}

/// What came of one file or case.
#[derive(Default)]
struct Outcome {
    name: String,
    tried: Vec<Tried>,
    /// What the mended kernel computes, where that is compared; or why nothing was tried.
    remark: Option<String>,
    wrong: bool,
}

fn open(all: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    all.iter().filter(|d| d.level > Level::Note)
}

/// Tries the changes of all findings of a source. `again` judges it changed.
fn each(
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
            let lines: std::collections::BTreeSet<u32> =
                one.key().1.into_iter().map(|(_, line)| line).collect();
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            Tried {
                name: name.to_owned(),
                rule: one.rule,
                lines: lines.join(", "),
                help: one.help.clone().unwrap_or_default(),
                proof,
                no_change: one.no_change.unwrap_or(NoChange::NotFound),
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

/// The right version of a wrong file: the one with the longest name that the wrong one's name begins with.
fn right_version(path: &Path) -> Option<PathBuf> {
    let stem = path.file_stem()?.to_str()?;
    let mut all: Vec<PathBuf> = std::fs::read_dir(path.parent()?)
        .ok()?
        .map(|f| f.unwrap().path())
        .filter(|f| f.extension().is_some_and(|e| e == "cu"))
        .filter(|f| {
            let name = f.file_stem().and_then(|n| n.to_str()).unwrap_or_default();
            stem.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('_'))
                && is_right(&std::fs::read_to_string(f).unwrap())
        })
        .collect();
    all.sort_by_key(|f| f.as_os_str().len());
    all.pop()
}

fn is_right(text: &str) -> bool {
    text.starts_with("// right") || text.starts_with("// clean")
}

/// Whether two runs left the same in the buffers of their kernels, floating-point numbers up to rounding; `None` where they can't be
/// compared.
fn leave_the_same(one: &Checked, other: &Checked) -> Option<bool> {
    let (a, b) = (&one.hypothesis.geometry, &other.hypothesis.geometry);
    if (a.grid, a.block) != (b.grid, b.block) {
        return None;
    }
    let (ours, theirs) = (one.memory.buffers(), other.memory.buffers());
    if ours.is_empty() || ours.len() != theirs.len() {
        return None;
    }
    let mut same = true;
    for (a, b) in ours.iter().zip(theirs) {
        if (a.bytes, a.element) != (b.bytes, b.element) {
            return None;
        }
        let (x, _) = one.memory.read(a)?;
        let (y, _) = other.memory.read(b)?;
        let equal = match a.element.is_float() {
            false => x == y,
            true => {
                let all = |bytes: &[u8]| Elements::from_bytes(a.element, bytes);
                let (x, y) = (all(&x), all(&y));
                (0..x.len()).all(|at| {
                    let (Number::Float(p), Number::Float(q)) = (x.get(at), y.get(at)) else {
                        return x.get(at) == y.get(at);
                    };
                    p == q
                        || p.is_nan() && q.is_nan()
                        || (p - q).abs() <= 1e-5 * p.abs().max(q.abs())
                })
            }
        };
        same &= equal;
    }
    Some(same)
}

/// What is done to the changes that findings advise, before they are tried.
type Plant<'p> = &'p dyn Fn(&mut Diagnostic);

/// A file of `tests/judged`, `tests/homework` or `tests/alone`.
fn file(suite: &'static str, path: &Path, plant: Plant<'_>) -> Outcome {
    let text = std::fs::read_to_string(path).unwrap();
    let original = text.clone();
    let folder = tempfile::tempdir().unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let judged = |text: &str| -> Result<Checked, String> {
        let copy = folder.path().join(name);
        std::fs::write(&copy, text).map_err(|e| e.to_string())?;
        let mut request = request(&copy, text);
        if suite == "judged" {
            request.compiler.std = Some("c++17".to_owned());
            request.compiler.arch = Some("sm_90".to_owned());
        }
        check::check(&request, &Unwatched).map_err(|e| e.render(false))
    };
    let shown = format!("{}/", folder.path().display());
    let found = |text: &str| -> Result<(Verdict, Vec<Diagnostic>), String> {
        let mut one = judged(text)?.check;
        if text == original {
            one.diagnostics.iter_mut().for_each(plant);
        }
        // Each run has a folder of its own, which no page should name.
        for help in one.diagnostics.iter_mut().filter_map(|d| d.help.as_mut()) {
            *help = help.replace(&shown, "");
        }
        Ok((one.verdict, one.diagnostics))
    };
    let mut outcome = Outcome {
        name: name.to_owned(),
        ..Outcome::default()
    };
    let before = match found(&text) {
        Ok((_, before)) => before,
        Err(why) => {
            let why = why.lines().next().unwrap_or_default().to_owned();
            outcome.remark = Some(format!("not tried: {why}"));
            return outcome;
        }
    };
    outcome.tried = each(name, &before, &|_, text| found(text));
    if outcome.tried.iter().any(|one| one.proof.is_some())
        && let Some(right) = right_version(path)
    {
        let right = std::fs::read_to_string(&right).unwrap();
        let mended = mend(Path::new(name), &text, before, |copy| {
            found(&std::fs::read_to_string(copy).unwrap()).ok()
        })
        .unwrap();
        let inherent = |one: &&Diagnostic| one.rule != Rule::NondeterministicResult;
        let now = judged(&mended.text).unwrap();
        let left = open(&now.check.diagnostics).filter(inherent).count();
        let compared = judged(&right).ok().filter(|_| left == 0);
        match compared.and_then(|right| leave_the_same(&now, &right)) {
            Some(true) => outcome.remark = Some("computes what the right version does".to_owned()),
            Some(false) => {
                outcome.wrong = true;
                println!(
                    "WRONG: {suite} {name}: mended, it computes something else:\n{}",
                    mended.text
                );
            }
            None => {}
        }
    }
    outcome
}

/// A case of the catalogue.
fn case(catalog: &Catalog, entry: &Entry, nvcc: &Nvcc, root: &Path, plant: Plant<'_>) -> Outcome {
    let settings = Settings::default();
    let settled = |mut all: Vec<Diagnostic>| {
        report::settle_causes(&mut all);
        all
    };
    let mut found = settled(case_result::run(catalog, entry, &settings).diagnostics);
    found.iter_mut().for_each(plant);
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
        let pin = Pin::new(&entry.case, entry.case.simulated());
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
            // What was to be found is missing, as it should be, and the results are right.
            0 if now.verdict != Verdict::Missed || now.wrong_result.is_some() => Err(format!(
                "the oracle: {}",
                now.wrong_result
                    .map_or(now.summary, |example| example.to_string())
            )),
            _ => Ok((Verdict::Findings, left)),
        }
    };
    Outcome {
        name: entry.id.clone(),
        tried: each(&entry.id, &found, &again),
        ..Outcome::default()
    }
}

/// A piece of work: what it gives.
type Work<'w> = Box<dyn Fn() -> Outcome + Send + Sync + 'w>;

fn all_of(works: &[Work<'_>]) -> Vec<Outcome> {
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
                    tell(&one);
                    found.lock().unwrap().insert(at, one);
                }
            });
        }
    });
    found.into_inner().unwrap().into_values().collect()
}

/// Prints what did not hold, and where there is no change.
fn tell(outcome: &Outcome) {
    for one in &outcome.tried {
        let Tried {
            name, rule, help, ..
        } = one;
        match &one.proof {
            Some(Proof::Holds(_)) => {}
            None => println!(
                "no change: {name}: {rule}: {help} [{}]",
                one.no_change.words()
            ),
            Some(proof) => println!("WRONG: {name}: {rule}: {help}\n  {proof}\n{}", one.diff),
        }
    }
}

/// How many changes and mended files are wrong.
fn wrong(all: &[Outcome]) -> usize {
    let failed = |one: &&Tried| one.proof.as_ref().is_some_and(|p| !p.holds());
    all.iter()
        .map(|one| one.tried.iter().filter(failed).count() + usize::from(one.wrong))
        .sum()
}

/// Tries the findings of a suite's files or cases whose names are kept.
fn try_all(suite: &'static str, keep: &dyn Fn(&str) -> bool) -> Option<Vec<Outcome>> {
    let nvcc = testing::needs_nvcc()?;
    let catalog = Catalog::embedded().unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut works: Vec<Work<'_>> = Vec::new();
    if suite == "catalogue" {
        let meant = |e: &&Entry| e.case.is_meant_buggy() && e.case.refusal().is_none();
        for entry in catalog.cases.iter().filter(meant).filter(|e| keep(&e.id)) {
            works.push(Box::new(|| {
                case(&catalog, entry, &nvcc, root.path(), &|_| {})
            }));
        }
        return Some(all_of(&works));
    }
    let folder = match suite {
        "judged" => "tests/judged/buggy".to_owned(),
        other => format!("tests/{other}"),
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(testing::root().join(folder))
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|e| e == "cu")
            && keep(name)
            && !is_right(&std::fs::read_to_string(&path).unwrap())
        {
            works.push(Box::new(move || file(suite, &path, &|_| {})));
        }
    }
    Some(all_of(&works))
}

#[rstest]
#[case::catalogue("catalogue")]
#[case::judged("judged")]
#[case::homework("homework")]
#[case::alone("alone")]
fn all_advice_works(#[case] suite: &'static str) {
    let only = std::env::var("RACETRAP_ADVICE").ok();
    let wanted = |name: &str| {
        only.as_ref()
            .is_none_or(|only| only.split(',').any(|one| name.starts_with(one)))
    };
    let Some(all) = try_all(suite, &wanted) else {
        return;
    };
    if only.is_some() {
        println!("{}", page::page(suite, &all));
        assert_eq!(wrong(&all), 0, "advice that does not work");
        return;
    }
    let page = page::page(suite, &all);
    assert_eq!(wrong(&all), 0, "advice that does not work");
    let path = testing::root().join(format!("docs/advice/{suite}.md"));
    if std::env::var("INSTA_UPDATE").is_ok_and(|v| v == "always") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    for line in kept.lines().filter(|line| !page.contains(line)) {
        println!("kept:  {line}");
    }
    for line in page.lines().filter(|line| !kept.contains(line)) {
        println!("today: {line}");
    }
    assert!(
        kept == page,
        "docs/advice/{suite}.md is stale: `INSTA_UPDATE=always cargo nextest run --test advice` renews it"
    );
}

/// The change that puts `new` in the place of `old`, which stands once in the source of a finding.
fn instead(one: &Diagnostic, old: &str, new: &str) -> Option<Edit> {
    let file = one.labels.first()?.source.clone();
    let all: Vec<usize> = file.text.match_indices(old).map(|(at, _)| at).collect();
    let [at] = all[..] else { return None };
    Edit::new(vec![Change {
        file,
        at: at..at + old.len(),
        text: new.to_owned(),
    }])
}

/// Changes that are wrong are noticed: a barrier that only some threads reach, one and a fence that do not stand between the two accesses, a
/// barrier of the warp for one of the block, an atomic operation that is none, and changes after which nothing is found and something else is computed.
#[rstest]
#[case::nothing_planted("homework", "reverse_no_barrier.cu", ("s[t] = d[t];", "s[t] = d[t];\n    __syncthreads();"), None)]
#[case::a_barrier_in_a_divergent_branch("homework", "reverse_no_barrier.cu", ("s[t] = d[t];", "s[t] = d[t];\n    if (t < N / 2) __syncthreads();"), Some("still there"))]
#[case::a_barrier_before_both("homework", "reverse_no_barrier.cu", ("s[t] = d[t];", "__syncthreads();\n    s[t] = d[t];"), Some("still there"))]
#[case::a_barrier_of_the_warp("homework", "reverse_no_barrier.cu", ("s[t] = d[t];", "s[t] = d[t];\n    __syncwarp();"), Some("still there"))]
#[case::a_fence_for_a_barrier("homework", "reverse_no_barrier.cu", ("s[t] = d[t];", "s[t] = d[t];\n    __threadfence();"), Some("still there"))]
#[case::the_read_is_taken_away("homework", "reverse_no_barrier.cu", ("d[t] = s[N - 1 - t];", "d[t] = s[t];"), Some("computes something else"))]
#[case::the_write_is_taken_away("homework", "histogram_plain.cu", ("bins[data[i]]++;", "atomicAdd(&bins[data[i]], 2);"), Some("computes something else"))]
#[case::what_does_not_compile("homework", "reverse_no_barrier.cu", ("s[t] = d[t];", "s[t] = d[t];\n    __syncthread();"), Some("no verdict"))]
#[case::a_fence_behind_the_flag("catalogue", "message/no-fence", ("atomicExch(flag, 1);", "atomicExch(flag, 1); __threadfence();"), Some("still there"))]
#[case::another_result("catalogue", "histogram/global/plain-increment", ("bins[data[i]] += 1;", "atomicExch(&bins[data[i]], 1);"), Some("the oracle"))]
#[case::a_narrow_scope("catalogue", "reduce/atomic/block-scope", ("atomicAdd_block(total, tile[0]);", "atomicMax_block(total, tile[0]);"), Some("still there"))]
fn wrong_changes_are_noticed(
    #[case] suite: &'static str,
    #[case] name: &str,
    #[case] (old, new): (&str, &str),
    #[case] wanted: Option<&str>,
) {
    let Some(nvcc) = testing::needs_nvcc() else {
        return;
    };
    let planted = std::sync::atomic::AtomicUsize::new(0);
    let plant = |one: &mut Diagnostic| {
        if one.level > Level::Note {
            one.edit = instead(one, old, new);
            planted.fetch_add(
                usize::from(one.edit.is_some()),
                std::sync::atomic::Ordering::Relaxed,
            );
        }
    };
    let outcome = match suite {
        "catalogue" => {
            let catalog = Catalog::embedded().unwrap();
            let entry = catalog.cases.iter().find(|e| e.id == name).unwrap();
            let root = tempfile::tempdir().unwrap();
            case(&catalog, entry, &nvcc, root.path(), &plant)
        }
        _ => {
            let path = testing::root().join(format!("tests/{suite}/{name}"));
            file(suite, &path, &plant)
        }
    };
    assert_ne!(planted.into_inner(), 0, "nothing was planted");
    let proofs = outcome.tried.iter().filter_map(|one| one.proof.as_ref());
    let mut seen: Vec<String> = proofs.map(Proof::to_string).collect();
    if outcome.wrong {
        seen.push("computes something else".to_owned());
    }
    let failed = wrong(std::slice::from_ref(&outcome));
    match wanted {
        None => assert_eq!(failed, 0, "{seen:?}"),
        Some(wanted) => {
            assert!(failed > 0, "{seen:?}");
            assert!(seen.iter().any(|one| one.contains(wanted)), "{seen:?}");
        }
    }
}

/// A producer's and a consumer's warps never meet at a `__syncthreads()` in the code of one of them.
#[rstest]
#[case("named_barrier_pipeline_no_empty.cu")]
#[case("ring_waits_for_the_wrong_slot.cu")]
#[case("bulk_stage_released_early.cu")]
fn warps_of_different_roles_are_told_what_orders_them(#[case] name: &str) {
    let Some(all) = try_all("judged", &|file| file == name) else {
        return;
    };
    let races = all[0].tried.iter().filter(|t| t.rule == Rule::DataRace);
    let helps: Vec<&str> = races.map(|race| race.help.as_str()).collect();
    assert!(!helps.is_empty());
    for help in helps {
        assert!(help.contains("a named barrier of both roles"), "{help}");
        assert!(help.contains("No `__syncthreads()` orders them"), "{help}");
        assert!(!help.contains("nowhere and arrive nowhere"), "{help}");
    }
}

/// A sample: what begins with a few letters.
#[test]
fn some_advice_works() {
    let sample = [
        ("judged", &["co", "named_barrier_p"][..]),
        ("homework", &["re"]),
        ("alone", &["s"]),
        ("catalogue", &["transpose/", "reduce/atomic", "staging/no"]),
    ];
    let mut proven = 0;
    for (suite, parts) in sample {
        let Some(all) = try_all(suite, &|name| parts.iter().any(|p| name.starts_with(p))) else {
            return;
        };
        assert_eq!(wrong(&all), 0, "advice that does not work");
        let tried = all.iter().flat_map(|one| &one.tried);
        proven += tried
            .filter(|one| one.proof.as_ref().is_some_and(Proof::holds))
            .count();
    }
    assert!(proven >= 10, "{proven}");
}
