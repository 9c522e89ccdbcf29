// What a program does that makes up the library's records: it finds the key in the memory of its process, takes the library's way to the
// grader away, and writes lines of its own.
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

static std::string sha256(const std::string &text)
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
        0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
        0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
        0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
        0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::string all = text + '\x80';
    while (all.size() % 64 != 56)
        all += '\0';
    for (int i = 7; i >= 0; i--)
        all += char(uint64_t(text.size()) * 8 >> 8 * i);
    auto turn = [](uint32_t x, int n) { return x >> n | x << (32 - n); };
    for (size_t at = 0; at < all.size(); at += 64) {
        uint32_t w[64], v[8];
        for (int i = 0; i < 16; i++)
            w[i] = uint32_t(uint8_t(all[at + 4 * i])) << 24 | uint8_t(all[at + 4 * i + 1]) << 16 | uint8_t(all[at + 4 * i + 2]) << 8 | uint8_t(all[at + 4 * i + 3]);
        for (int i = 16; i < 64; i++)
            w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] + (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
        memcpy(v, h, sizeof h);
        for (int i = 0; i < 64; i++) {
            uint32_t a = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
            uint32_t b = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 28);
            v[4] += a, v[0] = a + b;
        }
        for (int i = 0; i < 8; i++)
            h[i] += v[i];
    }
    char out[65];
    for (int i = 0; i < 8; i++)
        snprintf(out + 8 * i, 9, "%08x", h[i]);
    return out;
}

static sigjmp_buf back;
static void jump(int) { siglongjmp(back, 1); }

// 32 hexadecimal digits that nothing alike surrounds: looked for from the end of the heap downwards.
static std::string find_key()
{
    auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    struct sigaction catches = {}, before;
    catches.sa_handler = jump;
    sigaction(SIGSEGV, &catches, &before);
    std::string key;
    volatile size_t found = 0;
    if (sigsetjmp(back, 1) == 0) {
        int run = 0;
        for (const char *at = (const char *)sbrk(0) - 1;; at--) {
            if (digit(*at)) {
                run++;
                continue;
            }
            if (run == 32) {
                std::string candidate(at + 1, 32);
                found++;
                if (key.empty())
                    key = candidate;
            }
            run = 0;
        }
    }
    sigaction(SIGSEGV, &before, nullptr);
    return key;
}

// The library's pipe; -1 if there is none.
static int find_pipe()
{
    for (int fd = 3; fd < 128; fd++) {
        struct stat state;
        if (fstat(fd, &state) == 0 && S_ISFIFO(state.st_mode) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
            return fd;
    }
    return -1;
}

static int forged_to = -1, forged_next, nobody;
static std::string forged_key;

// From here on the library writes to nobody.
static void take_over()
{
    forged_key = find_key();
    int fd = find_pipe();
    forged_to = fd < 0 ? -1 : dup(fd);
    // A pipe of the program's own: files that nothing counts are denied to it.
    int ends[2];
    if (fd < 0 || pipe2(ends, O_NONBLOCK) < 0 || dup2(ends[1], fd) < 0)
        exit(1);
    nobody = ends[0];
    // What was written before: that the program has started.
    forged_next = 1;
}

static void forge(const std::string &record)
{
    std::string line = "{\"process\":" + std::to_string(getpid()) + ",\"record\":" + record + "}";
    auto part = [](const std::string &text) {
        uint64_t size = text.size();
        return std::string((const char *)&size, 8) + text;
    };
    uint64_t number = forged_next++;
    std::string sealed = part(forged_key) + part(std::string((const char *)&number, 8)) + part(line) + part(forged_key);
    line += "\t" + std::to_string(number) + "\t" + sha256(sealed) + "\n";
    if (write(forged_to, line.data(), line.size()) < 0)
        exit(1);
}

// The launches that the library told nobody of, with another text where they have this one.
static void forge_launches(const std::string &from, const std::string &to)
{
    std::string all;
    char part[4096];
    for (ssize_t size; (size = read(nobody, part, sizeof part)) > 0;)
        all.append(part, size);
    for (size_t at = 0, end; (end = all.find('\n', at)) != std::string::npos; at = end + 1) {
        std::string line = all.substr(at, all.find('\t', at) - at);
        size_t record = line.find("{\"launch\":");
        if (record == std::string::npos)
            continue;
        line = line.substr(record, line.size() - record - 1);
        size_t place = line.find(from);
        forge(place == std::string::npos ? line : line.replace(place, from.size(), to));
    }
}

// What a right program tells of itself.
static void forge_the_end()
{
    forge("{\"totals\":{\"kernels\":[{\"name\":\"row_sums(int const*, int*, int)\",\"launches\":1,\"watched\":1,\"steps\":300,\"threads\":128,"
          "\"seconds\":0.1,\"explored\":[0,0],\"counts\":{\"requests\":9,\"sectors\":9,\"conflicts\":0,\"divergent\":0,\"reads\":50,\"writes\":9,\"atomics\":0,\"barriers\":9},"
          "\"largest\":[2,64,256]}],\"idle\":[],\"lines\":[],\"calls\":9,\"peak\":1000}}");
    forge("\"ended\"");
}
