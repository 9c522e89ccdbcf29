// Four threads fill in the four fields of one word: each is an addressable byte or half word of its own.
//
// flags: --grid 1 --block 33 --arg 0=i32[11]:zeros
// expect: clean

struct Pixel {
    unsigned char red;
    unsigned char green;
    unsigned short depth;
};

__global__ void fill(Pixel *pixels)
{
    int i = threadIdx.x / 3;
    switch (threadIdx.x % 3) {
    case 0:
        pixels[i].red = i;
        break;
    case 1:
        pixels[i].green = i + 1;
        break;
    default:
        pixels[i].depth = i + 2;
    }
}
