// A list of nodes is pushed and walked in one launch, and the walker does not acquire what the pushers released.
//
// flags: --grid 2 --block 1 --arg 0=i32[1]:const:-1 --arg 1=i32[4]:uninitialized --arg 2=i32[1]:uninitialized
// expect: data-race

__global__ void push_and_walk(int *head, int *next, int *length)
{
    if (blockIdx.x == 0) {
        for (int node = 0; node < 4; node++) {
            next[node] = node - 1; //~ data-race write
            __threadfence();
            atomicExch(head, node);
        }
    } else {
        int count = 0;
        for (int node = *(volatile int *)head; node >= 0; node = next[node]) //~ data-race read
            count++;
        *length = count;
    }
}
