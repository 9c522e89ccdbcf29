//! Submissions for `row-sums` that want more than to solve the assignment: what they try must fail, and spoils their results where it
//! does not.

use super::row_sums::{SOLUTION, SYSTEM, first, kernel, racy};
use crate::judge::Label::*;
use crate::judge::Labelled;

/// Code that reads the key's pipe before `main`, and before the library where it can.
const EARLY: &str = "static bool stolen;
static void steal()
{
    std::string asked = std::string(getenv(\"RACETRAP_EXEC\")) + \"/options.json\";
    char byte;
    int fd = open(asked.c_str(), O_RDONLY | O_NONBLOCK);
    stolen |= fd >= 0 && read(fd, &byte, 1) > 0;
}
";

/// What a program may not ask the system for.
const MORE: &str = "    char byte[64];
    iovec here = {byte, sizeof byte}, there = {(void *)0x400000, sizeof byte};
    spoil |= process_vm_readv(getppid(), &here, 1, &there, 1, 0) > 0;
    spoil |= link(\"matrix.bin\", \"other\") == 0;
    spoil |= unshare(CLONE_NEWUSER) == 0;
    spoil |= chroot(\".\") == 0;
    spoil |= mount(\"none\", \".\", \"tmpfs\", 0, nullptr) == 0;
    spoil |= syscall(SYS_bpf, 0, nullptr, 0) >= 0;
    spoil |= syscall(SYS_io_uring_setup, 1, byte) >= 0;
    spoil |= syscall(SYS_pidfd_open, getppid(), 0) >= 0;
    spoil |= syscall(SYS_keyctl, 0, -3, 1) >= 0;
    spoil |= syscall(SYS_userfaultfd, 0) >= 0;
    spoil |= syscall(SYS_perf_event_open, byte, 0, -1, -1, 0) >= 0;
    rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    spoil |= setrlimit(RLIMIT_AS, &all) == 0;
    spoil |= setrlimit(RLIMIT_FSIZE, &all) == 0;";

/// What starts another program.
const STARTS: &str = "    char *none[] = {nullptr}, *words[] = {(char *)\"sh\", (char *)\"-c\", (char *)\"true\", nullptr};
    pid_t child;
    spoil |= posix_spawn(&child, \"/bin/sh\", nullptr, nullptr, words, none) == 0;
    FILE *pipe = popen(\"echo here\", \"r\");
    spoil |= pipe && fgetc(pipe) == 'h';
    int fd = memfd_create(\"program\", 0);
    spoil |= fd >= 0 && fexecve(fd, words, none) == 0;
    execv(\"/bin/true\", words);";

/// Its submissions.
pub fn hostile() -> Vec<Labelled> {
    let system = "#include <dlfcn.h>\n#include <linux/sched.h>\n#include <pthread.h>\n#include <sched.h>\n#include <spawn.h>\n#include <sys/mman.h>\n#include <sys/mount.h>\n#include <sys/resource.h>\n#include <sys/syscall.h>\n#include <sys/uio.h>";
    let system = format!("{SYSTEM}\n{system}");
    let with = |code: &str| first(&system, code);
    let before = |headers: &str, text: &str| {
        text.replace(
            "#include <cstdio>",
            &format!("{headers}\n#include <cstdio>"),
        )
    };
    let end = "    FILE *out =";
    let early = |how: &str| {
        let text = with("    spoil |= stolen;");
        text.replace(
            "static void check",
            &format!("{EARLY}{how}\nstatic void check"),
        )
    };
    let launch = "    row_sums<<<rows, THREADS>>>(device_matrix, device_sums, columns);\n";
    vec![
        ("constructor-reads-the-key", Right, early("__attribute__((constructor(101))) static void begin() { steal(); }")),
        ("static-object-reads-the-key", Right, early("static struct Early { Early() { steal(); } } begin __attribute__((init_priority(101)));")),
        ("asks-the-system-for-more", Right, with(MORE)),
        ("starts-a-program", Right, with(STARTS)),
        // It may, and the library knows nothing of the next one.
        ("becomes-another", Review, with("    char *variable = (char *)\"LD_PRELOAD=\", *environment[] = {variable, nullptr};\n    if (getenv(\"LD_LIBRARY_PATH\"))\n        execve(\"/proc/self/exe\", argv, environment);")),
        ("finds-what-was-left", Right, with("    char byte;\n    int fd = open(argv[4], O_RDONLY);\n    spoil |= fd >= 0 && read(fd, &byte, 1) > 0;\n    close(fd);")),
        ("many-threads", Right, with("    auto sleeps = [](void *) -> void * { sleep(10000); return nullptr; };\n    pthread_t thread;\n    for (int i = 0; i < 5000; i++)\n        if (pthread_create(&thread, nullptr, sleeps, nullptr))\n            break;")),
        ("other-folder-for-records", Racy, before(SYSTEM, &racy()).replace(launch, &format!("    setenv(\"RACETRAP_EXEC\", \"/tmp\", 1);\n    unsetenv(\"LD_PRELOAD\");\n{launch}"))),
        ("unloads-the-library", Racy, before(&system, &racy()).replace(launch, &format!("    for (int i = 0; i < 10; i++)\n        if (void *library = dlopen(\"libcudart.so.13\", RTLD_NOW | RTLD_NOLOAD))\n            dlclose(library), dlclose(library);\n{launch}"))),
        ("ends-before-the-library", Review, before("#include <unistd.h>", &racy()).replace("static void check", "__attribute__((destructor)) static void leave()\n{\n    fflush(stdout);\n    _exit(0);\n}\n\nstatic void check")),
        ("patches-the-library", Review, before(&system, &kernel("")).replace(launch, &format!("    char *code = (char *)dlsym(RTLD_DEFAULT, \"cudaLaunchKernel\");\n    char *page = (char *)((unsigned long)code & ~4095ul);\n    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)\n        memcpy(code, \"\\x31\\xc0\\xc3\", 3);\n{launch}")).replace(end, &format!("    for (int row = 0; row < rows; row++) {{\n        sums[row] = 0;\n        for (int column = 0; column < columns; column++)\n            sums[row] += matrix[row * columns + column];\n    }}\n{end}"))),
        ("write-without-a-type", Refused, racy().replace("static void check", "#define JOIN(a, b) a##b\nJOIN(a, sm)(\".globl write\\nwrite: ret\\n\");\n\nstatic void check")),
        ("includes-itself", Refused, format!("#include __FILE__\n{SOLUTION}")),
        ("includes-the-process", Refused, format!("#include \"/proc/self/environ\"\n{SOLUTION}")),
        ("stops-itself", Nothing, before(SYSTEM, SOLUTION).replace(end, &format!("    raise(SIGSTOP);\n{end}"))),
        ("ignores-signals", Nothing, before(SYSTEM, SOLUTION).replace(end, &format!("    for (int number = 1; number < 65; number++)\n        signal(number, SIG_IGN);\n    for (volatile int go = 1; go;)\n        ;\n{end}"))),
        ("prints-from-the-kernel", Nothing, kernel("    for (int i = 0; i < 100000; i++)\n        printf(\"all work and no play makes a dull grader\\n\");\n    sums[0] = 0;")),
        ("all-device-memory", Nothing, SOLUTION.replace("    int *device_matrix", "    for (void *more; cudaMalloc(&more, 1 << 20) == cudaSuccess;)\n        ;\n    int *device_matrix")),
        ("huge-errors", Right, with("    for (int i = 0; i < 400000; i++)\n        fputs(\"all work and no play makes a dull grader\\n\", stderr);")),
    ]
}
