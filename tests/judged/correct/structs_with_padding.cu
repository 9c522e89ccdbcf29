// Structs with padding bytes are copied through shared memory; nobody fills the padding, nobody looks at it.
//
// flags: --grid 1 --block 32 --arg 0=u64[64]:uninitialized
// expect: clean

struct Item {
    long long key;
    unsigned char tag;
    short weight;
};

__global__ void shuffle_items(Item *out)
{
    __shared__ Item items[32];
    int t = threadIdx.x;
    Item item;
    item.key = t * 1000003ll;
    item.tag = t;
    item.weight = -t;
    items[t] = item;
    __syncthreads();
    Item other = items[(t * 5 + 3) % 32];
    if (other.weight < -7)
        other.tag = 0;
    out[t] = other;
}
