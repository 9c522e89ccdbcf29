// All threads write the same value to the same word. That is a race as well: nothing promises what a word holds
// while two plain writes are under way.
//
// flags: --grid 1 --block 64 --arg 0=i32[1]:zeros --arg 1=i32[64]:const:5
// expect: data-race

__global__ void any_five(int *found, const int *data)
{
    if (data[threadIdx.x] == 5)
        *found = 1; //~ data-race write
}
