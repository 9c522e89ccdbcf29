//! Tensor copies: the bytes that the manual says, whichever engine runs them and whenever the schedule performs them.

use crate::kernel::{lowered, session};
use detect::rules::Rule;
use simt::tensor_map::{Arguments, Swizzle, TensorMap};
use simt::{Dim3, Engine, Launch};

const SCHEDULES: [&str; 5] = ["lockstep", "lane-by-lane", "random:1", "pct:3:3", "weak:4"];
const THREADS: u32 = 64;
/// Elements of two bytes of the tensor: 16 rows of 64.
const ROWS: u64 = 16;
const COLUMNS: u64 = 64;
/// Bytes of shared memory.
const TILE: u64 = 2048;

/// A tensor of 16-bit numbers and how it is moved.
#[derive(Clone, Copy)]
struct Tensor {
    extent: [u32; 2],
    steps: [u32; 2],
    swizzle: Swizzle,
    nan: bool,
    element: u32,
    /// Elements of a row that the tensor has.
    columns: u64,
}

const PLAIN: Tensor = Tensor {
    extent: [16, 4],
    steps: [1, 1],
    swizzle: Swizzle::None,
    nan: false,
    element: 1,
    columns: COLUMNS,
};

impl Tensor {
    fn map(self, address: u64) -> TensorMap {
        let arguments = Arguments {
            element: self.element,
            rank: 2,
            address,
            dims: &[self.columns, ROWS],
            strides: &[2 * COLUMNS],
            steps: &self.steps,
            interleave: 0,
            swizzle: self.swizzle as u32,
            l2_promotion: 0,
            fill: self.nan.into(),
        };
        TensorMap::tile(&arguments, &self.extent).unwrap()
    }
}

/// What a run leaves.
struct Left {
    tensor: Vec<u16>,
    /// A copy of shared memory.
    tile: Vec<u16>,
    rules: Vec<Rule>,
    stopped: String,
}

/// Runs a body under a schedule. It sees `%t`; `%map`, the address of the tensor map; `%tile`, that of shared memory; `%bar`, an mbarrier that
/// expects one arrival; the predicate `%first` of thread 0; and registers. Elements are their numbers; those of shared memory are 9000 and on.
fn run(body: &str, tensor: Tensor, schedule: &str, engine: Engine) -> Left {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .align 64 .b8 map[128]) {{\n\
         .reg .pred %first, %p;\n.reg .b16 %h<4>;\n.reg .b32 %t, %tile, %bar, %own, %r<9>;\n.reg .b64 %out, %map, %d<9>;\n\
         .shared .align 1024 .b8 tile[{TILE}];\n.shared .align 8 .b8 bar[8];\n\
         ld.param.u64 %out, [out];\ncvta.to.global.u64 %out, %out;\nmov.b64 %map, map;\ncvta.param.u64 %map, %map;\nmov.u32 %t, %tid.x;\n\
         mov.u32 %tile, tile;\nmov.u32 %bar, bar;\nsetp.eq.u32 %first, %t, 0;\nshl.b32 %r0, %t, 5;\nadd.u32 %own, %tile, %r0;\n\
         cvt.u64.u32 %d0, %r0;\nadd.u64 %out, %out, %d0;\nshl.b32 %r1, %t, 4;\nadd.u32 %r1, %r1, 9000;\n{}\
         @%first mbarrier.init.shared.b64 [%bar], 1;\nfence.proxy.async;\nbar.sync 0;\n{body}\nbar.sync 0;\n{}ret;\n}}\n",
        (0..16)
            .map(|k| format!(
                "add.u32 %r2, %r1, {k};\ncvt.u16.u32 %h0, %r2;\nst.shared.u16 [%own+{}], %h0;\n",
                2 * k
            ))
            .collect::<String>(),
        (0..16)
            .map(|k| format!(
                "ld.shared.u16 %h0, [%own+{}];\nst.global.u16 [%out+{}], %h0;\n",
                2 * k,
                2 * k
            ))
            .collect::<String>(),
    );
    let program = lowered(&text);
    let mut session = session(schedule, engine, 100_000);
    let bytes = 2 * ROWS * COLUMNS;
    let device = session.device();
    let data = device.alloc(bytes, "tensor").unwrap();
    let out = device.alloc(TILE, "out").unwrap();
    let numbers = 0..(ROWS * COLUMNS) as u16;
    let begun: Vec<u8> = numbers.flat_map(u16::to_le_bytes).collect();
    device.write(data, &begun).unwrap();
    let mut params = vec![0; 192];
    params[..8].copy_from_slice(&out.to_le_bytes());
    params[64..].copy_from_slice(&tensor.map(data).to_bytes());
    let launch = Launch {
        cluster: None,
        grid: Dim3::linear(1),
        block: Dim3::linear(THREADS),
        dynamic_shared: 0,
        params,
        cooperative: false,
        number: 0,
    };
    let stopped = match session.launch(&program, &launch) {
        Ok(_) => String::new(),
        Err(stop) => format!("{stop:?}"),
    };
    let (outcome, device) = session.finish();
    let words = |at, bytes| -> Vec<u16> {
        let memory = device.read(at, bytes).unwrap();
        let words = memory.chunks(2).map(|w| u16::from_le_bytes([w[0], w[1]]));
        words.collect()
    };
    Left {
        tensor: words(data, bytes),
        tile: words(out, TILE),
        rules: outcome.findings.iter().map(|f| f.rule).collect(),
        stopped,
    }
}

/// Runs it everywhere, without a finding.
fn leaves(body: &str, tensor: Tensor, look: impl Fn(&Left)) {
    for schedule in SCHEDULES {
        for engine in [Engine::Fast, Engine::Plain] {
            let left = run(body, tensor, schedule, engine);
            let found = (&left.rules[..], &left.stopped[..]);
            assert_eq!(found, (&[][..], ""), "{schedule} {engine:?}\n{body}");
            look(&left);
        }
    }
}

/// The rule must be broken under each schedule, by both engines.
fn breaks(body: &str, rule: Rule) {
    for schedule in SCHEDULES {
        for engine in [Engine::Fast, Engine::Plain] {
            let Left { rules, stopped, .. } = run(body, PLAIN, schedule, engine);
            assert!(
                rules.contains(&rule),
                "{schedule} {engine:?}: {rules:?} {stopped}\n{body}"
            );
        }
    }
}

const WAIT: &str =
    "again:\nmbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], 0;\n@!%p bra again;\n";

fn load(column: i32, row: i32, bytes: u32) -> String {
    format!(
        "@%first cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%tile], [%map, {{{column}, {row}}}], [%bar];\n\
         @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {bytes};\n"
    )
}

fn store(with: &str, column: i32, row: i32) -> String {
    format!(
        "@!%first bra done;\n{with} [%map, {{{column}, {row}}}], [%tile];\n\
         cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\ndone:\n"
    )
}

const STORE: &str = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group";

/// The tensor's element, or what stands for it.
fn element(column: i64, row: i64, outside: u16) -> u16 {
    let inside = (0..COLUMNS as i64).contains(&column) && (0..ROWS as i64).contains(&row);
    match inside {
        true => (row * COLUMNS as i64 + column) as u16,
        false => outside,
    }
}

#[test]
fn a_box_arrives_with_its_phase() {
    for (column, row) in [
        (0, 0),
        (8, 3),
        (16, 1),
        (-8, 2),
        (56, -2),
        (56, 14),
        (64, 0),
        (-16, 40),
    ] {
        let body = format!("{}{WAIT}", load(column, row, 128));
        leaves(&body, PLAIN, |left| {
            for (k, found) in left.tile.iter().enumerate() {
                let (x, y) = (k as i64 % 16, k as i64 / 16);
                let right = match y < 4 {
                    true => element(i64::from(column) + x, i64::from(row) + y, 0),
                    false => 9000 + k as u16,
                };
                assert_eq!(*found, right, "{column},{row}: {k}");
            }
        });
    }
}

#[test]
fn a_box_is_swizzled_on_its_way_there_and_back() {
    for (swizzle, columns, mask) in [
        (Swizzle::Bytes32, 16, 1),
        (Swizzle::Bytes64, 32, 3),
        (Swizzle::Bytes128, 64, 7),
    ] {
        let tensor = Tensor {
            extent: [columns, 8],
            swizzle,
            ..PLAIN
        };
        let place = |k: usize| {
            let byte = 2 * k;
            (byte ^ (byte >> 7 & mask) << 4) / 2
        };
        let count = 8 * columns as usize;
        let body = format!("{}{WAIT}", load(0, 2, 16 * columns));
        leaves(&body, tensor, |left| {
            for k in 0..count {
                let (x, y) = (k % columns as usize, k / columns as usize);
                let right = element(x as i64, 2 + y as i64, 0);
                assert_eq!(left.tile[place(k)], right, "{swizzle:?} {k}");
            }
        });
        leaves(&store(STORE, 0, 2), tensor, |left| {
            for k in 0..count {
                let (x, y) = (k % columns as usize, k / columns as usize);
                let found = left.tensor[(2 + y) * COLUMNS as usize + x];
                assert_eq!(found, 9000 + place(k) as u16, "{swizzle:?} {k}");
            }
        });
    }
}

#[test]
fn a_row_shorter_than_the_span_has_a_span_to_itself() {
    let tensor = Tensor {
        extent: [16, 8],
        swizzle: Swizzle::Bytes128,
        ..PLAIN
    };
    let body = format!("{}{WAIT}", load(0, 0, 256));
    leaves(&body, tensor, |left| {
        for row in 0..8 {
            for column in 0..64 {
                let byte = 128 * row + 2 * column;
                let found = left.tile[(byte ^ row << 4) / 2];
                let right = match column < 16 {
                    true => element(column as i64, row as i64, 0),
                    false => 9000 + (byte ^ row << 4) as u16 / 2,
                };
                assert_eq!(found, right, "{row} {column}");
            }
        }
    });
}

#[test]
fn steps_leave_elements_out() {
    let tensor = Tensor {
        extent: [16, 5],
        steps: [1, 2],
        ..PLAIN
    };
    // Three rows cover five in steps of two.
    let body = format!("{}{WAIT}", load(0, 12, 96));
    leaves(&body, tensor, |left| {
        for k in 0..48 {
            let right = element(k as i64 % 16, 12 + 2 * (k as i64 / 16), 0);
            assert_eq!(left.tile[k], right, "{k}");
        }
        assert_eq!(left.tile[48], 9048);
    });
}

#[test]
fn elements_outside_are_not_a_number_where_the_map_says_so() {
    let tensor = Tensor {
        nan: true,
        element: 6,
        ..PLAIN
    };
    let body = format!("{}{WAIT}", load(56, 15, 128));
    leaves(&body, tensor, |left| {
        for k in 0..64 {
            let right = element(56 + k as i64 % 16, 15 + k as i64 / 16, 0x7ff7);
            assert_eq!(left.tile[k], right, "{k}");
        }
    });
}

#[test]
fn a_store_leaves_out_what_the_tensor_has_not() {
    leaves(&store(STORE, 56, 14), PLAIN, |left| {
        for (k, found) in left.tensor.iter().enumerate() {
            let (column, row) = (k % COLUMNS as usize, k / COLUMNS as usize);
            let right = match (column >= 56, row >= 14) {
                (true, true) => 9000 + (16 * (row - 14) + column - 56) as u16,
                _ => k as u16,
            };
            assert_eq!(*found, right, "{k}");
        }
    });
}

#[test]
fn a_store_writes_the_last_16_bytes_of_a_row() {
    let tensor = Tensor {
        columns: 58,
        ..PLAIN
    };
    leaves(&store(STORE, 48, 12), tensor, |left| {
        for (k, found) in left.tensor.iter().enumerate() {
            let (column, row) = (k % COLUMNS as usize, k / COLUMNS as usize);
            let right = match (column >= 48, row >= 12) {
                (true, true) => 9000 + (16 * (row - 12) + column - 48) as u16,
                _ => k as u16,
            };
            assert_eq!(*found, right, "{k}");
        }
    });
    // A load fills them in all the same.
    let body = format!("{}{WAIT}", load(48, 12, 128));
    leaves(&body, tensor, |left| {
        for k in 0..64 {
            let (x, y) = (k as i64 % 16, k as i64 / 16);
            let right = if x < 10 {
                element(48 + x, 12 + y, 0)
            } else {
                0
            };
            assert_eq!(left.tile[k], right, "{k}");
        }
    });
}

#[test]
fn reductions_combine_each_element() {
    let reduce = |name: &str| {
        let with =
            format!("cp.reduce.async.bulk.tensor.2d.{name}.global.shared::cta.tile.bulk_group");
        store(&with, 16, 4)
    };
    let words = Tensor {
        element: 2,
        extent: [8, 4],
        ..PLAIN
    };
    // Words are twice as large, and rows half as many of them.
    let look = |left: &Left, f: &dyn Fn(u32, u32) -> u32| {
        for k in 0..32usize {
            let at = (4 + k / 8) * 64 + 2 * (16 + k % 8);
            let word = |of: &dyn Fn(usize) -> u32, k: usize| of(k) | of(k + 1) << 16;
            let before = word(&|k| k as u32, at);
            let by = word(&|k| 9000 + k as u32, 2 * k);
            let found = word(&|k| left.tensor[k].into(), at);
            assert_eq!(found, f(before, by), "{k}");
        }
    };
    let with = |name: &str, f: &dyn Fn(u32, u32) -> u32| {
        let dims = Tensor { ..words };
        leaves(&reduce(name), dims, |left| look(left, f));
    };
    with("add", &u32::wrapping_add);
    with("max", &u32::max);
    with("xor", &|a, b| a ^ b);
}

/// A tensor map that threads make in shared memory, field after field, and put into global memory.
#[test]
fn a_tensor_map_made_by_threads() {
    let fields = [
        ("rank", "b32", "1"),
        ("box_dim", "b32", "0, 32"),
        ("box_dim", "b32", "1, 4"),
        ("global_dim", "b32", "0, 64"),
        ("global_dim", "b32", "1, 16"),
        ("global_stride", "b64", "0, 128"),
        ("element_stride", "b32", "0, 1"),
        ("element_stride", "b32", "1, 2"),
        ("elemtype", "b32", "0x1"),
        ("interleave_layout", "b32", "0"),
        ("swizzle_mode", "b32", "2"),
        ("fill_mode", "b32", "0"),
        // Where the tensor lies, the launch's own map says.
        ("global_address", "b64", "%d6"),
    ];
    let replace = |(field, ty, value): (&str, &str, &str)| {
        format!("@%first tensormap.replace.tile.{field}.shared::cta.b1024.{ty} [%r3], {value};\n")
    };
    let fields: String = fields.into_iter().map(replace).collect();
    let body = format!(
        "ld.param.u64 %d6, [map+8];\nadd.u32 %r3, %tile, 1024;\nshl.b32 %r4, %t, 2;\nadd.u32 %r4, %r4, %r3;\n\
         sub.u64 %d7, %out, %d0;\nsetp.lt.u32 %p, %t, 32;\n@%p st.shared.u32 [%r4], 0;\nbar.sync 0;\n{fields}bar.sync 0;\n@!%p bra alone;\n\
         tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d7], [%r3], 128;\n\
         fence.proxy.tensormap::generic.acquire.gpu [%d7], 128;\nalone:\nbar.sync 0;\n{}{WAIT}",
        load(0, 2, 128).replace("[%map", "[%d7")
    );
    leaves(&body, PLAIN, |left| {
        // Two rows of four, in pieces that the swizzle moves.
        for k in 0..64 {
            let right = element(k as i64 % 32, 2 + 2 * (k as i64 / 32), 0);
            assert_eq!(left.tile[k], right, "{k}");
        }
    });
}

#[test]
fn what_is_forgotten_is_found_under_each_schedule() {
    // No wait.
    breaks(&load(0, 0, 128), Rule::AsyncCopyHazard);
    // Nobody waits before the source is written again.
    let early = store(STORE, 0, 0).replace(
        "cp.async.bulk.wait_group 0;\n",
        "st.shared.u32 [%tile], 1;\n",
    );
    breaks(&early, Rule::AsyncCopyHazard);
    // No proxy fence between a store and a copy that reads.
    let unfenced = format!(
        "st.shared.u32 [%own], 1;\nbar.sync 0;\n{}",
        store(STORE, 0, 0)
    );
    breaks(&unfenced, Rule::MissingProxyFence);
    // Shared memory ends within the box, and the box begins at a multiple of 16 that is none of 128.
    let beyond = load(0, 0, 128).replace("[%tile]", "[%tile+2048]");
    breaks(&format!("{beyond}{WAIT}"), Rule::OutOfBounds);
    let odd = load(0, 0, 128).replace("[%tile]", "[%tile+16]");
    breaks(&format!("{odd}{WAIT}"), Rule::MisalignedAccess);
    // A store may begin at no negative coordinate.
    breaks(&store(STORE, 0, -1), Rule::OutOfBounds);
    // A row begins within 16 bytes.
    breaks(
        &format!("{}{WAIT}", load(4, 0, 128)),
        Rule::MisalignedAccess,
    );
}

#[test]
fn whatever_is_no_tensor_map_stops_the_run() {
    let body = format!("{}{WAIT}", load(0, 0, 128));
    for (wrong, why) in [
        (body.replace("[%map,", "[%out,"), "no tensor map at"),
        (
            body.replace("2d", "3d").replace("{0, 0}", "{0, 0, 0}"),
            "with a tensor map of 2 dimensions",
        ),
        (
            format!(
                "{}{WAIT}",
                load(0, 0, 128)
                    .replace(".2d", ".3d")
                    .replace("{0, 0}", "{0, 0, 0}")
                    .replace(".tile", ".im2col")
            ),
            "with a tensor map of 2 dimensions",
        ),
    ] {
        for engine in [Engine::Fast, Engine::Plain] {
            let left = run(&wrong, PLAIN, "lockstep", engine);
            assert!(left.stopped.contains(why), "{engine:?}: {}", left.stopped);
        }
    }
}
