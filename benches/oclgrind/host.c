/* Runs one kernel of kernels.cl on the first OpenCL device: host KERNELS.cl NAME REPEATS
 * Prints the shortest time of one launch in milliseconds: kernel time alone, by the wall clock. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(cl_int status, const char *what) {
  if (status == CL_SUCCESS) return;
  fprintf(stderr, "host: %s failed with OpenCL error %d\n", what, status);
  exit(1);
}

static double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static char *contents(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = calloc(size + 1, 1);
  if (fread(text, 1, size, file) != (size_t)size) exit(1);
  fclose(file);
  return text;
}

static cl_mem buffer(cl_context context, size_t words) {
  cl_int status;
  cl_uint *data = malloc(words * 4), state = 12345;
  for (size_t i = 0; i < words; ++i) data[i] = (state = state * 1664525u + 1013904223u) >> 8 & 255;
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, words * 4, data, &status);
  check(status, "clCreateBuffer");
  free(data);
  return memory;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: host KERNELS.cl histogram|scan|matmul REPEATS\n");
    return 2;
  }
  const char *name = argv[2];
  cl_int status;
  cl_platform_id platform;
  cl_device_id device;
  check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "clCreateCommandQueue");
  const char *source = contents(argv[1]);
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
  check(status, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, name, &status);
  check(status, "clCreateKernel");

  size_t global[2] = {0, 1}, local[2] = {0, 1};
  cl_uint dimensions = 1;
  if (!strcmp(name, "histogram")) {
    cl_int n = 1 << 20;
    cl_mem data = buffer(context, n), result = buffer(context, 256);
    clSetKernelArg(kernel, 0, sizeof data, &data);
    clSetKernelArg(kernel, 1, sizeof n, &n);
    clSetKernelArg(kernel, 2, sizeof result, &result);
    global[0] = 32 * 256, local[0] = 256;
  } else if (!strcmp(name, "scan")) {
    cl_mem in = buffer(context, 1 << 16), out = buffer(context, 1 << 16);
    clSetKernelArg(kernel, 0, sizeof in, &in);
    clSetKernelArg(kernel, 1, sizeof out, &out);
    global[0] = 64 * 1024, local[0] = 1024;
  } else {
    cl_int n = 128;
    for (cl_uint i = 0; i < 3; ++i) {
      cl_mem matrix = buffer(context, n * n);
      clSetKernelArg(kernel, i, sizeof matrix, &matrix);
    }
    clSetKernelArg(kernel, 3, sizeof n, &n);
    global[0] = global[1] = n, local[0] = local[1] = 16, dimensions = 2;
  }

  double best = 1e300;
  for (int repeat = atoi(argv[3]); repeat > 0; --repeat) {
    double start = milliseconds();
    check(clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, global, local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");
    double time = milliseconds() - start;
    if (time < best) best = time;
  }
  printf("%.3f\n", best);
  return 0;
}
