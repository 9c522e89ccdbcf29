// One block fills a node, fences and publishes its address. The reader follows the address: that it depends on what
// was read orders nothing; a fence would.
//
// flags: --grid 2 --block 1 --arg 0=i32[1]:uninitialized --arg 1=i32[4]:zeros --arg 2=u64[1]:zeros
// expect: data-race

__global__ void publish(int *out, int *node, int **head)
{
    if (blockIdx.x == 0) {
        node[1] = 11; //~ data-race#1 write
        __threadfence();
        *(int *volatile *)head = node;
    } else {
        int *seen;
        while ((seen = *(int *volatile *)head) == nullptr) {}
        *out = seen[1]; //~ data-race#1 read
    }
}
