//! The sentence under the findings: what was tried and what it promises.

use super::argument::Value;
use super::checked::Checked;
use super::explore::Explored;
use super::host;
use super::hypothesis::Hypothesis;
use super::input::Input;
use super::plan::Origin;
use super::request::{Request, Schedules, Source};
use anstyle::Style;
use detect::rules::{Level, Rule};
use ptx::demangle;
use report::exit;
use report::terminal::thousands;
use report::{Argument, Check, Diagnostic, Judged, Setting, Verdict};
use session::Independence;
use session::fill::Fill;
use simt::{Dim3, Limits, Stop};
use std::fmt::Write as _;
use std::time::Duration;
use toolchain::sandbox::Confined;

/// How the kernel was run, for the report.
pub fn setting(
    request: &Request,
    input: &Input,
    entry: &str,
    hypothesis: &Hypothesis,
    explored: &[Explored],
) -> Setting {
    let three = |d: Dim3| [d.x, d.y, d.z];
    let (geometry, plan) = (hypothesis.shape(), &hypothesis.plan);
    let mut schedules: Vec<String> = Vec::new();
    for schedule in explored.iter().flat_map(|e| &e.schedules) {
        if !schedules.contains(schedule) {
            schedules.push(schedule.clone());
        }
    }
    Setting {
        entry: demangle(entry),
        grid: three(geometry.grid),
        block: three(geometry.block),
        dynamic_shared: plan.dynamic_shared(geometry),
        cooperative: geometry.cooperative,
        cluster: geometry.cluster.map(three),
        arguments: plan
            .values
            .iter()
            .enumerate()
            .map(|(index, planned)| Argument {
                name: plan.parameters.label(index),
                value: planned.value.to_string(),
                guessed: planned.origin != Origin::Given,
            })
            .collect(),
        builds: input
            .builds
            .iter()
            .take(match explored.len() {
                0 => usize::MAX,
                ran => ran,
            })
            .filter_map(|b| b.name)
            .map(str::to_string)
            .collect(),
        schedules,
        seed: request.seed,
    }
}

/// The options that launch the kernel so again.
pub fn launch(hypothesis: &Hypothesis) -> Vec<String> {
    let (geometry, plan) = (hypothesis.shape(), &hypothesis.plan);
    let mut words = vec![
        format!("--grid {}", geometry.grid),
        format!("--block {}", geometry.block),
    ];
    let shared = plan.dynamic_shared(geometry);
    if shared > 0 {
        words.push(format!("--shared {shared}"));
    }
    if geometry.cooperative {
        words.push("--cooperative".into());
    }
    if let Some(cluster) = geometry.cluster {
        words.push(format!("--cluster {cluster}"));
    }
    for (index, planned) in plan.values.iter().enumerate() {
        let label = plan.parameters.label(index);
        words.push(format!(
            "--arg {}",
            quote(&format!("{label}={}", planned.value))
        ));
    }
    words
}

/// Whether a program that asked for the check holds the values of an argument, which no command can say.
pub fn holds_values(request: &Request) -> bool {
    let all = request.arguments.iter().chain(&request.variables);
    all.filter_map(|argument| match &argument.value {
        Value::Buffer(buffer) | Value::Rows(_, buffer) => Some(&buffer.fill),
        _ => None,
    })
    .any(|fill| matches!(fill, Fill::Bytes(_)))
}

/// The command that shows one finding again, where the kernel is in a file and its arguments can be written.
pub fn replay(request: &Request, setting: &Setting, schedule: &str) -> Option<String> {
    let Source::File(path) = &request.source else {
        return None;
    };
    if holds_values(request) {
        return None;
    }
    let mut words = vec![
        "racetrap".to_string(),
        "check".into(),
        quote(&path.display().to_string()),
    ];
    words.extend(
        request
            .further
            .iter()
            .map(|p| quote(&p.display().to_string())),
    );
    let mut flag = |name: &str, value: String| words.push(format!("{name} {}", quote(&value)));
    if let Some(entry) = &request.entry {
        flag("--entry", entry.clone());
    }
    flag("--grid", dims(setting.grid));
    flag("--block", dims(setting.block));
    if setting.dynamic_shared > 0 {
        flag("--shared", setting.dynamic_shared.to_string());
    }
    if let Some(cluster) = setting.cluster {
        flag("--cluster", dims(cluster));
    }
    for argument in &setting.arguments {
        flag("--arg", format!("{}={}", argument.name, argument.value));
    }
    for set in &request.variables {
        flag("--set", format!("{}={}", set.parameter, set.value));
    }
    if setting.arguments.iter().any(|a| a.value.contains("random")) {
        flag("--seed", setting.seed.to_string());
    }
    flag("--schedule", schedule.to_string());
    if request.budgets.steps != Limits::default().steps {
        flag("--max-steps", request.budgets.steps.to_string());
    }
    for define in &request.compiler.defines {
        flag("-D", define.clone());
    }
    for include in &request.compiler.includes {
        flag("-I", include.display().to_string());
    }
    for header in &request.compiler.before {
        flag("--include", header.display().to_string());
    }
    for option in &request.compiler.further {
        flag("--compiler-option", option.clone());
    }
    for (name, value) in [
        ("--std", &request.compiler.std),
        ("--arch", &request.compiler.arch),
    ] {
        if let Some(value) = value {
            flag(name, value.clone());
        }
    }
    if setting.cooperative {
        words.push("--cooperative".into());
    }
    if let Some(then) = &request.then {
        words.push(format!("--then {}", quote(&then.words())));
        if then.dependent {
            words.push("--programmatic".into());
        }
    }
    if request.perf {
        words.push("--perf".into());
    }
    if request.engine == simt::Engine::Plain {
        words.push("--plain".into());
    }
    Some(words.join(" "))
}

fn dims([x, y, z]: [u32; 3]) -> String {
    Dim3 { x, y, z }.to_string()
}

/// A word as a POSIX shell takes it.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:=+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The check with its verdict.
pub fn judge(
    request: &Request,
    input: &Input,
    setting: Setting,
    diagnostics: Vec<Diagnostic>,
    explored: &[Explored],
    told: &Told,
) -> Check {
    let count = |level| diagnostics.iter().filter(|d| d.level == level).count();
    let (errors, warnings, notes) = (
        count(Level::Error),
        count(Level::Warning),
        count(Level::Note),
    );
    let stop = explored
        .iter()
        .zip(&input.builds)
        .find_map(|(e, b)| Some((e.stopped.as_ref()?, e.stopped_at.as_ref(), b.name)));
    let independence = told.independence;
    let (verdict, mut summary) = match stop {
        Some((stop, at, build)) => {
            let at = at.map(|line| format!(" at {line}")).unwrap_or_default();
            let inside = build.map(|b| format!(" ({b} build)")).unwrap_or_default();
            let verdict = match stop {
                Stop::Unsupported { .. } => Verdict::Unsupported,
                _ if errors > 0 => Verdict::Findings,
                _ => Verdict::Inconclusive,
            };
            let what = match stop {
                Stop::WallClock(_) => format!(
                    "the check did not end within {} seconds{}: raise `--timeout`, or use a smaller launch (`--grid`)",
                    request.budgets.time.unwrap_or_default().as_secs_f64(),
                    after(explored)
                ),
                Stop::Interrupted => format!("the check was interrupted{}", after(explored)),
                Stop::Memory(bytes) => format!(
                    "what racetrap remembers of the launch needs more than the {} MiB that are left of its memory{}: raise `--memory`, or use a smaller launch (`--grid`) or smaller buffers (`--arg`)",
                    thousands(bytes >> 20),
                    after(explored)
                ),
                Stop::Budget { ended, blocks, .. } => format!(
                    "only {} of {} blocks ended within the budget of {} warp-instructions, but the kernel is not stuck: raise `--max-steps`, or use a smaller launch (`--grid`)",
                    thousands(u64::from(*ended)),
                    thousands(u64::from(*blocks)),
                    thousands(request.budgets.steps)
                ),
                other => ptx::shortened(&other.to_string()).into_owned(),
            };
            (verdict, format!("{what}{at}{inside}"))
        }
        None if errors + warnings > 0 => (Verdict::Findings, String::new()),
        None => (
            Verdict::Clean,
            "no race, barrier or memory error".to_string(),
        ),
    };
    if errors + warnings + notes > 0 {
        let found = counted(errors, warnings, notes);
        summary = match summary.is_empty() {
            true => found,
            false => format!("{found}; {summary}"),
        };
    }
    if explored.iter().any(|e| e.cut) {
        summary += ", and more that are left out";
    }
    let grid = explored.iter().any(|e| e.cooperates) && !setting.cooperative;
    if grid && diagnostics.iter().any(|d| d.rule == Rule::Trap) {
        summary += "; `grid.sync()` needs a cooperative launch, give `--cooperative`";
    }
    if let Some(then) = &request.then {
        let how = match then.dependent {
            true => ", which may begin before it has ended",
            false => " when it has ended",
        };
        summary += &format!("; followed by `{}`{how}", ptx::shortened(&then.words()));
    }
    if matches!(verdict, Verdict::Clean | Verdict::Findings) && stop.is_none() {
        summary = format!("{summary}; {}", tried(verdict, told, &setting, request));
    }
    if let Some(gpu) = told.gpu.filter(|_| stop.is_none()) {
        summary = format!("{summary}; as on sm_{gpu}");
        if let Some(name) = input.newer.as_ref().and_then(|newer| newer.name.as_deref()) {
            summary += &format!(", which `{}` needs", ptx::shortened(name));
        }
    }
    let map = setting.arguments.iter().find(|a| is_no_map(&a.value));
    if let Some(map) = map.filter(|_| verdict == Verdict::Unsupported) {
        summary += &format!(
            "; tensor maps are not guessed: if `{0}` is one, give `--arg '{0}=tensor:f16[64,128]:box=64,64'` with its own type, sizes, box and swizzle",
            map.name
        );
    }
    if let Some(how) = input.confined.and_then(unconfined) {
        summary = format!("{summary}; the compiler was not confined: {how}");
    }
    if let Some(newer) = newer(input) {
        summary = format!("{summary}; {newer}");
    }
    let entry = setting.entry.clone();
    let clean = matches!(verdict, Verdict::Clean | Verdict::Findings) && errors == 0;
    Check {
        name: format!("{}: {}", input.path, ptx::shortened(&setting.entry)),
        verdict,
        ok: clean,
        summary,
        schedule_independent: independence.map(|i| i == Independence::Independent),
        output: explored
            .first()
            .map(|e| e.output.clone())
            .unwrap_or_default(),
        setting: Some(setting),
        diagnostics,
        unseen: report::Unseen::default(),
        judged: Judged {
            file: report::accept::path_from_here(&input.path),
            kernels: Some(vec![ptx::without_signature(&entry).to_owned()]),
            doubt: doubt(explored),
            warnings_fail: false,
            otherwise: None,
        },
        time: told.time,
    }
}

/// How far the runs came.
fn after(explored: &[Explored]) -> String {
    match explored.iter().map(|e| e.executed).sum() {
        0 => String::new(),
        steps => format!(", after {} warp-instructions", thousands(steps)),
    }
}

/// Whether an argument has the size of a tensor map, and is none: so many zeros are guessed.
fn is_no_map(value: &str) -> bool {
    let digits = value.strip_prefix("0x").unwrap_or_default();
    digits.len() == 2 * simt::tensor_map::BYTES && digits.bytes().all(|b| b == b'0')
}

/// What a reader has to know of PTX that is newer than what racetrap knows: newer compilers write it, and most of it means the same.
fn newer(input: &Input) -> Option<String> {
    let (known, below) = ptx::validate::VERSION;
    let versions = input.builds.iter().map(|build| build.module.version);
    let (major, minor) = versions.max().filter(|version| *version > (known, below))?;
    Some(format!(
        "the PTX is of version {major}.{minor}, and {known}.{below} is the newest that racetrap knows: what is new in it may be misread"
    ))
}

/// What keeps a check from a verdict if its findings do not count: it stopped for another reason than one of them, or has more than
/// it shows.
fn doubt(explored: &[Explored]) -> Option<Verdict> {
    let stops = explored.iter().filter_map(|e| e.stopped.as_ref());
    let of = |stop: &Stop| match stop {
        Stop::Unsupported { .. } => Some(Verdict::Unsupported),
        stop => (!stop.is_finding()).then_some(Verdict::Inconclusive),
    };
    let cut = explored.iter().any(|e| e.cut);
    stops
        .filter_map(of)
        .next()
        .or(cut.then_some(Verdict::Inconclusive))
}

/// What a reader has to know of how a stranger's source was compiled.
fn unconfined(confined: Confined) -> Option<&'static str> {
    (confined == Confined::LimitsOnly).then(|| confined.describe())
}

/// What is known beside the findings.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// What a clean verdict promises.
    pub independence: Option<Independence>,
    /// Whether every order of communication was tried, as far as memory is sequentially consistent.
    pub every_order: bool,
    /// Whether loads may return older values than the last.
    pub older_values: bool,
    /// The settings of guessed integers that were tried beside the first.
    pub inputs: Vec<String>,
    /// The architecture number of the GPU that the kernel ran on, where it is known.
    pub gpu: Option<u32>,
    /// How long it took.
    pub time: Duration,
}

/// The weakest promise of several; `None` if one of them makes none.
pub fn weakest(all: impl IntoIterator<Item = Option<Independence>>) -> Option<Independence> {
    let rank = |i: &Independence| match i {
        Independence::Independent => 0,
        Independence::VerdictOnly => 1,
        Independence::Dependent => 2,
    };
    let all: Option<Vec<Independence>> = all.into_iter().collect();
    all?.into_iter().max_by_key(rank)
}

fn counted(errors: usize, warnings: usize, notes: usize) -> String {
    let part = |n: usize, word: &str| match n {
        0 => None,
        1 => Some(format!("1 {word}")),
        n => Some(format!("{n} {word}s")),
    };
    let parts = [
        part(errors, "error"),
        part(warnings, "warning"),
        part(notes, "note"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn tried(verdict: Verdict, told: &Told, setting: &Setting, request: &Request) -> String {
    let schedules = match setting.schedules.as_slice() {
        [one] => format!("schedule {one}"),
        several => format!("{} schedules", several.len()),
    };
    let inputs = match told.inputs.len() {
        0 => "this input".to_owned(),
        more => format!("each of {} inputs", more + 1),
    };
    match (verdict, told.independence) {
        (Verdict::Clean, Some(Independence::Independent)) => {
            format!("schedule-independent: every schedule gives this result for {inputs}")
        }
        (Verdict::Clean, Some(Independence::VerdictOnly)) => {
            format!(
                "schedule-independent: every schedule has this verdict for {inputs}, but values in memory may depend on thread order"
            )
        }
        (Verdict::Clean, _) if told.every_order => {
            let beyond = match told.older_values {
                true => ", and older values that loads may return by chance",
                false => "",
            };
            format!("every order of communication was tried for {inputs}: {schedules}{beyond}")
        }
        (Verdict::Clean, _) => {
            let cut = match matches!(request.schedules, Schedules::UpTo(most) if setting.schedules.len() < most as usize)
            {
                true => " within the budgets",
                false => "",
            };
            format!(
                "{schedules} tried{cut} (seed {}); other schedules may behave differently: the result depends on the order of threads",
                setting.seed
            )
        }
        _ => format!("{schedules} tried"),
    }
}

/// The exit code of a check. Warnings and notes count where they are denied.
pub fn code(check: &Check, deny: Option<Level>) -> u8 {
    let denied = check
        .diagnostics
        .iter()
        .any(|d| d.accepted.is_none() && deny.is_some_and(|level| d.level >= level));
    match check.verdict {
        _ if check.count(Level::Error) > 0 || denied => exit::FINDINGS,
        Verdict::Unsupported | Verdict::Inconclusive => exit::INCONCLUSIVE,
        _ if check.ok => exit::OK,
        _ => exit::FINDINGS,
    }
}

/// What was run, before the findings: launch and arguments with the flags that set them, and what
/// the kernel printed.
pub fn preamble(checked: &Checked, color: bool) -> String {
    let Checked {
        check,
        hypothesis,
        explored,
        ..
    } = checked;
    let (geometry, plan) = (hypothesis.shape(), &hypothesis.plan);
    let Some(setting) = &check.setting else {
        return String::new();
    };
    let (bold, dim) = match color {
        true => (Style::new().bold(), Style::new().dimmed()),
        false => (Style::new(), Style::new()),
    };
    let mut out = String::new();
    let _ = writeln!(out, "{bold}{}{bold:#}", check.name);
    let mut launch = format!(
        "--grid {} --block {}",
        dims(setting.grid),
        dims(setting.block)
    );
    if setting.dynamic_shared > 0 {
        let _ = write!(launch, " --shared {}", setting.dynamic_shared);
    }
    if setting.cooperative {
        launch.push_str(" --cooperative");
    }
    if let Some(cluster) = setting.cluster {
        let _ = write!(launch, " --cluster {}", dims(cluster));
    }
    let from = geometry.origins.describe().map(str::to_owned);
    let mut rows = vec![(launch, from)];
    for (index, argument) in setting.arguments.iter().enumerate() {
        let value = match is_no_map(&argument.value) {
            true => "0x00…00",
            false => &argument.value,
        };
        let flag = format!("--arg {}", quote(&format!("{}={value}", argument.name)));
        let grown = explored.iter().any(|e| e.grown.contains(&index));
        let line = |line| host::line_of(line, plan.host_file.as_deref());
        rows.push((
            flag,
            match plan.values.get(index).map(|planned| planned.origin) {
                Some(Origin::Guessed) if grown => {
                    Some("guessed, enlarged because the kernel accesses more".into())
                }
                Some(Origin::Guessed | Origin::Followed) => Some("guessed".into()),
                Some(Origin::Host { line: at, .. }) if grown => Some(format!(
                    "as {} passes it, enlarged because the kernel accesses more",
                    line(at)
                )),
                Some(Origin::Host {
                    line: at,
                    filled_by_guess: true,
                    ..
                }) => Some(format!("sized as {} passes it, filled by guess", line(at))),
                Some(Origin::Host { line: at, .. }) => Some(format!("as {} passes it", line(at))),
                Some(Origin::Given) | None => None,
            },
        ));
    }
    let width = rows.iter().map(|(flag, _)| flag.len()).max().unwrap_or(0);
    for (flag, from) in rows {
        let line = match from {
            Some(from) => format!("  {flag:width$}  {dim}({from}){dim:#}"),
            None => format!("  {flag}"),
        };
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    if !check.output.is_empty() {
        out.push_str("the kernel printed:\n");
        const LINES: usize = 20;
        for line in check.output.lines().take(LINES) {
            let shown: String = line
                .chars()
                .take(400)
                .filter(|c| !c.is_control() || *c == '\t')
                .collect();
            let _ = writeln!(out, "  {shown}");
        }
        let more = check.output.lines().count().saturating_sub(LINES);
        if more > 0 {
            let _ = writeln!(
                out,
                "  … and {more} more lines (`--format json` has them all)"
            );
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_not_confined_is_told() {
        assert_eq!(unconfined(Confined::Fully), None);
        assert_eq!(unconfined(Confined::Partly), None);
        assert!(
            unconfined(Confined::LimitsOnly)
                .unwrap()
                .contains("Landlock")
        );
    }
}
