//! # invalid-call
//!
//! A thread calls a function that is not there: through a null pointer, through a pointer to something else, or a function that the PTX
//! declares without a body. Or it calls a function while the stack is full, which means recursion without an end. The launch stops there,
//! as it does on a GPU. What was found before is reported, too. The rule also covers `free` of an address that the device's `malloc`
//! did not return; there the launch goes on. And it covers a branch by an index (`brx.idx`, what compilers make of a `switch`) that its list of
//! labels does not have.
//!
//! ## Example
//!
//! ```cpp
//! __device__ Operation operations[2];                // set by one thread
//!
//! if (threadIdx.x == 0)
//!     operations[0] = twice;
//! data[threadIdx.x] = operations[threadIdx.x & 1](data[threadIdx.x]);    // operations[1] is null
//! ```
//!
//! ```cpp
//! Operation operation = operations[threadIdx.x & 1];
//! if (operation)
//!     data[threadIdx.x] = operation(data[threadIdx.x]);
//! ```
//!
//! ## What is reported
//!
//! The first thread that makes the call. Each thread has a stack of 512 KiB, the most that a GPU can give it; the default there is 1 KiB
//! (`cudaDeviceSetLimit(cudaLimitStackSize, …)`), so a deep recursion may fail on a GPU and run here.
//!
//! ## Limitations
//!
//! A pointer that holds the address of another function of the module, with other parameters, is followed without a word.
//!
//! ## Reference
//!
//! PTX ISA, "call" and "brx.idx"; CUDA C++ Programming Guide, "Function Pointers", "Dynamic Global Memory Allocation and Operations" and "Technical
//! Specifications per Compute Capability".
