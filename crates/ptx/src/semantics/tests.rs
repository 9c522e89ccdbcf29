use super::*;
use crate::ast::{Instruction, Module};
use std::collections::BTreeSet;
use std::path::Path;

fn typed(text: &str) -> TypedInstruction {
    TypedInstruction::parse(text).unwrap_or_else(|| panic!("{text}"))
}

/// An instruction of a row with nothing but what the row asks for, and plausible operands.
fn sample(row: &table::Row) -> String {
    let operands = match row.opcode {
        Opcode::Bra | Opcode::Brx => " L",
        Opcode::Call => " (%r1), f, (%r2)",
        Opcode::Ret | Opcode::Exit | Opcode::Trap => "",
        _ => " %r1, [%rd1], %r2, %r3",
    };
    format!("{}.b32{operands};", row.spelling)
}

#[test]
fn every_opcode_has_a_row_and_every_row_is_found() {
    let rows: Vec<_> = table::ROWS.iter().collect();
    for opcode in Opcode::all() {
        assert!(rows.iter().any(|row| row.opcode == opcode), "{opcode:?}");
    }
    let spellings: BTreeSet<_> = rows.iter().map(|row| row.spelling).collect();
    assert_eq!(spellings.len(), rows.len(), "a spelling stands twice");
    for row in rows {
        assert_eq!(typed(&sample(row)).opcode, row.opcode, "{}", row.spelling);
    }
}

#[test]
fn a_guard_changes_nothing() {
    for row in table::ROWS.iter() {
        let text = sample(row);
        for guard in ["@%p1 ", "@!%p1 "] {
            assert_eq!(typed(&text), typed(&format!("{guard}{text}")), "{text}");
        }
    }
}

#[test]
fn operands_are_read_and_written() {
    use Access::*;
    use OperandClass::*;
    for (text, roles) in [
        (
            "add.s32 %r1, %r2, 3;",
            &[(Written, Bits(32)), (Read, Bits(32)), (Read, Bits(32))][..],
        ),
        (
            "mul.wide.u16 %r1, %rs1, %rs2;",
            &[(Written, Bits(32)), (Read, Bits(16)), (Read, Bits(16))],
        ),
        (
            "mad.wide.s32 %rd1, %r1, %r2, %rd2;",
            &[
                (Written, Bits(64)),
                (Read, Bits(32)),
                (Read, Bits(32)),
                (Read, Bits(64)),
            ],
        ),
        (
            "fma.rn.f32.bf16 %f1, %h1, %h2, %f2;",
            &[
                (Written, Bits(32)),
                (Read, Bits(16)),
                (Read, Bits(16)),
                (Read, Bits(32)),
            ],
        ),
        (
            "setp.lt.and.u64 %p1|%p2, %rd1, %rd2, %p3;",
            &[
                (Written, Predicate),
                (Read, Bits(64)),
                (Read, Bits(64)),
                (Read, Predicate),
            ],
        ),
        (
            "cvt.u64.s16 %rd1, %rs1;",
            &[(Written, Bits(64)), (Read, Bits(16))],
        ),
        (
            "st.global.f64 [%rd1], %fd1;",
            &[(Read, Address), (Read, Bits(64))],
        ),
        (
            "bar.red.popc.u32 %r1, 0, %p1;",
            &[(Written, Bits(32)), (Read, Bits(32)), (Read, Predicate)],
        ),
        (
            "barrier.red.or.pred %p1, 0, 64, %p2;",
            &[
                (Written, Predicate),
                (Read, Bits(32)),
                (Read, Bits(32)),
                (Read, Predicate),
            ],
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;",
            &[
                (Both, Opaque),
                (Read, Opaque),
                (Read, Opaque),
                (Read, Opaque),
                (Read, Bits(16)),
                (Read, Bits(16)),
                (Read, Bits(16)),
                (Read, Bits(16)),
            ],
        ),
        (
            "call (%r1), f, (%r2);",
            &[(Written, Call), (Read, Call), (Read, Call)],
        ),
        (
            "mystery.u32 %r1, %r2;",
            &[(Written, Bits(32)), (Read, Bits(32))],
        ),
    ] {
        let found: Vec<_> = typed(text)
            .operands
            .iter()
            .map(|r| (r.access, r.class))
            .collect();
        assert_eq!(found, roles, "{text}");
    }
    assert_eq!(
        typed("shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;").pair(0),
        Some(Predicate)
    );
}

#[test]
fn memory_has_effect_space_order_and_scope() {
    use Effect::*;
    for (text, effect, space, order, scope, bytes) in [
        (
            "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];",
            Load,
            Space::Global,
            Order::Weak,
            None,
            Some(16),
        ),
        (
            "ld.volatile.shared.u8 %rs1, [%r1];",
            Load,
            Space::Shared,
            Order::Volatile,
            Some(Scope::Sys),
            Some(1),
        ),
        (
            "st.release.cta.u32 [%rd1], %r1;",
            Store,
            Space::Generic,
            Order::Release,
            Some(Scope::Cta),
            Some(4),
        ),
        (
            "ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];",
            Load,
            Space::Global,
            Order::Relaxed,
            Some(Scope::Sys),
            Some(4),
        ),
        (
            "atom.shared::cta.add.u64 %rd1, [%r1], 1;",
            ReadModifyWrite,
            Space::Shared,
            Order::Relaxed,
            Some(Scope::Gpu),
            Some(8),
        ),
        (
            "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.add.u32 [%r1], %r2, [%r3];",
            AsyncRegisterReduction,
            Space::SharedCluster,
            Order::Relaxed,
            Some(Scope::Cluster),
            Some(4),
        ),
        (
            "cp.async.ca.shared.global [%r1], [%rd1], 16;",
            AsyncCopy,
            Space::Shared,
            Order::Weak,
            None,
            None,
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
            AsyncCopy,
            Space::SharedCluster,
            Order::Weak,
            None,
            None,
        ),
        (
            "prefetch.global.L2 [%rd1];",
            Prefetch,
            Space::Global,
            Order::Weak,
            None,
            None,
        ),
        (
            "mbarrier.try_wait.shared::cta.b64 %p1, [%r1], %rd1;",
            Load,
            Space::Shared,
            Order::Acquire,
            Some(Scope::Cta),
            Some(8),
        ),
        (
            "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1, %r2}];",
            Load,
            Space::Texture,
            Order::Weak,
            None,
            Some(16),
        ),
        (
            "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};",
            AsyncStore,
            Space::Tensor,
            Order::Weak,
            None,
            Some(4),
        ),
    ] {
        let m = typed(text).memory.unwrap_or_else(|| panic!("{text}"));
        assert_eq!(
            (m.effect, m.space, m.order, m.scope, m.bytes()),
            (effect, space, order, scope, bytes),
            "{text}"
        );
    }
    let copy = typed("cp.async.cg.shared.global [%r1], [%rd1], 16;")
        .memory
        .unwrap();
    assert_eq!(
        (copy.source, copy.effect.is_asynchronous()),
        (Some(Space::Global), true)
    );
    assert!(
        typed("ld.global.nc.u32 %r1, [%rd1];")
            .memory
            .unwrap()
            .non_coherent
    );
    for text in [
        "mov.u32 %r1, %r2;",
        "cp.async.wait_group 0;",
        "membar.gl;",
        "cvta.to.global.u64 %rd1, %rd2;",
    ] {
        assert_eq!(typed(text).memory, None, "{text}");
    }
}

#[test]
fn who_is_synchronised() {
    use Synchronisation::*;
    let fence = |kind, order, scope| Fence { kind, order, scope };
    for (text, whom) in [
        (
            "bar.sync 0;",
            BlockBarrier {
                participation: Participation::Sync,
                aligned: true,
            },
        ),
        (
            "barrier.arrive 1, 64;",
            BlockBarrier {
                participation: Participation::Arrive,
                aligned: false,
            },
        ),
        (
            "barrier.cta.red.popc.aligned.u32 %r1, 0, %p1;",
            BlockBarrier {
                participation: Participation::Count,
                aligned: true,
            },
        ),
        (
            "bar.red.and.pred %p1, 0, %p2;",
            BlockBarrier {
                participation: Participation::Reduce(Combination::And),
                aligned: true,
            },
        ),
        ("bar.warp.sync -1;", WarpBarrier),
        (
            "barrier.cluster.arrive.relaxed;",
            ClusterBarrier {
                participation: Participation::Arrive,
                order: Order::Relaxed,
                aligned: false,
            },
        ),
        (
            "barrier.cluster.wait.aligned;",
            ClusterBarrier {
                participation: Participation::Wait,
                order: Order::Acquire,
                aligned: true,
            },
        ),
        (
            "membar.gl;",
            fence(FenceKind::Thread, Some(Order::Sc), Some(Scope::Gpu)),
        ),
        (
            "fence.cluster;",
            fence(FenceKind::Thread, Some(Order::AcqRel), Some(Scope::Cluster)),
        ),
        (
            "fence.proxy.async.shared::cta;",
            fence(FenceKind::Proxy, None, None),
        ),
        (
            "fence.proxy.tensormap::generic.release.gpu;",
            fence(FenceKind::Proxy, Some(Order::Release), Some(Scope::Gpu)),
        ),
        (
            "fence.mbarrier_init.release.cluster;",
            fence(
                FenceKind::MbarrierInit,
                Some(Order::Release),
                Some(Scope::Cluster),
            ),
        ),
        (
            "cp.async.bulk.wait_group.read 0;",
            WaitGroup(AsyncGroup::Bulk),
        ),
        (
            "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];",
            Mbarrier(MbarrierOperation::ArriveLater),
        ),
        (
            "mbarrier.arrive_drop.shared.b64 %rd1, [%r1];",
            Mbarrier(MbarrierOperation::ArriveDrop),
        ),
        (
            "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd1, [%r1], %r2;",
            Mbarrier(MbarrierOperation::Arrive),
        ),
        (
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], %r2;",
            Mbarrier(MbarrierOperation::ExpectTransactions),
        ),
        ("griddepcontrol.wait;", WaitDependency),
        ("vote.sync.ballot.b32 %r1, %p1, -1;", WarpExchange),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f2};",
            Collective,
        ),
    ] {
        assert_eq!(typed(text).synchronisation, Some(whom), "{text}");
    }
    for text in [
        "vote.any.pred %p1, %p2;",
        "activemask.b32 %r1;",
        "atom.global.add.u32 %r1, [%rd1], 1;",
        "exit;",
    ] {
        assert_eq!(typed(text).synchronisation, None, "{text}");
    }
}

#[test]
fn what_else_a_result_depends_on() {
    use Dependence::*;
    for (text, dependence) in [
        ("mov.u64 %rd1, %clock64;", Clock),
        ("add.u32 %r1, %smid, 1;", Placement),
        ("activemask.b32 %r1;", ActiveLanes),
        ("vote.ballot.b32 %r1, %p1;", ActiveLanes),
        ("atom.global.add.u32 %r1, [%rd1], 1;", AtomicOrder),
        ("mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;", Progress),
        ("call.uni (%rd1), malloc, (%rd2);", Allocation),
    ] {
        let found = typed(text).dependences;
        for one in [
            Clock,
            Placement,
            ActiveLanes,
            AtomicOrder,
            Progress,
            Allocation,
        ] {
            assert_eq!(found.has(one), one == dependence, "{text}: {one:?}");
        }
    }
    for text in [
        "mov.u32 %r1, %tid.x;",
        "red.global.add.u32 [%rd1], 1;",
        "call f, (%r1);",
        "vote.sync.any.pred %p1, %p2, -1;",
    ] {
        assert!(typed(text).dependences.is_empty(), "{text}");
    }
}

#[test]
fn modifiers_are_fields() {
    let fma = typed("fma.rn.ftz.sat.f32 %f1, %f2, %f3, %f4;").modifiers;
    assert_eq!(
        (fma.rounding(), fma.flushes_subnormals(), fma.saturates()),
        (Some(Rounding::NearestEven), true, true)
    );
    let setp = typed("setp.lo.or.u32 %p1, %r1, %r2, %p2;").modifiers;
    assert_eq!(
        (setp.comparison(), setp.combination()),
        (Some(Comparison::Lt), Some(Combination::Or))
    );
    let cas = typed("atom.acq_rel.sys.global.cas.b32 %r1, [%rd1], 0, 1;").modifiers;
    assert_eq!(cas.atomic_operation(), Some(AtomicOperation::Cas));
    let cached = typed("ld.global.cg.v2.u32 {%r1, %r2}, [%rd1];").modifiers;
    assert_eq!(
        (cached.cache(), cached.vector()),
        (Some(CacheOperator::Cg), 2)
    );
    let carry = |text| typed(text).carry;
    assert_eq!(
        carry("add.cc.u32 %r1, %r2, %r3;"),
        Carry {
            reads: false,
            writes: true
        }
    );
    assert_eq!(
        carry("madc.lo.cc.u32 %r1, %r2, %r3, %r4;"),
        Carry {
            reads: true,
            writes: true
        }
    );
    assert_eq!(
        carry("addc.u32 %r1, %r2, %r3;"),
        Carry {
            reads: true,
            writes: false
        }
    );
}

#[test]
fn what_the_table_does_not_have_stays() {
    let unknown = typed("tcgen06.mystery.u32.bogus %r1, %r2;");
    assert_eq!(unknown.opcode, Opcode::Other("tcgen06".into()));
    assert_eq!(unknown.destinations(), 1);
    assert!(unknown.has(Modifier::Other) && unknown.memory.is_none());
    assert_ne!(unknown, typed("tcgen07.mystery.u32.bogus %r1, %r2;"));
}

/// Calls `visit` for every instruction below a folder.
fn each_instruction(folder: &Path, visit: &mut impl FnMut(&Instruction)) {
    fn statements(all: &[Stmt], visit: &mut impl FnMut(&Instruction)) {
        for statement in all {
            match statement {
                Stmt::Instruction(i) => visit(i),
                Stmt::Block(inner) => statements(inner, visit),
                _ => {}
            }
        }
    }
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_instruction(&path, visit);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            let text = std::fs::read_to_string(&path).unwrap();
            let Ok(Module { items, .. }) = crate::parse(&text) else {
                continue;
            };
            for item in &items {
                if let Item::Function(function) = item {
                    statements(function.body.as_deref().unwrap_or_default(), visit);
                }
            }
        }
    }
}

/// Compilers' PTX holds nothing that the table does not have.
#[test]
fn the_catalogues_ptx_is_known() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let (mut count, mut unknown) = (0, BTreeSet::new());
    each_instruction(&kernels, &mut |i| {
        count += 1;
        let typed = TypedInstruction::of(i);
        if matches!(typed.opcode, Opcode::Other(_)) || typed.has(Modifier::Other) {
            unknown.insert(format!("{}.{}", i.opcode, i.modifiers.join(".")));
        }
        let guarded = Instruction {
            guard: Some(crate::ast::Guard {
                negated: true,
                register: "%p0".into(),
            }),
            ..i.clone()
        };
        assert_eq!(TypedInstruction::of(&guarded), typed);
    });
    assert!(count > 10_000, "{count}");
    assert_eq!(unknown, BTreeSet::new());
}
