// All threads write the same value to the same word, and nothing reads it meanwhile: a race by the memory model, and benign today.
//
// flags: --grid 1 --block 64 --arg 0=i32[1]:zeros --arg 1=i32[64]:const:5
// expect: same-value-write

__global__ void any_five(int *found, const int *data)
{
    if (data[threadIdx.x] == 5)
        *found = 1; //~ same-value-write write
}
