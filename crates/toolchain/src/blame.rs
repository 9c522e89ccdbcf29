//! Whose fault it is that a build failed: the source's, or that of the machine it was built on.
//!
//! A compiler says both with the same exit status. So its words are read, line by line: what nvcc, gcc, the loader and the system say of
//! signals, memory, disks and missing parts of an installation. Excerpts of the source, which compilers indent, are left out. A source
//! can make a compiler say such words (`#error`); then it is not judged, and a person looks at it. What is overlooked here is taken for
//! the source's fault: a compiler that says nothing of its trouble.
//!
//! A missing header is the installation's where the toolkit or the C++ standard library has it, or where one of their own headers
//! includes it.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Words of a line that no source deserves.
const TROUBLE: [&str; 23] = [
    // nvcc, of a program that it called.
    "died due to signal",
    "died with status 0x",
    // gcc, of one that it called; GNU make; shells.
    "signal terminated program",
    "] Killed",
    "] Terminated",
    "] Segmentation fault",
    "internal compiler error",
    // Memory: gcc, EDG, LLVM, libstdc++, the system.
    "virtual memory exhausted",
    "out of memory",
    "std::bad_alloc",
    "Cannot allocate memory",
    "memory exhausted",
    "failed to map segment",
    // Disks, files and processes: the system (errno(3)).
    "No space left on device",
    "Disk quota exceeded",
    "Input/output error",
    "Read-only file system",
    "Too many open files",
    "Resource temporarily unavailable",
    // The loader, and the kernel that starts programs.
    "error while loading shared libraries",
    "Exec format error",
    "Failed to preprocess host compiler properties",
    "unable to load the libdevice",
];

/// Programs that a compiler calls.
const PROGRAMS: [&str; 14] = [
    "nvcc",
    "cicc",
    "cudafe++",
    "ptxas",
    "fatbinary",
    "nvlink",
    "gcc",
    "g++",
    "cc1",
    "cc1plus",
    "as",
    "ld",
    "collect2",
    "make",
];

/// What the names of the toolkit's headers begin with.
const TOOLKIT: [&str; 24] = [
    "cuda",
    "cub/",
    "thrust/",
    "nv/",
    "crt/",
    "cooperative_groups",
    "mma.h",
    "device_",
    "driver_types",
    "vector_types",
    "vector_functions",
    "host_config",
    "host_defines",
    "builtin_types",
    "channel_descriptor",
    "library_types",
    "math_functions",
    "math_constants",
    "sm_",
    "curand",
    "cublas",
    "cufft",
    "cusparse",
    "nvtx3/",
];

/// Headers of the C library that programs for GPUs include; those of C++ have no ending.
const STANDARD: [&str; 21] = [
    "assert.h",
    "ctype.h",
    "errno.h",
    "float.h",
    "inttypes.h",
    "limits.h",
    "locale.h",
    "math.h",
    "signal.h",
    "stdarg.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
    "time.h",
    "unistd.h",
    "pthread.h",
    "features.h",
    "sys/time.h",
];

/// Headers of C++ (ISO C++, "Headers").
const CPLUSPLUS: [&str; 70] = [
    "algorithm",
    "any",
    "array",
    "atomic",
    "bit",
    "bitset",
    "cassert",
    "cctype",
    "cerrno",
    "cfloat",
    "charconv",
    "chrono",
    "cinttypes",
    "climits",
    "clocale",
    "cmath",
    "compare",
    "complex",
    "concepts",
    "condition_variable",
    "csignal",
    "cstdarg",
    "cstddef",
    "cstdint",
    "cstdio",
    "cstdlib",
    "cstring",
    "ctime",
    "deque",
    "exception",
    "filesystem",
    "forward_list",
    "fstream",
    "functional",
    "future",
    "initializer_list",
    "iomanip",
    "ios",
    "iosfwd",
    "iostream",
    "istream",
    "iterator",
    "limits",
    "list",
    "map",
    "memory",
    "mutex",
    "new",
    "numbers",
    "numeric",
    "optional",
    "ostream",
    "queue",
    "random",
    "ratio",
    "regex",
    "set",
    "span",
    "sstream",
    "stack",
    "stdexcept",
    "string",
    "string_view",
    "system_error",
    "thread",
    "tuple",
    "type_traits",
    "unordered_map",
    "utility",
    "vector",
];

/// Why a failed build says nothing of its source; `None` where the source is to blame. `status` is that of the compiler or of what called
/// it, `said` all that it wrote. `installed` are the files and folders of the compiler, as [`of_compiler`](super::reach::of_compiler) has
/// them: whatever else includes a header that is not there is a source.
pub fn of_the_machine(status: ExitStatus, said: &str, installed: &[PathBuf]) -> Option<String> {
    if let Some(signal) = signal(status) {
        return Some(format!("it was ended by signal {signal}"));
    }
    // Excerpts of the source are indented.
    let mut lines = said
        .lines()
        .filter(|line| !line.starts_with(char::is_whitespace));
    lines.find(|line| is_trouble(line, installed)).map(|line| {
        let line = line.chars().filter(|c| !c.is_control()).take(300);
        format!("it said: {}", line.collect::<String>())
    })
}

fn is_trouble(line: &str, installed: &[PathBuf]) -> bool {
    TROUBLE.iter().any(|words| line.contains(words))
        // A shell, of what it started.
        || line.trim_end() == "Killed"
        || is_program_missing(line)
        || header_missing(line).is_some_and(|(by, header)| {
            // A header that an installation's header misses, or the command line.
            let by_installed = installed.iter().any(|part| Path::new(by).starts_with(part));
            by_installed || by.starts_with('<') || is_installed(header)
        })
}

/// `sh: 1: cicc: not found`, `gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory`.
fn is_program_missing(line: &str) -> bool {
    let missing = ["not found", "cannot execute", "Permission denied"];
    let words = |c: char| !(c.is_alphanumeric() || "+_./-".contains(c));
    missing.iter().any(|words| line.contains(words))
        && line
            .split(words)
            .map(|word| word.rsplit('/').next().unwrap_or_default())
            .skip(1)
            .any(|word| PROGRAMS.contains(&word))
}

/// The file that includes, and the header that is not there: of gcc's words and of EDG's.
fn header_missing(line: &str) -> Option<(&str, &str)> {
    let name = |text: &'_ str| text.find([':', '(']).unwrap_or(text.len());
    if let Some((before, rest)) = line.split_once("fatal error: ") {
        let (header, _) = rest
            .split_once(": No such file")
            .or_else(|| rest.split_once(": Permission denied"))?;
        return Some((&before[..name(before)], header));
    }
    let (before, rest) = line.split_once("cannot open source file \"")?;
    Some((&before[..name(before)], rest.split_once('"')?.0))
}

/// Whether a whole installation has this header.
fn is_installed(header: &str) -> bool {
    TOOLKIT.iter().any(|begin| header.starts_with(begin)) && !is_misspelt(header)
        || STANDARD.contains(&header)
        || CPLUSPLUS.contains(&header)
}

/// A name that begins as the toolkit's do and is none of its: those of one word are known.
fn is_misspelt(header: &str) -> bool {
    const WHOLE: [&str; 14] = [
        "cuda.h",
        "cuda_runtime.h",
        "cuda_runtime_api.h",
        "cuda_fp16.h",
        "cuda_bf16.h",
        "cuda_fp8.h",
        "cuda_pipeline.h",
        "cuda_pipeline_primitives.h",
        "cuda_awbarrier.h",
        "cuda_awbarrier_primitives.h",
        "cuda_profiler_api.h",
        "cuda_texture_types.h",
        "cuda_surface_types.h",
        "cuda_device_runtime_api.h",
    ];
    header.starts_with("cuda") && !header.starts_with("cuda/") && !WHOLE.contains(&header)
}

/// The signal that ended a process, or one whose status a shell or a compiler passed on (POSIX, "Exit Status for Commands").
#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt as _;
    let passed_on = |code: i32| (129..=128 + 64).contains(&code).then_some(code - 128);
    status.signal().or_else(|| passed_on(status.code()?))
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    fn failed(said: &str) -> Option<String> {
        of_the_machine(ExitStatus::from_raw(1 << 8), said, &["/usr/include".into()])
    }

    #[test]
    fn signals_are_nobodys_source() {
        for raw in [9, 15, 137 << 8, 143 << 8] {
            assert!(
                of_the_machine(ExitStatus::from_raw(raw), "", &[]).is_some(),
                "{raw}"
            );
        }
        assert_eq!(of_the_machine(ExitStatus::from_raw(2 << 8), "", &[]), None);
    }

    #[test]
    fn what_compilers_say_of_the_machine_is_told_apart() {
        for said in [
            "nvcc error   : 'cicc' died due to signal 9 (Kill signal)",
            "nvcc error   : 'cudafe++' died due to signal 11 (Invalid memory reference)",
            "gcc: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.",
            "virtual memory exhausted: Cannot allocate memory",
            "make: *** [Makefile:2: rowsums] Killed",
            "cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes",
            "/tmp/x.s: No space left on device",
            "sh: 1: cicc: not found",
            "gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory",
            "nvcc: error while loading shared libraries: libm.so.6: failed to map segment",
            "<command-line>: fatal error: cuda_runtime.h: No such file or directory",
            "/usr/include/c++/12/cstdlib:75:15: fatal error: stdlib.h: No such file or directory",
            "a.cu:1:10: fatal error: cub/cub.cuh: No such file or directory",
            "a.cu:1:10: fatal error: vector: No such file or directory",
            "a.cu(1): catastrophic error: cannot open source file \"cooperative_groups.h\"",
        ] {
            assert!(failed(said).is_some(), "{said}");
        }
        for said in [
            "a.cu(3): error: expected a \";\"",
            "a.cu:1:10: fatal error: cuda_runtim.h: No such file or directory",
            "a.cu:1:10: fatal error: helper.h: No such file or directory",
            "a.cu:1:10: fatal error: /course/solution/scan.cu: Permission denied",
            "/tmp/scratch/a.cu:1:10: fatal error: /course/solution/scan.cu: Permission denied",
            "/tmp/scratch/helper.cuh:1:10: fatal error: further.cuh: No such file or directory",
            "a.cu(9): error: identifier \"x\" is undefined\n      printf(\"out of memory\", x);",
            "a.cu:9:1: error: no\n    9 | puts(\"std::bad_alloc\");",
            "make: *** No rule to make target 'scan.c'.  Stop.",
            "make: nvc: No such file or directory",
            "",
        ] {
            assert_eq!(failed(said), None, "{said}");
        }
    }
}
