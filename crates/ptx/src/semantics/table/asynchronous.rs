//! "Data Movement and Conversion Instructions: Asynchronous copy" and what waits for such copies. Bulk and tensor copies go through the async
//! proxy ("Async proxy"); `cp.async` goes through the generic one.

use super::super::Opcode::*;
use super::super::synchronisation::{AsyncGroup, MbarrierOperation, Synchronisation::*};
use super::{Effect, Proxy, Row, row};

pub(super) fn rows() -> Vec<Row> {
    let bulk = |opcode, spelling, operands, effect| {
        row(opcode, spelling, operands)
            .memory(effect)
            .proxy(Proxy::Async)
    };
    vec![
        // "cp.async": 4, 8 or 16 bytes
        row(
            CpAsync,
            "cp.async",
            "[dst], [src], cp_size:i, src_size:32, policy:64",
        )
        .memory(Effect::AsyncCopy),
        // "cp.async.commit_group", "cp.async.wait_group / cp.async.wait_all"
        row(CpAsyncCommitGroup, "cp.async.commit_group", "")
            .synchronises(CommitGroup(AsyncGroup::Copy)),
        row(CpAsyncWaitGroup, "cp.async.wait_group", "n:i")
            .synchronises(WaitGroup(AsyncGroup::Copy)),
        row(CpAsyncWaitAll, "cp.async.wait_all", "").synchronises(WaitGroup(AsyncGroup::Copy)),
        // "cp.async.mbarrier.arrive"
        row(CpAsyncMbarrierArrive, "cp.async.mbarrier.arrive", "[addr]")
            .synchronises(Mbarrier(MbarrierOperation::ArriveLater)),
        // "cp.async.bulk"
        bulk(
            CpAsyncBulk,
            "cp.async.bulk",
            "[dst], [src], size:32, [mbar], mask:16, policy:64",
            Effect::AsyncCopy,
        ),
        // "cp.reduce.async.bulk"
        bulk(
            CpReduceAsyncBulk,
            "cp.reduce.async.bulk",
            "[dst], [src], size:32, [mbar], policy:64",
            Effect::AsyncReduction,
        ),
        // "cp.async.bulk.prefetch"
        bulk(
            CpAsyncBulkPrefetch,
            "cp.async.bulk.prefetch",
            "[src], size:32, policy:64",
            Effect::Prefetch,
        ),
        // "multimem.cp.async.bulk", "multimem.cp.reduce.async.bulk"
        bulk(
            MultimemCpAsyncBulk,
            "multimem.cp.async.bulk",
            "[dst], [src], size:32, mask:16",
            Effect::AsyncCopy,
        ),
        bulk(
            MultimemCpReduceAsyncBulk,
            "multimem.cp.reduce.async.bulk",
            "[dst], [src], size:32",
            Effect::AsyncReduction,
        ),
        // "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.prefetch.tensor": a tensor map and coordinates in one address
        bulk(
            CpAsyncBulkTensor,
            "cp.async.bulk.tensor",
            "[dst], [src], [mbar], info:o, mask:16, policy:64",
            Effect::AsyncCopy,
        ),
        bulk(
            CpReduceAsyncBulkTensor,
            "cp.reduce.async.bulk.tensor",
            "[dst], [src], policy:64",
            Effect::AsyncReduction,
        ),
        bulk(
            CpAsyncBulkPrefetchTensor,
            "cp.async.bulk.prefetch.tensor",
            "[src], info:o, policy:64",
            Effect::Prefetch,
        ),
        // "cp.async.bulk.commit_group", "cp.async.bulk.wait_group"
        row(CpAsyncBulkCommitGroup, "cp.async.bulk.commit_group", "")
            .synchronises(CommitGroup(AsyncGroup::Bulk)),
        row(CpAsyncBulkWaitGroup, "cp.async.bulk.wait_group", "n:i")
            .synchronises(WaitGroup(AsyncGroup::Bulk)),
    ]
}
