//! What came of a run: records of all its processes, made into one report.

use crate::lines::{Line, Lines, NOWHERE};
use crate::pointers::{Pointer, Pointers};
use crate::run::Ended;
use context::record::{self, Call, Line as Record_, Record, Totals};
use context::seal::{Broken, Seal};
use context::taped::Taped;
use detect::rules::Level;
use report::function_name;
use report::terminal::thousands;
use report::trace::Trace;
use report::unjudged::{self, Unjudged};
use report::{
    Check, Diagnostic, Label, Launched, Report, SourceFile, SourcePlace, Unseen, Verdict, merge,
    settle_causes,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Values in all records of a stranger's program.
const VALUES: usize = 2 << 20;

/// What a run left behind.
#[derive(Debug, Default)]
pub struct Collected {
    /// Findings, by process and number, in the order in which they came.
    findings: Vec<(u32, record::Finding)>,
    counts: HashMap<(u32, usize), u64>,
    /// Findings whose launches left other results under another schedule, and what these were.
    different: HashMap<(u32, usize), String>,
    sources: HashMap<(u32, usize), Arc<SourceFile>>,
    /// Who made the allocations that findings name by their number.
    allocations: HashMap<(u32, usize), Call>,
    /// Functions that are not there and were called.
    pub missing: BTreeSet<String>,
    /// What keeps the result from being told.
    pub doubts: Vec<String>,
    /// What ran without being judged in full.
    pub unjudged: BTreeSet<Unjudged>,
    /// Sums, by process.
    totals: BTreeMap<u32, Totals>,
    /// Processes that called the library.
    pub processes: BTreeSet<u32>,
    /// Whether a launch took more warp-instructions than it may.
    pub over_budget: bool,
    /// Whether the last record is that the program has come to its end.
    pub ended: bool,
    /// Calls of functions that can be left out.
    pub functions: BTreeMap<String, u64>,
    /// Launches, for whoever runs them again.
    pub tape: Vec<Taped>,
    /// The number of the next line of each process.
    next: HashMap<u32, u64>,
}

/// What is said where lines of a process are missing.
const INCOMPLETE: &str = "records of the program are missing (was a disk full, or did it change files that are not its own?)";

impl Collected {
    /// Reads the records of a folder; a line that is cut off, because its process was killed, ends them.
    pub fn read(folder: &Path) -> Collected {
        let mut out = Collected::default();
        let text = std::fs::read(context::options::records(folder)).unwrap_or_default();
        for line in text.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            if let Ok(line) = serde_json::from_slice::<Record_>(line) {
                out.add(line);
            }
        }
        out
    }

    /// What came after the first `from` bytes of the records: what the processes have seen since.
    pub fn since(folder: &Path, from: usize) -> Collected {
        let text = std::fs::read(context::options::records(folder)).unwrap_or_default();
        let mut before = Collected::default();
        let mut out = Collected::default();
        let mut at = 0;
        for line in text.split_inclusive(|b| *b == b'\n') {
            if at >= from && out.next.is_empty() {
                out.next = std::mem::take(&mut before.next);
            }
            let all = if at < from { &mut before } else { &mut out };
            at += line.len();
            if let Ok(line) = serde_json::from_slice::<Record_>(line) {
                all.add(line);
            }
        }
        out.sources.extend(before.sources);
        for (process, totals) in &mut out.totals {
            let Some(old) = before.totals.get(process) else {
                continue;
            };
            for kernel in &mut totals.kernels {
                if let Some(old) = old.kernels.iter().find(|k| k.name == kernel.name) {
                    kernel.less(old);
                }
            }
            totals.kernels.retain(|k| k.launches > 0);
        }
        out
    }

    /// Reads records that are sealed with a key, up to the first that is not what the library wrote.
    ///
    /// What comes before it is read all the same.
    pub fn sealed(text: &[u8], key: &str) -> (Collected, Result<(), Broken>) {
        let mut out = Collected::default();
        let mut seal = Seal::new(key);
        let lines = text.split(|b| *b == b'\n');
        let mut values = VALUES;
        for (number, line) in (1..).zip(lines.filter(|l| !l.is_empty())) {
            let read = seal.open(line).and_then(|text| {
                let broken = Broken { line: number };
                // A value takes two bytes of a list, and many more of memory.
                let several = text.iter().filter(|b| **b == b',').count();
                values = values.checked_sub(several).ok_or(broken)?;
                serde_json::from_slice::<Record_>(text).map_err(|_| broken)
            });
            match read {
                Ok(line) => out.add(line),
                Err(broken) => return (out, Err(broken)),
            }
        }
        (out, Ok(()))
    }

    /// Takes what launches showed that were [run again](context::repeat), instead of what the process says of them.
    pub fn repeated(&mut self, records: Vec<Record>) {
        let (process, ended) = (0, self.ended);
        self.totals.clear();
        for record in records {
            let number = None;
            self.add(Record_ {
                process,
                number,
                record,
            });
        }
        self.ended = ended;
    }

    /// Sums by kernel.
    pub fn kernels(&self) -> impl Iterator<Item = &record::KernelTotals> {
        self.totals.values().flat_map(|t| &t.kernels)
    }

    fn add(&mut self, line: Record_) {
        let process = line.process;
        self.ended = matches!(line.record, Record::Ended);
        self.processes.insert(process);
        if let Some(number) = line.number {
            let next = self.next.entry(process).or_default();
            // A process may become another program, whose lines begin again.
            if number != *next && number != 0 && !self.doubts.iter().any(|d| d == INCOMPLETE) {
                self.doubts.push(INCOMPLETE.to_owned());
            }
            *next = number + 1;
        }
        match line.record {
            Record::Started { .. } => {}
            Record::Source { id, path, text } => {
                let file = Arc::new(SourceFile::new(path, text));
                self.sources.insert((process, id), file);
            }
            Record::Allocation { number, call } => {
                self.allocations.entry((process, number)).or_insert(call);
            }
            Record::Finding(finding) => self.findings.push((process, *finding)),
            Record::Launch(taped) => self.tape.push(*taped),
            Record::Differs { id, text } => {
                self.different.entry((process, id)).or_insert(text);
            }
            Record::Again { id, count } => drop(self.counts.insert((process, id), count)),
            Record::Missing { function } => drop(self.missing.insert(function)),
            Record::Doubt { text, budget } => {
                self.over_budget |= budget;
                if !self.doubts.contains(&text) {
                    self.doubts.push(text);
                }
            }
            Record::Unjudged { what } => drop(self.unjudged.insert(what)),
            Record::Totals(totals) => {
                self.functions.extend(totals.functions.clone());
                self.totals.insert(process, totals);
            }
            Record::Ended => {}
        }
    }

    /// Launches of all processes.
    pub fn launches(&self) -> u64 {
        let kernels = self.totals.values().flat_map(|t| &t.kernels);
        kernels.map(|k| k.launches).sum()
    }

    /// The kernels of which a launch was watched, without parameters.
    fn watched(&self) -> Vec<String> {
        let kernels = self.totals.values().flat_map(|t| &t.kernels);
        let watched = kernels.filter(|k| k.watched > 0);
        let names = watched.map(|k| ptx::without_signature(&k.name).to_owned());
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Whether every kernel of the program was watched.
    pub fn is_complete(&self) -> bool {
        let mut kernels = self.totals.values().flat_map(|t| &t.kernels);
        kernels.all(|k| k.watched > 0) && self.idle().is_empty()
    }

    /// The kernels that were launched, in any process.
    fn launched(&self) -> BTreeSet<&str> {
        let kernels = self.totals.values().flat_map(|t| &t.kernels);
        let launched = kernels.filter(|k| k.launches > 0);
        launched.map(|k| k.name.as_str()).collect()
    }

    /// Kernels that were registered, and launched by no process.
    fn idle(&self) -> BTreeSet<&str> {
        let launched = self.launched();
        let idle = self.totals.values().flat_map(|t| &t.idle);
        idle.map(String::as_str)
            .filter(|name| !launched.contains(name) && !ptx::is_of_library(name))
            .collect()
    }

    /// The findings, with the lines of the host program.
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut lines = Lines::default();
        // Debug information names the files; the program runs as its user, and may read any file itself.
        lines.sources.look_in(std::path::Path::new("/"));
        self.with_lines(lines)
    }

    /// The findings in a program that nobody trusts: its file is not read, so that calls of the host have no lines.
    pub fn of_stranger(&self) -> Vec<Diagnostic> {
        self.with_lines(Lines::without_objects())
    }

    fn with_lines(&self, mut lines: Lines) -> Vec<Diagnostic> {
        let mut all = Vec::new();
        for (process, finding) in &self.findings {
            let mut one = self.diagnostic(*process, finding, &mut lines);
            self.pointers(*process, &mut lines).rename(&mut one);
            merge(&mut all, [one]);
        }
        settle_causes(&mut all);
        all.sort_by_key(|d| std::cmp::Reverse(d.level));
        all
    }

    /// The host's names of the allocations of a process.
    fn pointers(&self, process: u32, lines: &mut Lines) -> Pointers {
        let own = self
            .allocations
            .iter()
            .filter(|((of, _), _)| *of == process);
        let named = own.filter_map(|((_, number), call)| {
            let at = lines.line(call);
            has_line(&at).then(|| (*number, Pointer::of(call, &at)))
        });
        Pointers(named.collect())
    }

    fn diagnostic(&self, process: u32, finding: &record::Finding, lines: &mut Lines) -> Diagnostic {
        let nowhere = || Arc::new(SourceFile::new("unknown".into(), String::new()));
        let mut labels = Vec::new();
        for place in &finding.labels {
            labels.push(match (&place.call, place.source) {
                (Some(call), _) => {
                    let Line {
                        source,
                        line,
                        columns,
                    } = lines.line(call);
                    place.label(source, line, columns)
                }
                (None, Some(id)) => {
                    let source = self.sources.get(&(process, id)).cloned();
                    let columns = place.columns.0..place.columns.1;
                    place.label(source.unwrap_or_else(nowhere), place.line, columns)
                }
                (None, None) => place.label(nowhere(), 0, 0..0),
            });
        }
        let mut notes = finding.notes.clone();
        let call = finding.call.as_ref().filter(|c| !c.frames.is_empty());
        let host = call.map(|call| lines.line(call));
        if let Some(launch) = &finding.launch {
            let three = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
            let known = host.as_ref().filter(|at| at.source.path != NOWHERE);
            let from = known.map(|at| match has_line(at) {
                false => format!(", launched {}", at.source.text),
                true => format!(", launched at {}:{}", at.source.path, at.line),
            });
            notes.push(format!(
                "in launch {} of the program, `{}` with grid {} and block {} on {}{}",
                thousands(launch.number),
                function_name::readable(&launch.kernel),
                three(launch.grid),
                three(launch.block),
                launch.stream,
                from.unwrap_or_default()
            ));
        }
        let different = self.different.get(&(process, finding.id));
        notes.extend(different.cloned());
        let count = self.counts.get(&(process, finding.id));
        let trace = finding.trace.clone();
        let trace = trace.map(|trace| placed(trace, &labels));
        Diagnostic {
            rule: finding.rule,
            level: match different {
                Some(_) => Level::Error,
                None => finding.level,
            },
            title: finding.title.clone(),
            labels,
            notes,
            help: finding.help.clone(),
            edit: None,
            no_change: None,
            replay: None,
            count: *count.unwrap_or(&finding.count),
            builds: Vec::new(),
            expected: false,
            accepted: None,
            trace,
            launched: finding.launch.as_ref().map(|launch| Launched {
                number: launch.number,
                kernel: launch.kernel.clone(),
                grid: launch.grid,
                block: launch.block,
                stream: launch.stream.clone(),
                host: host.filter(has_line).map(|at| Label {
                    source: at.source,
                    line: at.line,
                    columns: at.columns,
                    text: "launched here".to_owned(),
                    who: None,
                    instruction: None,
                }),
            }),
            about: report::About {
                kernel: finding.launch.as_ref().map(|l| l.kernel.clone()),
                ..finding.about.clone()
            },
        }
    }

    /// The report on a program.
    pub fn report(&self, name: &str, ended: Ended, time: Duration) -> Report {
        let diagnostics = self.diagnostics();
        let (unjudged, hides) = unjudged::notes(&self.unjudged);
        let bad = diagnostics.iter().any(|d| d.level > Level::Note);
        let doubtful = !self.missing.is_empty()
            || !self.doubts.is_empty()
            || self.watched().is_empty()
            || hides
            || matches!(ended, Ended::TimedOut | Ended::Interrupted);
        let verdict = match (bad, doubtful) {
            (true, _) => Verdict::Findings,
            (false, true) => Verdict::Inconclusive,
            (false, false) => Verdict::Clean,
        };
        Report {
            checks: vec![Check {
                name: name.to_owned(),
                verdict,
                ok: verdict == Verdict::Clean,
                summary: self.summary(ended, if doubtful && !bad { &unjudged } else { &[] }),
                schedule_independent: None,
                setting: None,
                diagnostics,
                unseen: match verdict {
                    Verdict::Clean => Unseen {
                        unjudged,
                        other_architectures: self.newer(),
                        ..self.unseen()
                    },
                    _ => Unseen::default(),
                },
                output: String::new(),
                judged: report::Judged {
                    file: report::accept::path_from_here(name),
                    kernels: Some(self.watched()),
                    doubt: doubtful.then_some(Verdict::Inconclusive),
                    warnings_fail: true,
                    otherwise: None,
                },
                time,
            }],
        }
    }

    /// The lines that no thread ran, of kernels all of whose launches were watched.
    fn unseen(&self) -> Unseen {
        let mut ran: BTreeMap<&SourcePlace, bool> = BTreeMap::new();
        let watched = |t: &&Totals| t.kernels.iter().all(|k| k.watched == k.launches);
        // What only unwatched launches ran is not known: then nothing is said.
        if !self.totals.values().all(|t| watched(&t)) {
            return Unseen::default();
        }
        for (place, did) in self.totals.values().flat_map(|t| &t.lines) {
            *ran.entry(place).or_default() |= did;
        }
        let never = ran.into_iter().filter(|(_, ran)| !ran);
        Unseen {
            lines: never.map(|(place, _)| place.clone()).collect(),
            ..Unseen::default()
        }
    }

    /// Architectures of code that no process ran.
    fn newer(&self) -> Vec<u32> {
        let all = self.totals.values().flat_map(|t| &t.newer);
        all.copied().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// What makes a program that was too slow faster, where most of its time went.
    fn advice(&self, watched: u64) -> Option<String> {
        let kernels = self.totals.values().flat_map(|t| &t.kernels);
        let slowest = kernels
            // On a GPU nobody has measured it.
            .filter(|k| k.launches > 0 && k.seconds > 0.0)
            .max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
        let mut ways = vec!["give it smaller input".to_owned()];
        if slowest.watched > 0 {
            let name = ptx::without_signature(&slowest.name);
            ways.push(format!("leave kernels out (`--skip-kernel {name}`)"));
        }
        if watched > 1 {
            ways.push("watch fewer launches (`--first 1`)".to_owned());
        }
        if slowest.explored.1 > 0 {
            ways.push("try fewer schedules (`--schedules 1`)".to_owned());
        }
        ways.push("give it more time (`--timeout`) or cores (`--jobs`)".to_owned());
        ways.push("`racetrap sanitize` looks at it on a GPU".to_owned());
        Some(format!(
            "most of the time went to `{}`: {}",
            slowest.name,
            ways.join("; ")
        ))
    }

    /// What was run and watched, in sentences.
    fn summary(&self, ended: Ended, unjudged: &[String]) -> String {
        let kernels: Vec<_> = self.totals.values().flat_map(|t| &t.kernels).collect();
        let sum =
            |of: &dyn Fn(&record::KernelTotals) -> u64| kernels.iter().map(|k| of(k)).sum::<u64>();
        let (launches, watched) = (sum(&|k| k.launches), sum(&|k| k.watched));
        let mut parts = Vec::new();
        if launches == 0 {
            parts.push(match self.processes.is_empty() {
                true => {
                    "the program never called the CUDA libraries, so nothing was checked".to_owned()
                }
                false => "the program launched no kernel, so no kernel was checked".to_owned(),
            });
        } else {
            let mut text = format!(
                "{} of {}, {}",
                counted(launches, "launch", "launches"),
                counted(self.launched().len() as u64, "kernel", "kernels"),
                counted(sum(&|k| k.threads), "thread", "threads"),
            );
            // A GPU does not count them.
            let steps = sum(&|k| k.steps);
            if steps > 0 {
                let steps = counted(steps, "warp-instruction", "warp-instructions");
                text += &format!(", {steps}");
            }
            let gpus: BTreeSet<u32> = self.totals.values().map(|t| t.capability).collect();
            for gpu in gpus.into_iter().filter(|gpu| *gpu > 0) {
                text += &format!(", as on sm_{gpu}");
            }
            match watched == launches {
                true => text += "; all watched",
                false if watched == 0 => {
                    text += "; none watched (`--kernel`, `--skip-kernel`), so nothing was checked";
                }
                false => {
                    text += &format!(
                        "; {} watched (`--first`, `--every`), the others only run",
                        thousands(watched)
                    );
                }
            }
            let (launches, schedules) = kernels
                .iter()
                .fold((0, 0), |(a, b), k| (a + k.explored.0, b + k.explored.1));
            if launches > 0 {
                text += &format!(
                    "; {} tried in other orders of threads, {} runs in all",
                    counted(launches, "launch", "launches"),
                    thousands(schedules)
                );
            }
            parts.push(text);
        }
        let idle = self.idle();
        if !idle.is_empty() && launches > 0 {
            parts.push(format!("never launched: {}", list(&idle)));
        }
        if !self.missing.is_empty() {
            let names: BTreeSet<&str> = self.missing.iter().map(String::as_str).collect();
            parts.push(format!("called, and not supported: {}", list(&names)));
        }
        let assumed: u64 = self.totals.values().map(|t| t.assumed).sum();
        if assumed > 0 {
            let pairs = counted(assumed, "pair of accesses was", "pairs of accesses were");
            parts.push(format!(
                "{pairs} taken to be ordered by fences, atomics or partial barriers"
            ));
        }
        parts.extend(self.doubts.iter().chain(unjudged).cloned());
        match ended {
            Ended::Exit(0) => {}
            Ended::Exit(status) => parts.push(format!("the program ended with status {status}")),
            Ended::Signal(signal) => {
                parts.push(format!("the program was ended by signal {signal}"))
            }
            Ended::TimedOut => parts
                .push("the program was stopped because its time was over (`--timeout`)".to_owned()),
            Ended::Interrupted => parts.push("the run was interrupted".to_owned()),
        }
        let slow = ended == Ended::TimedOut || self.over_budget;
        parts.extend(self.advice(watched).filter(|_| slow));
        parts.join("; ")
    }
}

/// Whether a line of the host program was found, rather than a text that stands for it.
fn has_line(at: &Line) -> bool {
    at.source.text.lines().count() != 1 || at.source.path == "host program"
}

/// A trace, with the lines of what the host did: they are not known in the program's process.
fn placed(mut trace: Trace, labels: &[Label]) -> Trace {
    if let Trace::Location { steps, .. } = &mut trace {
        for step in steps.iter_mut().filter(|s| s.place.is_none()) {
            let label = step.end.and_then(|end| labels.get(end));
            step.place = label.filter(|l| l.line > 0).map(|l| SourcePlace {
                file: l.source.path.clone(),
                line: l.line,
            });
        }
    }
    trace
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        thousands(count),
        if count == 1 { one } else { many }
    )
}

/// A name as far as a reader looks; what is cut off are arguments.
fn short(name: &str) -> String {
    const LONGEST: usize = 72;
    let name = function_name::readable(name);
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// Names, the first of many.
fn list(names: &BTreeSet<&str>) -> String {
    const SHOWN: usize = 8;
    let mut text = names
        .iter()
        .take(SHOWN)
        .map(|n| format!("`{}`", short(n)))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        text += &format!(" and {} more", names.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod tests;
