// Recursion, function pointers through a virtual call, local arrays.
struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Disc : Shape {
  float radius;
  __device__ Disc(float r) : radius(r) {}
  __device__ float area() const override { return 3.14159265f * radius * radius; }
};
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursion(int *out, float *areas, int n) {
  int local[16];
  for (int i = 0; i < 16; ++i) local[i] = out[i] * i;
  Square square(2.0f);
  Disc disc(3.0f);
  const Shape *shape = n & 1 ? (const Shape *)&square : (const Shape *)&disc;
  areas[threadIdx.x] = shape->area();
  out[threadIdx.x] = fibonacci(n) + local[n & 15];
}
