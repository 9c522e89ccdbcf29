//! What a detector has found, before anybody words it.

use crate::rules::Rule;
use simt::ids::{BlockId, LaneId, Mask, Site, ThreadId};
use simt::observer::{
    BarrierFault, ImageFault, NoValue, Order, RegisterFault, Scope, Space, WarpRef,
};
use simt::{BadCall, PhaseWait};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

/// What a thread did at one end of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Read memory.
    Read,
    /// Wrote memory.
    Write,
    /// Read and wrote it in one atomic operation.
    Atomic,
    /// Began an asynchronous copy.
    Copy,
    /// Began a product of matrices by its warpgroup.
    Multiply,
    /// Waits at a barrier.
    Wait,
    /// Executes a warp-level operation.
    Sync,
    /// Went past without coming to the barrier or operation.
    Pass,
    /// Exited.
    Exit,
    /// Runs without an end.
    Run,
    /// Branched.
    Branch,
    /// Stopped the launch.
    Stop,
    /// Freed memory.
    Free,
    /// Used a value in another way: as an address, or in a call.
    Use,
}

/// One guilty place: who did what, at which instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The instruction.
    pub site: Site,
    /// The launch in its session.
    pub launch: u32,
    /// The thread's block.
    pub block: BlockId,
    /// The thread (the lowest, where there are several).
    pub thread: ThreadId,
    /// How many threads did the same here (1 for a single one).
    pub threads: u32,
    /// What it did.
    pub action: Action,
    /// Ordering and scope of a memory access.
    pub order: Option<(Order, Scope)>,
}

impl End {
    /// What some lanes of a warp did; the lowest stands for them.
    pub fn of_lanes(site: Site, who: WarpRef, mask: Mask, action: Action, launch: u32) -> End {
        End {
            site,
            launch,
            block: who.block,
            thread: who.thread(LaneId(mask.trailing_zeros() as u8)),
            threads: mask.count_ones(),
            action,
            order: None,
        }
    }
}

/// The memory that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The space.
    pub space: Space,
    /// Address as in [`simt::observer::Access::address`] (arena offset for global
    /// memory), or the full address where `mapped` is false.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
    /// Whether `address` is an offset into an existing space (false: a wild address).
    pub mapped: bool,
}

impl Place {
    /// Bytes at an offset into a space.
    pub fn new(space: Space, address: u64, bytes: u32) -> Place {
        Place {
            space,
            address,
            bytes,
            mapped: true,
        }
    }
}

/// Figures that belong to a finding.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Detail {
    /// None.
    #[default]
    None,
    /// A member mask and the lanes that executed, or were absent.
    Masks {
        /// The mask named.
        members: u32,
        /// The lanes concerned.
        lanes: u32,
    },
    /// Bank conflicts: requests, wavefronts they took, worst degree.
    Banks {
        /// Warp-level requests.
        requests: u64,
        /// Wavefronts (passes through the 32 banks).
        wavefronts: u64,
        /// Largest number of wavefronts of one request.
        degree: u32,
    },
    /// Coalescing: requests, 32-byte sectors moved, sectors needed at least.
    Sectors {
        /// Warp-level requests.
        requests: u64,
        /// Sectors moved.
        sectors: u64,
        /// Sectors that the bytes would fill if they lay together.
        ideal: u64,
    },
    /// A failed assertion, as it describes itself.
    Assertion {
        /// The condition.
        message: String,
        /// Source file.
        file: String,
        /// Source line.
        line: u32,
        /// Function.
        function: String,
    },
    /// The pointer that the address was computed from.
    Pointer {
        /// Where it points, as [`Place::address`].
        to: u64,
        /// Where the furthest of the accesses from there ends, in the same terms.
        reach: u64,
    },
    /// What is wrong with a call.
    Call(BadCall),
    /// A branch: times executed, times divergent.
    Branches {
        /// Warp-level executions.
        executed: u64,
        /// Of these, split the warp.
        divergent: u64,
    },
    /// This strong read has seen what was released after the earlier access, and no acquire has followed it.
    NotAcquired(Site),
    /// Other warps exchange data in the same way.
    OtherWarps,
    /// Threads that went past a barrier have left the kernel since, and came to no other one.
    Exited,
    /// Warp-instructions executed when the budget ran out.
    Steps(u64),
    /// All threads repeat what they did, and nothing changes.
    Repeats,
    /// What threads wait for that can't complete: phases of mbarriers.
    Phases(Vec<PhaseWait>),
    /// Why a shuffle gets no value: the first lane to which it happens.
    Source {
        /// The lane that gets none.
        lane: LaneId,
        /// The lane that it reads from.
        from: LaneId,
        /// The mask that it names.
        members: Mask,
        /// Why that one gives none.
        why: NoValue,
    },
    /// What is wrong with a barrier's operands.
    Barrier(BarrierFault),
    /// Which of the two ends is an asynchronous copy that reads the memory; other copies write it.
    CopyReads([bool; 2]),
    /// What is wrong with a use of registers that products use.
    Registers(RegisterFault),
    /// What is wrong with the use of an mbarrier.
    Mbarrier(simt::mbarrier::Fault),
    /// What is wrong with a texture, or with a surface.
    Image {
        /// What.
        why: ImageFault,
        /// Whether it is one.
        surface: bool,
    },
    /// Free text.
    Text(String),
}

/// One finding: a rule and the places that break it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The guilty places; the one that completed the error first, the other end second.
    pub ends: Vec<End>,
    /// The memory concerned.
    pub place: Option<Place>,
    /// Figures.
    pub detail: Detail,
    /// How often it happened.
    pub count: u64,
    /// The loads that returned older values than the last in that run, by instruction ([`Events::stale_value`]).
    ///
    /// [`Events::stale_value`]: simt::observer::Events::stale_value
    pub stale_loads: Vec<Site>,
}

impl Finding {
    /// Something that was seen once, without a place or more about it.
    pub fn new(rule: Rule, ends: Vec<End>) -> Finding {
        Finding {
            rule,
            ends,
            place: None,
            detail: Detail::None,
            count: 1,
            stale_loads: Vec::new(),
        }
    }

    /// The same, at a place.
    pub fn at(self, place: Place) -> Finding {
        Finding {
            place: Some(place),
            ..self
        }
    }

    /// The same, with more about it.
    pub fn with(self, detail: Detail) -> Finding {
        Finding { detail, ..self }
    }

    /// The instructions of its first two ends, the lower one first; twice the same where there is one.
    pub fn sites(&self) -> (Site, Site) {
        let first = self.ends.first().map_or(Site(u32::MAX), |e| e.site);
        let second = self.ends.get(1).map_or(first, |e| e.site);
        (first.min(second), first.max(second))
    }
}

/// How often a finding about two unordered accesses is counted by its rule and instructions: what is there so often is there at least so often.
/// Then it is known, and not judged again; what else one of the two takes part in still is. (Tests come to it soon.)
pub const COUNTED: u64 = if cfg!(test) { 4 } else { 4096 };

/// Whether something of this rule that was counted so often may have happened more often: see [`COUNTED`].
pub fn is_at_least(rule: Rule, count: u64) -> bool {
    use Rule::*;
    let pairs = [
        DataRace,
        SameValueWrite,
        InsufficientScope,
        LockstepAssumption,
        UnorderedCommunication,
    ];
    count >= COUNTED && pairs.contains(&rule)
}

/// Groups that are kept. A program of thousands of unordered stores has millions of pairs, and nobody reads them.
const GROUPS: usize = 20_000;

/// Findings grouped by rule and sites: memory grows with the program's size, never
/// with the number of findings. Beyond [`GROUPS`] no new group is kept.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    // A program with races asks for one of few groups again and again: a comparison or two find it, quicker than a hash does.
    groups: BTreeMap<(Rule, Site, Site), Finding>,
}

impl Findings {
    /// Adds a finding: a new group, or one more of an old one. The group keeps its first example.
    pub fn add(&mut self, finding: Finding) {
        let full = self.groups.len() >= GROUPS;
        match self.groups.entry(Findings::key(&finding)) {
            Entry::Vacant(_) if full => {}
            Entry::Vacant(none) => drop(none.insert(finding)),
            Entry::Occupied(mut known) => {
                let old = known.get_mut();
                old.count += finding.count;
                if let (
                    Detail::Pointer { to, reach },
                    Detail::Pointer {
                        to: same,
                        reach: further,
                    },
                ) = (&mut old.detail, &finding.detail)
                    && *to == *same
                {
                    *reach = (*reach).max(*further);
                }
                if old.detail == Detail::Exited && finding.detail != Detail::Exited {
                    old.detail = Detail::None;
                }
            }
        }
    }

    fn key(finding: &Finding) -> (Rule, Site, Site) {
        let (first, second) = finding.sites();
        (finding.rule, first, second)
    }

    /// Replaces the places that findings are about.
    pub fn each_place(&mut self, real: impl Fn(Place) -> Place) {
        for finding in self.groups.values_mut() {
            finding.place = finding.place.map(&real);
        }
    }

    /// Counts one more of a known group, the cheap way and up to [`COUNTED`], and tells whether it has just come to that; `None` if the group
    /// is new.
    pub fn count_again(&mut self, rule: Rule, a: Site, b: Site) -> Option<bool> {
        let finding = self.groups.get_mut(&(rule, a.min(b), a.max(b)))?;
        if finding.count >= COUNTED {
            return Some(false);
        }
        finding.count += 1;
        Some(finding.count == COUNTED)
    }

    /// Whether there is a group.
    pub fn has(&self, rule: Rule, (a, b): (Site, Site)) -> bool {
        self.groups.contains_key(&(rule, a.min(b), a.max(b)))
    }

    /// Equal values are no excuse where one of the instructions takes part in a race as well: then their writes race, too.
    pub fn settle_values(&mut self) {
        let race = |rule: Rule| matches!(rule, Rule::DataRace | Rule::InsufficientScope);
        let keys = || self.groups.keys().filter(|k| race(k.0));
        let guilty: HashSet<Site> = keys().flat_map(|(_, a, b)| [*a, *b]).collect();
        let keys = self.groups.keys().copied();
        let races: Vec<_> = keys
            .filter(|(rule, a, b)| {
                *rule == Rule::SameValueWrite && (guilty.contains(a) || guilty.contains(b))
            })
            .collect();
        for key in races {
            if let Some(finding) = self.groups.remove(&key) {
                self.add(Finding {
                    rule: Rule::DataRace,
                    ..finding
                });
            }
        }
    }

    /// Where threads have not waited for a copy, what they do after its end, or as its warp does it, is the same mistake.
    pub fn settle_copies(&mut self) {
        let keys: Vec<_> = self.groups.keys().copied().collect();
        for (_, a, b) in keys.iter().filter(|k| k.0 == Rule::AsyncCopyHazard) {
            for same in [Rule::DataRace, Rule::LockstepAssumption] {
                self.groups.remove(&(same, *a, *b));
            }
        }
    }

    /// Lanes of a warp that exchange data where other warps do, too, need what orders these.
    pub fn settle_warps(&mut self) {
        let keys: Vec<_> = self.groups.keys().copied().collect();
        for (_, a, b) in keys.iter().filter(|k| k.0 == Rule::UnorderedCommunication) {
            if let Some(lanes) = self.groups.get_mut(&(Rule::LockstepAssumption, *a, *b)) {
                lanes.detail = Detail::OtherWarps;
            }
        }
    }

    /// Keeps those that are told to be kept.
    pub fn retain(&mut self, keep: impl Fn(&Finding) -> bool) {
        self.groups.retain(|_, finding| keep(finding));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Adds all of another collection.
    pub fn merge(&mut self, other: Findings) {
        other.into_sorted().into_iter().for_each(|f| self.add(f));
    }

    /// In a stable order: by rule, then by site.
    pub fn into_sorted(self) -> Vec<Finding> {
        self.groups.into_values().collect()
    }
}
