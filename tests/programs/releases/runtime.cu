// Stands for `libcudadevrt.a` of CUDA 11, which nvcc links to programs whose kernels launch kernels: up to that release it brings PTX of its own
// along, and a racetrap that ran this one would launch nothing.
extern "C" __device__ void *cudaGetParameterBufferV2(void *, dim3, dim3, unsigned) { return nullptr; }
extern "C" __device__ cudaError_t cudaLaunchDeviceV2(void *, cudaStream_t) { return cudaErrorNotSupported; }
