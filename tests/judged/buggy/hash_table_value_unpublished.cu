// Who claims a key writes its value plainly; who finds the key claimed reads the value at once.
//
// flags: --grid 1 --block 64 --arg 0=i32[64]:uninitialized --arg 1=i32[64]:random:1..=12
// expect: data-race

__global__ void first_of_key(int *out, const int *in)
{
    __shared__ int keys[16];
    __shared__ int values[16];
    int t = threadIdx.x;
    if (t < 16) {
        keys[t] = 0;
        values[t] = -1;
    }
    __syncthreads();
    int key = in[t];
    int slot = key * 7 % 16;
    for (;;) {
        int old = atomicCAS(&keys[slot], 0, key);
        if (old == 0)
            values[slot] = t; //~ data-race write
        if (old == 0 || old == key)
            break;
        slot = (slot + 1) % 16;
    }
    out[t] = values[slot]; //~ data-race read
}
