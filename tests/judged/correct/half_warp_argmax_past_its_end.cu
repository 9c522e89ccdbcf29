// The same for the place of the maximum: what the upper lanes compare with is undefined, and branches depend on it, but
// they lead to lanes whose result is not used.
//
// flags: --grid 1 --block 32 --arg 0=i32[32]:random --arg 1=i32[2]:uninitialized
// expect: clean

__global__ void argmax(const int *in, int *out)
{
    int lane = threadIdx.x;
    if (lane >= 16)
        return;
    int best = in[lane], place = lane;
    for (int d = 8; d > 0; d /= 2) {
        int other = __shfl_down_sync(0x0000ffff, best, d);
        int where = __shfl_down_sync(0x0000ffff, place, d);
        if (other > best || other == best && where < place) {
            best = other;
            place = where;
        }
    }
    if (lane == 0) {
        out[0] = best;
        out[1] = place;
    }
}
