//! What a case's `plan` means: steps that are one thing each, streams and events that exist, memory that the host can touch.

use super::Check;
use crate::annotation::Home;
use crate::error::{CatalogError, Place};
use crate::host;
use crate::locate::Step;
use std::collections::BTreeSet;

impl<'a> Check<'a> {
    pub(super) fn plan(&mut self, sizes: &BTreeSet<&'a str>, buffers: &BTreeSet<&'a str>) {
        let case = self.case();
        if !case.plan.is_empty() && !case.launches.is_empty() {
            let problem = "give either `launches` or a `plan`, not both";
            self.inconsistent(&["plan".into()], problem);
        }
        for (name, buffer) in &case.buffers {
            if buffer.symbol.is_some() && buffer.memory.is_of_host() {
                let at = ["buffers".into(), name.as_str().into(), "memory".into()];
                self.inconsistent(&at, "a module variable is always device memory");
            }
        }
        let streams: BTreeSet<&str> = case.plan.iter().filter_map(host::Step::stream).collect();
        let recorded = case.plan.iter().filter_map(|s| s.record.as_ref());
        let events: BTreeSet<&str> = recorded.map(|mark| mark.event.as_str()).collect();
        for name in case.streams.keys() {
            let at = ["streams".into(), name.as_str().into()];
            match name.as_str() {
                host::DEFAULT => self.inconsistent(
                    &at,
                    "the `default` stream is the legacy one; only other streams can be `blocking` or `non-blocking`",
                ),
                name => self.name(&at, "stream", name, &streams),
            }
        }
        for (index, step) in case.plan.iter().enumerate() {
            let path = [Step::Key("plan"), Step::Index(index)];
            let at = |keys: &[&'static str]| {
                let keys: Vec<_> = keys.iter().map(|key| Step::Key(key)).collect();
                [path.as_slice(), &keys].concat()
            };
            match step.keys()[..] {
                [_] => {}
                [] => {
                    let problem = "a step needs one of the keys `launch`, `copy`, `host`, `record`, `wait`, `synchronize`";
                    self.inconsistent(&path, problem);
                }
                [first, second, ..] => {
                    let problem = format!("a step cannot have both `{first}` and `{second}`");
                    self.inconsistent(&path, problem);
                }
            }
            if let Some(launch) = &step.launch {
                self.launch(&at(&["launch"]), launch, sizes, buffers);
            }
            for (key, copy) in [("copy", &step.copy), ("host", &step.host)] {
                let Some(copy) = copy else { continue };
                for (end, name) in [("from", &copy.from), ("to", &copy.to)] {
                    self.name(&at(&[key, end]), "buffer", name, buffers);
                    let buffer = case.buffers.get(name);
                    if key == "host" && buffer.is_some_and(|b| !b.memory.is_of_host()) {
                        self.inconsistent(
                            &at(&[key, end]),
                            format!("the host cannot access `{name}`: give it `memory: pinned`, or `copy` it on a stream"),
                        );
                    }
                }
                let expressions = [&copy.from_element, &copy.to_element, &copy.count];
                for expression in expressions.into_iter().flatten() {
                    self.expression(&at(&[key]), expression, sizes);
                }
                if key == "host" && copy.stream.is_some() {
                    self.inconsistent(&at(&[key, "stream"]), "a `host` step has no stream");
                }
            }
            if step.stream() == Some(host::ALL) {
                let problem = "`all` stands for all streams in `synchronize`; use another name for this stream";
                self.inconsistent(&path, problem);
            }
            if let Some(mark) = &step.wait {
                self.name(&at(&["wait", "event"]), "event", &mark.event, &events);
            }
            if let Some(name) = step.synchronize.as_ref().filter(|name| *name != host::ALL) {
                self.name(&at(&["synchronize"]), "stream", name, &streams);
            }
        }
        self.step_tags();
    }

    /// Tags in the case's own file stand where a step begins, and in a buggy case.
    fn step_tags(&mut self) {
        let entry = self.entry;
        for tag in entry.tags.iter().filter(|tag| tag.home == Home::Case) {
            let place = Place {
                file: entry.file.clone(),
                line: tag.line as usize,
                column: tag.column,
            };
            if !entry.case.is_meant_buggy() {
                let problem =
                    "this case is correct: only buggy cases, which have a `twin`, carry tags";
                self.errors.push(CatalogError::Inconsistent {
                    place,
                    problem: problem.to_owned(),
                });
            } else if !(0..entry.case.plan.len()).any(|step| entry.step_line(step) == tag.line) {
                let problem = "no step of the `plan` starts on this line".to_owned();
                self.errors
                    .push(CatalogError::Inconsistent { place, problem });
            }
        }
    }
}
