//! Loads and stores of elements of all sizes, and how much shared memory there can be.

use crate::run::Run;

#[test]
fn more_shared_memory_than_there_can_be_is_refused() {
    for arrays in [
        ".shared .align 16 .b8 a[512];\n.shared .align 16 .b8 b[18446744073709551615];",
        ".shared .b8 a[4294967295];\n.shared .b8 b[4294967295];\n.shared .b8 c[16];",
    ] {
        let ptx = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n{arrays}\n\
             .reg .b32 %r<2>;\nmov.u32 %r1, a;\nst.shared.u32 [%r1], %r1;\nret;\n}}\n"
        );
        let mut run = Run::of(&ptx);
        let out = run.buffer(&[0]);
        let stopped = run.launch(1, 32, &[out], "lockstep").unwrap_err();
        assert!(stopped.to_string().contains("shared"), "{stopped}");
    }
}

/// Each thread copies an element of some size from `in` to `out`, by all sizes of accesses, in the lanes below `n`.
fn copies(element: u32, count: u32, class: &str) -> String {
    let letter = if class == "b64" { "rd" } else { "r" };
    let registers: Vec<String> = (0..count).map(|k| format!("%{letter}2{k}")).collect();
    let (value, vector) = match count {
        1 => (registers[0].clone(), String::new()),
        _ => (
            format!("{{{}}}", registers.join(", ")),
            format!(".v{count}"),
        ),
    };
    let bytes = element * count;
    format!(
        r#"
.version 8.8
.target sm_90
.address_size 64
.visible .entry copies(.param .u64 in, .param .u64 out, .param .u32 n)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<40>;
    .reg .b64 %rd<40>;
    .shared .align 32 .b8 tile[2048];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra $L1;
    mul.wide.u32 %rd3, %r2, {bytes};
    add.s64 %rd1, %rd1, %rd3;
    add.s64 %rd2, %rd2, %rd3;
    cvt.u32.u64 %r3, %rd3;
    mov.u32 %r4, tile;
    add.s32 %r3, %r3, %r4;
    ld.global{vector}.u{bits} {value}, [%rd1];
    st.shared{vector}.u{bits} [%r3], {value};
    ld.shared{vector}.u{bits} {value}, [%r3];
    st.global{vector}.u{bits} [%rd2], {value};
$L1:
    ret;
}}
"#,
        bits = element * 8
    )
}

#[test]
fn elements_of_all_sizes_are_copied_by_full_warps_and_by_others() {
    for (element, count) in [
        (1, 1),
        (1, 2),
        (1, 4),
        (2, 1),
        (2, 2),
        (2, 4),
        (4, 1),
        (4, 2),
        (4, 4),
        (8, 1),
        (8, 2),
    ] {
        for class in ["b32", "b64"] {
            if element == 8 && class == "b32" {
                continue;
            }
            let mut run = Run::of(&copies(element, count, class));
            // One byte further in both, where that is aligned: then a warp's bytes do not begin with a word.
            for (threads, shift) in [(32, 0), (32, u64::from(element * count)), (45, 0), (1, 0)] {
                let values: Vec<u32> = (0..512u32).map(|i| i.wrapping_mul(0x9e37_79b1)).collect();
                let from = run.buffer(&values);
                let to = run.buffer(&[0x5555_5555; 512]);
                let size = u64::from(element * count);
                run.launch(1, 64, &[from + shift, to + shift, threads], "lockstep")
                    .unwrap();
                let given = run.device.read(from, 2048).unwrap();
                let got = run.device.read(to, 2048).unwrap();
                let copied = shift as usize..(shift + threads * size) as usize;
                for at in 0..2048 {
                    let expected = if copied.contains(&at) {
                        given[at]
                    } else {
                        0x55
                    };
                    assert_eq!(
                        got[at], expected,
                        "{element} x {count} {class}, {threads} threads, byte {at}"
                    );
                }
            }
        }
    }
}

/// Loads a narrow element into registers of all widths and stores these whole.
const WIDENED: &str = r#"
.version 8.0
.target sm_75
.address_size 64
.visible .entry widened(.param .u64 in, .param .u64 out)
{
    .reg .b16 %h<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd3, %r1;
    add.s64 %rd1, %rd1, %rd3;
    shl.b64 %rd3, %rd3, 5;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.s8 %r2, [%rd1];
    ld.global.u8 %r3, [%rd1];
    ld.global.s8 %rd4, [%rd1];
    ld.global.u8 %rd5, [%rd1];
    ld.global.s8 %h1, [%rd1];
    cvt.u32.u16 %r4, %h1;
    st.global.u32 [%rd2], %r2;
    st.global.u32 [%rd2+4], %r3;
    st.global.u64 [%rd2+8], %rd4;
    st.global.u64 [%rd2+16], %rd5;
    st.global.u32 [%rd2+24], %r4;
    ret;
}
"#;

#[test]
fn narrow_elements_are_extended_to_their_registers() {
    let mut run = Run::of(WIDENED);
    let bytes: Vec<u8> = (0..32u8).map(|i| i.wrapping_mul(37)).collect();
    let words: Vec<u32> = bytes
        .chunks(4)
        .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
        .collect();
    let from = run.buffer(&words);
    let to = run.buffer(&[0; 8 * 32]);
    for block in [32, 20] {
        run.launch(1, block, &[from, to], "lockstep").unwrap();
        let got = run.words(to, 8 * 32);
        for (byte, row) in bytes.iter().zip(got.chunks(8)).take(block as usize) {
            let signed = i64::from(*byte as i8);
            let expected = [
                signed as u32,
                u32::from(*byte),
                signed as u32,
                (signed >> 32) as u32,
                u32::from(*byte),
                0,
                u32::from(signed as u16),
            ];
            assert_eq!(row[..7], expected, "{byte}");
        }
    }
}
