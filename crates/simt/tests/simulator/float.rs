//! Floating-point and conversion instructions from PTX text to memory: operand
//! forms, register widths and literals that the arithmetic table leaves to the
//! rest of the simulator.

use ptx::parser::parse;
use simt::*;

/// Runs `body` in each lane of one warp, with its lane number in `%r0` and as a
/// number in `%f0`, and gives what it leaves in `%d1`.
fn run(body: &str) -> Vec<u64> {
    let ptx = format!(
        r#"
.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .reg .b8 %b<10>;
    .reg .b16 %h<10>;
    .reg .b32 %r<20>;
    .reg .b64 %d<20>;
    .reg .f32 %f<10>;
    .reg .f64 %g<10>;
    mov.u32 %r0, %tid.x;
    cvt.rn.f32.u32 %f0, %r0;
    {body}
    ld.param.u64 %d19, [out];
    cvta.to.global.u64 %d19, %d19;
    mul.wide.u32 %d18, %r0, 8;
    add.s64 %d19, %d19, %d18;
    st.global.u64 [%d19], %d1;
    ret;
}}
"#
    );
    let module = parse(&ptx).unwrap_or_else(|e| panic!("{body}: {e}"));
    let program = Program::lower(&module, &ptx, "k").unwrap_or_else(|e| panic!("{body}: {e}"));
    let mut device = Device::new(1 << 20);
    let out = device.alloc(256, "out").unwrap();
    device.write(out, &[0xee; 256]).unwrap();
    let launch_ = Launch {
        cluster: None,
        grid: Dim3::linear(1),
        block: Dim3::linear(32),
        dynamic_shared: 0,
        params: out.to_le_bytes().to_vec(),
        cooperative: false,
        number: 0,
    };
    let schedule = "lockstep".parse().unwrap();
    launch_unwatched(
        &mut device,
        &program,
        &launch_,
        &schedule,
        &Limits::default(),
        1,
    )
    .unwrap_or_else(|e| panic!("{body}: {e:?}"));
    let bytes = device.read(out, 256).unwrap();
    let words = bytes.chunks_exact(8);
    words
        .map(|c| u64::from_le_bytes(c.try_into().unwrap()))
        .collect()
}

fn check(body: &str, want: impl Fn(u32) -> u64) {
    let want: Vec<u64> = (0..32).map(want).collect();
    assert_eq!(run(body), want, "{body}");
}

/// As [`check`], with the result in `%f1`.
fn check_f32(body: &str, want: impl Fn(f32) -> f32) {
    let body = format!("{body} mov.b32 %r1, %f1; cvt.u64.u32 %d1, %r1;");
    check(&body, |t| want(t as f32).to_bits() as u64);
}

/// As [`check`], with the result in `%g1`.
fn check_f64(body: &str, want: impl Fn(f64) -> f64) {
    let body = format!("{body} mov.b64 %d1, %g1;");
    check(&body, |t| want(t as f64).to_bits());
}

#[test]
fn literals_of_either_precision() {
    check_f32("add.f32 %f1, %f0, 0f3F000000;", |t| t + 0.5);
    check_f32("fma.rn.f32 %f1, %f0, 0f40400000, 0fBF800000;", |t| {
        t.mul_add(3.0, -1.0)
    });
    check_f32("mul.rn.ftz.sat.f32 %f1, %f0, 0f3D800000;", |t| {
        (t / 16.0).min(1.0)
    });
    check_f64(
        "cvt.f64.f32 %g0, %f0; add.f64 %g1, %g0, 0d3FE0000000000000;",
        |t| t + 0.5,
    );
    check_f64(
        "cvt.rn.f64.u32 %g0, %r0; fma.rn.f64 %g1, %g0, %g0, 0dBFF0000000000000;",
        |t| t * t - 1.0,
    );
    check_f64(
        "cvt.rn.f64.u32 %g0, %r0; div.rn.f64 %g1, %g0, 0d4008000000000000;",
        |t| t / 3.0,
    );
}

#[test]
fn halves_live_in_16_bit_registers() {
    check_f32(
        "cvt.rn.f16.f32 %h0, %f0; mov.b16 %h2, 0x3800; fma.rn.f16 %h1, %h0, %h0, %h2; cvt.f32.f16 %f1, %h1;",
        |t| t * t + 0.5,
    );
    check(
        "cvt.rn.f16x2.f32 %r1, %f0, 0f3F800000; add.f16x2 %r1, %r1, %r1; cvt.u64.u32 %d1, %r1;",
        |t| {
            // 2t above 2.0; the exponent is biased by 15, not 127.
            let bits = ((2 * t) as f32).to_bits() as u64;
            let high = if t == 0 {
                0
            } else {
                (bits >> 13) - (112 << 10)
            };
            (high << 16) | 0x4000
        },
    );
    check_f32(
        "cvt.rn.bf16.f32 %h0, %f0; fma.rn.f32.bf16 %f1, %h0, %h0, %f0;",
        |t| t * t + t,
    );
}

#[test]
fn a_signed_result_fills_a_wider_register() {
    let narrow = |t: u32| (t * 16) as u8 as i8;
    check(
        "shl.b32 %r2, %r0, 4; cvt.s8.s32 %r1, %r2; cvt.u64.u32 %d1, %r1;",
        |t| narrow(t) as i32 as u32 as u64,
    );
    check(
        "shl.b32 %r2, %r0, 4; cvt.s8.s32 %h1, %r2; cvt.u64.u16 %d1, %h1;",
        |t| narrow(t) as i16 as u16 as u64,
    );
    check("shl.b32 %r2, %r0, 4; cvt.s8.u32 %d1, %r2;", |t| {
        narrow(t) as i64 as u64
    });
    check("sub.s32 %r2, 3, %r0; cvt.s32.s32 %d1, %r2;", |t| {
        (3 - t as i64) as u64
    });
    check("sub.s32 %r2, 3, %r0; cvt.u32.s32 %d1, %r2;", |t| {
        (3 - t as i32) as u32 as u64
    });
    check(
        "neg.f32 %f1, %f0; cvt.rzi.s16.f32 %r1, %f1; cvt.u64.u32 %d1, %r1;",
        |t| -(t as i32) as u32 as u64,
    );
    check(
        "sub.s32 %r2, 3, %r0; cvt.pack.sat.s16.s32 %r1, %r2, %r2; cvt.u64.u32 %d1, %r1;",
        |t| {
            let field = (3 - t as i32) as u16 as u64;
            (field << 16) | field
        },
    );
}

#[test]
fn packed_f32_and_narrow_formats() {
    check(
        "mov.b64 %d2, {%f0, %f0}; mov.b32 %f2, 0f3F800000; mov.b64 %d3, {%f2, %f0};
         add.rn.f32x2 %d1, %d2, %d3;",
        |t| {
            let t = t as f32;
            (t + 1.0).to_bits() as u64 | ((t + t).to_bits() as u64) << 32
        },
    );
    // Numbers up to 15 are e4m3's; so are the even ones up to 30.
    check_f32(
        "cvt.rn.satfinite.e4m3x2.f32 %h1, %f0, %f0; cvt.rn.f16x2.e4m3x2 %r1, %h1;
         mov.b32 {%h1, %h2}, %r1; cvt.f32.f16 %f1, %h2;",
        |t| {
            if t <= 16.0 {
                t
            } else {
                (t / 2.0).round_ties_even() * 2.0
            }
        },
    );
    check(
        "mov.u32 %r2, 0; cvt.rs.satfinite.e5m2x4.f32 %r1, {%f0, %f0, 0f3F800000, 0f40000000}, %r2;
         and.b32 %r1, %r1, 0xffff; cvt.u64.u32 %d1, %r1;",
        |_| 0x3c40,
    );
}
