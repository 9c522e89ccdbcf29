// Message passing: one block writes a value and raises a flag, another waits for the flag and reads
// the value. A fence on each side, and a flag written and read by strong operations, make it safe.

#ifdef BUG_BLOCK_FENCE
#define FENCE __threadfence_block // orders for the threads of this block alone
#elif defined(BUG_NO_FENCE)
#define FENCE()
#else
#define FENCE __threadfence
#endif

__global__ void pass_message(int *out, int *value, int *flag, int message)
{
    if (blockIdx.x == 0) {
        *value = message; //~[no-fence, plain-flag] data-race#1 write //~[block-fence] insufficient-scope#1 write
        FENCE();
#ifdef BUG_PLAIN_FLAG
        *flag = 1; //~ data-race#2 write
#else
        atomicExch(flag, 1);
#endif
    } else {
        while (*(volatile int *)flag == 0) {} //~[plain-flag] data-race#2 read
        FENCE();
        *out = *value; //~[no-fence, plain-flag] data-race#1 read //~[block-fence] insufficient-scope#1 read
    }
}
