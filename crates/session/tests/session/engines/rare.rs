//! Instructions that loops seldom have, and what must be declared for them: calls through pointers, recursion, jumps by index, asynchronous
//! copies, mbarriers, matrices, barriers of a grid, `printf` and `malloc`; rows of bytes at odd places.
//!
//! `%r9` and `%rd2` to `%rd4`, `%rd14` to `%rd17` are free; registers of data are as in [`super::generate`].

use super::generate::{data, guard};
use proptest::prelude::*;
use proptest::sample::select;

/// Bytes of memory behind all others that are zero when a launch begins.
pub const ZEROS: u32 = 64;

/// What stands before the kernel, of what its body needs: functions that it does not call say nothing of it.
pub fn declarations(body: &str) -> String {
    let all = [
        (
            "mix2",
            ".func (.param .b32 result) mix2(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %q<4>;\n\
             ld.param.u32 %q1, [a];\nld.param.u32 %q2, [b];\nmad.lo.u32 %q3, %q1, 5, %q2;\n\
             st.param.b32 [result], %q3;\nret;\n}\n",
        ),
        (
            "deep",
            ".func (.param .b32 result) deep(.param .b32 n, .param .b32 m)\n{\n.reg .b32 %q<6>;\n.reg .b64 %w;\n.reg .pred %o;\n\
             .local .align 4 .b8 own[8];\nld.param.u32 %q1, [n];\nld.param.u32 %q2, [m];\nmov.u64 %w, own;\nst.local.u32 [%w+4], %q1;\n\
             setp.eq.u32 %o, %q1, 0;\n@%o bra $LAST;\nsub.u32 %q3, %q1, 1;\nmad.lo.u32 %q4, %q2, 3, %q1;\n\
             {\n.param .b32 x;\n.param .b32 y;\n.param .b32 z;\nst.param.b32 [x], %q3;\nst.param.b32 [y], %q4;\n\
             call (z), deep, (x, y);\nld.param.b32 %q2, [z];\n}\n\
             $LAST:\nld.local.u32 %q5, [%w+4];\nadd.u32 %q2, %q2, %q5;\nst.param.b32 [result], %q2;\nret;\n}\n",
        ),
        (
            "vprintf",
            ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
             .global .align 1 .b8 text[7] = {37, 100, 32, 37, 117, 10, 0};\n",
        ),
        (
            "malloc",
            ".extern .func (.param .b64 r) malloc(.param .b64 n);\n",
        ),
        ("free,", ".extern .func free(.param .b64 p);\n"),
        ("[bar", ".shared .align 8 .b64 bar[2];\n"),
    ];
    let needed = all.iter().filter(|(word, _)| body.contains(word));
    needed.map(|(_, text)| *text).collect()
}

/// What stands before the first part.
pub fn beginning(body: &str) -> &'static str {
    match body.contains("[bar") {
        true => {
            "setp.ne.u32 %p7, %r0, 0;\n@%p7 bra $READY;\nmbarrier.init.shared.b64 [bar], %r2;\n\
             mbarrier.init.shared.b64 [bar+8], 32;\n$READY:\nbar.sync 0;\n"
        }
        false => "",
    }
}

/// `zeros` is where zeros begin, as an offset from the memory's address.
pub fn instruction() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => odd_rows(),
        2 => calls(),
        2 => jumps(),
        3 => copies(),
        1 => phases(),
        2 => matrices(),
        2 => system(),
        1 => Just(
            "membar.gl;\natom.global.add.u32 %r9, [%rd1+ZEROS], 1;\n$L:\nld.acquire.gpu.global.u32 %r9, [%rd1+ZEROS];\n\
             setp.lt.u32 %p6, %r9, ALL;\n@%p6 bra $L;"
                .to_owned()
        ),
    ]
}

/// Bytes and halves of full warps side by side, from any byte on.
fn odd_rows() -> impl Strategy<Value = String> {
    let kind = select(vec![("u8", 0), ("s8", 0), ("u16", 1), ("s16", 1)]);
    (kind, 0..8u32, data(), 0..4u32).prop_map(|((ty, shift), at, d, how)| {
        let at = at << shift;
        let address = format!("shl.b32 %r9, %r4, {shift};\nadd.u32 %r9, %r9, %r6;\n");
        let far = format!(
            "mul.wide.u32 %rd3, %r4, {};\nadd.u64 %rd3, %rd3, %rd1;\n",
            1 << shift
        );
        match how {
            0 => format!("{address}ld.shared.{ty} %r{d}, [%r9+{at}];"),
            1 => format!("{address}st.shared.{ty} [%r9+{at}], %r{d};"),
            2 => format!("{far}ld.global.{ty} %r{d}, [%rd3+{at}];"),
            _ => format!("{far}st.global.{ty} [%rd3+{at}], %r{d};"),
        }
    })
}

fn calls() -> impl Strategy<Value = String> {
    let arguments = |a: u32, b: u32| {
        format!(
            "{{\n.param .b32 x;\n.param .b32 y;\n.param .b32 z;\nst.param.b32 [x], %r{a};\nst.param.b32 [y], %r{b};\n"
        )
    };
    (any::<bool>(), guard(), data(), data(), data(), 1..6u32).prop_map(
        move |(through, guard, d, a, b, depth)| match through {
            true => format!(
                "mov.u64 %rd14, mix;\n{guard}mov.u64 %rd14, mix2;\n{}$LP: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n\
                 call (z), %rd14, (x, y), $LP;\nld.param.b32 %r{d}, [z];\n}}",
                arguments(a, b)
            ),
            false => format!(
                "rem.u32 %r9, %r0, {depth};\n{}call (z), deep, (x, y);\nld.param.b32 %r{d}, [z];\n}}",
                arguments(9, b)
            ),
        },
    )
}

/// "brx.idx": each lane where its data says; also beyond the last target.
fn jumps() -> impl Strategy<Value = String> {
    (data(), data(), data(), 2..6u32).prop_map(|(i, a, b, ways)| {
        format!(
            "rem.u32 %r9, %r{i}, {ways};\n$LT: .branchtargets $LA, $LB, $LC;\nbrx.idx %r9, $LT;\nadd.u32 %r{a}, %r{a}, 1;\nbra.uni $LC;\n\
             $LA:\nxor.b32 %r{a}, %r{a}, %r{b};\n$LB:\nadd.u32 %r{b}, %r{a}, %r{b};\n$LC:"
        )
    })
}

fn copies() -> impl Strategy<Value = String> {
    let copy = (guard(), 0..6u32, 0..4u32, 0..16u32, select(vec![4, 8, 16])).prop_map(
        |(guard, a, g, at, size)| {
            let how = if size == 16 { "cg" } else { "ca" };
            let (a, g, at) = (30 + a, 30 + g, at * size);
            format!("{guard}cp.async.{how}.shared.global [%r{a}+{at}], [%rd{g}+{at}], {size};")
        },
    );
    let zeros = (0..6u32, 0..4u32, 0..8u32).prop_map(|(a, g, at)| {
        let (a, g) = (30 + a, 30 + g);
        format!(
            "and.b32 %r9, %r4, 4;\ncp.async.ca.shared.global [%r{a}+{}], [%rd{g}], 4, %r9;",
            4 * at
        )
    });
    prop_oneof![
        6 => copy,
        1 => zeros,
        2 => Just("cp.async.commit_group;".to_owned()),
        2 => (0..3u32).prop_map(|n| format!("cp.async.wait_group {n};")),
        1 => Just("cp.async.wait_all;\nbar.sync 0;".to_owned()),
        1 => Just("cp.async.mbarrier.arrive.noinc.shared.b64 [bar];".to_owned()),
    ]
}

fn phases() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("mbarrier.arrive.shared.b64 %rd15, [bar];\n$L:\nmbarrier.try_wait.shared.b64 %p6, [bar], %rd15;\n@!%p6 bra $L;".to_owned()),
        1 => Just("mbarrier.arrive.shared.b64 %rd16, [bar+8];".to_owned()),
        1 => Just("mbarrier.test_wait.parity.shared.b64 %p0, [bar+8], 0;".to_owned()),
        1 => guard().prop_map(|guard| format!("{guard}mbarrier.arrive.noComplete.shared.b64 %rd17, [bar+8], 1;")),
        1 => data().prop_map(|d| format!("mbarrier.arrive.shared.b64 %rd17, [bar+8];\nmbarrier.pending_count.b64 %r{d}, %rd17;")),
    ]
}

fn matrices() -> impl Strategy<Value = String> {
    let rows = |at: u32| {
        format!(
            "shl.b32 %r9, %r4, 4;\nadd.u32 %r9, %r9, %r6;\nadd.u32 %r9, %r9, {};\n",
            16 * at
        )
    };
    prop_oneof![
        (0..32u32).prop_map(move |at| rows(at) + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r9];"),
        (0..32u32).prop_map(move |at| rows(at) + "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r14, %r15}, [%r9];"),
        Just("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f10, %f11, %f12, %f13}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f10, %f11, %f12, %f13};".to_owned()),
        Just("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r20, %r21, %r22, %r23}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%r20, %r21, %r22, %r23};".to_owned()),
        (0..16u32).prop_map(|at| format!(
            "add.u32 %r9, %r6, {};\nwmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {{%f10, %f11, %f12, %f13, %f14, %f15, %f16, %f17}}, [%r9], 16;\n\
             wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r9+1024], {{%f10, %f11, %f12, %f13, %f14, %f15, %f16, %f17}}, 16;",
            32 * at
        )),
    ]
}

fn system() -> impl Strategy<Value = String> {
    (any::<bool>(), guard(), data(), data(), 1..40u32).prop_map(|(print, guard, a, b, bytes)| match print {
        true => format!(
            "{guard}bra $L;\nst.local.u32 [%rd9+32], %r{a};\nst.local.u32 [%rd9+36], %r{b};\nadd.u64 %rd3, %rd5, 32;\n\
             mov.u64 %rd2, text;\ncvta.global.u64 %rd2, %rd2;\n{{\n.param .b64 f;\n.param .b64 a;\n.param .b32 r;\nst.param.b64 [f], %rd2;\n\
             st.param.b64 [a], %rd3;\ncall (r), vprintf, (f, a);\nld.param.b32 %r{b}, [r];\n}}\n$L:"
        ),
        false => format!(
            "mov.u64 %rd2, {};\n{{\n.param .b64 n;\n.param .b64 r;\nst.param.b64 [n], %rd2;\ncall (r), malloc, (n);\nld.param.b64 %rd3, [r];\n}}\n\
             st.u32 [%rd3], %r{a};\nld.u32 %r{b}, [%rd3];\n{guard}bra $L;\n{{\n.param .b64 p;\nst.param.b64 [p], %rd3;\ncall free, (p);\n}}\n$L:",
            4 * bytes
        ),
    })
}
