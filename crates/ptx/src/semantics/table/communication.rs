//! "Parallel Synchronization and Communication Instructions".

use super::super::Opcode::*;
use super::super::synchronisation::{MbarrierOperation as M, Rule, Synchronisation};
use super::{Dependence, Effect, Order, Row, Space, row};

pub(super) fn rows() -> Vec<Row> {
    let exchange = |opcode, spelling, operands| {
        row(opcode, spelling, operands).synchronises(Synchronisation::WarpExchange)
    };
    let mbarrier = |opcode, spelling, operands, operation| {
        row(opcode, spelling, operands).synchronises(Synchronisation::Mbarrier(operation))
    };
    vec![
        // "bar, barrier": bar is barrier.aligned
        row(Barrier, "bar", "a:32, b:32").synchronises_by(Rule::BlockBarrier { aligned: true }),
        row(Barrier, "barrier", "a:32, b:32")
            .synchronises_by(Rule::BlockBarrier { aligned: false }),
        row(Barrier, "bar.red", "=d, a:32, b:c, c:p")
            .synchronises_by(Rule::BlockBarrier { aligned: true }),
        row(Barrier, "barrier.red", "=d, a:32, b:c, c:p")
            .synchronises_by(Rule::BlockBarrier { aligned: false }),
        // "bar.warp.sync"
        row(BarWarpSync, "bar.warp", "membermask:32").synchronises(Synchronisation::WarpBarrier),
        // "barrier.cluster"
        row(BarrierCluster, "barrier.cluster", "").synchronises_by(Rule::ClusterBarrier),
        // "membar / fence"
        row(Membar, "membar", "").synchronises_by(Rule::Membar),
        row(Fence, "fence", "[addr], size:i").synchronises_by(Rule::Fence),
        // "atom"
        row(Atom, "atom", "=d, [a], b, c, policy:64").memory(Effect::ReadModifyWrite),
        // "red"
        row(Red, "red", "[a], b, policy:64").memory(Effect::Reduction),
        // "red.async": completes at an mbarrier
        row(RedAsync, "red.async", "[a], b, [mbar]").memory(Effect::AsyncRegisterReduction),
        // "vote" (removed in sm_70): who is active votes
        row(Vote, "vote", "=d, a:p").depends_on(Dependence::ActiveLanes),
        // "vote.sync"
        exchange(VoteSync, "vote.sync", "=d, a:p, membermask:32"),
        // "match.sync"
        exchange(Match, "match.sync", "=d:32|p, a, membermask:32"),
        // "activemask"
        row(Activemask, "activemask", "=d").depends_on(Dependence::ActiveLanes),
        // "redux.sync"
        exchange(Redux, "redux.sync", "=d, a, membermask:32"),
        // "griddepcontrol"
        row(Griddepcontrol, "griddepcontrol.launch_dependents", "")
            .synchronises(Synchronisation::LaunchDependents),
        row(Griddepcontrol, "griddepcontrol.wait", "")
            .synchronises(Synchronisation::WaitDependency),
        // "elect.sync"
        exchange(Elect, "elect.sync", "=d:32|p, membermask:32"),
        // "mbarrier.init", "mbarrier.inval"
        mbarrier(MbarrierInit, "mbarrier.init", "[addr], count:32", M::Init).memory(Effect::Store),
        mbarrier(MbarrierInval, "mbarrier.inval", "[addr]", M::Inval).memory(Effect::Store),
        // "mbarrier.expect_tx", "mbarrier.complete_tx": relaxed
        mbarrier(
            MbarrierExpectTx,
            "mbarrier.expect_tx",
            "[addr], txCount:32",
            M::ExpectTransactions,
        )
        .memory(Effect::Reduction)
        .order(Order::Relaxed),
        mbarrier(
            MbarrierCompleteTx,
            "mbarrier.complete_tx",
            "[addr], txCount:32",
            M::CompleteTransactions,
        )
        .memory(Effect::Reduction)
        .order(Order::Relaxed),
        // "mbarrier.arrive", "mbarrier.arrive_drop": .release if nothing else is said
        mbarrier(
            MbarrierArrive,
            "mbarrier.arrive",
            "=state:64, [addr], count:32",
            M::Arrive,
        )
        .memory(Effect::ReadModifyWrite)
        .order(Order::Release),
        mbarrier(
            MbarrierArrive,
            "mbarrier.arrive.expect_tx",
            "=state:64, [addr], txCount:32",
            M::Arrive,
        )
        .memory(Effect::ReadModifyWrite)
        .order(Order::Release),
        mbarrier(
            MbarrierArriveDrop,
            "mbarrier.arrive_drop.expect_tx",
            "=state:64, [addr], txCount:32",
            M::ArriveDrop,
        )
        .memory(Effect::ReadModifyWrite)
        .order(Order::Release),
        mbarrier(
            MbarrierArriveDrop,
            "mbarrier.arrive_drop",
            "=state:64, [addr], count:32",
            M::ArriveDrop,
        )
        .memory(Effect::ReadModifyWrite)
        .order(Order::Release),
        // "mbarrier.test_wait / mbarrier.try_wait": .acquire if nothing else is said
        mbarrier(
            MbarrierTestWait,
            "mbarrier.test_wait",
            "=p:p, [addr], state:o",
            M::TestWait,
        )
        .memory(Effect::Load)
        .order(Order::Acquire)
        .depends_on(Dependence::Progress),
        mbarrier(
            MbarrierTryWait,
            "mbarrier.try_wait",
            "=p:p, [addr], state:o, hint:32",
            M::TryWait,
        )
        .memory(Effect::Load)
        .order(Order::Acquire)
        .depends_on(Dependence::Progress),
        // "mbarrier.pending_count"
        mbarrier(
            MbarrierPendingCount,
            "mbarrier.pending_count",
            "=count:32, state:64",
            M::PendingCount,
        ),
        // "clusterlaunchcontrol.try_cancel": writes its answer at some time, and completes at an mbarrier
        row(
            ClusterlaunchcontrolTryCancel,
            "clusterlaunchcontrol.try_cancel",
            "[addr], [mbar]",
        )
        .memory(Effect::AsyncStore)
        .space(Space::Shared)
        .depends_on(Dependence::Progress),
        // "clusterlaunchcontrol.query_cancel"
        row(
            ClusterlaunchcontrolQueryCancel,
            "clusterlaunchcontrol.query_cancel",
            "=d, handle:128",
        ),
    ]
}
