//! Root causes: findings of one rule at one set of lines, over inputs, builds and threads.
//!
//! Lines are the student's, who may put several races on one. So findings at the same lines are of several causes where neither the memory
//! nor an instruction is the same.

use crate::assignment::Optimisation;
use crate::result::{Cause, Line, Place, Seen};
use detect::rules::{Level, Rule};
use report::trace::Trace;
use report::{Diagnostic, Label};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The rule and the lines.
pub type Key = (Rule, BTreeSet<(String, u32)>);

/// The root causes of a submission.
#[derive(Debug)]
pub struct Causes<'a> {
    /// The student's files, whose lines may be shown.
    texts: &'a BTreeMap<String, String>,
    all: Vec<(Key, Cause)>,
    /// What takes part in each, in the same order.
    parts: Vec<Parts>,
}

/// What a finding is of, whatever lines are called.
#[derive(Debug, Default)]
struct Parts {
    memory: BTreeSet<Option<String>>,
    /// Instructions, by the text of the PTX and the line in it.
    instructions: BTreeSet<(String, u32)>,
}

impl Parts {
    fn of(diagnostic: &Diagnostic) -> Parts {
        let about = &diagnostic.about;
        let all = about.instructions.iter().flat_map(|(ptx, all)| {
            let lines = all.iter().flatten().map(|(_, line)| *line);
            lines.map(move |line| (ptx.clone(), line))
        });
        Parts {
            memory: BTreeSet::from([about.memory.clone()]),
            instructions: all.collect(),
        }
    }

    /// Whether nothing of one takes part in the other. What is not known may be the same.
    fn is_apart_from(&self, other: &Parts) -> bool {
        let known = !self.instructions.is_empty() && !other.instructions.is_empty();
        known
            && self.instructions.is_disjoint(&other.instructions)
            && self.memory.is_disjoint(&other.memory)
    }

    fn take(&mut self, other: Parts) {
        self.memory.extend(other.memory);
        self.instructions.extend(other.instructions);
    }
}

impl<'a> Causes<'a> {
    /// None yet, of a submission with these files.
    pub fn of(texts: &'a BTreeMap<String, String>) -> Causes<'a> {
        Causes {
            texts,
            all: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// The student's files.
    pub fn texts(&self) -> &'a BTreeMap<String, String> {
        self.texts
    }

    /// Those that are known.
    pub fn known(&self) -> Vec<Cause> {
        self.all.iter().map(|(_, cause)| cause.clone()).collect()
    }

    /// Adds a finding of an input, with the command that repeats it.
    pub fn add(
        &mut self,
        input: &str,
        build: Optimisation,
        diagnostic: &Diagnostic,
        replay: Option<String>,
    ) {
        if diagnostic.level == Level::Note {
            return;
        }
        let guilty: Vec<&Label> = diagnostic.labels.iter().filter(|l| l.is_guilty()).collect();
        let (key, parts) = (key(diagnostic), Parts::of(diagnostic));
        let known = (0..self.all.len())
            .find(|at| self.all[*at].0 == key && !self.parts[*at].is_apart_from(&parts))
            .or_else(|| {
                // The compiler gives lines to instructions, and another build may give one access another line.
                let alike = |((rule, lines), cause): &(Key, Cause)| {
                    *rule == key.0
                        && cause.memory == diagnostic.about.memory
                        && !lines.is_disjoint(&key.1)
                };
                (build == Optimisation::Unoptimised).then(|| self.all.iter().position(alike))?
            });
        let seen = seen(input, diagnostic, &guilty, replay);
        let Some(at) = known else {
            let cause = Cause {
                rule: diagnostic.rule,
                level: diagnostic.level,
                lines: self.lines(&guilty),
                memory: diagnostic.about.memory.clone(),
                help: diagnostic.help.clone(),
                excerpts: self.excerpts(diagnostic),
                smallest: None,
                seen: vec![seen],
            };
            self.all.push((key, cause));
            self.parts.push(parts);
            return;
        };
        self.parts[at].take(parts);
        let cause = &mut self.all[at].1;
        cause.level = cause.level.max(diagnostic.level);
        if !cause.seen.iter().any(|s| s.input == input) {
            cause.seen.push(seen);
        }
    }

    /// The keys of those that are known, and where to put the smallest counterexample of each.
    pub fn open(&mut self) -> impl Iterator<Item = (&Key, &mut Cause)> {
        self.all.iter_mut().map(|(key, cause)| (&*key, cause))
    }

    /// The student's lines around the places of a finding.
    fn excerpts(&self, diagnostic: &Diagnostic) -> BTreeMap<String, BTreeMap<u32, String>> {
        const AROUND: u32 = 3;
        let mut all: BTreeMap<String, BTreeMap<u32, String>> = BTreeMap::new();
        for label in &diagnostic.labels {
            let file = file_of(label);
            let Some(text) = self.texts.get(&file) else {
                continue;
            };
            let (first, last) = (
                label.line.saturating_sub(AROUND),
                label.line.saturating_add(AROUND),
            );
            let near = (1..)
                .zip(text.lines())
                .filter(|(n, _)| (first..=last).contains(n));
            let near = near.map(|(n, text)| (n, text.chars().take(400).collect()));
            all.entry(file).or_default().extend(near);
        }
        all
    }

    /// The lines, the earlier access's first.
    fn lines(&self, guilty: &[&Label]) -> Vec<Line> {
        let mut all: Vec<Line> = Vec::new();
        for label in guilty.iter().rev() {
            let file = file_of(label);
            let text = self
                .texts
                .get(&file)
                .and_then(|text| text.lines().nth(label.line.checked_sub(1)? as usize));
            let line = Line {
                line: label.line,
                text: text.map(|t| t.trim().chars().take(200).collect()),
                file,
            };
            if !all.contains(&line) {
                all.push(line);
            }
        }
        all
    }
}

/// The rule and the guilty lines of a finding.
pub fn key(diagnostic: &Diagnostic) -> Key {
    let guilty = diagnostic.labels.iter().filter(|l| l.is_guilty());
    (
        diagnostic.rule,
        guilty.map(|l| (file_of(l), l.line)).collect(),
    )
}

fn place(label: &Label) -> Place {
    Place {
        file: file_of(label),
        line: label.line,
        columns: (label.columns.start, label.columns.end),
        text: label.text.clone(),
        who: label.who.map(|w| (w.thread, w.block, w.threads)),
        instruction: label.instruction.clone(),
    }
}

fn seen(input: &str, diagnostic: &Diagnostic, guilty: &[&Label], replay: Option<String>) -> Seen {
    let step = |label: &&Label| format!("{}:{}: {}", file_of(label), label.line, label.text);
    Seen {
        input: input.to_owned(),
        title: diagnostic.title.clone(),
        steps: guilty.iter().rev().map(step).collect(),
        places: diagnostic.labels.iter().map(place).collect(),
        trace: diagnostic.trace.clone().map(named),
        notes: diagnostic.notes.clone(),
        replay,
        count: diagnostic.count,
    }
}

/// A trace whose files have the names that they have in the submission.
fn named(mut trace: Trace) -> Trace {
    if let Trace::Location { steps, .. } = &mut trace {
        for place in steps.iter_mut().filter_map(|step| step.place.as_mut()) {
            place.file = last(&place.file);
        }
    }
    trace
}

fn last(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The name of a label's file, without its folder.
fn file_of(label: &Label) -> String {
    last(&label.source.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A race at line 1 of these instructions of the PTX.
    fn race(memory: &str, ptx: &str, instructions: &[u32]) -> Diagnostic {
        let all = instructions.iter().map(|line| ("writes".into(), *line));
        let file = report::SourceFile::new("a.cu".to_owned(), String::new());
        Diagnostic {
            rule: Rule::DataRace,
            level: Level::Error,
            title: String::new(),
            labels: vec![Label {
                source: std::sync::Arc::new(file),
                line: 1,
                columns: 0..1,
                text: "writes".to_owned(),
                who: None,
                instruction: Some("st".to_owned()),
            }],
            notes: Vec::new(),
            help: None,
            edit: None,
            no_change: None,
            replay: None,
            count: 1,
            builds: Vec::new(),
            expected: false,
            accepted: None,
            about: report::About {
                memory: Some(memory.to_owned()),
                instructions: BTreeMap::from([(ptx.to_owned(), BTreeSet::from([all.collect()]))]),
                ..report::About::default()
            },
            trace: None,
            launched: None,
        }
    }

    #[test]
    fn races_on_one_line_are_told_apart_by_what_races() {
        let texts = BTreeMap::new();
        let count = |all: &[Diagnostic]| {
            let mut causes = Causes::of(&texts);
            for race in all {
                causes.add("small", Optimisation::Optimised, race, None);
            }
            causes.known().len()
        };
        // Four statements that a macro, or `#line`, puts on one line.
        let four = [("a", 10), ("b", 20), ("c", 30), ("d", 40)];
        let four = four.map(|(memory, line)| race(memory, "x", &[line]));
        assert_eq!(count(&four), 4);
        // One statement: in a loop that the compiler has unrolled, on two buffers by turns, and in another build.
        let unrolled = [race("a", "x", &[10]), race("a", "x", &[11])];
        let turns = [race("a", "x", &[10]), race("b", "x", &[10])];
        assert_eq!([count(&unrolled), count(&turns)], [1, 1]);
        let builds = [race("a", "x", &[10]), race("a", "y", &[90])];
        assert_eq!(count(&builds), 1);
    }
}
