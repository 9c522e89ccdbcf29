// wrong: data-race
// Particles of one state add to a total: which state that is the kernel says.
__global__ void step(const int *state, float *total, const float *energy, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && state[i] == 123456) *total += energy[i];
}
