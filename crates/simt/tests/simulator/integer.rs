//! Integer, logic and comparison instructions from PTX text to memory: operand
//! forms, widths and pairs of destinations that the arithmetic table leaves to
//! the rest of the simulator.

use ptx::parser::parse;
use simt::*;

/// Runs `body` in each lane of one warp, with its lane number in `%r0`, and gives
/// what it leaves in `%r1`.
fn run(body: &str) -> Vec<u32> {
    let ptx = format!(
        r#"
.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<10>;
    .reg .b16 %h<10>;
    .reg .b32 %r<20>;
    .reg .b64 %d<20>;
    .reg .f32 %f<10>;
    .reg .f64 %g<10>;
    mov.u32 %r0, %tid.x;
    {body}
    ld.param.u64 %d19, [out];
    cvta.to.global.u64 %d19, %d19;
    mul.wide.u32 %d18, %r0, 4;
    add.s64 %d19, %d19, %d18;
    st.global.u32 [%d19], %r1;
    ret;
}}
"#
    );
    let module = parse(&ptx).unwrap_or_else(|e| panic!("{body}: {e}"));
    let program = Program::lower(&module, &ptx, "k").unwrap_or_else(|e| panic!("{body}: {e}"));
    let mut device = Device::new(1 << 20);
    let out = device.alloc(128, "out").unwrap();
    device.write(out, &[0xee; 128]).unwrap();
    let launch_ = Launch {
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
    let bytes = device.read(out, 128).unwrap();
    let words = bytes.chunks_exact(4);
    words
        .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
        .collect()
}

fn check(body: &str, want: impl Fn(u32) -> u32) {
    let want: Vec<u32> = (0..32).map(want).collect();
    assert_eq!(run(body), want, "{body}");
}

#[test]
fn set_writes_the_value_for_true() {
    check("set.lt.u32.s32 %r1, %r0, 5;", |t| {
        if t < 5 { u32::MAX } else { 0 }
    });
    check("set.ge.f32.u32 %f0, %r0, 5; mov.b32 %r1, %f0;", |t| {
        if t >= 5 { 0x3f80_0000 } else { 0 }
    });
    check(
        "setp.eq.u32 %p1, %r0, 7; set.lt.or.u32.s32 %r1, %r0, 5, %p1;",
        |t| if t < 5 || t == 7 { u32::MAX } else { 0 },
    );
    check(
        "setp.ge.u32 %p1, %r0, 2; set.lt.and.s32.s32 %r1, %r0, 5, !%p1;",
        |t| if t < 2 { u32::MAX } else { 0 },
    );
    // Halves 1.0 and 2.0 against 1.0 and 1.0.
    check(
        "mov.u32 %r2, 0x40003c00; mov.u32 %r3, 0x3c003c00; set.gt.f16x2.f16x2 %r1, %r2, %r3;",
        |_| 0x3c00_0000,
    );
    check(
        "mov.u32 %r2, 0x40003c00; mov.u32 %r3, 0x3c003c00; set.eq.u32.f16x2 %r1, %r2, %r3;",
        |_| 0x0000_ffff,
    );
}

#[test]
fn setp_writes_both_predicates() {
    check(
        "setp.lt.u32 %p1|%p2, %r0, 9; selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 2, 0, %p2;
         or.b32 %r1, %r2, %r3;",
        |t| if t < 9 { 1 } else { 2 },
    );
    check(
        "mov.u32 %r2, 0x40003c00; mov.u32 %r3, 0x3c003c00; setp.gt.f16x2 %p1|%p2, %r2, %r3;
         selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 2, 0, %p2; or.b32 %r1, %r2, %r3;",
        |_| 2,
    );
    check(
        "setp.lt.u32 %p3, %r0, 16; setp.lt.and.u32 %p1|%p2, %r0, 9, %p3;
         selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 2, 0, %p2; or.b32 %r1, %r2, %r3;",
        |t| match t {
            0..9 => 1,
            9..16 => 2,
            _ => 0,
        },
    );
}

#[test]
fn lop3_tests_its_result() {
    check(
        "setp.eq.u32 %p1, %r0, 31; lop3.or.b32 %r2|%p2, %r0, 4, 6, 0x80, %p1;
         selp.u32 %r1, 100, %r2, %p2;",
        |t| if t & 4 != 0 || t == 31 { 100 } else { 0 },
    );
    check("lop3.b32 %r1, %r0, 0xff, 3, 0x1a;", |t| (t & 0xff | 3) ^ t);
}

#[test]
fn an_instruction_without_cc_leaves_the_flag() {
    // 0xffffffff + 1 carries; addc reads it and leaves it for the second addc.
    check(
        "add.cc.u32 %r2, 0xffffffff, 1; addc.u32 %r3, %r0, 0; addc.u32 %r1, %r3, 0;",
        |t| t + 2,
    );
    check(
        "add.cc.u32 %r2, 0xffffffff, %r0; addc.cc.u32 %r3, 0, 0; addc.u32 %r1, %r3, 0;",
        |t| (t > 0) as u32,
    );
    check(
        "mov.u64 %d1, 0; sub.cc.u64 %d2, %d1, 1; subc.u64 %d3, %d1, 0; cvt.u32.u64 %r1, %d3;",
        |_| u32::MAX,
    );
}

#[test]
fn shift_amounts_are_32_bits_for_every_width() {
    check(
        "mov.u64 %d1, -1; shl.b64 %d2, %d1, %r0; shr.u64 %d2, %d2, 32; cvt.u32.u64 %r1, %d2;",
        |t| (u64::MAX << t >> 32) as u32,
    );
    check(
        "mov.u16 %h1, 0x8000; shr.s16 %h2, %h1, %r0; cvt.u32.u16 %r1, %h2;",
        |t| (0x8000u16 as i16 >> t.min(15)) as u16 as u32,
    );
    check("shl.b32 %r1, %r0, 32;", |_| 0);
}

#[test]
fn fields_and_wide_products() {
    check(
        "mov.u64 %d1, -1; mov.u64 %d2, 0; bfi.b64 %d3, %d1, %d2, %r0, 8; shr.u64 %d3, %d3, 16;
         cvt.u32.u64 %r1, %d3;",
        |t| (0xffu64 << t >> 16) as u32,
    );
    check(
        "mov.u64 %d1, 0x8000000000000000; bfe.s64 %d2, %d1, 60, %r0; cvt.u32.u64 %r1, %d2;",
        |t| match t {
            0..4 => 0,
            _ => (i64::MIN >> 60) as u32,
        },
    );
    check(
        "mul.wide.s32 %d1, %r0, -3; mad.wide.s32 %d1, %r0, -3, %d1; cvt.u32.u64 %r1, %d1;",
        |t| (t as i32 * -6) as u32,
    );
    check(
        "mov.u16 %h1, 0xffff; mul.wide.u16 %r2, %h1, %h1; add.u32 %r1, %r2, %r0;",
        |t| 0xfffe_0001 + t,
    );
}

#[test]
fn selections() {
    check("sub.s32 %r2, %r0, 4; slct.u32.s32 %r1, 10, 20, %r2;", |t| {
        if t >= 4 { 10 } else { 20 }
    });
    check(
        "setp.gt.u32 %p1, %r0, 3; mov.u64 %d1, 1; mov.u64 %d2, 2; selp.b64 %d3, %d1, %d2, %p1;
         cvt.u32.u64 %r1, %d3;",
        |t| if t > 3 { 1 } else { 2 },
    );
    check(
        "setp.gt.u32 %p1, %r0, 3; not.pred %p2, %p1; xor.pred %p3, %p1, %p2; and.pred %p4, %p3, %p2;
         selp.u32 %r1, 1, 2, %p4;",
        |t| if t > 3 { 2 } else { 1 },
    );
}
