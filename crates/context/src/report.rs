//! Words what was found, once, and sends it to whoever runs the program.

use crate::call::{Call, LaunchName};
use crate::context::Context;
use crate::findings::Key;
use crate::launch::order_children;
use crate::memory::{Kind, nameless, nameless_in};
use crate::operation::{Request, Work, describe};
use crate::record::Record;
use crate::trace::Shown;
use detect::finding::{Finding, Place};
use detect::footprint::{AccessRecord, Conflict};
use detect::rules::Rule;
use report::{Diagnostic, HostView, KernelView, Label, Scene, SourceFile, View, diagnose};
use simt::Dim3;
use simt::observer::Space;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

fn stack(call: &Call) -> Vec<u64> {
    call.frames.iter().take(6).map(|f| f.offset).collect()
}

/// The text of places that only a call names.
fn nowhere() -> Arc<SourceFile> {
    Arc::new(SourceFile::new("host program".to_owned(), String::new()))
}

fn place(call: &Call, text: String) -> Label {
    Label {
        source: nowhere(),
        line: 0,
        columns: 0..0,
        text,
        who: None,
        instruction: Some(call.function.clone()),
    }
}

impl Context {
    /// Findings of one run of a launch. Of a run that the program knows nothing of, under another schedule, what the others have shown is
    /// not told again.
    pub(crate) fn report_under(
        &mut self,
        findings: &[Finding],
        request: &Request,
        name: &LaunchName,
        call: &impl Fn() -> Call,
        shown: Shown<'_>,
    ) {
        if self.options.tape {
            return;
        }
        let schedule = shown.schedule;
        let mut new = Vec::new();
        for finding in findings {
            let (first, second) = finding.sites();
            let key = Key::Kernel(request.kernel.id, finding.rule, first, second);
            if schedule.is_some() && self.findings.known.findings.contains_key(&key) {
                continue;
            }
            if let Some(id) = self.findings.known.count(key, finding.count) {
                new.push((id, finding));
            }
        }
        let alone: Vec<&Finding> = new.iter().map(|(_, finding)| *finding).collect();
        let traces = self.traces(&alone, request, shown);
        for ((id, finding), trace) in new.into_iter().zip(traces) {
            let view = View::Kernel(self.view(name, request));
            let mut scene = Scene {
                steps: vec![view],
                sources: &mut self.findings.sources,
            };
            let mut diagnostic = diagnose(finding, &mut scene);
            diagnostic.trace = trace;
            self.complete(&mut diagnostic, finding);
            if let Some(waits) = shown.waits.filter(|_| finding.rule == Rule::NoProgress) {
                diagnostic.title = "the kernel waits for ever".to_owned();
                diagnostic.notes.insert(0, waits.to_owned());
            }
            if let Some(schedule) = schedule {
                diagnostic.notes.push(format!(
                    "the program's own run did not show it; another order of threads does (schedule `{schedule}`)"
                ));
            }
            self.record(
                id,
                &diagnostic,
                &HashMap::new(),
                Some(name.clone()),
                Some(call()),
            );
        }
    }

    /// What is known of an allocation that a finding is about.
    fn complete(&self, diagnostic: &mut Diagnostic, finding: &Finding) {
        let global = |p: &Place| p.space == Space::Global;
        let Some(place) = finding.place.filter(global) else {
            return;
        };
        let address = match place.mapped {
            true => place.address + simt::memory::GLOBAL_BASE,
            false => place.address,
        };
        if let Some(block) = self.memory.block(address).filter(|b| b.name.is_none()) {
            diagnostic.notes.push(format!(
                "it lies in {}, {}",
                block.label(),
                block.kind.name()
            ));
        }
        if finding.rule == Rule::OutOfBounds
            && !self.memory.is_device_address(address)
            && address >= 1 << 20
        {
            diagnostic.notes.push(format!(
                "{address:#x} is no address of the device's: it may be memory of the host, which a kernel can't reach unless it is managed, pinned or registered"
            ));
        }
    }

    /// A launch leaves other results under another schedule: what passes between its warps in no certain order makes a difference.
    pub(crate) fn differ(&mut self, request: &Request, text: &str) {
        let of_launch = |key: &Key| match key {
            Key::Kernel(kernel, rule, ..) => {
                *kernel == request.kernel.id && *rule == Rule::UnorderedCommunication
            }
            _ => false,
        };
        let known = self
            .findings
            .known
            .findings
            .iter()
            .filter(|(key, _)| of_launch(key));
        let ids: Vec<usize> = known.map(|(_, id)| *id).collect();
        for id in ids {
            let text = text.to_owned();
            self.findings.recorder.write(Record::Differs { id, text });
        }
    }

    /// The view of a launch, with the names of what its arguments point to.
    pub(crate) fn view<'k>(&mut self, name: &LaunchName, request: &'k Request) -> KernelView<'k> {
        let kernel = &request.kernel;
        for file in kernel.files.iter().filter(|f| !report::of_toolkit(f)) {
            self.findings.sources.find(file);
        }
        let dims = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
        let mut view = KernelView::new(
            &kernel.program,
            &self.memory.device,
            (dims(name.grid), dims(name.block)),
            &kernel.ptx,
            &self.findings.sources,
            &[],
        );
        let pointers = self.pointers(request);
        for region in &mut view.memory.global {
            let address = region.start + simt::memory::GLOBAL_BASE;
            let Some(block) = self.memory.blocks.get(&address) else {
                continue;
            };
            if block.kind == Kind::Variable {
                continue;
            }
            region.name = match (&block.name, pointers.get(&address)) {
                (Some(name), _) => name.clone(),
                (None, Some((name, _))) => name.clone(),
                (None, None) => nameless(block.number),
            };
            if let Some((_, element)) = pointers.get(&address) {
                region.element = *element;
            }
        }
        view
    }

    /// Allocations that a launch's arguments point into, by address: the parameter's name and the size of its elements.
    fn pointers(&self, request: &Request) -> HashMap<u64, (String, Option<u32>)> {
        let kernel = &request.kernel;
        let plain = kernel.name.split('(').next().unwrap_or_default();
        let plain = plain.split('<').next().unwrap_or_default();
        let plain = plain.rsplit([':', ' ']).next().unwrap_or_default();
        let texts = self
            .findings
            .sources
            .given()
            .map(|file| file.declarations(&[]));
        let count = kernel.program.params.len();
        let declared = texts
            .filter_map(|text| text.parameters(plain))
            .find(|all| all.len() == count);
        let mut out = HashMap::new();
        for (index, param) in kernel.program.params.iter().enumerate() {
            let at = param.offset as usize;
            let Some(bytes) = request.params.get(at..at + 8) else {
                continue;
            };
            if param.bytes != 8 {
                continue;
            }
            let value = u64::from_le_bytes(std::array::from_fn(|i| bytes[i]));
            let Some(block) = self.memory.block(value) else {
                continue;
            };
            let name = match declared.as_ref().map(|all| &all[index]) {
                Some(d) if value == block.address => {
                    let ty =
                        d.ty.replace(['*', '&'], " ")
                            .replace("const", " ")
                            .replace("__restrict__", " ");
                    (
                        d.name.clone(),
                        toolchain::cuda_text::scalar_bytes(ty.trim()),
                    )
                }
                _ => continue,
            };
            out.entry(block.address).or_insert(name);
        }
        out
    }

    /// Two operations that nothing orders touch the same memory.
    pub(crate) fn unordered(&mut self, now: &Work, earlier: &Work, conflicts: &[Conflict]) {
        if self.outside_lifetime(now, earlier, conflicts) {
            return;
        }
        let site = |work: &Work, record: &AccessRecord| {
            work.kernel.as_ref().map(|(k, _)| (k.id, record.site))
        };
        for conflict in conflicts {
            let (a, b) = (site(now, &conflict.first), site(earlier, &conflict.second));
            let calls = [stack(&now.call), stack(&earlier.call)].concat();
            let Some(id) = self
                .findings
                .known
                .count(Key::Pair(conflict.rule, a, b, calls), conflict.count)
            else {
                continue;
            };
            let works = [earlier, now];
            let requests = works.map(|work| self.request_of(work));
            let mut views = Vec::new();
            for (work, request) in works.into_iter().zip(&requests) {
                views.push(match (&work.kernel, request) {
                    (Some((_, name)), Some(request)) => View::Kernel(KernelView {
                        number: Some(name.number),
                        ..self.view(name, request)
                    }),
                    _ => {
                        let who = match work.stream.as_str() {
                            "the host" => "the host".to_owned(),
                            stream => format!("`{}` on {stream}", work.call.function),
                        };
                        let mut view = HostView::new(&who, &self.memory.device, &nowhere(), 1);
                        view.named = Some(match work.stream.as_str() {
                            "the host" => "it touches the memory".to_owned(),
                            _ => format!("`{}`", work.call.function),
                        });
                        for region in &mut view.memory.global {
                            let address = region.start + simt::memory::GLOBAL_BASE;
                            if let Some(block) = self
                                .memory
                                .blocks
                                .get(&address)
                                .filter(|b| b.name.is_none())
                            {
                                region.name = nameless(block.number);
                            }
                        }
                        View::Host(view)
                    }
                });
            }
            let finding = Finding {
                count: conflict.count,
                ..conflict.finding(conflict.rule, [1, 0])
            };
            let mut scene = Scene {
                steps: views,
                sources: &mut self.findings.sources,
            };
            let mut diagnostic = diagnose(&finding, &mut scene);
            self.complete(&mut diagnostic, &finding);
            diagnostic.notes.push(match conflict.rule {
                Rule::MissingDependencyWait => format!(
                    "{} may begin before {} has ended: it was launched with programmatic stream serialisation, and the other one has a trigger",
                    describe(now),
                    describe(earlier)
                ),
                _ => format!(
                    "{} and {} may run at the same time: no event and no synchronisation orders them",
                    describe(earlier),
                    describe(now)
                ),
            });
            let kernel = |work: &Work| {
                let name = work.kernel.as_ref().map(|(_, name)| name.kernel.as_str());
                ptx::without_signature(name.unwrap_or(&work.call.function)).to_owned()
            };
            let names = [kernel(earlier), kernel(now)];
            let streams = [now.stream.as_str(), earlier.stream.as_str()];
            if let Some(help) = order_children(streams, [&names[0], &names[1]]) {
                diagnostic.help = Some(help);
            }
            // Labels come in the order of the ends, the later one first.
            let works = [now, earlier];
            diagnostic.trace = self.two_operations(
                [earlier, now],
                [&conflict.second, &conflict.first],
                &diagnostic,
            );
            let calls = works.iter().enumerate().filter(|(_, w)| w.kernel.is_none());
            let calls = calls
                .map(|(index, work)| (index, work.call.clone()))
                .collect();
            let launched = works
                .into_iter()
                .find_map(|w| Some((w.kernel.as_ref()?.1.clone(), w.call.clone())));
            let (launch, call) = launched.unzip();
            self.record(id, &diagnostic, &calls, launch, call);
        }
    }

    /// Sends a finding, and before it who made the allocations that it names.
    fn record(
        &mut self,
        id: usize,
        diagnostic: &Diagnostic,
        calls: &HashMap<usize, Call>,
        launch: Option<LaunchName>,
        call: Option<Call>,
    ) {
        let labels = diagnostic.labels.iter().map(|l| &l.text);
        let texts = labels
            .chain(&diagnostic.notes)
            .chain(&diagnostic.help)
            .chain([&diagnostic.title]);
        let named: BTreeSet<usize> = texts
            .flat_map(|text| nameless_in(text))
            .map(|(number, _)| number)
            .collect();
        for block in self
            .memory
            .blocks
            .values()
            .filter(|b| named.contains(&b.number))
        {
            self.findings.recorder.write(Record::Allocation {
                number: block.number,
                call: block.call.clone(),
            });
        }
        self.findings
            .recorder
            .finding(id, diagnostic, calls, launch, call);
    }

    fn request_of(&self, work: &Work) -> Option<Request> {
        let (kernel, name) = work.kernel.as_ref()?;
        Some(Request {
            kernel: kernel.clone(),
            grid: name.grid,
            block: name.block,
            shared: 0,
            params: Vec::new(),
            cooperative: false,
            programmatic: false,
            cluster: None,
            stream: 0,
        })
    }

    /// The host program misuses the library.
    pub fn misuse(
        &mut self,
        rule: Rule,
        title: String,
        call: Call,
        other: Option<(Call, &str)>,
        help: Option<&str>,
    ) {
        self.misuse_in(rule, title, call, other, help, None);
    }

    /// The same, of a launch.
    pub(crate) fn misuse_in(
        &mut self,
        rule: Rule,
        title: String,
        call: Call,
        other: Option<(Call, &str)>,
        help: Option<&str>,
        launch: Option<LaunchName>,
    ) {
        let key = Key::Call(rule, title.clone(), stack(&call));
        let Some(id) = self.findings.known.count(key, 1) else {
            return;
        };
        let mut labels = vec![place(&call, "here".to_owned())];
        let mut calls = HashMap::from([(0, call.clone())]);
        if let Some((other, text)) = other.filter(|(c, _)| !c.frames.is_empty()) {
            labels.push(Label {
                instruction: None,
                ..place(&other, text.to_owned())
            });
            calls.insert(1, other);
        }
        let diagnostic = Diagnostic {
            rule,
            level: rule.level(),
            title,
            labels,
            notes: Vec::new(),
            help: help.map(str::to_owned),
            edit: None,
            no_change: None,
            replay: None,
            count: 1,
            builds: Vec::new(),
            expected: false,
            accepted: None,
            trace: None,
            launched: None,
            about: report::About::default(),
        };
        self.record(id, &diagnostic, &calls, launch, Some(call));
    }

    /// What was never freed, and errors that nobody asked for.
    pub(crate) fn leaks(&mut self) {
        if let Some((error, call)) = self.findings.unheard.take() {
            let title = format!("a launch failed ({error}), and nobody asked whether it did");
            let help = "after a launch, check `cudaGetLastError()`";
            self.misuse(Rule::UncheckedError, title, call, None, Some(help));
        }
        let left: Vec<_> = self
            .memory
            .blocks
            .values()
            .filter(|b| {
                b.freed.is_none()
                    && !b.of_graph
                    && !b.registered
                    && b.name.is_none()
                    && !b.call.frames.is_empty()
            })
            .map(|b| (b.bytes, b.kind, b.call.clone()))
            .collect();
        let mut groups: Vec<(Vec<u64>, u64, u64, Kind, Call)> = Vec::new();
        for (bytes, kind, call) in left {
            let key = stack(&call);
            match groups.iter_mut().find(|g| g.0 == key) {
                Some(group) => {
                    group.1 += 1;
                    group.2 += bytes;
                }
                None => groups.push((key, 1, bytes, kind, call)),
            }
        }
        for (_, count, bytes, kind, call) in groups {
            let title = match count {
                1 => format!("{bytes} bytes of {} are never freed", kind.name()),
                n => format!(
                    "{n} allocations of {}, {bytes} bytes in all, are never freed",
                    kind.name()
                ),
            };
            self.misuse(Rule::Leak, title, call, None, None);
        }
    }

    /// Writes what kernels printed to the program's standard output; later, where another thread is printing.
    pub fn print(&mut self) {
        self.print_within(Duration::from_millis(10));
    }

    /// The same, as long as that takes not much longer: for the end of the process.
    pub fn print_at_last(&mut self) {
        self.print_within(Duration::from_secs(1));
    }

    fn print_within(&mut self, patience: Duration) {
        let text = &self.findings.output;
        if !text.is_empty() && crate::output::write(text, patience) {
            self.findings.output.clear();
        }
    }

    /// A call that nothing else follows: for the end of the process.
    pub fn goodbye(&mut self) {
        self.findings
            .recorder
            .write(Record::Totals(self.findings.totals.clone()));
    }
}
