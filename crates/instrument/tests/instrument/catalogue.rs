//! The catalogue: what the runtime reports is what the exact detector finds.

use crate::watched::{self, Memory, Ran, dim, order};
use catalog::load::{Catalog, Entry};
use catalog::native::{self, Settings};
use detect::finding::Finding;
use detect::rules::Rule;
use device::client::{ClientError, RunJob};
use device::job::{Buffer, DeviceInfo, Done, Job, Reply, Step};
use racetrap_instrument::layout::RawFinding;
use racetrap_instrument::{Site, SiteAccess};
use session::{Options, Session};
use simt::{Limits, Program, ScheduleSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Two lines.
type Pair = (u32, u32);

/// Runs each job twice: with the exact detector, and with checks.
#[derive(Default)]
struct Both {
    exact: BTreeMap<Pair, BTreeSet<&'static str>>,
    found: BTreeMap<Pair, u32>,
    assumed: u64,
    unwatched: u64,
    unnamed: u64,
    different: BTreeSet<String>,
    jobs: u32,
    /// The seed of a random schedule, with checks alone.
    seed: Option<u64>,
}

fn info() -> DeviceInfo {
    DeviceInfo {
        name: "simulator".to_owned(),
        driver: "none".to_owned(),
        compute_capability: (9, 0),
    }
}

fn pair(a: u32, b: u32) -> Pair {
    (a.min(b), a.max(b))
}

/// The rules that are about unordered accesses.
fn is_race(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::DataRace | Rule::InsufficientScope | Rule::LockstepAssumption | Rule::SameValueWrite
    )
}

impl Both {
    fn exact(&mut self, job: &Job) -> (Vec<Vec<u8>>, bool) {
        let tree = ptx::parse(&job.ptx).unwrap();
        let mut programs = BTreeMap::new();
        for step in &job.steps {
            if let Step::Launch(l) = step {
                let lower = || Program::lower(&tree, &job.ptx, &l.entry).unwrap();
                programs.entry(l.entry.clone()).or_insert_with(lower);
            }
        }
        let options = Options {
            limits: Limits {
                steps: 2_000_000,
                ..Limits::default()
            },
            ..Options::default()
        };
        let order = order(job);
        let sequence = order.sequence(&ScheduleSpec::Lockstep);
        let mut session = Session::ordered(options, order, job.steps.len());
        let memory = Memory::load(job, session.device(), programs.values());
        let mut names: BTreeMap<u32, String> = BTreeMap::new();
        for index in sequence {
            if !session.may_run(index) {
                continue;
            }
            match &job.steps[index] {
                Step::Launch(launch) => {
                    let program = &programs[&launch.entry];
                    let how = simt::Launch {
                        cluster: None,
                        grid: dim(launch.grid),
                        block: dim(launch.block),
                        dynamic_shared: launch.shared,
                        params: memory.params(launch, program),
                        cooperative: launch.cooperative,
                        number: index as u32,
                    };
                    names.insert(index as u32, launch.entry.clone());
                    let _ = session.launch_as_numbered(program, &how);
                }
                Step::Copy {
                    from, to, bytes, ..
                }
                | Step::Host { from, to, bytes } => {
                    let (from, to) = (memory.at(from), memory.at(to));
                    session.copy(index, from, to, *bytes, 4).unwrap();
                }
                _ => {}
            }
        }
        let (outcome, device) = session.finish();
        for finding in outcome.findings.iter().filter(|f| is_race(f.rule)) {
            let line = |f: &Finding, end: usize| {
                let end = f.ends.get(end)?;
                let program = programs.get(names.get(&end.launch)?)?;
                program.site(end.site).lines.first().map(|l| l.line)
            };
            if let (Some(a), Some(b)) = (line(finding, 0), line(finding, 1)) {
                let rules = self.exact.entry(pair(a, b)).or_default();
                rules.insert(finding.rule.name());
            }
        }
        let read = |(buffer, at): (&Buffer, &u64)| device.read(*at, buffer.bytes).unwrap();
        let buffers = job.buffers.iter().zip(&memory.addresses).map(read);
        (buffers.collect(), outcome.stopped.is_none())
    }

    fn watched(&mut self, job: &Job) -> Ran {
        let schedule = match self.seed {
            Some(seed) => ScheduleSpec::Random { seed },
            None => ScheduleSpec::Lockstep,
        };
        let ran = watched::run(job, &schedule, 60_000_000);
        self.assumed += ran.results.assumed;
        self.unwatched += ran.results.unwatched;
        self.unnamed += ran.results.unnamed;
        let sites = &ran.instrumented.sites;
        let map = ptx::SourceMap::of(&ran.instrumented.module);
        for finding in &ran.results.findings {
            if finding.lockstep && !hands_data_on(job, &ran, finding) {
                continue;
            }
            let line = |number: u32| {
                let candidates: Vec<&Site> = sites.candidates(number, finding.shared);
                let loc = candidates.first().and_then(|s| s.loc.as_ref())?;
                let chain = map.chain(loc);
                chain.iter().map(|l| l.line).find(|l| *l != 0)
            };
            if let (Some(a), Some(b)) = (line(finding.first.site), line(finding.site)) {
                *self.found.entry(pair(a, b)).or_default() += finding.count;
            }
        }
        ran
    }
}

impl RunJob for Both {
    fn run(&mut self, job: &Job, _: Duration) -> Result<Reply, ClientError> {
        self.jobs += 1;
        if self.jobs > 1 {
            // A wrong result would be shrunk, by many more runs.
            return Err(ClientError::Killed {
                signal: 9,
                said: String::new(),
            });
        }
        let (buffers, ended) = match self.seed {
            Some(_) => (self.watched(job).buffers, false),
            None => self.exact(job),
        };
        if ended {
            let ran = self.watched(job);
            if !ran.ended {
                self.different.insert("did not end".into());
            } else if ran.buffers != buffers {
                self.different.insert("other results".into());
            }
        }
        Ok(Reply::Done(Done {
            buffers: job
                .read
                .iter()
                .map(|i| buffers[*i].clone().into())
                .collect(),
            host: Vec::new(),
            printed: String::new(),
            nanoseconds: vec![1; job.steps.len()],
            intervals: vec![1000; job.intervals.len()],
            device: info(),
        }))
    }
}

fn both(catalog: &Catalog, entry: &Entry, seed: Option<u64>) -> Both {
    let settings = Settings {
        runs: 1,
        ..Settings::native()
    };
    let mut both = Both {
        seed,
        ..Both::default()
    };
    let _ = native::run(catalog, entry, &mut both, &info(), &settings);
    both
}

/// Cases whose races the runtime does not report, and why.
const ASSUMED: [&str; 5] = [
    // Another thread's fence, behind the barrier behind the ticket that the block has drawn, counts as an acquire.
    "scan/large/flag-without-acquire",
    // A thread of the same warp releases.
    "last_block/no-barrier",
    // The thread that stores the flag goes on to a fence and a strong store: its next release.
    "scan/large/flag-before-fence",
    // A wait for an mbarrier, and a named barrier of some, order perhaps.
    "pipeline/released-early",
    "warp_specialised/released-early",
];

/// Cases that end in a deadlock before both accesses have been made, with the checks in between.
const UNREACHED: [&str; 2] = ["mbarrier/not-visible", "warp_specialised/count-too-small"];

/// Whether the load of two strong accesses does more than to wait for a flag, as the library in front of the driver asks.
fn hands_data_on(job: &Job, ran: &Ran, finding: &RawFinding) -> bool {
    let sites = &ran.instrumented.sites;
    let one = |number| sites.candidates(number, finding.shared)[0];
    let both = [one(finding.first.site), one(finding.site)];
    if both.iter().any(|s| s.access == SiteAccess::Atomic) {
        return false;
    }
    let load = both.iter().find(|s| s.access == SiteAccess::Read).unwrap();
    let tree = ptx::parse(&job.ptx).unwrap();
    let program = Program::lower(&tree, &job.ptx, &load.function).unwrap();
    let before = &job.ptx.as_bytes()[..load.span.0 as usize];
    let line = 1 + before.iter().filter(|b| **b == b'\n').count() as u32;
    let site = program
        .sites
        .iter()
        .position(|s| s.ptx_line == line)
        .unwrap();
    !program.facts.control_only[site]
}

#[test]
fn the_runtime_finds_what_the_exact_detector_does() {
    let catalog = Catalog::embedded().unwrap();
    let only = std::env::var("RACETRAP_CASE").ok();
    let mut caught = 0;
    let mut wrong = Vec::new();
    for entry in catalog.cases.iter().filter(|e| e.case.is_for_gpus()) {
        let id = entry.id.as_str();
        if only.as_ref().is_some_and(|o| !id.contains(o)) {
            continue;
        }
        let both = both(&catalog, entry, None);
        let told = format!(
            "{id}: exact {:?}, found {:?}, assumed {}, unwatched {}, unnamed {}, {:?}",
            both.exact, both.found, both.assumed, both.unwatched, both.unnamed, both.different
        );
        let extra = both.found.keys().any(|pair| !both.exact.contains_key(pair));
        let missed = !both.exact.is_empty() && both.found.is_empty();
        let known = ASSUMED.contains(&id) || UNREACHED.contains(&id);
        let assumed = !ASSUMED.contains(&id) || both.assumed > 0;
        let differs = !entry.case.is_buggy() && !both.different.is_empty();
        if extra || missed != known || differs || !assumed {
            wrong.push(told);
        }
        caught += u32::from(!both.found.is_empty());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(only.is_some() || caught >= 40, "{caught}");
}

/// Families of cases that are ordered by fences and atomics.
const FENCED: [&str; 4] = ["last_block/", "lock/", "message/", "scan/large/"];

#[test]
fn correct_cases_with_fences_have_no_races_under_other_schedules() {
    let catalog = Catalog::embedded().unwrap();
    let correct = |e: &&Entry| e.case.is_for_gpus() && !e.case.is_meant_buggy();
    for entry in catalog.cases.iter().filter(correct) {
        let fenced = FENCED.iter().any(|family| entry.id.starts_with(family));
        for seed in 1..=if fenced { 3 } else { 0 } {
            let both = both(&catalog, entry, Some(seed));
            assert!(
                both.found.is_empty(),
                "{} {seed}: {:?}",
                entry.id,
                both.found
            );
        }
    }
}
