//! Whom instructions synchronise (PTX ISA, "Parallel Synchronization and Communication Instructions").

use super::memory::{Order, Scope};
use super::modifier::{Combination, Modifier, Modifiers};

/// How a thread takes part in a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Participation {
    /// Arrives and waits for the others.
    Sync,
    /// Arrives and goes on.
    Arrive,
    /// Waits for those that have arrived.
    Wait,
    /// Arrives, waits, and learns of all threads' predicates whether all or any hold.
    Reduce(Combination),
    /// Arrives, waits, and learns for how many threads the predicate holds.
    Count,
}

/// What is done to an mbarrier ("Parallel Synchronization and Communication Instructions: mbarrier").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MbarrierOperation {
    /// `.init`
    Init,
    /// `.inval`
    Inval,
    /// `.expect_tx`
    ExpectTransactions,
    /// `.complete_tx`
    CompleteTransactions,
    /// `.arrive`
    Arrive,
    /// `.arrive_drop`
    ArriveDrop,
    /// `cp.async.mbarrier.arrive`, `tcgen05.commit`: arrives when earlier asynchronous operations have completed.
    ArriveLater,
    /// `.test_wait`
    TestWait,
    /// `.try_wait`
    TryWait,
    /// `.pending_count`: computes with a state alone.
    PendingCount,
}

/// Asynchronous operations that are waited for in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AsyncGroup {
    /// `cp.async`
    Copy,
    /// `cp.async.bulk`
    Bulk,
    /// `wgmma.mma_async`
    Wgmma,
    /// `tcgen05.ld`
    TensorLoad,
    /// `tcgen05.st`
    TensorStore,
}

/// What a fence is for, beyond order and scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceKind {
    /// Between accesses of one proxy: `fence`, `membar`.
    Thread,
    /// Between proxies: `fence.proxy`, `membar.proxy`, `tensormap.cp_fenceproxy`.
    Proxy,
    /// `fence.mbarrier_init`
    MbarrierInit,
    /// `fence.acquire.sync_restrict…`, `fence.release.sync_restrict…`: for mbarriers alone.
    Restricted,
    /// `wgmma.fence`: between registers, shared memory and `wgmma.mma_async`.
    Wgmma,
    /// `tcgen05.fence`: between tensor memory operations and what orders threads.
    Tensor,
}

/// Whom an instruction synchronises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Synchronisation {
    /// `bar`, `barrier`: threads of the block, by a barrier's number.
    BlockBarrier {
        /// How.
        participation: Participation,
        /// Whether all threads of a warp must execute it together.
        aligned: bool,
    },
    /// `bar.warp.sync`
    WarpBarrier,
    /// `barrier.cluster`
    ClusterBarrier {
        /// How.
        participation: Participation,
        /// `.release` or `.relaxed` of an arrival, `.acquire` of a wait.
        order: Order,
        /// Whether all threads of a warp must execute it together.
        aligned: bool,
    },
    /// `shfl.sync`, `vote.sync` and the like: lanes of the member mask meet and exchange values.
    WarpExchange,
    /// A tensor operation that all threads of a warp, or of four, execute together.
    Collective,
    /// `fence`, `membar`.
    Fence {
        /// What is ordered.
        kind: FenceKind,
        /// The order; `None` for a proxy fence without one, which orders both ways.
        order: Option<Order>,
        /// The scope; `None` where the fence has none.
        scope: Option<Scope>,
    },
    /// `mbarrier`
    Mbarrier(MbarrierOperation),
    /// Closes a group of asynchronous operations.
    CommitGroup(AsyncGroup),
    /// Waits for groups of asynchronous operations.
    WaitGroup(AsyncGroup),
    /// `griddepcontrol.launch_dependents`
    LaunchDependents,
    /// `griddepcontrol.wait`
    WaitDependency,
}

/// How a row of the table says whom it synchronises: modifiers fill in the rest.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    BlockBarrier {
        aligned: bool,
    },
    ClusterBarrier,
    Fence,
    Membar,
    /// A proxy fence that is part of another operation.
    Proxy,
    Fixed(Synchronisation),
}

impl Rule {
    pub(super) fn of(self, modifiers: &Modifiers) -> Synchronisation {
        let has = |m| modifiers.has(m);
        let aligned = has(Modifier::Aligned);
        match self {
            Rule::BlockBarrier { aligned: always } => Synchronisation::BlockBarrier {
                participation: participation(modifiers),
                aligned: always || aligned,
            },
            Rule::ClusterBarrier => {
                let participation = match has(Modifier::Arrive) {
                    true => Participation::Arrive,
                    false => Participation::Wait,
                };
                // "barrier.cluster.arrive … .release by default", "barrier.cluster.wait … .acquire by default".
                let order = modifiers.order().unwrap_or(match participation {
                    Participation::Arrive => Order::Release,
                    _ => Order::Acquire,
                });
                Synchronisation::ClusterBarrier {
                    participation,
                    order,
                    aligned,
                }
            }
            // "membar is a synonym for fence.sc" from sm_70 on.
            Rule::Membar => fence(modifiers, Some(Order::Sc)),
            Rule::Fence => fence(modifiers, modifiers.order()),
            Rule::Proxy => Synchronisation::Fence {
                kind: FenceKind::Proxy,
                order: modifiers.order(),
                scope: modifiers.scope(),
            },
            Rule::Fixed(fixed) => fixed,
        }
    }
}

fn participation(modifiers: &Modifiers) -> Participation {
    match (modifiers.has(Modifier::Red), modifiers.combination()) {
        (true, Some(combination)) => Participation::Reduce(combination),
        (true, None) => Participation::Count,
        _ if modifiers.has(Modifier::Arrive) => Participation::Arrive,
        _ => Participation::Sync,
    }
}

fn fence(modifiers: &Modifiers, order: Option<Order>) -> Synchronisation {
    let any = |all: &[Modifier]| all.iter().any(|m| modifiers.has(*m));
    let kind = match () {
        () if any(&[Modifier::Proxy, Modifier::ProxyTensormapGeneric]) => FenceKind::Proxy,
        () if any(&[Modifier::MbarrierInit]) => FenceKind::MbarrierInit,
        () if any(&[Modifier::RestrictSharedCta, Modifier::RestrictSharedCluster]) => {
            FenceKind::Restricted
        }
        () => FenceKind::Thread,
    };
    let order = match kind {
        FenceKind::Thread => order.or(Some(Order::AcqRel)),
        _ => modifiers.order(),
    };
    Synchronisation::Fence {
        kind,
        order,
        scope: modifiers.scope(),
    }
}
