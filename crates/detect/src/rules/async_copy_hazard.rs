//! # async-copy-hazard
//!
//! A thread touches memory that an asynchronous copy (`cp.async`: `__pipeline_memcpy_async`, `cuda::memcpy_async`; bulk copies:
//! `cuda::ptx::cp_async_bulk`) is still reading or writing, because nobody has waited for the copy; or memory or registers that a matrix product of a
//! warpgroup (`wgmma.mma_async`) is still using.
//!
//! ## Example
//!
//! ```cpp
//! __global__ void next(const int *in, int *out)
//! {
//!     __shared__ int tile[256];
//!     __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(int));
//!     __pipeline_commit();
//!     __syncthreads();                                  // orders the threads, not their copies
//!     out[threadIdx.x] = tile[threadIdx.x ^ 1];         // the copy may not have arrived
//! }
//! ```
//!
//! Each thread waits for its own copies, and then the threads for each other:
//!
//! ```cpp
//!     __pipeline_commit();
//!     __pipeline_wait_prior(0);
//!     __syncthreads();
//! ```
//!
//! ## Why it goes wrong
//!
//! The copy is performed in the background, as if by another thread. A barrier makes the threads meet and says nothing of copies that are
//! under way. A read sees the old value or the new one, a write may be lost or be copied along, and two copies to one place
//! arrive in any order. This holds for the thread that began the copy as well.
//!
//! ## How to fix it
//!
//! For a copy that completes at an mbarrier, wait for that phase (`bar.wait(token)`, `mbarrier.try_wait`) before you use the data. For a bulk copy in
//! a group, wait in the thread that began it (`cp.async.bulk.wait_group n`, or `.read` if you only want to reuse the source).
//!
//! For `cp.async`, wait for the copy in the thread that began it (`__pipeline_wait_prior(n)`, `cp.async.wait_group n`, `cp.async.wait_all`), then let the
//! threads meet (`__syncthreads()`), then use the data. With several stages in flight, check the number: `wait_group n` leaves the `n`
//! newest groups unfinished, and the group that is used now must not be among them. An empty group, committed in the last iterations,
//! keeps the count right.
//!
//! ## What is reported
//!
//! An access to the destination, or a write to the source, between the instruction that begins the copy and the wait of its thread; also
//! another copy to the same destination. Threads that are not even ordered with the beginning of the copy are a `data-race`.
//!
//! A copy that arrives at an mbarrier (`cp.async.mbarrier.arrive`: `cuda::memcpy_async` with a barrier, `__pipeline_arrive_on`) is complete for
//! the threads that have waited for that phase of the mbarrier, and for those that are ordered behind one of them. Others are found, the copy's own
//! thread and those that only a barrier orders included.
//!
//! The same holds for a bulk or tensor copy (`cp.async.bulk`, `cp.async.bulk.tensor`, `cp.reduce.async.bulk` …), `st.async` and `red.async` that complete
//! at an mbarrier. A bulk or tensor copy in a group is complete when the thread that began it has waited for the group; after `cp.async.bulk.wait_group.read` its source may be
//! written, and its destination may not be touched yet. A block that ends before is reported, too: its shared memory is somebody else's then.
//!
//! A product of a warpgroup reads shared memory, its accumulators and perhaps a factor in registers until its group is waited for
//! (`wgmma.wait_group`). Found are: a write to that memory, a read or write of its accumulators, a write of its factor's registers in between; a block that ends before; and a
//! product whose registers other instructions have used since the last `wgmma.fence`, or before which there is none.
//!
//! ## Limitations
//!
//! What copies a register to another one, or to and from local memory and generic addresses, and does nothing else, counts as no use of it: compilers make
//! copies of their own around `wgmma`. A
//! read of a factor's registers before the wait, which the manual forbids, is not reported.
//!
//! A thread that has more than 1,024 instructions' copies under way is taken to have waited for the oldest; of those of a block that have
//! arrived at mbarriers the newest 1,024 are looked at.
//!
//! ## Reference
//!
//! PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy", "cp.async", "cp.async.wait_group / cp.async.wait_all". CUDA C++
//! Programming Guide, "Asynchronous Data Copies". PTX ISA, "wgmma.mma_async", "wgmma.fence", "wgmma.wait_group".
