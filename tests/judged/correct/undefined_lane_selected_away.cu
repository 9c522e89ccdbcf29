// Every lane reads from the one above, also where the mask ends; what the last lane gets is replaced, by a selection, a product
// with zero or a mask of bits.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:iota --arg 1=i32[24]:uninitialized
// expect: clean

__global__ void differences(const int *in, int *out)
{
    int lane = threadIdx.x;
    if (lane >= 8)
        return;
    int own = in[lane];
    int next = __shfl_down_sync(0x000000ff, own, 1);
    int inside = lane < 7;
    out[lane] = inside ? next - own : 0;
    out[8 + lane] = next * inside;
    out[16 + lane] = next & -inside;
}
