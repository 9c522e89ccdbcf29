// racetrap's own header for programs in the conventions of libwb: what a course's template calls, and no more.
//
// A program is started as `program -e EXPECTED -i INPUT[,INPUT…] -o OUTPUT -t TYPE`. It reads its inputs with `wbImport`, and hands its
// result to `wbSolution`, which writes it to OUTPUT. Nothing is compared here: the grader reads OUTPUT, and the expected result is not
// within the program's reach.
#ifndef RACETRAP_WB_H
#define RACETRAP_WB_H

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <cuda_runtime.h>

// Gone from CUDA 13, and still in templates.
#define cudaThreadSynchronize cudaDeviceSynchronize

struct wbArg_t {
    std::vector<std::string> inputs;
    std::string expected, output, type;
};

namespace racetrap_wb {

[[noreturn]] inline void give_up(const std::string &why)
{
    std::cerr << "wb: " << why << std::endl;
    std::exit(2);
}

inline std::vector<std::string> parts(const std::string &text)
{
    std::vector<std::string> all;
    std::stringstream rest(text);
    for (std::string one; std::getline(rest, one, ',');)
        if (!one.empty())
            all.push_back(one);
    return all;
}

inline std::ifstream opened(const char *path)
{
    std::ifstream file(path ? path : "", std::ios::binary);
    if (!file)
        give_up(std::string("can't read ") + (path ? path : "(null)"));
    return file;
}

inline std::ofstream created(const wbArg_t &args)
{
    if (args.output.empty())
        give_up("no -o on the command line");
    std::ofstream file(args.output, std::ios::binary);
    if (!file)
        give_up("can't write " + args.output);
    return file;
}

// Numbers after a head of `sizes` numbers.
template <typename T> T *numbers(const char *path, int *sizes, int count)
{
    std::ifstream file = opened(path);
    long long length = 1;
    for (int i = 0; i < count; i++) {
        if (!(file >> sizes[i]) || sizes[i] < 0)
            give_up(std::string("there is no size at the beginning of ") + path);
        length *= sizes[i];
    }
    T *all = static_cast<T *>(std::malloc(length > 0 ? length * sizeof(T) : 1));
    for (long long i = 0; i < length; i++)
        if (!(file >> all[i]))
            give_up(std::string("too few numbers in ") + path);
    return all;
}

template <typename T> void write(const wbArg_t &args, const T *data, int rows, int columns, bool is_matrix)
{
    std::ofstream file = created(args);
    file << std::setprecision(std::numeric_limits<T>::max_digits10);
    if (is_matrix)
        file << rows << ' ' << columns << '\n';
    else
        file << rows << '\n';
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            file << data[static_cast<size_t>(row) * columns + column] << (column + 1 == columns ? '\n' : ' ');
}

template <typename... T> void say(const T &...words)
{
    int each[] = {0, ((std::cout << words), 0)...};
    (void)each;
    std::cout << std::endl;
}

} // namespace racetrap_wb

inline wbArg_t wbArg_read(int argc, char **argv)
{
    wbArg_t args;
    for (int i = 1; i + 1 < argc; i++) {
        std::string option = argv[i];
        if (option.size() != 2 || option[0] != '-')
            continue;
        std::string value = argv[++i];
        switch (option[1]) {
        case 'i': args.inputs = racetrap_wb::parts(value); break;
        case 'e': args.expected = value; break;
        case 'o': args.output = value; break;
        case 't': args.type = value; break;
        }
    }
    return args;
}

inline int wbArg_getInputCount(const wbArg_t &args) { return static_cast<int>(args.inputs.size()); }

inline char *wbArg_getInputFile(const wbArg_t &args, int index)
{
    if (index < 0 || index >= wbArg_getInputCount(args))
        racetrap_wb::give_up("there is no input " + std::to_string(index));
    // It lives as long as the program, whatever becomes of `args`.
    return strdup(args.inputs[index].c_str());
}

// A picture: `float` from 0 to 1, the channels of a pixel side by side.
struct wbImage_struct {
    int width, height, channels;
    float *data;
};
typedef wbImage_struct *wbImage_t;

inline wbImage_t wbImage_new(int width, int height, int channels = 3)
{
    size_t length = static_cast<size_t>(width) * height * channels;
    return new wbImage_struct{width, height, channels, static_cast<float *>(std::calloc(length ? length : 1, sizeof(float)))};
}

inline void wbImage_delete(wbImage_t image)
{
    if (image)
        std::free(image->data);
    delete image;
}

inline int wbImage_getWidth(wbImage_t image) { return image->width; }
inline int wbImage_getHeight(wbImage_t image) { return image->height; }
inline int wbImage_getChannels(wbImage_t image) { return image->channels; }
inline float *wbImage_getData(wbImage_t image) { return image->data; }

namespace racetrap_wb {

// The binary formats of netpbm, PGM and PPM.
inline wbImage_t picture(const char *path)
{
    std::ifstream file = opened(path);
    std::string kind;
    int sizes[3];
    file >> kind;
    for (int &size : sizes) {
        while (file >> std::ws && file.peek() == '#')
            file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
        file >> size;
    }
    file.get();
    if (!file || (kind != "P5" && kind != "P6") || sizes[0] < 0 || sizes[1] < 0 || sizes[2] != 255)
        give_up(std::string("no binary PGM or PPM picture: ") + path);
    wbImage_t image = wbImage_new(sizes[0], sizes[1], kind == "P5" ? 1 : 3);
    size_t length = static_cast<size_t>(image->width) * image->height * image->channels;
    for (size_t i = 0; i < length; i++)
        image->data[i] = static_cast<unsigned char>(file.get()) / 255.0f;
    return image;
}

// What `wbImport` gives: templates cast it, or don't.
struct Imported {
    void *data;
    template <typename T> operator T *() const { return static_cast<T *>(data); }
};

} // namespace racetrap_wb

inline wbImage_t wbImport(const char *path) { return racetrap_wb::picture(path); }

inline racetrap_wb::Imported wbImport(const char *path, int *length, const char *type = "Real")
{
    if (std::strcmp(type, "Integer") == 0)
        return {racetrap_wb::numbers<int>(path, length, 1)};
    return {racetrap_wb::numbers<float>(path, length, 1)};
}

inline racetrap_wb::Imported wbImport(const char *path, int *rows, int *columns, const char *type = "Real")
{
    int sizes[2];
    void *data = std::strcmp(type, "Integer") == 0 ? static_cast<void *>(racetrap_wb::numbers<int>(path, sizes, 2))
                                                   : static_cast<void *>(racetrap_wb::numbers<float>(path, sizes, 2));
    *rows = sizes[0];
    *columns = sizes[1];
    return {data};
}

inline void wbSolution(const wbArg_t &args, const float *data, int length) { racetrap_wb::write(args, data, length, 1, false); }
inline void wbSolution(const wbArg_t &args, const int *data, int length) { racetrap_wb::write(args, data, length, 1, false); }
inline void wbSolution(const wbArg_t &args, const unsigned *data, int length) { racetrap_wb::write(args, data, length, 1, false); }
inline void wbSolution(const wbArg_t &args, const float *data, int rows, int columns) { racetrap_wb::write(args, data, rows, columns, true); }
inline void wbSolution(const wbArg_t &args, const int *data, int rows, int columns) { racetrap_wb::write(args, data, rows, columns, true); }

// Templates pass `void *` where they keep vectors of either kind: the type on the command line decides.
inline void wbSolution(const wbArg_t &args, void *data, int length)
{
    if (args.type == "integral_vector")
        wbSolution(args, static_cast<int *>(data), length);
    else
        wbSolution(args, static_cast<float *>(data), length);
}

inline void wbSolution(const wbArg_t &args, wbImage_t image)
{
    std::ofstream file = racetrap_wb::created(args);
    file << (image->channels == 1 ? "P5" : "P6") << '\n' << image->width << ' ' << image->height << "\n255\n";
    size_t length = static_cast<size_t>(image->width) * image->height * image->channels;
    for (size_t i = 0; i < length; i++) {
        float value = image->data[i] * 255.0f + 0.5f;
        file.put(static_cast<char>(value <= 0.0f ? 0 : value >= 255.0f ? 255 : static_cast<int>(value)));
    }
}

// Levels and kinds of time are words that nothing is done with: the grader has no clock.
#define wbLog(level, ...) racetrap_wb::say(__VA_ARGS__)
#define wbTime_start(kind, ...) ((void)0)
#define wbTime_stop(kind, ...) ((void)0)

#endif
