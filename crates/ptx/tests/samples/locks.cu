// Locks, fences and scoped atomics.
#include <cuda/atomic>
__device__ int lock_word;
__device__ volatile int flag;
__global__ void locks(int *data) {
  bool mine = false;
  while (!mine) {
    if (atomicCAS(&lock_word, 0, 1) == 0) {
      __threadfence();
      data[0] += 1;
      __threadfence_block();
      atomicExch(&lock_word, 0);
      mine = true;
    }
  }
  cuda::atomic_ref<int, cuda::thread_scope_block> shared_counter(data[1]);
  shared_counter.fetch_add(1, cuda::memory_order_release);
  while (flag == 0) __nanosleep(20);
  unsigned peers = __match_any_sync(__activemask(), data[2]);
  data[3] = __reduce_add_sync(peers, data[4]) + __ballot_sync(peers, data[5] > 0);
  asm volatile("bar.sync 1, 64;\n\tbarrier.red.popc.aligned.u32 %0, 2, 64, 1;" : "=r"(data[6]));
}
