// A launch that may begin before the one in front of it has ended.
#pragma once
#include "../compare.h"

template <class... Formal, class... Actual> void dependent(void (*kernel)(Formal...), int blocks, int threads, Actual... actual)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t how = {};
    how.gridDim = blocks;
    how.blockDim = threads;
    how.attrs = &attribute;
    how.numAttrs = 1;
    CALL(cudaLaunchKernelEx(&how, kernel, actual...));
}
