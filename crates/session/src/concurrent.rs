//! Finds conflicts between unordered operations of a host program, by comparing their memory accesses.

use super::order::Order;
use detect::finding::Finding;
use detect::footprint::{AccessRecord, Footprint};
use detect::rules::Rule;
use simt::ids::Site;
use std::collections::{BTreeMap, BTreeSet};

/// What has been executed, and what of it conflicts.
#[derive(Debug)]
pub struct Concurrent {
    order: Order,
    past: Vec<ExecutedOp>,
    found: BTreeMap<(Rule, RaceEnd, RaceEnd), Finding>,
    /// Whether strong accesses of unordered operations met: values may depend on the order.
    meet: bool,
    /// Launches that wait, and read what an unordered operation writes.
    raced: BTreeSet<usize>,
}

#[derive(Debug)]
struct ExecutedOp {
    number: usize,
    /// The kernel; `None` for copies and the host.
    kernel: Option<String>,
    footprint: Footprint,
    /// Whether it is a launch that waits for something and did not end.
    waits: bool,
}

/// One end of a finding, for grouping: an instruction of a kernel, or a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RaceEnd {
    Kernel(String, Site),
    Step(usize),
}

/// Two concurrent kernels that may synchronise with each other and conflict, or one of which waits. Their order is unknown.
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
            raced: BTreeSet::new(),
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
        self.add(ExecutedOp {
            number,
            kernel: kernel.map(str::to_owned),
            footprint,
            waits: false,
        })
    }

    /// A launch waits for something, and did not end. What may run at the same time can be executed all the same, and may be what it
    /// waits for.
    ///
    /// # Errors
    ///
    /// [`Unknown`]
    pub fn waits(
        &mut self,
        number: usize,
        kernel: &str,
        footprint: Footprint,
    ) -> Result<(), Unknown> {
        self.add(ExecutedOp {
            number,
            kernel: Some(kernel.to_owned()),
            footprint,
            waits: true,
        })
    }

    /// Compares an operation with all that were executed before and that nothing orders with it.
    fn add(&mut self, now: ExecutedOp) -> Result<(), Unknown> {
        for past in &self.past {
            if !self.order.is_concurrent(past.number, now.number) {
                continue;
            }
            // What was issued later comes first, whichever ran first.
            let issued_before = past.number < now.number;
            let (later, earlier) = if issued_before {
                (&now, past)
            } else {
                (past, &now)
            };
            let (conflicts, meet) = later.footprint.conflicts(&earlier.footprint);
            self.meet |= meet;
            if let (Some(a), Some(b)) = (&earlier.kernel, &later.kernel) {
                let both = [later, earlier]
                    .iter()
                    .all(|p| p.footprint.may_synchronise());
                let doubtful = both && !conflicts.is_empty();
                // That one does not end although the other one is done is so, whatever else they do.
                if doubtful && now.waits && !past.waits {
                    continue;
                }
                if doubtful || past.waits && meet {
                    let kernels = [a.clone(), b.clone()];
                    return Err(Unknown { kernels });
                }
            }
            for conflict in conflicts {
                let (of, by) = match issued_before {
                    true => (&conflict.second, &conflict.first),
                    false => (&conflict.first, &conflict.second),
                };
                if past.waits && of.reads() && by.writes() {
                    self.raced.insert(past.number);
                }
                let key = (
                    conflict.rule,
                    later.culprit(&conflict.first),
                    earlier.culprit(&conflict.second),
                );
                let launches = [later.number as u32, earlier.number as u32];
                let finding = || conflict.finding(conflict.rule, launches);
                self.found.entry(key).or_insert_with(finding).count += conflict.count;
            }
        }
        self.past.push(now);
        Ok(())
    }

    /// Whether nothing that it must follow waits for ever.
    pub fn may_run(&self, number: usize) -> bool {
        let mut waiting = self.past.iter().filter(|p| p.waits);
        !waiting.any(|p| self.order.is_before(p.number, number))
    }

    /// Whether what a launch waits for may come from an operation that races with it: the race explains it.
    pub fn is_raced(&self, number: usize) -> bool {
        self.raced.contains(&number)
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

impl ExecutedOp {
    fn culprit(&self, toucher: &AccessRecord) -> RaceEnd {
        match &self.kernel {
            Some(name) => RaceEnd::Kernel(name.clone(), toucher.site),
            None => RaceEnd::Step(self.number),
        }
    }
}
