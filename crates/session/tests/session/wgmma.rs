//! Products of a warpgroup: what a plain product of the same matrices gives, whichever engine runs them and whenever the schedule performs them; and what
//! is wrong with registers and shared memory that they use.
//!
//! Elements are small integers, so that every sum is exact. Where they lie is written out here element by element, as it was recorded.

mod hazards;

use crate::kernel::{lowered, session};
use detect::rules::Rule;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg as TestRng;
use simt::{Dim3, Engine, Launch};

const SCHEDULES: [&str; 4] = ["lockstep", "lane-by-lane", "random:1", "pct:3:3"];
const THREADS: u32 = 128;
/// Bytes of shared memory: A, and from [`SECOND`] on B.
const TILE: u64 = 40960;
const SECOND: u64 = 8192;

/// A type of elements: its name, its bits, and its exponent's and fraction's where it has them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Type(&'static str, u32, u32, u32);

const F16: Type = Type("f16", 16, 5, 10);
const BF16: Type = Type("bf16", 16, 8, 7);
const TF32: Type = Type("tf32", 32, 8, 23);
const F32: Type = Type("f32", 32, 8, 23);
const E4M3: Type = Type("e4m3", 8, 4, 3);
const E5M2: Type = Type("e5m2", 8, 5, 2);
const S8: Type = Type("s8", 8, 0, 0);
const U8: Type = Type("u8", 8, 0, 0);
const S32: Type = Type("s32", 32, 0, 0);

impl Type {
    /// The code of a small integer.
    fn code(self, value: i32) -> u32 {
        let Type(_, bits, exponent, fraction) = self;
        let mask = u32::MAX >> (32 - bits);
        if exponent == 0 {
            return value as u32 & mask;
        }
        if value == 0 {
            return 0;
        }
        let high = value.unsigned_abs().ilog2();
        let bias = (1 << (exponent - 1)) - 1;
        let digits = (value.unsigned_abs() ^ 1 << high) << (fraction - high);
        u32::from(value < 0) << (bits - 1) | (high + bias) << fraction | digits
    }

    /// The integer that a code of `.f16`, `.f32` or `.s32` stands for.
    fn value(self, code: u32) -> i32 {
        match self {
            F32 => f32::from_bits(code) as i32,
            S32 => code as i32,
            _ if code & 0x7fff == 0 => 0,
            _ => {
                let high = (code >> 10 & 31) as i32 - 15;
                let size = f64::from(code & 0x3ff | 0x400) * f64::from(high - 10).exp2();
                size as i32 * if code >> 15 == 1 { -1 } else { 1 }
            }
        }
    }
}

/// How a factor lies in shared memory.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Bytes over which it is swizzled, or 0.
    width: u64,
    across: bool,
    /// Offset of the factor's first element in a row of the swizzle, bytes.
    shift: u64,
}

impl Layout {
    fn random(rng: &mut TestRng, may_be_across: bool) -> Layout {
        let width = [0, 32, 64, 128][rng.random_range(0..4)];
        let across = may_be_across && rng.random_bool(0.5);
        let shift = match width > 32 && !across {
            true => 32 * rng.random_range(0..width / 32),
            false => 0,
        };
        Layout {
            width,
            across,
            shift,
        }
    }

    /// Leading and stride offset.
    fn offsets(self) -> (u64, u64) {
        match (self.width, self.across) {
            (0, _) => (128, 256),
            (w, false) => (16, 8 * w),
            (w, true) => (16 * w, 8 * w),
        }
    }

    /// Where an element of so many bytes lies, from the beginning of shared memory; `begin`: a multiple of 1,024.
    fn place(self, begin: u64, mn: u64, k: u64, e: u64) -> u64 {
        let (l, s) = self.offsets();
        let w = self.width;
        let offset = match (w, self.across) {
            (0, false) => mn / 8 * s + k / (16 / e) * l + mn % 8 * 16 + k % (16 / e) * e,
            (_, false) => mn / 8 * s + mn % 8 * w + k * e,
            (0, true) => mn / 8 * s + k / 8 * l + k % 8 * 16 + mn % 8 * e,
            (_, true) => mn / (w / e) * l + k / 8 * s + k % 8 * w + mn % (w / e) * e,
        };
        let at = begin + self.shift + offset;
        let turned = match w {
            128 => (at >> 7 & 7) << 4,
            64 => (at >> 7 & 3) << 4,
            32 => (at >> 7 & 1) << 4,
            _ => 0,
        };
        at ^ turned
    }

    /// The descriptor, but for the beginning of shared memory.
    fn descriptor(self, begin: u64) -> u64 {
        let (l, s) = self.offsets();
        let swizzle = match self.width {
            128 => 1,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        (begin + self.shift) >> 4 | (l >> 4) << 16 | (s >> 4) << 32 | swizzle << 62
    }
}

/// A product to be tried.
#[derive(Clone, Debug)]
struct Product {
    n: u64,
    types: [Type; 2],
    sum: Type,
    layouts: [Layout; 2],
    /// Whether the first factor is in registers.
    registers: bool,
    adds: bool,
    signs: [i32; 2],
}

impl Product {
    fn k(&self) -> u64 {
        256 / u64::from(self.types[0].1)
    }

    fn random(rng: &mut TestRng, types: [Type; 2], sum: Type) -> Product {
        let integers = sum == S32;
        let n = loop {
            let n = 8 * rng.random_range(1..=32);
            if !integers || n <= 32 || n % 16 == 0 {
                break n;
            }
        };
        let wide = types[0].1 == 16;
        let registers = rng.random_bool(0.3);
        let sign = |rng: &mut TestRng| {
            if !integers && rng.random_bool(0.3) {
                -1
            } else {
                1
            }
        };
        Product {
            n,
            types,
            sum,
            layouts: [
                Layout::random(rng, wide && !registers),
                Layout::random(rng, wide),
            ],
            registers,
            adds: rng.random_bool(0.7),
            signs: [sign(rng), sign(rng)],
        }
    }

    /// Registers of a lane's sums.
    fn held(&self) -> u64 {
        self.n / 2 / self.parts()
    }

    fn parts(&self) -> u64 {
        u64::from(32 / self.sum.1)
    }

    fn text(&self) -> String {
        let d: Vec<String> = (0..self.held()).map(|r| format!("%s{r}")).collect();
        let [Type(a, ..), Type(b, ..)] = self.types;
        let first = match self.registers {
            true => "{%a0,%a1,%a2,%a3}",
            false => "%da",
        };
        let mut rest = String::new();
        if self.sum != S32 {
            rest = format!(", {}, {}", self.signs[0], self.signs[1]);
        }
        if self.types[0].1 == 16 {
            if !self.registers {
                rest += &format!(", {}", u32::from(self.layouts[0].across));
            }
            rest += &format!(", {}", u32::from(self.layouts[1].across));
        }
        let (n, k, sum) = (self.n, self.k(), self.sum.0);
        format!(
            "wgmma.mma_async.sync.aligned.m64n{n}k{k}.{sum}.{a}.{b} {{{}}}, {first}, %db, %adds{rest};\n",
            d.join(",")
        )
    }
}

/// Everything but the products: `body` sees the descriptors `%da` and `%db`, the sums `%s…`, the first factor `%a…` and the predicate `%adds`.
fn kernel(held: u64, adds: bool, descriptors: [u64; 2], fence: &str, body: &str) -> String {
    let copies: String = (0..TILE / 2048)
        .map(|k| {
            format!(
                "ld.global.v4.u32 {{%r0,%r1,%r2,%r3}}, [%in+{0}];\nst.shared.v4.u32 [%own+{0}], {{%r0,%r1,%r2,%r3}};\n",
                2048 * k
            )
        })
        .collect();
    let loads: String = (0..held)
        .map(|r| format!("ld.global.u32 %s{r}, [%sums+{}];\n", 512 * r))
        .collect();
    let firsts: String = (0..4)
        .map(|r| format!("ld.global.u32 %a{r}, [%first+{}];\n", 512 * r))
        .collect();
    let stores: String = (0..held)
        .map(|r| format!("st.global.u32 [%sums+{}], %s{r};\n", 512 * r))
        .collect();
    format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 sums, .param .u64 first) {{\n\
         .reg .pred %adds;\n.reg .b32 %t, %tile, %own, %r<9>, %s<128>, %a<4>;\n.reg .b64 %in, %sums, %first, %da, %db, %d<9>;\n\
         .shared .align 1024 .b8 tile[{TILE}];\n\
         ld.param.u64 %in, [in];\nld.param.u64 %sums, [sums];\nld.param.u64 %first, [first];\nmov.u32 %t, %tid.x;\n\
         mov.u32 %tile, tile;\nshl.b32 %r0, %t, 4;\nadd.u32 %own, %tile, %r0;\ncvt.u64.u32 %d0, %r0;\nadd.u64 %in, %in, %d0;\n\
         shl.b32 %r0, %t, 2;\ncvt.u64.u32 %d0, %r0;\nadd.u64 %sums, %sums, %d0;\nadd.u64 %first, %first, %d0;\n\
         setp.eq.u32 %adds, {}, 1;\nshr.u32 %r0, %tile, 4;\ncvt.u64.u32 %d0, %r0;\nadd.u64 %da, %d0, {};\nadd.u64 %db, %d0, {};\n\
         {copies}{loads}{firsts}{fence}bar.sync 0;\n{body}{stores}ret;\n}}\n",
        u32::from(adds),
        descriptors[0] as i64,
        descriptors[1] as i64,
    )
}

const PROXY: &str = "fence.proxy.async;\n";

/// What a run leaves.
struct Left {
    sums: Vec<u32>,
    rules: Vec<Rule>,
    stopped: String,
}

fn run(
    text: &str,
    tile: &[u8],
    sums: &[u32],
    first: &[u32],
    schedule: &str,
    engine: Engine,
) -> Left {
    let program = lowered(text);
    let mut session = session(schedule, engine, 1_000_000);
    let device = session.device();
    let bytes = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
    let mut params = Vec::new();
    let mut put = |data: &[u8], name: &str| {
        let at = device.alloc(data.len() as u64, name).unwrap();
        device.write(at, data).unwrap();
        params.extend(at.to_le_bytes());
        at
    };
    put(tile, "tile");
    let at = put(&bytes(sums), "sums");
    put(&bytes(first), "first");
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
    let memory = device.read(at, 4 * sums.len() as u64).unwrap();
    let words = memory
        .chunks(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
    Left {
        sums: words.collect(),
        rules: outcome.findings.iter().map(|f| f.rule).collect(),
        stopped,
    }
}

/// Row and column of an element of a thread's sums ("Register Fragments": "Matrix fragment D").
fn place(thread: u64, index: u64) -> (u64, u64) {
    let (warp, lane) = (thread / 32, thread % 32);
    let row = 16 * warp + lane / 4 + 8 * (index / 2 % 2);
    (row, index / 4 * 8 + lane % 4 * 2 + index % 2)
}

/// Row and column of an element of a thread's part of A ("Matrix fragment A").
fn first_place(thread: u64, register: u64, part: u64, parts: u64) -> (u64, u64) {
    let (warp, lane) = (thread / 32, thread % 32);
    let row = 16 * warp + lane / 4 + 8 * (register % 2);
    (row, lane % 4 * parts + part + register / 2 * 4 * parts)
}

fn check(product: &Product, rng: &mut TestRng) {
    let (n, k) = (product.n, product.k());
    let mut small = |ty: Type| match ty {
        U8 => rng.random_range(0..256),
        S8 => rng.random_range(-128..128),
        _ => rng.random_range(-3..4),
    };
    let a: Vec<i32> = (0..64 * k).map(|_| small(product.types[0])).collect();
    let b: Vec<i32> = (0..k * n).map(|_| small(product.types[1])).collect();
    let c: Vec<i32> = (0..64 * n).map(|_| small(S8)).collect();
    let mut tile = vec![0xa5; TILE as usize];
    let mut put = |at: u64, code: u32, bytes: u64| {
        let code = code.to_le_bytes();
        tile[at as usize..][..bytes as usize].copy_from_slice(&code[..bytes as usize]);
    };
    let e = u64::from(product.types[0].1 / 8);
    for k_at in 0..k {
        for row in 0..64 {
            let code = product.types[0].code(a[(row * k + k_at) as usize]);
            put(product.layouts[0].place(0, row, k_at, e), code, e);
        }
        for column in 0..n {
            let code = product.types[1].code(b[(k_at * n + column) as usize]);
            put(product.layouts[1].place(SECOND, column, k_at, e), code, e);
        }
    }
    let threads = u64::from(THREADS);
    let mut sums = vec![0; (threads * product.held()) as usize];
    let mut first = vec![0; 4 * threads as usize];
    let (parts, of_a) = (product.parts(), u64::from(32 / product.types[0].1));
    for thread in 0..threads {
        for register in 0..product.held() {
            for part in 0..parts {
                let (row, column) = place(thread, register * parts + part);
                let code = product.sum.code(c[(row * n + column) as usize]);
                sums[(register * threads + thread) as usize] |=
                    code << (part as u32 * product.sum.1);
            }
        }
        for register in 0..4 {
            for part in 0..of_a {
                let (row, k_at) = first_place(thread, register, part, of_a);
                let code = product.types[0].code(a[(row * k + k_at) as usize]);
                first[(register * threads + thread) as usize] |=
                    code << (part as u32 * product.types[0].1);
            }
        }
    }
    let descriptors = [
        product.layouts[0].descriptor(0),
        product.layouts[1].descriptor(SECOND),
    ];
    let body = format!(
        "wgmma.fence.sync.aligned;\n{}wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
        product.text()
    );
    let text = kernel(product.held(), product.adds, descriptors, PROXY, &body);
    let schedule = SCHEDULES[rng.random_range(0..SCHEDULES.len())];
    for engine in [Engine::Fast, Engine::Plain] {
        let left = run(&text, &tile, &sums, &first, schedule, engine);
        let found = (&left.rules[..], &left.stopped[..]);
        assert_eq!(found, (&[][..], ""), "{schedule} {engine:?} {product:?}");
        for thread in 0..threads {
            for index in 0..product.held() * parts {
                let (row, column) = place(thread, index);
                let dot: i32 = (0..k)
                    .map(|k_at| a[(row * k + k_at) as usize] * b[(k_at * n + column) as usize])
                    .sum();
                let added = if product.adds {
                    c[(row * n + column) as usize]
                } else {
                    0
                };
                let expected = added + product.signs[0] * product.signs[1] * dot;
                let word = left.sums[(index / parts * threads + thread) as usize];
                let code = word >> ((index % parts) as u32 * product.sum.1)
                    & (u32::MAX >> (32 - product.sum.1));
                assert_eq!(
                    product.sum.value(code),
                    expected,
                    "row {row}, column {column}, {schedule} {engine:?} {product:?}"
                );
            }
        }
    }
}

fn rng(seed: u64) -> TestRng {
    TestRng::seed_from_u64(seed)
}

#[test]
fn products_of_halves_are_those_of_a_plain_loop() {
    let mut rng = rng(1);
    for _ in 0..10 {
        for (types, sum) in [([F16; 2], F32), ([F16; 2], F16), ([BF16; 2], F32)] {
            check(&Product::random(&mut rng, types, sum), &mut rng);
        }
    }
}

#[test]
fn products_of_other_types_are_those_of_a_plain_loop() {
    let mut rng = rng(2);
    for _ in 0..5 {
        for (types, sum) in [
            ([TF32; 2], F32),
            ([E4M3, E5M2], F32),
            ([E5M2, E4M3], F16),
            ([S8, U8], S32),
            ([U8, S8], S32),
        ] {
            check(&Product::random(&mut rng, types, sum), &mut rng);
        }
    }
}

/// Each bit of a row of A with each of a column of B.
#[test]
fn bits_are_counted() {
    let mut rng = rng(3);
    let mut word = || rng.next_u32();
    let (a, b): (Vec<u32>, Vec<u32>) = (
        (0..64 * 8).map(|_| word()).collect(),
        (0..16 * 8).map(|_| word()).collect(),
    );
    let layout = Layout {
        width: 0,
        across: false,
        shift: 0,
    };
    let mut tile = vec![0; TILE as usize];
    for (lines, begin, from) in [(64, 0, &a), (16, SECOND, &b)] {
        for line in 0..lines {
            for k in 0..8 {
                let at = layout.place(begin, line, k, 4) as usize;
                tile[at..at + 4].copy_from_slice(&from[(line * 8 + k) as usize].to_le_bytes());
            }
        }
    }
    let d: Vec<String> = (0..8).map(|r| format!("%s{r}")).collect();
    let body = format!(
        "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n16k256.s32.b1.b1.and.popc {{{}}}, %da, %db, %adds;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
        d.join(",")
    );
    let descriptors = [layout.descriptor(0), layout.descriptor(SECOND)];
    let text = kernel(8, false, descriptors, PROXY, &body);
    let left = run(
        &text,
        &tile,
        &[7; 1024],
        &[0; 512],
        "lockstep",
        Engine::Fast,
    );
    assert_eq!((&left.rules[..], &left.stopped[..]), (&[][..], ""));
    for thread in 0..128 {
        for index in 0..8 {
            let (row, column) = place(thread, index);
            let words = (0..8)
                .map(|k| (a[(row * 8 + k) as usize] & b[(column * 8 + k) as usize]).count_ones());
            assert_eq!(
                left.sums[(index * 128 + thread) as usize],
                words.sum::<u32>()
            );
        }
    }
}
