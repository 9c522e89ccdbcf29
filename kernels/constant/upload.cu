// A table in constant memory, the kernel that looks things up in it, and the host function that fills it.

__constant__ float table[256];

__global__ void look_up(float *out, const unsigned char *index, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = table[index[i]];
}

/// Called by the host before the first launch.
void upload(const float *from)
{
#ifdef BUG_NAME_UNDECLARED
    cudaMemcpyToSymbol(coefficients, from, sizeof table); //~[upload-by-another-name] compile-error
#else
    cudaMemcpyToSymbol(table, from, sizeof table);
#endif
}
