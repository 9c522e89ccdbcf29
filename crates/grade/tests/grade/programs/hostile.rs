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

/// Another process of its own, with what loaders do for whoever sets it.
const AUDIT: &str = "    char *variables[] = {(char *)\"LD_AUDIT=./matrix.bin\", (char *)\"LD_BIND_NOT=1\", (char *)\"LD_DEBUG=all\", (char *)\"LD_DEBUG_OUTPUT=./sums.bin\", (char *)\"GLIBC_TUNABLES=glibc.malloc.check=3\", nullptr};
    if (getenv(\"LD_LIBRARY_PATH\"))
        execve(\"/proc/self/exe\", argv, variables);";

/// Results, where services look for them.
const RESULTS: &str = "    for (const char *path : {\"results.json\", \"../results.json\", \"result.json\", \"../../results/results.json\", \"/autograder/results/results.json\", \"/grade/results/results.json\", \"/tmp/results.json\"})
        spoil |= open(path, O_CREAT | O_WRONLY, 0600) >= 0;
    fprintf(stderr, \"\\n{\\\"scores\\\": {\\\"results\\\": 50}}\\n\");";

/// Memory and queues that outlive a process.
const SHARED: &str = "    spoil |= syscall(SYS_shmget, 77, 4096, 01666) >= 0;
    spoil |= syscall(SYS_msgget, 77, 01666) >= 0;
    spoil |= syscall(SYS_semget, 77, 1, 01666) >= 0;
    spoil |= syscall(SYS_mq_open, \"/queue\", O_CREAT | O_RDWR, 0600, nullptr) >= 0;
    spoil |= syscall(SYS_memfd_secret, 0) >= 0;
    spoil |= syscall(SYS_userfaultfd, 1) >= 0;
    spoil |= syscall(SYS_process_vm_writev, getppid(), nullptr, 0, nullptr, 0, 0) >= 0;";

/// Memory that is in use and that nobody has mapped: none can be had.
const HIDDEN: &str = "    spoil |= syscall(SYS_memfd_create, \"hidden\", 0) >= 0;
    spoil |= mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
    spoil |= mmap(nullptr, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) != MAP_FAILED;
    int ends[2];
    spoil |= pipe(ends) == 0 && fcntl(ends[1], 1031, 1 << 20) >= 0;
    spoil |= open(\"/dev/shm/hidden\", O_CREAT | O_RDWR, 0600) >= 0;";

/// The file that the library has for the device's memory holds what anybody writes into it.
const FILLED: &str = "    std::string much(1 << 20, 'x');
    struct stat what;
    for (int fd = 3; fd < 128; fd++)
        for (int i = 0; i < 1500 && fstat(fd, &what) == 0 && what.st_nlink == 0 && write(fd, much.data(), much.size()) > 0; i++)
            ;";

/// Limits, priorities and processors of others.
const LIMITS: &str = "    rlimit second = {1, 1};
    sched_param none = {0};
    for (int other : {getppid(), 1, 0}) {
        spoil |= prlimit(other, RLIMIT_CPU, &second, nullptr) == 0;
        spoil |= setpriority(PRIO_PROCESS, other, 19) == 0;
        spoil |= sched_setscheduler(other, SCHED_IDLE, &none) == 0;
        spoil |= syscall(SYS_ioprio_set, 1, other, 3 << 13) == 0;
        spoil |= syscall(SYS_tgkill, getppid(), getppid(), SIGKILL) == 0;
    }
    spoil |= setpriority(PRIO_USER, 0, 19) == 0;
    spoil |= syscall(SYS_personality, 0x0040000) >= 0;
    spoil |= syscall(SYS_seccomp, 1, 0, nullptr) == 0;";

/// Files that the C library opens for whoever names them in its variables.
const LOCALES: &str = "    setenv(\"TZ\", \":/etc/passwd\", 1);
    setenv(\"TZDIR\", \"/etc\", 1);
    setenv(\"LOCPATH\", \"/etc\", 1);
    setenv(\"LC_ALL\", \"../../etc/passwd\", 1);
    setenv(\"NLSPATH\", \"/etc/%N\", 1);
    setenv(\"GCONV_PATH\", \".\", 1);
    tzset();
    spoil |= setlocale(LC_ALL, \"\") != nullptr;
    spoil |= setlocale(LC_ALL, \"/etc/passwd\") != nullptr;";

/// Its submissions.
pub fn hostile() -> Vec<Labelled> {
    let system = "#include <dlfcn.h>\n#include <linux/sched.h>\n#include <locale.h>\n#include <pthread.h>\n#include <sched.h>\n#include <spawn.h>\n#include <time.h>\n#include <sys/mman.h>\n#include <sys/mount.h>\n#include <sys/resource.h>\n#include <sys/stat.h>\n#include <sys/syscall.h>\n#include <sys/uio.h>";
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
        ("audits-the-next", Review, with(AUDIT)),
        ("writes-results", Right, with(RESULTS)),
        ("own-memory-as-a-file", Right, with("    for (const char *path : {\"/proc/self/mem\", \"/proc/self/maps\", \"/proc/thread-self/mem\", \"/dev/mem\", \"/dev/shm/x\"})\n        spoil |= open(path, O_RDWR) >= 0 || open(path, O_RDONLY) >= 0;")),
        ("memory-for-others", Right, with(SHARED)),
        ("memory-that-is-hidden", Right, with(HIDDEN)),
        ("memory-of-the-library's-file", Nothing, with(FILLED)),
        ("other-limits", Right, with(LIMITS)),
        ("other-sockets", Right, with("    for (int family = 0; family < 50; family++)\n        for (int type = 1; type < 11; type++)\n            spoil |= socket(family, type, 0) >= 0;\n    int pair[2];\n    spoil |= socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;")),
        ("locales-and-time-zones", Right, with(LOCALES)),
        ("handles-of-files", Right, with("    char handle[256] = {64};\n    int mount = 0;\n    spoil |= syscall(SYS_name_to_handle_at, AT_FDCWD, \".\", handle, &mount, 0) == 0;\n    spoil |= syscall(SYS_open_by_handle_at, AT_FDCWD, handle, O_RDONLY) >= 0;\n    spoil |= syscall(SYS_inotify_init1, 0) >= 0;\n    spoil |= syscall(SYS_fanotify_init, 0, 0) >= 0;\n    spoil |= syscall(SYS_copy_file_range, 0, nullptr, 1, nullptr, 1, 0) >= 0;\n    spoil |= syscall(SYS_linkat, AT_FDCWD, argv[1], AT_FDCWD, \"new\", 0) == 0;\n    spoil |= syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[4], 2) == 0;\n    spoil |= syscall(SYS_mknodat, AT_FDCWD, \"pipe\", S_IFIFO | 0600, 0) == 0;")),
        ("floods-the-records", Review, before(SYSTEM, SOLUTION).replace(end, &format!("    std::string told = std::string(getenv(\"RACETRAP_EXEC\")) + \"/records.jsonl\";\n    int fd = open(told.c_str(), O_WRONLY);\n    std::string junk(1 << 20, '[');\n    for (int i = 0; i < 200 && write(fd, junk.data(), junk.size()) > 0; i++)\n        ;\n{end}"))),
        ("speaks-to-terminals", Nothing, before(SYSTEM, SOLUTION).replace(end, &format!("    printf(\"\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\xff\\xfe \\xe2\\x80\\xae\\r\");\n{end}"))),
        // What is left of its memory when no thread more can be had is a matter of luck: it keeps some back.
        ("many-threads", Right, with("    void *volatile kept = malloc(64 << 20);\n    auto sleeps = [](void *) -> void * { sleep(10000); return nullptr; };\n    pthread_t thread;\n    for (int i = 0; i < 5000; i++)\n        if (pthread_create(&thread, nullptr, sleeps, nullptr))\n            break;\n    free(kept);")),
        ("other-folder-for-records", Racy, before(SYSTEM, &racy()).replace(launch, &format!("    setenv(\"RACETRAP_EXEC\", \"/tmp\", 1);\n    unsetenv(\"LD_PRELOAD\");\n{launch}"))),
        ("unloads-the-library", Racy, before(&system, &racy()).replace(launch, &format!("    for (int i = 0; i < 10; i++)\n        if (void *library = dlopen(\"libcudart.so.13\", RTLD_NOW | RTLD_NOLOAD))\n            dlclose(library), dlclose(library);\n{launch}"))),
        ("ends-before-the-library", Review, before("#include <unistd.h>", &racy()).replace("static void check", "__attribute__((destructor)) static void leave()\n{\n    fflush(stdout);\n    _exit(0);\n}\n\nstatic void check")),
        ("patches-the-library", Review, before(&system, &kernel("")).replace(launch, &format!("    char *code = (char *)dlsym(RTLD_DEFAULT, \"cudaLaunchKernel\");\n    char *page = (char *)((unsigned long)code & ~4095ul);\n    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)\n        memcpy(code, \"\\x31\\xc0\\xc3\", 3);\n{launch}")).replace(end, &format!("    for (int row = 0; row < rows; row++) {{\n        sums[row] = 0;\n        for (int column = 0; column < columns; column++)\n            sums[row] += matrix[row * columns + column];\n    }}\n{end}"))),
        ("write-without-a-type", Refused, racy().replace("static void check", "#define JOIN(a, b) a##b\nJOIN(a, sm)(\".globl write\\nwrite: ret\\n\");\n\nstatic void check")),
        ("includes-itself", Refused, format!("#include __FILE__\n{SOLUTION}")),
        ("includes-the-process", Refused, format!("#include \"/proc/self/environ\"\n{SOLUTION}")),
        ("stops-itself", Right, before(SYSTEM, SOLUTION).replace(end, &format!("    raise(SIGSTOP);\n{end}"))),
        ("ignores-signals", Nothing, before(SYSTEM, SOLUTION).replace(end, &format!("    for (int number = 1; number < 65; number++)\n        signal(number, SIG_IGN);\n    for (volatile int go = 1; go;)\n        ;\n{end}"))),
        ("prints-from-the-kernel", Nothing, kernel("    for (int i = 0; i < 6500; i++)\n        printf(\"all work and no play makes a dull grader\\n\");\n    sums[0] = 0;")),
        ("all-device-memory", Nothing, SOLUTION.replace("    int *device_matrix", "    for (void *more; cudaMalloc(&more, 1 << 20) == cudaSuccess;)\n        ;\n    int *device_matrix")),
        ("huge-errors", Right, with("    for (int i = 0; i < 400000; i++)\n        fputs(\"all work and no play makes a dull grader\\n\", stderr);")),
    ]
}
