// Tests of kernels by GoogleTest: a block reverses its numbers by way of shared memory.
#include <gtest/gtest.h>

__global__ void reverse(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    __syncthreads();
    data[t] = tile[63 - t];
}

__global__ void reverse_without_barrier(int *data)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = data[t];
    data[t] = tile[63 - t];
}

class Reverse : public testing::Test {
protected:
    int host[64], *data = nullptr;

    void SetUp() override
    {
        for (int i = 0; i < 64; i++) host[i] = i;
        ASSERT_EQ(cudaMalloc(&data, sizeof host), cudaSuccess);
        ASSERT_EQ(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice), cudaSuccess);
    }

    void fetch()
    {
        ASSERT_EQ(cudaGetLastError(), cudaSuccess);
        ASSERT_EQ(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
    }

    void TearDown() override { EXPECT_EQ(cudaFree(data), cudaSuccess); }
};

TEST_F(Reverse, WithBarrier)
{
    reverse<<<1, 64>>>(data);
    fetch();
    for (int i = 0; i < 64; i++) EXPECT_EQ(host[i], 63 - i);
}

// What comes of the race is left open.
TEST_F(Reverse, WithoutBarrier)
{
    reverse_without_barrier<<<1, 64>>>(data);
    fetch();
}

// The kernel is right, and what is expected of it is wrong.
TEST_F(Reverse, WrongExpectation)
{
    reverse<<<1, 64>>>(data);
    fetch();
    EXPECT_EQ(host[0], 0);
}
