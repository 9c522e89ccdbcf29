//! From what the device found to records.

use crate::bounds::Meant;
use crate::state::{FindingKey, FindingLog, Launched, Loaded, State};
use context::record::{KernelTotals, LaunchName, Record};
use detect::finding::{Action, Detail, End, Finding, Place};
use detect::rules::Rule;
use instrument::layout::{BLOCKS, RawFinding, RecordKind};
use instrument::{Site, SiteAccess};
use report::{HostView, KernelView, Region, Scene, Sources, View, diagnose};
use simt::ids::{BlockId, ThreadId};
use simt::observer::{Order, Scope, Space};
use simt::{Device, Dim3};
use std::collections::HashMap;
use std::sync::Arc;

impl FindingLog {
    /// Whether the end of the program is still to be waited for.
    pub fn at_end(&mut self) -> bool {
        !std::mem::replace(&mut self.hooked, true)
    }
}

fn dim([x, y, z]: [u32; 3]) -> Dim3 {
    Dim3 { x, y, z }
}

impl State {
    /// The host has waited: what was found so far is told, now and then.
    pub fn waited(&mut self) {
        const OFTEN: std::time::Duration = std::time::Duration::from_millis(200);
        if self.told.last.is_some_and(|last| last.elapsed() < OFTEN) {
            return;
        }
        self.flush();
        self.told.last = Some(std::time::Instant::now());
    }

    /// Tells what was found.
    pub fn flush(&mut self) {
        let Some(shadow) = &self.shadow else {
            return;
        };
        let (results, alive) = shadow.results();
        if !alive {
            self.doubt("the GPU has failed: later accesses are not known".to_owned());
        }
        let before = self.told.before;
        self.told.assumed = before.0 + results.assumed;
        self.told.unwatched = before.1 + results.unwatched;
        if results.lost > 0 {
            self.doubt("there were more findings than there is room for".to_owned());
        }
        if results.unnamed > 0 && results.findings.is_empty() {
            self.doubt("races were found of which only one access is known".to_owned());
        }
        for found in &results.findings {
            self.found(found);
        }
    }

    fn found(&mut self, found: &RawFinding) {
        let key = (
            found.module | u32::from(found.lockstep) << 31,
            found.first.launch * u32::from(found.cross),
            found.first.site,
            found.site,
            found.shared,
        );
        if let Some(id) = self.told.findings.get(&key) {
            let count = u64::from(found.count);
            self.recorder.write(Record::Again { id: *id, count });
            return;
        }
        let id = self.told.findings.len();
        let Some(launched) = self.launched.get(found.launch as usize).cloned().flatten() else {
            return;
        };
        if found.outside {
            return self.outside(found, &launched, key);
        }
        let earlier = self.launched.get(found.first.launch as usize);
        let Some(earlier) = earlier.cloned().flatten() else {
            return;
        };
        self.told.findings.insert(key, id);
        if found.lockstep && !hands_data_on(found, &launched) {
            return;
        }
        let reserved = self.shadow.as_ref().map_or(0, |s| s.reserved);
        let told = worded(found, &launched, &earlier, reserved);
        let Some(diagnostic) = told else {
            self.doubt(format!(
                "a race in `{}` could not be put into words",
                ptx::demangle(&launched.kernel.name)
            ));
            return;
        };
        let name = named(&launched);
        self.recorder
            .finding(id, &diagnostic, &HashMap::new(), Some(name), None);
    }

    /// An access to memory that is nobody's.
    fn outside(&mut self, found: &RawFinding, launched: &Launched, key: FindingKey) {
        let Some(shadow) = &self.shadow else {
            return;
        };
        let id = self.told.findings.len();
        let told = match shadow.outside(found.address) {
            Some(meant) => outside_worded(found, launched, meant),
            None => None,
        };
        self.told.findings.insert(key, id);
        match told {
            Some(diagnostic) => {
                let name = named(launched);
                self.recorder
                    .finding(id, &diagnostic, &HashMap::new(), Some(name), None);
            }
            None => self.doubt(format!(
                "`{}` accesses memory whose allocation was not seen",
                ptx::demangle(&launched.kernel.name)
            )),
        }
    }

    /// A context goes, and our memory with it.
    pub fn goes(&mut self) {
        self.told.before = (self.told.assumed, self.told.unwatched);
        self.shadow = None;
        self.copies = None;
        self.noted.clear();
        self.replays = crate::state::Replays::default();
    }

    /// The program is made to end, and its kernels may run on: nothing is asked of the device.
    pub fn stopped(&mut self) {
        let results = self.shadow.as_ref().map(|s| s.results_at_hand());
        for found in results.iter().flat_map(|r| &r.findings) {
            self.found(found);
        }
        self.doubt("the program was made to end while kernels may have run".to_owned());
        self.tell_totals();
    }

    /// The program ends.
    pub fn end(&mut self) {
        if self.told.ended {
            return;
        }
        self.flush();
        self.tell_totals();
    }

    fn tell_totals(&mut self) {
        if std::mem::replace(&mut self.told.ended, true) {
            return;
        }
        let without: Vec<String> = self
            .totals
            .iter()
            .filter(|(_, t)| !t.has_ptx)
            .map(|(name, t)| format!("`{}` ({})", ptx::demangle(name), t.launches))
            .collect();
        if !without.is_empty() {
            let shown = without
                .iter()
                .take(5)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            let more = match without.len() {
                0..=5 => String::new(),
                n => format!(" and {} more", n - 5),
            };
            self.doubt(format!(
                "not watched, because their modules have no PTX: {shown}{more}"
            ));
        }
        if self.told.unwatched > 0 {
            let count = self.told.unwatched;
            self.doubt(format!("{count} accesses were not watched: memory without a shadow, or instructions that are not judged"));
        }
        if let Some(bytes) = self.shadow.as_ref().map(|s| s.refused).filter(|b| *b > 0) {
            self.doubt(format!("{} MiB of memory have no shadow", bytes >> 20));
        }
        let kernels = self.totals.iter().map(|(name, totals)| KernelTotals {
            name: ptx::demangle(name),
            launches: totals.launches,
            watched: totals.watched,
            threads: totals.threads,
            ..KernelTotals::default()
        });
        let totals = context::record::Totals {
            kernels: kernels.collect(),
            assumed: self.told.assumed,
            ..context::record::Totals::default()
        };
        self.recorder.write(Record::Totals(totals));
        self.recorder.write(Record::Ended);
    }
}

/// Where a site's first instruction is in a program.
fn position(site: &Site, module: &Loaded, program: &simt::Program) -> Option<usize> {
    let before = &module.text.text.as_bytes()[..site.span.0 as usize];
    let line = 1 + before.iter().filter(|b| **b == b'\n').count() as u32;
    program.sites.iter().position(|s| s.ptx_line == line)
}

/// Whether two strong accesses of a warp are a plain load and a plain store, and the load does not only wait for a flag.
fn hands_data_on(found: &RawFinding, launched: &Launched) -> bool {
    let both = || {
        let (_, module) = launched.kernel.module.as_ref()?;
        let sites = &module.checked.sites;
        let one = |number| sites.candidates(number, found.shared).first().copied();
        let (first, second) = (one(found.first.site)?, one(found.site)?);
        let program = program(module, &launched.kernel.name)?;
        let load = [first, second]
            .into_iter()
            .find(|s| s.access == SiteAccess::Read)?;
        let waits = program
            .facts
            .control_only
            .get(position(load, module, &program)?);
        let atomic = [first, second]
            .iter()
            .any(|s| s.access == SiteAccess::Atomic);
        Some(!atomic && waits != Some(&true))
    };
    both().unwrap_or(false)
}

fn named(launched: &Launched) -> LaunchName {
    LaunchName {
        kernel: ptx::demangle(&launched.kernel.name),
        number: launched.number,
        stream: "the GPU".to_owned(),
        grid: launched.grid,
        block: launched.block,
    }
}

/// An access to nobody's memory in words, with what it was meant for.
fn outside_worded(
    found: &RawFinding,
    launched: &Launched,
    meant: Meant,
) -> Option<report::Diagnostic> {
    let (_, module) = launched.kernel.module.as_ref()?;
    let site = *module
        .checked
        .sites
        .candidates(found.site, found.shared)
        .first()?;
    let program = program(module, &launched.kernel.name)?;
    let (block, thread) = (found.block, found.thread);
    let finding = Finding {
        rule: match meant.freed {
            true => Rule::UseAfterFree,
            false => Rule::OutOfBounds,
        },
        ends: vec![end(site, module, &program, 0, block, thread)?],
        place: Some(Place {
            space: Space::Global,
            address: found.address,
            bytes: 4,
            mapped: true,
        }),
        detail: Detail::None,
        count: u64::from(found.count),
        stale_loads: Vec::new(),
    };
    let mut sources = sources_of(&[module]);
    let device = Device::new(0);
    let dims = (dim(launched.grid), dim(launched.block));
    let mut view = KernelView::new(&program, &device, dims, &module.text, &sources, &[]);
    let name = format!("allocation at {:#x}", meant.address);
    view.memory.global = vec![Region::new(&name, meant.address, Some(meant.bytes))];
    Some(diagnose(
        &finding,
        &mut Scene {
            steps: vec![View::Kernel(view)],
            sources: &mut sources,
        },
    ))
}

/// One side of a finding.
fn end(
    site: &Site,
    module: &Loaded,
    program: &simt::Program,
    launch: u32,
    block: u32,
    thread: u32,
) -> Option<End> {
    let index = position(site, module, program)?;
    let scope = match site.strength {
        1 => Scope::Cta,
        _ => Scope::Gpu,
    };
    Some(End {
        site: simt::ids::Site(index as u32),
        launch,
        block: BlockId(block),
        thread: ThreadId(thread),
        threads: 1,
        action: match site.access {
            SiteAccess::Read => Action::Read,
            SiteAccess::Write => Action::Write,
            SiteAccess::Atomic => Action::Atomic,
        },
        order: (site.strength > 0).then_some((Order::Relaxed, scope)),
    })
}

/// The sources that modules name.
fn sources_of(modules: &[&Arc<Loaded>]) -> Sources {
    let mut sources = Sources::new();
    sources.look_in(std::path::Path::new("/"));
    sources.look_in(std::path::Path::new(""));
    for module in modules {
        let map = ptx::SourceMap::of(&module.tree);
        for (_, file) in map.files().filter(|(_, f)| !report::of_toolkit(f)) {
            sources.find(file);
        }
    }
    sources
}

/// A finding in words: by the module's own PTX, as the simulator reads it.
fn worded(
    found: &RawFinding,
    launched: &Launched,
    earlier: &Launched,
    reserved: u64,
) -> Option<report::Diagnostic> {
    let (_, module) = launched.kernel.module.as_ref()?;
    let (_, before) = earlier.kernel.module.as_ref()?;
    let now = *module
        .checked
        .sites
        .candidates(found.site, found.shared)
        .first()?;
    let was = *before
        .checked
        .sites
        .candidates(found.first.site, found.shared)
        .first()?;
    let program = program(module, &launched.kernel.name)?;
    let other = program_of(earlier, launched, &program)?;
    let same_launch = found.first.launch == found.launch;
    // Records have the lowest bits of a block's number.
    let high = match same_launch {
        true => found.block & !(BLOCKS as u32 - 1),
        false => 0,
    };
    let mut block = high | found.first.block;
    let blocks = (earlier.grid.iter()).fold(1u64, |all, n| all.saturating_mul(u64::from(*n)));
    if u64::from(block) >= blocks {
        block = found.first.block;
    }
    let first = End {
        // Others read it, too: how many is not known.
        threads: match found.first.kind {
            RecordKind::Reads => 2,
            RecordKind::Read | RecordKind::Write => 1,
        },
        ..end(was, before, &other, 0, block, found.first.thread)?
    };
    let last_launch = u32::from(!same_launch);
    let second = end(
        now,
        module,
        &program,
        last_launch,
        found.block,
        found.thread,
    )?;
    let writes = |site: &Site| site.access == SiteAccess::Write;
    let equal =
        now.constant.is_some() && now.constant == was.constant && writes(now) && writes(was);
    let finding = Finding {
        rule: match (found.scope, equal) {
            _ if found.lockstep => Rule::LockstepAssumption,
            (true, _) => Rule::InsufficientScope,
            (false, true) => Rule::SameValueWrite,
            (false, false) => Rule::DataRace,
        },
        ends: vec![second, first],
        place: Some(Place {
            space: match found.shared {
                true => Space::Shared,
                false => Space::Global,
            },
            address: match found.shared {
                // Addresses of shared memory begin behind what the system reserves.
                true => found.address.saturating_sub(reserved),
                false => found.address,
            },
            bytes: 4,
            mapped: found.shared,
        }),
        detail: Detail::None,
        count: u64::from(found.count),
        stale_loads: Vec::new(),
    };
    let mut sources = sources_of(&[module, before]);
    let device = Device::new(0);
    let view = |program, launched: &Launched, module: &Loaded, sources: &Sources| {
        if let Some(call) = launched.call {
            let mut view = HostView::new(&format!("`{call}`"), &device, &module.text, 1);
            view.named = Some(format!("`{call}`"));
            return View::Host(view);
        }
        let dims = (dim(launched.grid), dim(launched.block));
        let mut view = KernelView::new(program, &device, dims, &module.text, sources, &[]);
        // Where the driver's compiler puts variables of shared memory is known where there is only one.
        if view.memory.shared.len() > 1 {
            view.memory.shared.clear();
        }
        View::Kernel(view)
    };
    let mut steps = vec![view(&other, earlier, before, &sources)];
    if !same_launch {
        steps.push(view(&program, launched, module, &sources));
    }
    let mut diagnostic = diagnose(
        &finding,
        &mut Scene {
            steps,
            sources: &mut sources,
        },
    );
    if blocks > BLOCKS && found.cross {
        diagnostic.notes.push(
            "the grid has more than 16,384 blocks: the earlier access's block is known up to a multiple of that".to_owned(),
        );
    }
    for label in &mut diagnostic.labels {
        label.text = label.text.replacen("2 threads (", "several threads (", 1);
    }
    Some(diagnostic)
}

fn program_of(
    earlier: &Launched,
    launched: &Launched,
    program: &Arc<simt::Program>,
) -> Option<Arc<simt::Program>> {
    if Arc::ptr_eq(&earlier.kernel, &launched.kernel) {
        return Some(program.clone());
    }
    let (_, module) = earlier.kernel.module.as_ref()?;
    self::program(module, &earlier.kernel.name)
}

fn program(module: &Loaded, name: &str) -> Option<Arc<simt::Program>> {
    let mut known = module.programs.lock().ok()?;
    let lower = || {
        let lowered = simt::Program::lower(&module.tree, &module.text.text, name);
        lowered.ok().map(Arc::new)
    };
    known.entry(name.to_owned()).or_insert_with(lower).clone()
}
