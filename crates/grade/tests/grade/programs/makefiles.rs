//! Makefiles of students: they build, and reach nothing that a student must not reach.

use super::row_sums::racy;
use super::{course, example};
use crate::judge::shown;
use racetrap_grade::Graded;
use racetrap_grade::course::Course;
use racetrap_grade::grade::grade;

/// `row-sums`, with a makefile of the student's.
fn with_makefile() -> Option<Course> {
    let mut course = course("row-sums")?;
    course.assignment.build.harness.clear();
    let required = &mut course.assignment.submission.require;
    required.push("Makefile".to_owned());
    Some(course)
}

fn graded(course: &Course, source: &str, makefile: &str) -> Graded {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rowsums.cu"), source).unwrap();
    std::fs::write(folder.path().join("Makefile"), makefile).unwrap();
    grade(course, folder.path()).unwrap()
}

/// A student's own makefile builds, and reaches nothing that a student must not reach.
#[test]
fn a_makefile_is_confined() {
    let Some(course) = with_makefile() else {
        return;
    };
    let source = std::fs::read_to_string(example("row-sums").join("solution/rowsums.cu")).unwrap();
    let secret = example("row-sums").join("assignment.yaml");
    let graded = |makefile: &str| graded(&course, &source, makefile);
    let plain = graded("rowsums: rowsums.cu\n\tnvcc -O2 -o $@ $<\n");
    assert_eq!(plain.points, 100.0, "{}", shown(&plain));
    let hostile = graded(&format!(
        "rowsums: rowsums.cu\n\tcat {0} && exit 1; true\n\tcat /etc/passwd > /dev/null && exit 1; true\n\techo a > /tmp/racetrap-was-here && exit 1; true\n\tsetsid sleep 100 && exit 1; true\n\tnvcc -cudart static -O2 -o $@ $<\n",
        secret.display()
    ));
    // The last runtime that is named counts, and that is racetrap's.
    assert_eq!(hostile.points, 100.0, "{}", shown(&hostile));
    let steals = graded(&format!(
        "rowsums: rowsums.cu\n\tcat {} {}\n",
        secret.display(),
        example("row-sums/solution/rowsums.cu").display()
    ));
    let said = serde_json::to_string(&steals).unwrap();
    assert!(
        steals.refused.is_some()
            && !said.contains("before you use")
            && !said.contains("One block a row"),
        "{said}"
    );
    let fails = graded("rowsums: rowsums.cu\n\ttouch other\n");
    assert_eq!(
        fails.refused.unwrap().what,
        "building it leaves no program `rowsums`"
    );
}

/// A program that a makefile builds and runs: it tries to stop, slow down or starve whoever grades it. It says that it ran, and ends with 0
/// where something worked.
const REACHES: &str = r#"#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
int main(void)
{
    write(1, "tried\n", 6);
    int parents[3] = {getppid(), getpgrp(), 1};
    for (int i = 0; i < 3; i++) {
        struct rlimit second = {1, 1};
        struct sched_param none = {0};
        cpu_set_t first;
        CPU_ZERO(&first);
        CPU_SET(0, &first);
        if (prlimit(parents[i], RLIMIT_CPU, &second, 0) == 0 || prlimit(parents[i], RLIMIT_AS, &second, 0) == 0)
            return 0;
        if (sched_setscheduler(parents[i], SCHED_IDLE, &none) == 0 || sched_setaffinity(parents[i], sizeof first, &first) == 0)
            return 0;
        if (setpriority(PRIO_PROCESS, parents[i], 19) == 0 || setpriority(PRIO_USER, 0, 19) == 0)
            return 0;
        if (syscall(SYS_ioprio_set, 1, parents[i], 3 << 13) == 0)
            return 0;
        if (syscall(SYS_tgkill, parents[i], parents[i], 0) == 0 || kill(parents[i], 0) == 0 || syscall(SYS_tkill, parents[i], 0) == 0)
            return 0;
    }
    if (syscall(SYS_msgget, 77, 01666) >= 0 || syscall(SYS_semget, 77, 1, 01666) >= 0 || syscall(SYS_shmget, 77, 4096, 01666) >= 0)
        return 0;
    return 1;
}
"#;

/// What a build starts can neither stop nor slow down whoever grades it, nor leave anything in the system's memory.
#[test]
fn a_makefile_reaches_no_other_process() {
    let Some(mut course) = with_makefile() else {
        return;
    };
    course.assignment.submission.allow.push("*.c".to_owned());
    let source = std::fs::read_to_string(example("row-sums").join("solution/rowsums.cu")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("rowsums.cu", &source);
    write("reaches.c", REACHES);
    // Linkers make no file executable in the sandbox, so the loader starts it. A program that did not run fails the build.
    let loader = if cfg!(target_arch = "aarch64") {
        "/lib/ld-linux-aarch64.so.1"
    } else {
        "/lib64/ld-linux-x86-64.so.2"
    };
    write(
        "Makefile",
        &format!(
            "rowsums: rowsums.cu reaches.c\n\tgcc -o reaches reaches.c\n\tif {loader} ./reaches > said; then exit 1; fi\n\tgrep -q tried said\n\tnvcc -O2 -o $@ $<\n"
        ),
    );
    let graded = grade(&course, folder.path()).unwrap();
    assert_eq!(graded.points, 100.0, "{}", shown(&graded));
}

/// Permissions and times of files stay what they are, outside and inside; a build that wants to change permissions is told why it can't.
#[test]
fn a_makefile_changes_no_permissions() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let Some(mut course) = with_makefile() else {
        return;
    };
    course.assignment.submission.allow.push("*.c".to_owned());
    let outside = tempfile::NamedTempFile::new().unwrap();
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(outside.path(), mode).unwrap();
    let before = outside.path().metadata().unwrap();
    let path = outside.path().display();
    let opens = format!(
        "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <sys/stat.h>\n#include <sys/syscall.h>\n#include <unistd.h>\nint main(void)\n{{\n    syscall(452, AT_FDCWD, \"{path}\", 0777, 0);\n    chmod(\"{path}\", 0777);\n    fchmodat(AT_FDCWD, \"{path}\", 0777, 0);\n    utimensat(AT_FDCWD, \"{path}\", 0, 0);\n    chown(\"{path}\", 1, 1);\n    return 0;\n}}\n"
    );
    let source = std::fs::read_to_string(example("row-sums").join("solution/rowsums.cu")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("rowsums.cu", &source);
    write("opens.c", &opens);
    let loader = "$$(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null)";
    write(
        "Makefile",
        &format!(
            "rowsums: rowsums.cu opens.c\n\tgcc -o opens opens.c\n\t{loader} ./opens\n\t-chmod 777 {path}\n\ttouch stamp\n\ttouch stamp\n\tcp stamp other\n\tln -s other third\n\tln other fourth\n\tnvcc -O2 -o $@ $<\n"
        ),
    );
    let graded = grade(&course, folder.path()).unwrap();
    assert_eq!(graded.points, 100.0, "{}", shown(&graded));
    let after = outside.path().metadata().unwrap();
    assert_eq!(after.mode(), before.mode());
    assert_eq!(
        (after.uid(), after.mtime_nsec()),
        (before.uid(), before.mtime_nsec())
    );
    write(
        "Makefile",
        "rowsums: rowsums.cu\n\tnvcc -O2 -o $@ $<\n\tchmod 755 $@\n",
    );
    let refused = grade(&course, folder.path()).unwrap().refused.unwrap();
    assert!(
        refused.messages.contains("no build may change permissions"),
        "{refused:?}"
    );
}

/// Changes the address that the table of sections has for `.dynsym` (16 bytes into its entry of 64).
const MOVED: &str = r"	nvcc -o $@ $<
	table=$$(readelf -hW $@ | sed -n 's/.*Start of section headers: *\([0-9]*\).*/\1/p') && \
	number=$$(readelf -SW $@ | sed -n 's/^ *\[ *\([0-9]*\)\] \.dynsym .*/\1/p') && \
	printf '\001' | dd of=$@ bs=1 seek=$$((table + 64 * number + 16)) conv=notrunc status=none
";

/// What a makefile can make instead of a program, or put in the library's way.
#[test]
fn programs_that_evade_are_refused() {
    let Some(course) = with_makefile() else {
        return;
    };
    // A library of its own that runs before racetrap's, under a name that is the system's.
    let own = "\tprintf '#include <unistd.h>\\n__attribute__((constructor)) static void early() { write(2, \"early\", 5); }\\n' > own.c\n\tmkdir own\n\tgcc -shared -fPIC -o own/libm.so.6 own.c\n";
    let loader = "\tprintf 'int main() { return 0; }' > own.c\n\tgcc -static -o loader own.c || gcc -o loader own.c\n";
    let secret = example("row-sums").join("assignment.yaml");
    let patched = |at: u32| {
        format!(
            "\tnvcc -o $@ $<\n\tprintf '\\001\\000\\000\\000\\000\\000\\000\\000' | dd of=$@ bs=1 seek={at} conv=notrunc status=none\n"
        )
    };
    let cases = [
        (format!("{own}\tnvcc -Xlinker --disable-new-dtags,-rpath,$(CURDIR)/own -o $@ $<\n"), "rpath"),
        (format!("{own}\tnvcc -Xlinker -rpath,'$$ORIGIN/src/own' -o $@ $<\n"), "rpath"),
        (format!("{loader}\tnvcc -Xlinker --dynamic-linker=/lib64/..$(CURDIR)/loader -o $@ $<\n"), "loader"),
        ("\tprintf '.globl write\\n.type write,@object\\n.text\\nwrite: mov %%rdx,%%rax\\nret\\n' > own.s\n\tgcc -c own.s\n\tnvcc -Xlinker --export-dynamic -o $@ $< own.o\n".to_owned(), "defines `write`"),
        (format!("\tln -s {} $@\n", secret.display()), "leaves no program"),
        ("\ttruncate -s 40M $@\n".to_owned(), "not a program"),
        ("\tmkfifo $@\n".to_owned(), "leaves no program"),
        ("\tprintf '#!/bin/sh\\necho 3 rows\\n' > $@\n".to_owned(), "not a program"),
        // The file's sections lie elsewhere than its header says.
        (patched(40), "not a program"),
        // Symbols lie elsewhere than the loader is told.
        (MOVED.to_owned(), "not as linkers write it"),
    ];
    for (recipe, says) in cases {
        let graded = graded(&course, &racy(), &format!("rowsums: rowsums.cu\n{recipe}"));
        let refused = graded.refused.as_ref();
        let refused = refused.unwrap_or_else(|| panic!("{recipe}\n{}", shown(&graded)));
        let said = format!("{}\n{}", refused.what, refused.messages);
        assert!(refused.what.contains(says), "{recipe}\n{said}");
        assert_eq!(graded.points, 0.0);
    }
}

/// What a makefile leaves running is gone when the build has ended.
#[test]
fn nothing_is_left_running() {
    let Some(course) = with_makefile() else {
        return;
    };
    let source = std::fs::read_to_string(example("row-sums").join("solution/rowsums.cu")).unwrap();
    let makefile = "rowsums: rowsums.cu\n\tnvcc -O2 -o $@ $<\n\t(setsid sleep 7391.25 &) ; nohup sleep 7391.25 >/dev/null 2>&1 &\n";
    let graded = graded(&course, &source, makefile);
    assert!(
        graded.refused.is_some() || graded.points == 100.0,
        "{}",
        shown(&graded)
    );
    let left = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            words.windows(7).any(|word| word == b"7391.25") && words.starts_with(b"sleep")
        });
    assert_eq!(left.count(), 0);
}
