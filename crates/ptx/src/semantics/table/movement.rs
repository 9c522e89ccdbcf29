//! "Data Movement and Conversion Instructions", but for the asynchronous copies; "Stack Manipulation Instructions".

use super::super::Opcode::*;
use super::{Dependence, Effect, Proxy, Row, Space, Synchronisation, row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        // "mov"
        row(Mov, "mov", "=d, a"),
        // "shfl" (removed in sm_70): who is active takes part
        row(Shfl, "shfl", "=d|p, a, b:32, c:32").depends_on(Dependence::ActiveLanes),
        // "shfl.sync"
        row(ShflSync, "shfl.sync", "=d|p, a, b:32, c:32, membermask:32")
            .synchronises(Synchronisation::WarpExchange),
        // "prmt"
        row(Prmt, "prmt", "=d, a, b, c"),
        // "ld", "ld.global.nc", "ldu"
        row(Ld, "ld", "=d, [a], policy:64").memory(Effect::Load),
        row(Ldu, "ldu", "=d, [a]")
            .memory(Effect::Load)
            .non_coherent(),
        // "st"
        row(St, "st", "[a], b, policy:64").memory(Effect::Store),
        // "st.async": completes at an mbarrier
        row(StAsync, "st.async", "[a], b, [mbar]").memory(Effect::AsyncStore),
        // "st.bulk": fills
        row(StBulk, "st.bulk", "[a], size:64, initval:64").memory(Effect::Store),
        // "multimem.ld_reduce", "multimem.st", "multimem.red"
        row(MultimemLdReduce, "multimem.ld_reduce", "=d, [a]").memory(Effect::Load),
        row(MultimemSt, "multimem.st", "[a], b").memory(Effect::Store),
        row(MultimemRed, "multimem.red", "[a], b").memory(Effect::Reduction),
        // "prefetch, prefetchu"
        row(Prefetch, "prefetch", "[a]").memory(Effect::Prefetch),
        row(Prefetchu, "prefetchu", "[a]").memory(Effect::Prefetch),
        // "applypriority", "discard"
        row(Applypriority, "applypriority", "[a], size:i").memory(Effect::CacheControl),
        row(Discard, "discard", "[a], size:i").memory(Effect::CacheControl),
        // "createpolicy"
        row(Createpolicy, "createpolicy", "=policy:64, a:o, b:o, c:o"),
        // "isspacep"
        row(Isspacep, "isspacep", "=p:p, a:64"),
        // "cvta"
        row(Cvta, "cvta", "=p, a"),
        // "cvt", "cvt.pack"
        row(Cvt, "cvt", "=d, a, b, c"),
        row(CvtPack, "cvt.pack", "=d:32, a:t2, b:t2, c"),
        // "mapa", "getctarank"
        row(Mapa, "mapa", "=d, a, b:32"),
        row(Getctarank, "getctarank", "=d:32, a"),
        // "tensormap.replace": changes one field of a tensor map in memory
        row(
            TensormapReplace,
            "tensormap.replace",
            "[addr], ord:o, new_val:o",
        )
        .memory(Effect::Store)
        .proxy(Proxy::Generic),
        // "stacksave", "stackrestore", "alloca"
        row(Stacksave, "stacksave", "=d"),
        row(Stackrestore, "stackrestore", "a"),
        row(Alloca, "alloca", "=ptr, size, align:i"),
        // "tensormap.cp_fenceproxy": copies a tensor map and fences its proxy
        row(
            TensormapCpFenceproxy,
            "tensormap.cp_fenceproxy",
            "[dst], [src], size:i",
        )
        .memory(Effect::Copy)
        .source(Space::Shared)
        .synchronises_by(super::synchronisation::Rule::Proxy),
    ]
}
