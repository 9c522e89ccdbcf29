//! Instructions of a whole warp on matrices, whose lanes stand together: no schedule takes them apart in the middle of one.

use crate::kernel::{lowered, session};
use simt::{Dim3, Engine, Launch};

/// Seven products in a row: the factors of each are written right behind the one before, by whoever comes first.
const PRODUCTS: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n\
    .reg .pred %p;\n.reg .b32 %t, %i, %f, %a<4>, %b<2>;\n.reg .f32 %d<4>;\n.reg .b64 %out, %own;\n\
    ld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %own, %t, 4;\nadd.u64 %own, %own, %out;\n\
    mov.u32 %i, 0;\nmov.f32 %d0, 0f00000000;\nmov.f32 %d1, %d0;\nmov.f32 %d2, %d0;\nmov.f32 %d3, %d0;\n\
    again:\nmul.lo.u32 %f, %i, 67109888;\nadd.u32 %f, %f, 1006648320;\n\
    mov.b32 %a0, %f;\nmov.b32 %a1, %f;\nmov.b32 %a2, %f;\nmov.b32 %a3, %f;\nmov.b32 %b0, 1006648320;\nmov.b32 %b1, 1006648320;\n\
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0,%d1,%d2,%d3}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, {%d0,%d1,%d2,%d3};\n\
    add.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, 7;\n@%p bra again;\n\
    st.global.f32 [%own], %d0;\nret;\n}\n";

#[test]
fn a_product_has_the_factors_that_all_lanes_had() {
    let program = lowered(PRODUCTS);
    for engine in [Engine::Fast, Engine::Plain] {
        for schedule in (1..40).map(|seed| format!("random:{seed}")) {
            let mut session = session(&schedule, engine, 100_000);
            let at = session.device().alloc(128, "out").unwrap();
            let launch = Launch {
                cluster: None,
                grid: Dim3::linear(1),
                block: Dim3::linear(32),
                dynamic_shared: 0,
                params: at.to_le_bytes().to_vec(),
                cooperative: false,
                number: 0,
            };
            session.launch(&program, &launch).unwrap();
            let (_, device) = session.finish();
            let bytes = device.read(at, 128).unwrap();
            let words = bytes
                .chunks(4)
                .map(|w| f32::from_le_bytes(w.try_into().unwrap()));
            // Halves 1, 2, 4, … 64: sixteen times their sum.
            let sums: Vec<f32> = words.collect();
            assert_eq!(sums, [16.0 * 127.0; 32], "{schedule} {engine:?}");
        }
    }
}
