// A dense switch (a jump table) around inline assembly with scopes of its own.
__device__ __noinline__ int helper(int a, float b) { return a * 3 + (int)b; }
extern "C" __global__ void switch_table(int *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = 0;
  switch (out[i]) {
  case 0: v = helper(i, in[i]); break;
  case 1: v = __float_as_int(__fsqrt_rn(in[i])); break;
  case 2: v = atomicAdd(out + n, i); break;
  case 3: v = __popc(i); __threadfence(); break;
  case 4: v = __shfl_xor_sync(~0u, i, 4); break;
  case 5: for (int k = 0; k < i; ++k) v += out[k] ^ (v << 3); break;
  case 6: v = i / n; break;
  case 7: {
    int w;
    asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 t;\n\tsetp.gt.s32 p, %1, 5;\n\tselp.b32 t, 1, -7, p;\n\t"
                 "@p bra done;\n\tadd.s32 t, t, %1;\ndone:\n\tmov.b32 %0, t;\n\t}" : "=r"(w) : "r"(i));
    v = w;
    break;
  }
  default: v = -1;
  }
  out[i] = v;
}
