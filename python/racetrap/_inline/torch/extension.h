// What host code of extensions uses of PyTorch, as far as arrays in dense memory go: sizes, types, pointers, new arrays. Written from
// PyTorch's public documentation ("PyTorch C++ API": torch::Tensor, torch::TensorOptions; "Custom C++ and CUDA Extensions"). An operator of
// PyTorch is not here, so that a source that computes with one does not compile, and is never judged by something else.
#pragma once
#include <algorithm>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace c10 {
using Half = __half;
using BFloat16 = __nv_bfloat16;
enum class ScalarType { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16 };
inline int64_t elementSize(ScalarType type)
{
    switch (type) {
    case ScalarType::Byte: case ScalarType::Char: case ScalarType::Bool: return 1;
    case ScalarType::Short: case ScalarType::Half: case ScalarType::BFloat16: return 2;
    case ScalarType::Int: case ScalarType::Float: return 4;
    default: return 8;
    }
}
using std::nullopt;
/// Nothing is converted on its way into one, so that what is passed for it says itself whether it is there.
template <typename T> struct optional : std::optional<T> {
    optional() = default;
    optional(std::nullopt_t) {}
    optional(const T &value) : std::optional<T>(value) {}
};
enum class MemoryFormat { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
class Error : public std::runtime_error { public: using std::runtime_error::runtime_error; };
enum class DeviceType { CPU, CUDA };
struct Device {
    DeviceType kind; int number;
    Device(DeviceType kind = DeviceType::CUDA, int number = 0) : kind(kind), number(number) {}
    bool is_cuda() const { return kind == DeviceType::CUDA; }
    DeviceType type() const { return kind; }
    int index() const { return number; }
    bool operator==(const Device &other) const { return kind == other.kind && number == other.number; }
    bool operator!=(const Device &other) const { return !(*this == other); }
};
class IntArrayRef {
    std::vector<int64_t> all;
public:
    IntArrayRef(std::initializer_list<int64_t> sizes) : all(sizes) {}
    IntArrayRef(std::vector<int64_t> sizes) : all(std::move(sizes)) {}
    size_t size() const { return all.size(); }
    int64_t operator[](size_t i) const { return all.at(i); }
    const int64_t *begin() const { return all.data(); }
    const int64_t *end() const { return all.data() + all.size(); }
    std::vector<int64_t> vec() const { return all; }
    bool operator==(const IntArrayRef &other) const { return all == other.all; }
    bool operator!=(const IntArrayRef &other) const { return all != other.all; }
};
} // namespace c10

namespace at {
using c10::BFloat16;
using c10::Device;
using c10::Half;
using c10::IntArrayRef;
using c10::MemoryFormat;
using c10::ScalarType;
constexpr auto kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char, kInt8 = ScalarType::Char, kShort = ScalarType::Short,
               kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int, kLong = ScalarType::Long, kInt64 = ScalarType::Long,
               kHalf = ScalarType::Half, kFloat16 = ScalarType::Half, kFloat = ScalarType::Float, kFloat32 = ScalarType::Float,
               kDouble = ScalarType::Double, kFloat64 = ScalarType::Double, kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
constexpr auto kCUDA = c10::DeviceType::CUDA, kCPU = c10::DeviceType::CPU;

struct TensorOptions {
    ScalarType type = ScalarType::Float;
    TensorOptions() = default;
    TensorOptions(ScalarType type) : type(type) {}
    TensorOptions(c10::DeviceType) {}
    TensorOptions(Device) {}
    TensorOptions dtype(ScalarType other) const { TensorOptions copy = *this; copy.type = other; return copy; }
    TensorOptions device(c10::DeviceType, int = 0) const { return *this; }
    TensorOptions device(Device) const { return *this; }
    TensorOptions requires_grad(bool) const { return *this; }
};

template <typename T> struct TypeOf;
template <> struct TypeOf<uint8_t> { static constexpr auto value = ScalarType::Byte; };
template <> struct TypeOf<int8_t> { static constexpr auto value = ScalarType::Char; };
template <> struct TypeOf<int16_t> { static constexpr auto value = ScalarType::Short; };
template <> struct TypeOf<int32_t> { static constexpr auto value = ScalarType::Int; };
template <> struct TypeOf<int64_t> { static constexpr auto value = ScalarType::Long; };
template <> struct TypeOf<long long> { static constexpr auto value = ScalarType::Long; };
template <> struct TypeOf<__half> { static constexpr auto value = ScalarType::Half; };
template <> struct TypeOf<float> { static constexpr auto value = ScalarType::Float; };
template <> struct TypeOf<double> { static constexpr auto value = ScalarType::Double; };
template <> struct TypeOf<bool> { static constexpr auto value = ScalarType::Bool; };
template <> struct TypeOf<__nv_bfloat16> { static constexpr auto value = ScalarType::BFloat16; };

/// An array on the device, dense and in C's order. Copies share the memory, as PyTorch's do.
class Tensor {
    std::shared_ptr<void> memory;
    bool made = false;
    std::vector<int64_t> shape;
    ScalarType element = ScalarType::Float;
    static std::shared_ptr<void> take(size_t bytes)
    {
        void *at = nullptr;
        // What has no elements has no address, either, and kernels ask for that.
        if (bytes && cudaMalloc(&at, bytes) != cudaSuccess)
            throw c10::Error("out of device memory");
        return std::shared_ptr<void>(at, [](void *at) { if (at) cudaFree(at); });
    }
public:
    Tensor() = default;
    Tensor(const std::vector<int64_t> &sizes, ScalarType element) : shape(sizes), element(element)
    {
        for (auto size : sizes)
            if (size < 0) throw c10::Error("a tensor with a negative size");
        memory = take(nbytes());
        made = true;
    }
    int64_t numel() const { int64_t n = 1; for (auto size : shape) n *= size; return n; }
    int64_t element_size() const { return c10::elementSize(element); }
    int64_t itemsize() const { return element_size(); }
    size_t nbytes() const { return numel() * element_size(); }
    int64_t dim() const { return shape.size(); }
    int64_t ndimension() const { return dim(); }
    int64_t size(int64_t i) const { return shape.at(i < 0 ? i + dim() : i); }
    IntArrayRef sizes() const { return shape; }
    int64_t stride(int64_t i) const { i = i < 0 ? i + dim() : i; int64_t n = 1; while (++i < dim()) n *= std::max<int64_t>(shape.at(i), 1); return n; }
    IntArrayRef strides() const { std::vector<int64_t> all; for (int64_t i = 0; i < dim(); i++) all.push_back(stride(i)); return all; }
    ScalarType scalar_type() const { return element; }
    ScalarType type() const { return element; }
    ScalarType dtype() const { return element; }
    Device device() const { return Device(); }
    bool is_cuda() const { return true; }
    bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const { return format == MemoryFormat::Contiguous; }
    bool defined() const { return made; }
    int get_device() const { return 0; }
    TensorOptions options() const { return TensorOptions(element); }
    Tensor contiguous() const { return *this; }
    Tensor detach() const { return *this; }
    Tensor cuda() const { return *this; }
    Tensor view(IntArrayRef sizes) const
    {
        Tensor other = *this;
        int64_t known = 1, open = -1;
        other.shape = sizes.vec();
        for (size_t i = 0; i < sizes.size(); i++)
            if (sizes[i] == -1) open = i; else known *= sizes[i];
        if (open >= 0) other.shape[open] = known ? numel() / known : 0;
        if (other.numel() != numel()) throw c10::Error("view: the sizes do not fit");
        return other;
    }
    Tensor reshape(IntArrayRef sizes) const { return view(sizes); }
    Tensor clone() const { Tensor other(shape, element); if (nbytes()) cudaMemcpy(other.raw(), raw(), nbytes(), cudaMemcpyDeviceToDevice); return other; }
    Tensor &zero_() { if (nbytes()) cudaMemset(raw(), 0, nbytes()); return *this; }
    void *raw() const { return memory.get(); }
    void *data_ptr() const { return raw(); }
    const void *const_data_ptr() const { return raw(); }
    void *mutable_data_ptr() const { return raw(); }
    template <typename T> T *data_ptr() const
    {
        if (TypeOf<typename std::remove_const<T>::type>::value != element) throw c10::Error("data_ptr: the tensor has elements of another type");
        return static_cast<T *>(raw());
    }
    template <typename T> const T *const_data_ptr() const { return data_ptr<T>(); }
    template <typename T> T *mutable_data_ptr() const { return data_ptr<T>(); }
    template <typename T> T *data() const { return data_ptr<T>(); }
};

/// The byte that new arrays are filled with, so that what a kernel leaves unwritten shows; none where it is negative.
inline int &racetrap_poison() { static int byte = -1; return byte; }
inline Tensor empty(IntArrayRef sizes, TensorOptions options = {})
{
    Tensor out(sizes.vec(), options.type);
    if (racetrap_poison() >= 0 && out.nbytes()) cudaMemset(out.raw(), racetrap_poison(), out.nbytes());
    return out;
}
inline Tensor zeros(IntArrayRef sizes, TensorOptions options = {}) { return Tensor(sizes.vec(), options.type).zero_(); }
inline Tensor full(IntArrayRef sizes, double value, TensorOptions options = {})
{
    Tensor out = empty(sizes, options);
    std::vector<unsigned char> bytes(out.nbytes());
    for (int64_t i = 0; i < out.numel(); i++) {
        unsigned char *at = bytes.data() + i * out.element_size();
        switch (options.type) {
        case ScalarType::Float: { float v = value; memcpy(at, &v, 4); break; }
        case ScalarType::Bool: *at = value != 0; break;
        case ScalarType::Double: memcpy(at, &value, 8); break;
        case ScalarType::Half: { __half v = __float2half(value); memcpy(at, &v, 2); break; }
        case ScalarType::BFloat16: { __nv_bfloat16 v = __float2bfloat16(value); memcpy(at, &v, 2); break; }
        default: { int64_t v = value; memcpy(at, &v, out.element_size()); break; }
        }
    }
    if (!bytes.empty()) cudaMemcpy(out.raw(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice);
    return out;
}
inline Tensor ones(IntArrayRef sizes, TensorOptions options = {}) { return full(sizes, 1, options); }
inline Device device_of(const Tensor &tensor) { return tensor.device(); }
inline Tensor empty_like(const Tensor &other) { return empty(other.sizes(), other.options()); }
inline Tensor empty_like(const Tensor &other, TensorOptions options) { return empty(other.sizes(), options); }
inline Tensor zeros_like(const Tensor &other) { return zeros(other.sizes(), other.options()); }
inline Tensor ones_like(const Tensor &other) { return ones(other.sizes(), other.options()); }
inline Tensor full_like(const Tensor &other, double value) { return full(other.sizes(), value, other.options()); }
namespace cuda {
struct Stream {
    cudaStream_t stream() const { return nullptr; }
    operator cudaStream_t() const { return nullptr; }
};
inline Stream getCurrentCUDAStream(int = 0) { return {}; }
inline Stream getDefaultCUDAStream(int = 0) { return {}; }
struct CUDAGuard { template <typename T> explicit CUDAGuard(T) {} };
using OptionalCUDAGuard = CUDAGuard;
} // namespace cuda
template <typename... T> std::string words(const T &...all) { std::ostringstream text; int unused[] = {0, ((void)(text << all), 0)...}; (void)unused; return text.str(); }
} // namespace at

namespace c10 { namespace cuda = at::cuda; }
namespace torch {
using namespace at;
using at::Tensor;
using at::TensorOptions;
using Dtype = at::ScalarType;
inline at::TensorOptions dtype(at::ScalarType type) { return at::TensorOptions(type); }
inline at::TensorOptions device(c10::DeviceType) { return {}; }
} // namespace torch

#define TORCH_CHECK(holds, ...) do { if (!(holds)) throw c10::Error(at::words(__VA_ARGS__)); } while (0)
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_ASSERT(holds) TORCH_CHECK(holds, "assertion failed")
#define AT_CUDA_CHECK(call) do { cudaError_t error = (call); if (error != cudaSuccess) throw c10::Error(cudaGetErrorString(error)); } while (0)
#define C10_CUDA_CHECK AT_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() AT_CUDA_CHECK(cudaGetLastError())
#define RACETRAP_CASE(type, cpp, ...) case c10::ScalarType::type: { using scalar_t = cpp; __VA_ARGS__(); break; }
#define RACETRAP_DISPATCH(type, name, cases) do { switch (type) { cases default: throw c10::Error(std::string(name) + ": not for elements of this type"); } } while (0)
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...) \
    RACETRAP_DISPATCH(type, name, RACETRAP_CASE(Float, float, __VA_ARGS__) RACETRAP_CASE(Double, double, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, name, ...) \
    RACETRAP_DISPATCH(type, name, RACETRAP_CASE(Float, float, __VA_ARGS__) RACETRAP_CASE(Double, double, __VA_ARGS__) RACETRAP_CASE(Half, c10::Half, __VA_ARGS__))
// Bindings for Python are not made: the function is called by its name.
#define PYBIND11_MODULE(name, module) template <typename Module> void racetrap_binds_nothing(Module &module)
#define TORCH_EXTENSION_NAME extension
