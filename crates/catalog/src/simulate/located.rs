//! Locates findings in the kernel's source and in the steps of the case.

use super::{Prepared, RunOutcome};
use crate::annotation::Home;
use crate::host::{DEFAULT, Step};
use crate::plan::{Does, Plan, PlannedStep};
use detect::finding::{Action, Finding};
use detect::rules::Rule;
use report::{Diagnostic, HostView, KernelView, Scene, View, diagnose, view::HOST};
use simt::Stop;

/// A finding in terms of the kernel's source: what annotations are matched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedFinding {
    /// The rule.
    pub rule: Rule,
    /// Its ends.
    pub ends: Vec<LocatedEnd>,
}

/// One end of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedEnd {
    /// What the thread did.
    pub action: Action,
    /// The file that the lines are in.
    pub home: Home,
    /// The lines on which its instruction lies, from the innermost inlined call
    /// outwards; the line of a step of the host.
    pub lines: Vec<u32>,
}

impl Prepared<'_> {
    /// A finding in terms of the lines of the kernel and of the case.
    pub fn seen(&self, plan: &Plan, finding: &Finding) -> LocatedFinding {
        let file = self.entry.kernel_file();
        let ends = finding.ends.iter().map(|end| {
            let (action, step) = (end.action, &plan.steps[end.launch as usize]);
            let program = step.launch().map(|l| self.programs.get(l.entry.as_str()));
            let (home, lines) = match program {
                None => (Home::Case, vec![self.entry.step_line(step.origin)]),
                Some(program) => {
                    let lines = program.map_or(&[][..], |p| &p.site(end.site).lines);
                    let here = lines.iter().filter(|l| l.file == file);
                    (Home::Kernel, here.map(|l| l.line).collect())
                }
            };
            LocatedEnd {
                action,
                home,
                lines,
            }
        });
        LocatedFinding {
            rule: finding.rule,
            ends: ends.collect(),
        }
    }

    /// Words findings of a run for people.
    pub fn diagnose<'f>(
        &self,
        plan: &Plan,
        ran: &RunOutcome,
        findings: impl Iterator<Item = &'f Finding>,
    ) -> Vec<Diagnostic> {
        let (mut sources, _) = self.texts();
        let defines = self.entry.case.define_flags();
        let views = plan.steps.iter().map(|step| {
            let launch = step.launch();
            let program = launch.and_then(|l| self.programs.get(l.entry.as_str()));
            match (launch, program) {
                (Some(l), Some(program)) => {
                    let shape = (l.grid, l.block);
                    let device = &ran.device;
                    let view =
                        KernelView::new(program, device, shape, &self.ptx, &sources, &defines);
                    View::Kernel(view)
                }
                _ => View::Host(HostView::new(
                    &self.who(plan, step),
                    &ran.device,
                    &self.entry.source,
                    self.entry.step_line(step.origin),
                )),
            }
        });
        let views = views.collect();
        let mut scene = Scene {
            steps: views,
            sources: &mut sources,
        };
        findings
            .map(|finding| diagnose(finding, &mut scene))
            .collect()
    }

    /// Who does a step that is no launch, for people.
    fn who(&self, plan: &Plan, step: &PlannedStep) -> String {
        let name = |index: usize| &plan.buffers[index].name;
        let given = self.entry.case.plan.get(step.origin);
        let stream = match given.and_then(Step::stream).unwrap_or(DEFAULT) {
            DEFAULT => "the default stream".to_owned(),
            stream => format!("stream `{stream}`"),
        };
        match &step.does {
            Does::Copy { copy, .. } => format!(
                "the copy from `{}` to `{}` on {stream}",
                name(copy.from),
                name(copy.to)
            ),
            _ => HOST.to_owned(),
        }
    }

    /// Where in the source an instruction lies that stopped a run.
    pub fn stopped_at(&self, plan: &Plan, stop: &Stop) -> Option<String> {
        let Stop::Unsupported { site, .. } = stop else {
            return None;
        };
        plan.launches().find_map(|l| {
            let program = self.programs.get(l.entry.as_str())?;
            let line = program.sites.get(site.0 as usize)?.lines.last()?;
            Some(format!("{}:{}", line.file, line.line))
        })
    }
}
