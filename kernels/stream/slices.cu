// What runs on streams: each kernel works on a slice of an array, one thread an element.

/// Three times each element, plus one, in place.
__global__ void triple(int *data, int first, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[first + i] = 3 * data[first + i] + 1; //~[no-event, event-too-early] data-race#2 write
}

/// Adds to each element the one behind it; the last one gets the first.
__global__ void add_next(int *out, const int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = data[i] + data[(i + 1) % n]; //~[no-event] data-race#1 read, data-race#2 read //~[event-too-early] data-race#2 read
}

/// What `triple` makes of all elements, by one thread.
__global__ void triple_all(int *out, const int *data, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = 3 * data[i] + 1;
}

/// What `add_next` makes of what `triple` made, by one thread.
__global__ void add_next_all(int *out, const int *data, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = 3 * (data[i] + data[(i + 1) % n]) + 2;
}
