// What the programs of this folder share: memory that both sides see, and one line a comparison with the host.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

inline int wrong = 0;

#define CALL(call)                                                                                                          \
    do {                                                                                                                    \
        cudaError_t error = (call);                                                                                         \
        if (error != cudaSuccess) {                                                                                         \
            std::printf("%s:%d: error: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error));                    \
            std::exit(1);                                                                                                   \
        }                                                                                                                   \
    } while (0)

// An array on the device, and the host's copy of it.
template <class T> struct Array {
    std::vector<T> host;
    T *device = nullptr;

    explicit Array(size_t length, T value = T{}) : host(length, value) {
        CALL(cudaMalloc(&device, length * sizeof(T)));
        put();
    }
    template <class Each> static Array of(size_t length, Each each) {
        Array array(length);
        for (size_t i = 0; i < length; ++i)
            array.host[i] = each(i);
        array.put();
        return array;
    }
    Array(const Array &) = delete;
    Array(Array &&other) : host(std::move(other.host)), device(other.device) { other.device = nullptr; }
    ~Array() { cudaFree(device); }
    void put() { CALL(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice)); }
    void get() { CALL(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost)); }
};

// Waits for the device, then compares each element with what `each` says.
template <class T, class Each> void compare(const char *what, Array<T> &array, size_t length, Each each) {
    CALL(cudaGetLastError());
    CALL(cudaDeviceSynchronize());
    array.get();
    size_t different = 0;
    for (size_t i = 0; i < length; ++i)
        different += !(array.host[i] == T(each(i)));
    std::printf("%s: %s\n", what, different ? "wrong" : "right");
    wrong += different != 0;
}

// Numbers that look random and are the same everywhere.
inline unsigned scatter(unsigned x) {
    x = (x ^ 61u) ^ (x >> 16);
    x *= 9u;
    x ^= x >> 4;
    x *= 0x27d4eb2du;
    return x ^ (x >> 15);
}
