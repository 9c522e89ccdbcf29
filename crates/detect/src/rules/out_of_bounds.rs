//! # out-of-bounds
//!
//! An access to an address where no allocation is: before or behind a buffer, behind the block's shared memory, or nowhere at all.
//!
//! ## Example
//!
//! ```cpp
//! int i = blockIdx.x * blockDim.x + threadIdx.x;
//! out[i] = in[i];             // the last block may have more threads than elements
//! ```
//!
//! ```cpp
//! if (i < n)
//!     out[i] = in[i];
//! ```
//!
//! Mind code with a barrier after such a guard: do not `return`, put only the access under the condition.
//!
//! ## What is seen, and what is not
//!
//! Each byte is checked against the allocations. An access that goes astray into another live buffer is not noticed; neither is one that
//! stays inside an allocation but leaves the row or member it was meant for. What was out of bounds is not performed: loads give zero.
//!
//! ## Reference
//!
//! PTX ISA, "Operand Address Computation", "State Spaces".
