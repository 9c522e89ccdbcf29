"""The source of an extension for PyTorch, as `load_inline` takes it: a row sum with and without a barrier. Needs the CUDA compiler
(`racetrap setup`); neither a GPU nor PyTorch. PyTorch's tensors on the CPU are taken, too."""

import numpy as np
import racetrap.torch

SOURCE = """
#include <torch/extension.h>

template <typename T> __global__ void sums(const T *x, T *out, int columns)
{
    __shared__ T part[128];
    T sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += x[blockIdx.x * columns + i];
    part[threadIdx.x] = sum;
    for (int step = 64; step > 0; step /= 2) {
#ifndef RACY
        __syncthreads();
#endif
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

torch::Tensor row_sums(torch::Tensor x)
{
    TORCH_CHECK(x.dim() == 2, "x has ", x.dim(), " dimensions");
    auto out = torch::empty({x.size(0)}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "row_sums", [&] {
        sums<scalar_t><<<x.size(0), 128, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.size(1));
    });
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("row_sums", &row_sums, "sums of rows"); }
"""

if __name__ == "__main__":
    x = np.random.default_rng(1).standard_normal((3, 300)).astype(np.float32)
    right = racetrap.torch.check_inline(SOURCE, "row_sums", x)
    right.raise_for_findings()
    assert np.allclose(right.results[0], x.sum(axis=1), rtol=1e-4)

    report = racetrap.torch.check_inline(SOURCE, "row_sums", x, defines=["RACY"])
    print(report)
    assert report.verdict == "findings"
