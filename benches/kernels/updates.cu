// Each thread adds sixteen numbers to sixteen others, again and again; those of a thread lie side by side.
struct Record {
  unsigned field[16];
};

extern "C" __global__ void updates(Record *to, const Record *from, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < rounds; round++)
#pragma unroll
    for (int k = 0; k < 16; k++)
      to[i].field[k] += from[i].field[k];
}
