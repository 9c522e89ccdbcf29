//! # out-of-bounds
//!
//! An access goes to an address that belongs to no allocation: before or after a buffer, past the shared memory of the
//! block, or an arbitrary address.
//!
//! ## Example
//!
//! ```cpp
//! int i = blockIdx.x * blockDim.x + threadIdx.x;
//! out[i] = in[i];             // the last block may have more threads than elements
//! ```
//!
//! Guard the access:
//!
//! ```cpp
//! if (i < n)
//!     out[i] = in[i];
//! ```
//!
//! If a barrier follows, put only the access under the condition; do not `return` before the barrier.
//!
//! ## What is reported
//!
//! Every byte of an access is checked against the allocations. An access out of bounds is not performed: a store is
//! dropped and a load returns zero.
//!
//! Reported too: an access to a texture or a surface that does not exist, or through a reference that nothing is bound to, and
//! one that lies outside of a surface. Such a fetch returns zeros. Of a tensor copy, elements that the tensor does not have are no error: a load fills
//! them in, a store leaves them out. But a store or reduction that begins at a negative coordinate is reported: an H100 takes it for an illegal
//! instruction.
//!
//! ## Limitations
//!
//! The rule does not see an access that lands in another live buffer, or one that stays inside its allocation but leaves
//! the row or member that it was meant for.
//!
//! ## Reference
//!
//! PTX ISA, "Operand Address Computation", "State Spaces".
