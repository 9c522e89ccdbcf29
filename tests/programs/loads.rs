//! Programs in C that load libraries while they run: CUDA's own, which they unload again, and others whose constructors call CUDA.

use super::RACETRAP;
use std::process::Command;

/// Builds `program` and libraries beside it from texts in C, and runs it; what it prints.
fn prints(program: &str, libraries: &[(&str, &str)]) -> String {
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = temporary.path();
    let gcc = |name: &str, text: &str, options: &[&str]| {
        let source = format!("{name}.c");
        std::fs::write(here.join(&source), text).unwrap();
        let mut command = Command::new("gcc");
        command.args(["-w", "-pthread", "-o", name, &source]);
        let built = command.args(options).arg("-ldl").current_dir(here).status();
        assert!(built.expect("gcc, which Rust links with").success());
    };
    for (name, text) in libraries {
        gcc(name, text, &["-shared", "-fPIC"]);
    }
    gcc("program", program, &[]);
    let output = Command::new(RACETRAP)
        .args(["exec", "--timeout", "60", "--", "./program"])
        .current_dir(here)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_ne!(output.status.code(), Some(2), "{said}");
    assert!(!said.contains("the time was up"), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The driver is unloaded and loaded again, as programs do that only look whether there is one.
#[test]
fn a_driver_that_is_unloaded_and_loaded_again() {
    let program = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void *driver;
static void *work(void *_) {
    unsigned long long at = 0;
    int (*init)(unsigned) = dlsym(driver, "cuInit");
    int (*allocate)(unsigned long long *, unsigned long) = dlsym(driver, "cuMemAlloc_v2");
    int (*release)(unsigned long long) = dlsym(driver, "cuMemFree_v2");
    printf("%d %d ", init(0), allocate(&at, 64));
    printf("%d\n", release(at));
    return 0;
}
int main(void) {
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        driver = dlopen("libcuda.so.1", RTLD_NOW);
        if (!driver) return puts(dlerror());
        pthread_create(&thread, 0, work, 0);
        pthread_join(thread, 0);
        dlclose(driver);
    }
    return 0;
}
"#;
    assert_eq!(prints(program, &[]), "0 0 0\n0 0 0\n0 0 0\n");
}

/// The loader holds a lock while a library's constructor calls CUDA, which another thread may be doing at the same time.
#[test]
fn libraries_whose_constructors_call_cuda_beside_other_threads() {
    let library = r#"
#include <dlfcn.h>
#include <unistd.h>
static void __attribute__((constructor)) begin(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*allocate)(unsigned long long *, unsigned long) = dlsym(driver, "cuMemAlloc_v2");
    int (*release)(unsigned long long) = dlsym(driver, "cuMemFree_v2");
    for (int i = 0; i < 50; i++) {
        unsigned long long at = 0;
        allocate(&at, 64);
        usleep(200);
        release(at);
    }
}
"#;
    let program = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void *driver;
static volatile int done;
static void *work(void *_) {
    int (*allocate)(unsigned long long *, unsigned long) = dlsym(driver, "cuMemAlloc_v2");
    int (*release)(unsigned long long) = dlsym(driver, "cuMemFree_v2");
    while (!done) {
        unsigned long long at = 0;
        allocate(&at, 64);
        release(at);
    }
    return 0;
}
int main(void) {
    pthread_t thread;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    ((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
    pthread_create(&thread, 0, work, 0);
    puts(dlopen("./begins.so", RTLD_NOW) ? "loaded" : dlerror());
    done = 1;
    pthread_join(thread, 0);
    return 0;
}
"#;
    assert_eq!(prints(program, &[("begins.so", library)]), "loaded\n");
}

/// A program that looks functions up in a runtime of CUDA 11 gets the structures of CUDA 11: 728 bytes of properties (`driver_types.h` of CUDA
/// 11.8).
#[test]
fn the_runtime_of_an_earlier_release_that_is_opened_by_its_name() {
    let program = |runtime: &str, function: &str| {
        let text = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    unsigned char there[4096];
    void *runtime = dlopen("RUNTIME", RTLD_NOW);
    if (!runtime) return puts(dlerror());
    int (*properties)(void *, int) = dlsym(runtime, "FUNCTION");
    memset(there, 0xaa, sizeof there);
    int error = properties(there, 0), end = sizeof there;
    while (end && there[end - 1] == 0xaa) end--;
    printf("%d %d\n", error, end);
    return 0;
}
"#;
        text.replace("RUNTIME", runtime)
            .replace("FUNCTION", function)
    };
    let of = |runtime: &str, function: &str| prints(&program(runtime, function), &[]);
    let plain = "cudaGetDeviceProperties";
    assert_eq!(of("libcudart.so.11.0", plain), "0 728\n");
    // The headers of CUDA 12 give this name to another function.
    assert_eq!(of("libcudart.so.12", plain), "0 728\n");
    let second = "cudaGetDeviceProperties_v2";
    assert_eq!(of("libcudart.so.12", second), "0 1032\n");
    assert_eq!(of("libcudart.so.13", plain), "0 1008\n");
}

/// A container in memory whose header says more than there is.
#[test]
fn a_header_that_lies() {
    let program = r#"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module;
    ((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
    int (*load)(void **, const void *) = dlsym(driver, "cuModuleLoadData");
    for (int bits = 12; bits < 64; bits += 3) {
        /* A header at the end of a page, and nothing behind it. */
        char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(page + 4096, 4096);
        for (int bytes = 1; bytes <= 64; bytes *= 4) {
            unsigned char header[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};
            uint64_t size = 1ull << bits;
            memcpy(header + 8, &size, 8);
            char *at = page + 4096 - bytes;
            memset(page, 0, 4096);
            memcpy(at, header, bytes < 16 ? bytes : 16);
            if (bytes >= 4 && !load(&module, at)) puts("loaded");
        }
        munmap(page, 4096);
    }
    puts("refused");
    return 0;
}
"#;
    assert_eq!(prints(program, &[]), "refused\n");
}
