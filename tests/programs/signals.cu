// Signals of the program's own stay its own, where racetrap handles the same ones to see what the host does to memory that the device uses.
//~ run handler: clean
//~ run chained: clean
//~ run raised: clean
//~ run trapped: clean
//~ run ignored: clean
//~ run unmapped: clean
//~ prints: as it should be
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void fill(int *data)
{
    data[threadIdx.x] = threadIdx.x;
}

static int *shared, *device, handled;
static cudaStream_t stream;
static sigjmp_buf back;
static struct sigaction before;

static void leave(int)
{
    handled++;
    siglongjmp(back, 1);
}

static void hand_on(int signal, siginfo_t *info, void *context)
{
    handled++;
    // As crash reporters do: whoever was there before decides.
    if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(signal, info, context);
}

/* A page of pinned memory is closed while a copy may be writing it: the next one. */
static void closes()
{
    static int page;
    cudaMemcpyAsync(shared + 1024 * page++, device, 4096, cudaMemcpyDeviceToHost, stream);
}

static void wild()
{
    *(volatile int *)16 = 1;
}

static void handles(void (*plain)(int), void (*with)(int, siginfo_t *, void *))
{
    struct sigaction own = {};
    if (plain) own.sa_handler = plain;
    else own.sa_sigaction = with, own.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &own, &before);
}

/* How a child ends that does this: the signal, or 0 for an end of its own. One that hangs is ended by SIGALRM. */
static int ends(void (*what)())
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        what();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int main(int argc, char **argv)
{
    auto is = [&](const char *name) { return argc > 1 && !strcmp(argv[1], name); };
    bool right = true;
    if (is("ignored")) signal(SIGSEGV, SIG_IGN);
    cudaStreamCreate(&stream);
    cudaMallocHost(&shared, 65536);
    cudaMalloc(&device, 4096);
    fill<<<1, 1024, 0, stream>>>(device);
    closes();
    if (is("handler")) {
        // Installed later than racetrap's, and left by a jump, time after time.
        handles(leave, nullptr);
        for (int i = 0; i < 3; i++) {
            closes();
            if (!sigsetjmp(back, 1)) wild();
        }
        right = handled == 3;
    } else if (is("chained")) {
        handles(nullptr, hand_on);
        closes();
        right = ends(wild) == SIGSEGV && handled == 0;
    } else if (is("raised")) {
        right = ends([] { raise(SIGSEGV); }) == SIGSEGV;
    } else if (is("trapped")) {
        right = ends([] { raise(SIGTRAP); }) == SIGTRAP;
#ifdef __x86_64__
        right &= ends([] { asm volatile("int3"); }) == SIGTRAP;
#endif
    } else if (is("ignored")) {
        // A signal that is sent can be ignored, a fault can't.
        right = ends([] { raise(SIGSEGV); }) == 0 && ends(wild) == SIGSEGV;
    } else if (is("unmapped")) {
        // Registered memory that is gone: an access to it is the program's own mistake, once.
        const size_t bytes = 65536;
        static char *own = (char *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cudaHostRegister(own, bytes, cudaHostRegisterDefault);
        cudaMemcpyAsync(own, device, 4096, cudaMemcpyDeviceToHost, stream);
        munmap(own, bytes);
        handles(leave, nullptr);
        if (!sigsetjmp(back, 1)) *(volatile char *)own = 1;
        right = handled == 1;
        cudaStreamSynchronize(stream);
        cudaHostUnregister(own);
    }
    cudaStreamSynchronize(stream);
    cudaFree(device);
    cudaFreeHost(shared);
    cudaStreamDestroy(stream);
    puts(right ? "as it should be" : "wrong");
    return !right;
}
