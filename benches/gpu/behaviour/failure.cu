// What was found stays told where a kernel crashes or never ends, in a child process, and behind more findings than there is room for.
//
// expect: crash data-race says=failed
// expect: hang data-race timeout=8
// expect: unwaited data-race timeout=8
// expect: child data-race
// expect: full data-race says=room
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
__global__ void race(int *data) { data[threadIdx.x / 2] = threadIdx.x; }
__global__ void crash(int *data) { data[1ll << 40] = 1; }
__global__ void hang(volatile int *data) { while (data[0] >= 0) { } }
// 64 lines, each of which races with each other one in some launch: some 2,000 findings.
__global__ void full(int *data, int first, int second)
{
    switch (threadIdx.x ? second : first) {
    case 0: data[0] = first + 0; break;
    case 1: data[0] = first + 1; break;
    case 2: data[0] = first + 2; break;
    case 3: data[0] = first + 3; break;
    case 4: data[0] = first + 4; break;
    case 5: data[0] = first + 5; break;
    case 6: data[0] = first + 6; break;
    case 7: data[0] = first + 7; break;
    case 8: data[0] = first + 8; break;
    case 9: data[0] = first + 9; break;
    case 10: data[0] = first + 10; break;
    case 11: data[0] = first + 11; break;
    case 12: data[0] = first + 12; break;
    case 13: data[0] = first + 13; break;
    case 14: data[0] = first + 14; break;
    case 15: data[0] = first + 15; break;
    case 16: data[0] = first + 16; break;
    case 17: data[0] = first + 17; break;
    case 18: data[0] = first + 18; break;
    case 19: data[0] = first + 19; break;
    case 20: data[0] = first + 20; break;
    case 21: data[0] = first + 21; break;
    case 22: data[0] = first + 22; break;
    case 23: data[0] = first + 23; break;
    case 24: data[0] = first + 24; break;
    case 25: data[0] = first + 25; break;
    case 26: data[0] = first + 26; break;
    case 27: data[0] = first + 27; break;
    case 28: data[0] = first + 28; break;
    case 29: data[0] = first + 29; break;
    case 30: data[0] = first + 30; break;
    case 31: data[0] = first + 31; break;
    case 32: data[0] = first + 32; break;
    case 33: data[0] = first + 33; break;
    case 34: data[0] = first + 34; break;
    case 35: data[0] = first + 35; break;
    case 36: data[0] = first + 36; break;
    case 37: data[0] = first + 37; break;
    case 38: data[0] = first + 38; break;
    case 39: data[0] = first + 39; break;
    case 40: data[0] = first + 40; break;
    case 41: data[0] = first + 41; break;
    case 42: data[0] = first + 42; break;
    case 43: data[0] = first + 43; break;
    case 44: data[0] = first + 44; break;
    case 45: data[0] = first + 45; break;
    case 46: data[0] = first + 46; break;
    case 47: data[0] = first + 47; break;
    case 48: data[0] = first + 48; break;
    case 49: data[0] = first + 49; break;
    case 50: data[0] = first + 50; break;
    case 51: data[0] = first + 51; break;
    case 52: data[0] = first + 52; break;
    case 53: data[0] = first + 53; break;
    case 54: data[0] = first + 54; break;
    case 55: data[0] = first + 55; break;
    case 56: data[0] = first + 56; break;
    case 57: data[0] = first + 57; break;
    case 58: data[0] = first + 58; break;
    case 59: data[0] = first + 59; break;
    case 60: data[0] = first + 60; break;
    case 61: data[0] = first + 61; break;
    case 62: data[0] = first + 62; break;
    case 63: data[0] = first + 63; break;
    }
}
#define OK(call) do { cudaError_t e = (call); if (e) { printf("%s: %s\n", #call, cudaGetErrorString(e)); return 9; } } while (0)
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "crash";
    if (!strcmp(how, "child")) {
        pid_t child = fork();
        if (!child)
            return execl("/proc/self/exe", argv[0], "alone", (char *)0);
        int status;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    int *data;
    OK(cudaMalloc(&data, 4096));
    OK(cudaMemset(data, 0, 4096));
    race<<<1, 64>>>(data);
    if (strcmp(how, "unwaited"))
        OK(cudaDeviceSynchronize());
    if (!strcmp(how, "full"))
        for (int i = 0; i < 64 * 64; i++)
            if (i / 64 < i % 64)
                full<<<1, 2>>>(data, i / 64, i % 64);
    if (!strcmp(how, "crash"))
        crash<<<1, 1>>>(data);
    if (!strcmp(how, "hang") || !strcmp(how, "unwaited"))
        hang<<<1, 1>>>(data);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
