#pragma once
#include <chrono>

__device__ inline int lane() { return threadIdx.x & 31; }

struct Timer {
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    double elapsed() const
    {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    }
};
