// Calls into the system: printf with a packed argument buffer, assert, malloc.
#include <assert.h>
#include <stdio.h>
typedef int (*operation)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__device__ operation table[2] = {twice, square};
__constant__ double weights[4] = {0.5, -1.25, 1e300, 3.0};
__device__ const char *message = "tab\t\"quoted\" \\ end\n";
__global__ void system_calls(int *p, int which) {
  assert(p[0] != 7);
  int *q = (int *)malloc(64);
  q[0] = table[which](p[1]);
  printf("%d %f %s\n", q[0], weights[which & 3], message);
  p[2] = q[0];
  free(q);
}
