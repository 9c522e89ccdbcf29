//! Operations of a host program that nothing orders: compares what each did to memory with what the others did.

use super::order::Order;
use crate::detect::footprint::{Footprint, Toucher};
use crate::finding::{Detail, End, Finding, Place};
use crate::rules::Rule;
use crate::simt::ids::Site;
use crate::simt::observer::Space;
use std::collections::BTreeMap;

/// What has been executed, and what of it conflicts.
#[derive(Debug)]
pub struct Concurrent {
    order: Order,
    past: Vec<Past>,
    found: BTreeMap<(Rule, Culprit, Culprit), Finding>,
    /// Whether strong accesses of unordered operations met: values may depend on the order.
    meet: bool,
}

#[derive(Debug)]
struct Past {
    number: usize,
    /// The kernel; `None` for copies and the host.
    kernel: Option<String>,
    footprint: Footprint,
}

/// One end of a finding, for grouping: an instruction of a kernel, or a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Culprit {
    Kernel(String, Site),
    Step(usize),
}

/// Two kernels that may synchronise with each other while both run, and conflict: what orders them is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The kernels' names in the PTX.
    pub kernels: [String; 2],
}

impl Concurrent {
    /// For operations in this order.
    pub fn new(order: Order) -> Concurrent {
        Concurrent {
            order,
            past: Vec::new(),
            found: BTreeMap::new(),
            meet: false,
        }
    }

    /// An operation has been executed: `kernel` is its name if it is a launch.
    ///
    /// # Errors
    ///
    /// [`Unknown`]
    pub fn executed(
        &mut self,
        number: usize,
        kernel: Option<&str>,
        footprint: Footprint,
    ) -> Result<(), Unknown> {
        let now = Past {
            number,
            kernel: kernel.map(str::to_owned),
            footprint,
        };
        for past in &self.past {
            if !self.order.is_concurrent(past.number, number) {
                continue;
            }
            // What was issued later comes first, whichever ran first.
            let (later, earlier) = if past.number < number {
                (&now, past)
            } else {
                (past, &now)
            };
            let (conflicts, meet) = later.footprint.conflicts(&earlier.footprint);
            self.meet |= meet;
            let synchronise = [later, earlier]
                .iter()
                .all(|p| p.footprint.may_synchronise());
            if let (true, false, Some(a), Some(b)) = (
                synchronise,
                conflicts.is_empty(),
                &earlier.kernel,
                &later.kernel,
            ) {
                let kernels = [a.clone(), b.clone()];
                return Err(Unknown { kernels });
            }
            for conflict in conflicts {
                let key = (
                    conflict.rule,
                    later.culprit(&conflict.first),
                    earlier.culprit(&conflict.second),
                );
                let finding = || Finding {
                    rule: conflict.rule,
                    ends: vec![end(later, &conflict.first), end(earlier, &conflict.second)],
                    place: Some(Place {
                        space: Space::Global,
                        address: conflict.first.address.max(conflict.second.address),
                        bytes: conflict.first.bytes.min(conflict.second.bytes),
                        mapped: true,
                    }),
                    detail: Detail::None,
                    count: 0,
                    older: Vec::new(),
                };
                self.found.entry(key).or_insert_with(finding).count += 1;
            }
        }
        self.past.push(now);
        Ok(())
    }

    /// Whether an operation that has not been executed yet may run at the same time as this one.
    pub fn is_awaited(&self, number: usize, operations: usize) -> bool {
        (0..operations).any(|other| {
            self.order.is_concurrent(number, other) && !self.past.iter().any(|p| p.number == other)
        })
    }

    /// Whether values may depend on the order of operations that nothing orders.
    pub fn meets(&self) -> bool {
        self.meet
    }

    /// What was found, in a stable order.
    pub fn into_findings(self) -> Vec<Finding> {
        self.found.into_values().collect()
    }
}

impl Past {
    fn culprit(&self, toucher: &Toucher) -> Culprit {
        match &self.kernel {
            Some(name) => Culprit::Kernel(name.clone(), toucher.site),
            None => Culprit::Step(self.number),
        }
    }
}

fn end(past: &Past, toucher: &Toucher) -> End {
    End {
        site: toucher.site,
        launch: past.number as u32,
        block: toucher.block,
        thread: toucher.thread,
        threads: 1,
        action: toucher.action,
        order: toucher.order,
    }
}
