//! "Warp Level Matrix Multiply-Accumulate Instructions", "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions",
//! "TensorCore 5th Generation Family Instructions".

use super::super::Opcode::*;
use super::super::synchronisation::{
    AsyncGroup, FenceKind, MbarrierOperation, Synchronisation,
    Synchronisation::{Collective, CommitGroup, Mbarrier, WaitGroup},
};
use super::{Dependence, Effect, Proxy, Row, Space, row};

pub(super) fn rows() -> Vec<Row> {
    let together =
        |opcode, spelling, operands| row(opcode, spelling, operands).synchronises(Collective);
    let tensor = |opcode, spelling, operands, effect| {
        row(opcode, spelling, operands)
            .memory(effect)
            .space(Space::Tensor)
            .proxy(Proxy::Async)
    };
    let fence = |kind| Synchronisation::Fence {
        kind,
        order: None,
        scope: None,
    };
    vec![
        // "wmma.load", "wmma.store"
        together(WmmaLoad, "wmma.load", "=d:o, [p], stride:32").memory(Effect::Load),
        together(WmmaStore, "wmma.store", "[p], d:o, stride:32").memory(Effect::Store),
        // "wmma.mma"
        together(WmmaMma, "wmma.mma", "=d:o, a:o, b:o, c:o"),
        // "mma", "mma.sp"
        together(Mma, "mma", "=d:o, a:o, b:o, c:o, e:o, f:i, g:o, h:o"),
        // "ldmatrix", "stmatrix", "movmatrix"
        together(Ldmatrix, "ldmatrix", "=r:o, [p]").memory(Effect::Load),
        together(Stmatrix, "stmatrix", "[p], r:o").memory(Effect::Store),
        together(Movmatrix, "movmatrix", "=d:o, a:o"),
        // "wgmma.mma_async": a and b are registers or descriptors of shared memory; d is there when the group is waited for
        row(
            WgmmaMmaAsync,
            "wgmma.mma_async",
            "+d:o, a:o, b:o, scale_d:o",
        )
        .memory(Effect::AsyncLoad)
        .space(Space::Shared)
        .proxy(Proxy::Async)
        .synchronises(Collective),
        // "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"
        row(WgmmaFence, "wgmma.fence", "").synchronises(fence(FenceKind::Wgmma)),
        row(WgmmaCommitGroup, "wgmma.commit_group", "")
            .synchronises(CommitGroup(AsyncGroup::Wgmma)),
        row(WgmmaWaitGroup, "wgmma.wait_group", "n:i").synchronises(WaitGroup(AsyncGroup::Wgmma)),
        // "tcgen05.alloc": writes the address to shared memory; "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit"
        together(Tcgen05Alloc, "tcgen05.alloc", "[dst], nCols:32")
            .memory(Effect::Store)
            .space(Space::Shared)
            .depends_on(Dependence::Allocation),
        together(Tcgen05Dealloc, "tcgen05.dealloc", "taddr:32, nCols:32"),
        together(Tcgen05Relinquish, "tcgen05.relinquish_alloc_permit", ""),
        // "tcgen05.ld", "tcgen05.st"; "tcgen05.wait"
        tensor(
            Tcgen05Ld,
            "tcgen05.ld",
            "=r:o, [taddr], imm:i",
            Effect::AsyncLoad,
        )
        .synchronises(Collective),
        tensor(
            Tcgen05Ld,
            "tcgen05.ld.red",
            "=r:o, =redval:o, [taddr], imm:i",
            Effect::AsyncLoad,
        )
        .synchronises(Collective),
        tensor(Tcgen05St, "tcgen05.st", "[taddr], r:o", Effect::AsyncStore)
            .synchronises(Collective),
        row(Tcgen05WaitLd, "tcgen05.wait::ld", "").synchronises(WaitGroup(AsyncGroup::TensorLoad)),
        row(Tcgen05WaitSt, "tcgen05.wait::st", "").synchronises(WaitGroup(AsyncGroup::TensorStore)),
        // "tcgen05.cp": from shared memory, by a descriptor
        tensor(
            Tcgen05Cp,
            "tcgen05.cp",
            "[taddr], s_desc:64",
            Effect::AsyncCopy,
        )
        .source(Space::Shared),
        // "tcgen05.shift"
        tensor(
            Tcgen05Shift,
            "tcgen05.shift",
            "[taddr]",
            Effect::AsyncCompute,
        ),
        // "tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp"
        tensor(
            Tcgen05Mma,
            "tcgen05.mma",
            "[d_tmem], a:o, b_desc:64, idesc:32, e:o, f:o, g:o, h:o",
            Effect::AsyncCompute,
        )
        .source(Space::Shared),
        // "tcgen05.fence"
        row(Tcgen05Fence, "tcgen05.fence::before_thread_sync", "")
            .synchronises(fence(FenceKind::Tensor)),
        row(Tcgen05Fence, "tcgen05.fence::after_thread_sync", "")
            .synchronises(fence(FenceKind::Tensor)),
        // "tcgen05.commit": an mbarrier learns of the completion of what was issued before
        row(Tcgen05Commit, "tcgen05.commit", "[mbar], mask:16")
            .synchronises(Mbarrier(MbarrierOperation::ArriveLater)),
    ]
}
