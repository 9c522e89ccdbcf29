//! CUDA kernels, in `kernels`, and what must come out of them, in `cases`.
