//! A program that uses the driver API by the crate `cudarc`, with PTX of its own: a block reverses its numbers by way of shared memory.
//! `right` has the barrier, `wrong` does not.

#![allow(unsafe_code)] // Launches of kernels are unsafe in `cudarc`.

use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg as _};
use cudarc::nvrtc::Ptx;

const THREADS: u32 = 64;

/// The kernel, with this instruction between the two accesses to shared memory. These are in lines 18 and 21.
fn reverse(barrier: &str) -> String {
    format!(
        ".version 7.0
.target sm_70
.address_size 64

.visible .entry reverse(.param .u64 data)
{{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd1, [data];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    mov.u64 %rd4, tile;
    add.u64 %rd5, %rd4, %rd2;
    ld.global.u32 %r2, [%rd3];
    st.shared.u32 [%rd5], %r2;
    {barrier}
    sub.u64 %rd5, %rd4, %rd2;
    ld.shared.u32 %r3, [%rd5+252];
    st.global.u32 [%rd3], %r3;
    ret;
}}
"
    )
}

fn main() -> Result<(), DriverError> {
    let barrier = match std::env::args().nth(1).as_deref() {
        Some("right") => "bar.sync 0;",
        Some("wrong") => "",
        _ => panic!("right or wrong?"),
    };
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let module = context.load_module(Ptx::from_src(reverse(barrier)))?;
    let kernel = module.load_function("reverse")?;
    let numbers: Vec<u32> = (0..THREADS).collect();
    let mut data = stream.clone_htod(&numbers)?;
    let shape = LaunchConfig {
        grid_dim: (1, 1, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the kernel takes one pointer, and its block has as many threads as there are numbers.
    unsafe { stream.launch_builder(&kernel).arg(&mut data).launch(shape) }?;
    let reversed = stream.clone_dtoh(&data)?;
    println!("{} … {}", reversed[0], reversed[THREADS as usize - 1]);
    Ok(())
}
