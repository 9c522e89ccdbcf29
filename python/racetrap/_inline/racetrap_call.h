// Calls a host function with arguments out of a file, and writes its results to another one: what racetrap/torch.py makes a program of.
#pragma once
#include <torch/extension.h>
#include <optional>

namespace racetrap {
struct File {
    FILE *file;
    File(const char *name, const char *how) : file(fopen(name, how)) { if (!file) { perror(name); exit(2); } }
    ~File() { fclose(file); }
    template <typename T> T get() { T value; if (fread(&value, sizeof value, 1, file) != 1) { fputs("the arguments are cut off\n", stderr); exit(2); } return value; }
    template <typename T> void put(T value) { fwrite(&value, sizeof value, 1, file); }
};

/// An argument: it becomes what the function's parameter is.
struct Value {
    char kind;
    at::Tensor tensor;
    int64_t whole = 0;
    double real = 0;
    std::vector<int64_t> list;
    explicit Value(File &in) : kind(in.get<char>())
    {
        if (kind == 'i') whole = in.get<int64_t>(), real = whole;
        else if (kind == 'f') real = in.get<double>(), whole = real;
        else if (kind == 'l') { list.resize(in.get<int32_t>()); for (auto &one : list) one = in.get<int64_t>(); }
        else if (kind == 't') {
            auto type = static_cast<c10::ScalarType>(in.get<int32_t>());
            std::vector<int64_t> shape(in.get<int32_t>());
            for (auto &size : shape) size = in.get<int64_t>();
            tensor = at::Tensor(shape, type);
            std::vector<char> bytes(tensor.nbytes());
            if (!bytes.empty() && fread(bytes.data(), 1, bytes.size(), in.file) != bytes.size()) { fputs("the arguments are cut off\n", stderr); exit(2); }
            if (!bytes.empty()) cudaMemcpy(tensor.raw(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice);
        }
    }
    operator at::Tensor() const { if (kind == 'n') return {}; if (kind != 't') throw c10::Error("a number is passed where the function takes a tensor"); return tensor; }
    template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type> operator T() const
    {
        if (kind != 'i' && kind != 'f') throw c10::Error("a tensor is passed where the function takes a number");
        return std::is_floating_point<T>::value ? static_cast<T>(real) : static_cast<T>(whole);
    }
    operator std::vector<int64_t>() const { if (kind != 'l') throw c10::Error("what is passed is no list of numbers"); return list; }
    operator c10::IntArrayRef() const { return std::vector<int64_t>(*this); }
    operator c10::optional<at::Tensor>() const { if (kind == 'n') return {}; return at::Tensor(*this); }
};

inline void put(File &out, const at::Tensor &tensor)
{
    out.put<int32_t>(static_cast<int32_t>(tensor.scalar_type()));
    out.put<int32_t>(tensor.dim());
    for (auto size : tensor.sizes()) out.put<int64_t>(size);
    std::vector<char> bytes(tensor.nbytes());
    if (!bytes.empty()) cudaMemcpy(bytes.data(), tensor.raw(), bytes.size(), cudaMemcpyDeviceToHost);
    fwrite(bytes.data(), 1, bytes.size(), out.file);
}
/// One tensor is -1 of them, so that it is told from a list of one.
inline void results(File &out, const at::Tensor &one) { out.put<int32_t>(-1); put(out, one); }
inline void results(File &out, const std::vector<at::Tensor> &all) { out.put<int32_t>(all.size()); for (auto &one : all) put(out, one); }
template <typename... T, size_t... I> void tuple(File &out, const std::tuple<T...> &all, std::index_sequence<I...>)
{
    int unused[] = {0, (put(out, std::get<I>(all)), 0)...};
    (void)unused;
}
template <typename... T> void results(File &out, const std::tuple<T...> &all) { out.put<int32_t>(sizeof...(T)); tuple(out, all, std::index_sequence_for<T...>()); }

template <typename Call> void keep(File &out, Call call, std::true_type) { call(); out.put<int32_t>(0); }
template <typename Call> void keep(File &out, Call call, std::false_type) { results(out, call()); }

/// Results first, then the tensors that were passed, as they are afterwards.
template <typename Call> int run(File &out, const std::vector<Value> &values, Call call)
{
    try {
        keep(out, call, std::is_void<decltype(call())>());
        cudaError_t error = cudaDeviceSynchronize();
        if (error != cudaSuccess) throw c10::Error(cudaGetErrorString(error));
        for (auto &value : values)
            if (value.kind == 't') put(out, value.tensor);
        return 0;
    } catch (const std::exception &error) {
        fprintf(stderr, "%s\n", error.what());
        return 3;
    }
}
} // namespace racetrap
