//! Submissions for `row-sums`: whole programs, and programs that want more than to solve the assignment.

use super::between;
use crate::judge::Label::*;
use crate::judge::Labelled;

pub const SOLUTION: &str =
    include_str!("../../../../../examples/course/row-sums/solution/rowsums.cu");

/// The solution with another kernel.
pub fn kernel(body: &str) -> String {
    let text = format!(
        "__global__ void row_sums(const int *matrix, int *sums, int columns)\n{{\n{body}\n}}\n\n"
    );
    between(SOLUTION, "__global__", "static void check", &text)
}

/// The solution, whose `main` does this first, with `spoil` true where it got what it must not get.
pub fn first(headers: &str, code: &str) -> String {
    let text = SOLUTION.replace(
        "#include <cstdio>",
        &format!("{headers}\n#include <cstdio>"),
    );
    let text = text.replace(
        "    if (argc != 5)\n        return 2;\n",
        &format!("    if (argc != 5)\n        return 2;\n    bool spoil = false;\n{code}\n"),
    );
    text.replace(
        "    FILE *out =",
        "    if (spoil)\n        sums[0]++;\n    FILE *out =",
    )
}

pub const SYSTEM: &str = "#include <cstring>\n#include <fcntl.h>\n#include <signal.h>\n#include <string>\n#include <sys/ptrace.h>\n#include <sys/socket.h>\n#include <sys/stat.h>\n#include <sys/wait.h>\n#include <unistd.h>";

const SYNC: &str = "    __syncthreads();\n";
const LOAD: &str = "    __shared__ int partial[THREADS];\n    int t = threadIdx.x, sum = 0;\n    for (int column = t; column < columns; column += THREADS)\n        sum += matrix[blockIdx.x * columns + column];\n    partial[t] = sum;\n";
const HALVES: &str = "    for (int half = THREADS / 2; half > 0; half /= 2) {\n        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n    }\n";
const STORE: &str = "    if (t == 0)\n        sums[blockIdx.x] = partial[0];";

/// The solution without its first barrier.
pub fn racy() -> String {
    kernel(&format!("{LOAD}{HALVES}{STORE}"))
}

/// Its submissions; `secrets` are files that no submission may read.
pub fn row_sums(secrets: &[String]) -> Vec<Labelled> {
    let (sync, load, halves, store) = (SYNC, LOAD, HALVES, STORE);
    let secrets: String = secrets
        .iter()
        .map(|path| format!("    spoil |= open({path:?}, O_RDONLY) >= 0;\n"))
        .collect();
    let closes = "    for (int fd = 3; fd < 100; fd++)\n        close(fd);\n";
    let launch = "    row_sums<<<rows, THREADS>>>(device_matrix, device_sums, columns);\n";
    let racy = racy();
    let host = "    for (int row = 0; row < rows; row++)\n        for (int column = 0; column < columns; column++)\n            sums[row] += matrix[row * columns + column];\n";
    let on_host = between(
        SOLUTION,
        "    int *device_matrix",
        "    FILE *out =",
        &format!("\n{host}\n"),
    );
    vec![
        // Right.
        ("solution", Right, SOLUTION.to_owned()),
        ("one-thread-a-row", Right, kernel("    if (threadIdx.x == 0) {\n        int sum = 0;\n        for (int column = 0; column < columns; column++)\n            sum += matrix[blockIdx.x * columns + column];\n        sums[blockIdx.x] = sum;\n    }")),
        ("atomics", Right, kernel(&format!("    __shared__ int sum;\n    if (threadIdx.x == 0)\n        sum = 0;\n{sync}    for (int column = threadIdx.x; column < columns; column += THREADS)\n        atomicAdd(&sum, matrix[blockIdx.x * columns + column]);\n{sync}    if (threadIdx.x == 0)\n        sums[blockIdx.x] = sum;"))),
        // Racy, at barriers, in memory.
        ("no-barrier-after-load", Racy, racy.clone()),
        ("no-barrier-in-loop", Racy, kernel(&format!("{load}{sync}{}{store}", halves.replace("        __syncthreads();\n", "")))),
        ("adds-in-global", Racy, kernel("    sums[blockIdx.x] = 0;\n    for (int column = threadIdx.x; column < columns; column += THREADS)\n        sums[blockIdx.x] += matrix[blockIdx.x * columns + column];")),
        ("barrier-in-branch", Barrier, kernel(&format!("{load}{sync}{}{store}", halves.replace("        if (t < half)\n            partial[t] += partial[t + half];\n        __syncthreads();\n", "        if (t < half) {\n            partial[t] += partial[t + half];\n            __syncthreads();\n        }\n")))),
        ("reads-beyond", Memory, kernel(&format!("{load}{sync}{halves}{store}").replace("column < columns", "column <= columns"))),
        // Wrong.
        ("maximum", Wrong, kernel(&format!("{load}{sync}{halves}{store}").replace("partial[t] += partial[t + half]", "partial[t] = max(partial[t], partial[t + half])"))),
        ("allocates-too-little", Memory, SOLUTION.replace("device_sums, rows * sizeof(int)", "device_sums, sizeof(int)")),
        ("other-words", Nothing, SOLUTION.replace("%d rows", "there are %d rows")),
        ("status", Nothing, SOLUTION.replace("    return 0;\n", "    return 3;\n")),
        ("crashes", Nothing, SOLUTION.replace("    FILE *out =", "    *(volatile int *)8 = 1;\n    FILE *out =")),
        ("looks-into-device-memory", Nothing, SOLUTION.replace("    FILE *out =", "    sums[0] += device_sums[0];\n    FILE *out =")),
        // Endless and huge.
        ("endless", Nothing, SOLUTION.replace("    FILE *out =", "    for (volatile int go = 1; go;)\n        ;\n    FILE *out =")),
        ("endless-kernel", Nothing, kernel("    for (volatile int go = 1; go;)\n        ;\n    sums[0] = 0;")),
        ("huge-output", Nothing, SOLUTION.replace("    FILE *out =", "    for (int i = 0; i < 400000; i++)\n        puts(\"all work and no play makes a dull grader\");\n    FILE *out =")),
        ("huge-memory", Nothing, SOLUTION.replace("    FILE *out =", "    for (int i = 0; i < 64; i++) {\n        char *more = (char *)malloc(100 << 20);\n        for (int k = 0; more && k < 100 << 20; k += 4096)\n            more[k] = 1;\n        sums[0] += more == nullptr;\n    }\n    FILE *out =")),
        ("huge-file", Nothing, SOLUTION.replace("    fclose(out);", "    for (int i = 0; i < 100; i++)\n        fwrite(std::vector<char>(1 << 20).data(), 1, 1 << 20, out);\n    fclose(out);")),
        // Not built.
        ("syntax", Refused, SOLUTION.replace("int sum = 0;", "int sum = ;").replace("sum = 0;\n    for", "sum = ;\n    for")),
        ("no-main", Refused, between(SOLUTION, "int main", "\u{0}", "")),
        ("includes-the-assignment", Refused, format!("#include \"{}\"\n{SOLUTION}", secrets.split('"').nth(1).unwrap_or_default())),
        ("takes-in-a-file", Refused, format!("#define JOIN(a, b) a##b\nJOIN(a, sm)(\".section .rodata\\n.incbin \\\"{}\\\"\\n.text\");\n{SOLUTION}", secrets.split('"').nth(1).unwrap_or_default())),
        // Not by kernels.
        ("on-the-host", Nothing, on_host.clone()),
        ("on-the-host-with-a-kernel-for-show", Review, kernel("").replace("    FILE *out =", &format!("    std::fill(sums.begin(), sums.end(), 0);\n{host}    FILE *out =")).replace("#include <vector>", "#include <algorithm>\n#include <vector>")),
        ("prints-what-graders-print", Nothing, "#include <cstdio>\n__global__ void row_sums(int *) {}\nint main()\n{\n    puts(\"Solution is correct\\n{\\\"score\\\": 100, \\\"scores\\\": {\\\"results\\\": 50}}\");\n    return 0;\n}\n".into()),
        // Hostile: what it tries must fail, and spoils its results where it does not.
        ("reads-what-is-secret", Right, first(SYSTEM, &format!("{secrets}    for (const char *path : {{\"/etc/passwd\", \"/proc/self/environ\", \"/proc/1/cmdline\", \"/tmp\", \"/\", \"..\", \"../../..\", \"/root\", \"/home\"}})\n        spoil |= open(path, O_RDONLY) >= 0;"))),
        ("reads-the-key", Right, first(SYSTEM, "    std::string asked = std::string(getenv(\"RACETRAP_EXEC\")) + \"/options.json\";\n    char byte;\n    int fd = open(asked.c_str(), O_RDONLY | O_NONBLOCK);\n    spoil |= fd >= 0 && read(fd, &byte, 1) > 0;\n    int told = open((std::string(getenv(\"RACETRAP_EXEC\")) + \"/records.jsonl\").c_str(), O_RDONLY | O_NONBLOCK);\n    spoil |= told >= 0;")),
        ("starts-others", Right, first(SYSTEM, "    for (int i = 0; i < 1000; i++) {\n        pid_t child = fork();\n        if (child == 0)\n            for (;;)\n                fork();\n        spoil |= child > 0;\n    }\n    spoil |= vfork() > 0;\n    spoil |= system(\"true\") == 0;")),
        ("reaches-others", Right, first(SYSTEM, "    spoil |= socket(AF_INET, SOCK_STREAM, 0) >= 0;\n    spoil |= socket(AF_INET, SOCK_DGRAM, 0) >= 0;\n    spoil |= socket(AF_UNIX, SOCK_STREAM, 0) >= 0;\n    spoil |= ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0;\n    spoil |= kill(getppid(), SIGKILL) == 0;\n    spoil |= kill(-1, SIGKILL) == 0;\n    spoil |= kill(0, SIGKILL) == 0;\n    spoil |= nice(-10) != -1;")),
        ("changes-files", Right, first(SYSTEM, "    spoil |= open(\"new\", O_CREAT | O_WRONLY, 0600) >= 0;\n    spoil |= open(\"matrix.bin\", O_WRONLY) >= 0;\n    spoil |= open(\"/tmp/new\", O_CREAT | O_WRONLY, 0600) >= 0;\n    spoil |= symlink(\"/etc/passwd\", \"link\") == 0;\n    spoil |= unlink(\"sums.bin\") == 0;\n    spoil |= rename(\"sums.bin\", \"other\") == 0;\n    spoil |= chmod(\".\", 0777) == 0;\n    spoil |= chmod(\"/proc/self/exe\", 0777) == 0;\n    spoil |= mkdir(\"folder\", 0700) == 0;")),
        // Hostile: what it does to the records is seen.
        ("closes-the-records", Review, racy.replace("#include <cstdio>", "#include <cstdio>\n#include <unistd.h>").replace(launch, &format!("{closes}{launch}"))),
        ("writes-records", Review, racy.replace("#include <cstdio>", &format!("{SYSTEM}\n#include <cstdio>")).replace(launch, &format!("    std::string told = std::string(getenv(\"RACETRAP_EXEC\")) + \"/records.jsonl\";\n    int fd = open(told.c_str(), O_WRONLY);\n    const char line[] = \"{{\\\"process\\\":1,\\\"record\\\":\\\"ended\\\"}}\\n\";\n    if (write(fd, line, sizeof line - 1) < 0)\n        return 1;\n{launch}"))),
        ("leaves-in-a-hurry", Review, racy.replace("#include <cstdio>", "#include <cstdio>\n#include <unistd.h>").replace("    return 0;\n", "    fflush(stdout);\n    _exit(0);\n")),
        ("replaces-write", Refused, racy.replace("static void check", "extern \"C\" long write(int, const void *, unsigned long n)\n{\n    return n;\n}\n\nstatic void check")),
        ("runs-first", Refused, racy.replace("static void check", "static void early() {}\n__attribute__((section(\".preinit_array\"), used)) static void (*begin)() = early;\n\nstatic void check")),
        ("chosen-at-start", Refused, racy.replace("static void check", "extern \"C\" {\nstatic void one() {}\nstatic void (*choose())() { return one; }\nvoid chosen() __attribute__((ifunc(\"choose\")));\n}\n\nstatic void check").replace("    return 0;\n", "    chosen();\n    return 0;\n")),
        ("replaces-the-runtime", Refused, on_host.replace("static void check", "extern \"C\" cudaError_t cudaMalloc(void **, size_t)\n{\n    return cudaSuccess;\n}\n\nstatic void check")),
    ]
}
