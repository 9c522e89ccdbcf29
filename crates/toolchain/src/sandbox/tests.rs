use super::*;
use std::path::Path;

fn sandbox(folder: &Path) -> Sandbox {
    Sandbox {
        read: ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"]
            .map(PathBuf::from)
            .into(),
        write: vec![folder.to_path_buf()],
        memory: 1 << 30,
        in_use: 1 << 30,
        file: 1 << 20,
        written: 4 << 20,
        time: Duration::from_secs(10),
        calls: Calls::Any,
        alone: None,
    }
}

fn shell(folder: &Path, script: &str) -> Job {
    Job {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        folder: folder.to_path_buf(),
        environment: Vec::new(),
        clean: false,
    }
}

#[test]
fn a_program_writes_in_its_folder_alone() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "hidden").unwrap();
    let script = format!(
        "echo seen; echo a > a; cat '{0}'; echo b > '{0}'",
        secret.display()
    );
    let sandbox = sandbox(inside.path());
    let ended = sandbox.run(&shell(inside.path(), &script)).unwrap();
    assert_eq!(std::fs::read(inside.path().join("a")).unwrap(), b"a\n");
    assert!(ended.stdout.starts_with(b"seen\n"));
    if ended.confined == Confined::LimitsOnly {
        println!("not checked: this system has no Landlock");
        return;
    }
    assert_eq!(ended.stdout, b"seen\n");
    assert_eq!(std::fs::read(&secret).unwrap(), b"hidden");
    // The thread that asked is free to.
    std::fs::write(&secret, "mine").unwrap();
}

#[test]
fn a_program_that_takes_too_long_is_killed_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox {
        time: Duration::from_millis(200),
        ..sandbox(folder.path())
    };
    let started = Instant::now();
    let job = shell(folder.path(), "sleep 60 & sleep 60");
    let ended = sandbox.run(&job).unwrap();
    assert_eq!(ended.status, None);
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn memory_and_files_have_limits() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = sandbox(folder.path());
    let script = "ulimit -v; head -c 5000000 /dev/zero > big; ls -l big | cut -d' ' -f5";
    let mut wide = sandbox.clone();
    wide.read.push("/dev/zero".into());
    let ended = wide.run(&shell(folder.path(), script)).unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(said.lines().next(), Some("1048576"));
    let written = std::fs::metadata(folder.path().join("big")).map_or(0, |m| m.len());
    assert!(written <= 1 << 20, "{written}");
}

/// What builds do: make, shells, compilers, copies, links.
#[test]
fn a_family_builds() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("a.c", "int main(void) { return 0; }\n");
    write(
        "k.cu",
        "__global__ void k(int *x) { *x = 1; }\nint main() { k<<<1, 1>>>(0); }\n",
    );
    let nvcc = super::super::Nvcc::find().ok();
    let build = nvcc.as_ref().map_or("true".to_owned(), |nvcc| {
        format!("{} -O2 -o k k.cu", nvcc.program.path.display())
    });
    write(
        "Makefile",
        &format!(
            "all: a.o b/c\n\t@{build}\n\t@echo built | sed s/b/B/ | sort\na.o: a.c\n\t@cc -c -o $@ $<\n\t@cc -o a a.o\nb/c:\n\t@mkdir -p b; touch b/c; touch b/c; cp b/c d; mv d e; ln e f; ln -s f g; rm e\n"
        ),
    );
    let mut sandbox = match &nvcc {
        Some(nvcc) => nvcc.sandbox_in(folder.path(), Duration::from_secs(120)),
        None => sandbox(folder.path()),
    };
    sandbox.calls = Calls::Family;
    let mut job = shell(folder.path(), "make -s -j2 all");
    job.environment = vec![("TMPDIR".into(), folder.path().into())];
    let ended = sandbox.run(&job).unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(
        (ended.stdout.as_slice(), said.as_str()),
        (&b"Built\n"[..], "")
    );
    assert!(ended.status.is_some_and(|status| status.success()));
}

/// Devices would be everything, to root.
#[test]
fn nobody_makes_devices() {
    let folder = tempfile::tempdir().unwrap();
    let mut sandbox = sandbox(folder.path());
    let script = "mknod null c 1 3; mknod disk b 8 0; mkfifo pipe; ls";
    let ended = sandbox.run(&shell(folder.path(), script)).unwrap();
    if ended.confined == Confined::LimitsOnly {
        println!("not checked: this system has no Landlock");
        return;
    }
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "pipe\n");
    sandbox.calls = Calls::Family;
    std::fs::remove_file(folder.path().join("pipe")).unwrap();
    let ended = sandbox.run(&shell(folder.path(), script)).unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "pipe\n");
}

/// A build that starts processes, or writes files, without end.
#[test]
fn a_family_has_limits_together() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox {
        calls: Calls::Family,
        time: Duration::from_secs(60),
        ..sandbox(folder.path())
    };
    let started = Instant::now();
    for script in [
        "while :; do sleep 30 & done",
        "i=0; while :; do i=$((i + 1)); head -c 900000 /bin/sh /bin/sh /bin/ls /bin/cp > $i; done",
        "a=aaaaaaaaaaaaaaaa; while [ ${#a} -lt 100000000 ]; do a=$a$a; done; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do (sleep 50; echo $a) & done; sleep 50",
    ] {
        let ended = sandbox.run(&shell(folder.path(), script)).unwrap();
        assert!(
            ended.too_large && ended.status.is_none(),
            "{script}: {ended:?}"
        );
    }
    assert!(started.elapsed() < Duration::from_secs(60));
}

/// Where a program reserves far more than it uses, what it has in use and on the disk is what counts.
#[test]
fn a_group_has_limits_beside_those_of_each_process() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox {
        calls: Calls::Group,
        memory: 1 << 43,
        in_use: 1 << 28,
        file: 1 << 41,
        written: 8 << 20,
        time: Duration::from_secs(60),
        ..sandbox(folder.path())
    };
    let enough = "head -c 3000000 /bin/sh > a; exit 7";
    let ended = sandbox.run(&shell(folder.path(), enough)).unwrap();
    assert_eq!(ended.status.and_then(|s| s.code()), Some(7), "{ended:?}");
    let started = Instant::now();
    for script in [
        "while :; do cat /bin/sh >> a; done",
        "a=aaaaaaaaaaaaaaaa; while [ ${#a} -lt 100000000 ]; do a=$a$a; done; for i in 1 2 3; do (sleep 50; echo $a) & done; sleep 50",
    ] {
        let ended = sandbox.run(&shell(folder.path(), script)).unwrap();
        assert!(
            ended.too_large && ended.status.is_none(),
            "{script}: {ended:?}"
        );
        let _ = std::fs::remove_file(folder.path().join("a"));
    }
    assert!(started.elapsed() < Duration::from_secs(60));
}

/// A process that is no longer in the group would outlive the sandbox.
#[test]
fn nobody_leaves_the_group() {
    if !Calls::are_filtered() {
        println!("not checked: this system can't filter calls");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox {
        calls: Calls::Group,
        ..sandbox(folder.path())
    };
    let script = "(setsid sleep 7391.25 &) ; (sleep 7391.25 &) ; sleep 0.3; exit 5";
    let ended = sandbox.run(&shell(folder.path(), script)).unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.and_then(|s| s.code()), Some(5), "{said}");
    assert!(said.contains("Operation not permitted"), "{said}");
    let left = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let state = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        command.windows(7).any(|w| w == b"7391.25") && !state.contains(") Z")
    });
    assert!(!left, "a process is left");
}

#[test]
fn words_are_no_code() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job {
        program: "/bin/echo".into(),
        arguments: vec!["$(touch pwned); touch pwned `touch pwned`".into()],
        folder: folder.path().to_path_buf(),
        ..Job::default()
    };
    let ended = sandbox(folder.path()).run(&job).unwrap();
    assert!(ended.stdout.starts_with(b"$(touch pwned)"));
    assert!(!folder.path().join("pwned").exists());
}

#[test]
fn who_is_alone_starts_nothing_makes_nothing_and_reaches_nobody() {
    if Sandbox::available() == Confined::LimitsOnly || !Calls::are_filtered() {
        println!("not checked: this system can't confine programs");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine");
    std::fs::write(&file, "before").unwrap();
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    let alone = Sandbox {
        write: Vec::new(),
        calls: Calls::Alone,
        alone: Some(Alone {
            resident: 1 << 28,
            files: vec![file.clone()],
            ..Alone::default()
        }),
        ..sandbox(folder.path())
    };
    let script = format!(
        "echo $SECRET; echo seen > mine; echo new > new; kill -9 {0}; chmod 777 .; (echo forked); echo end",
        other.id()
    );
    let ended = alone.run(&shell(folder.path(), &script)).unwrap();
    let lives = other.try_wait().unwrap().is_none();
    other.kill().unwrap();
    other.wait().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(!said.contains("forked"), "{said}");
    assert!(lives && !folder.path().join("new").exists());
    assert_eq!(std::fs::read(&file).unwrap(), b"seen\n");
}

#[test]
fn who_takes_too_much_memory_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox {
        calls: Calls::Alone,
        alone: Some(Alone {
            resident: 1 << 26,
            ..Alone::default()
        }),
        ..sandbox(folder.path())
    };
    // It stays below the limit of address space, and does not end.
    let script =
        "a=aaaaaaaaaaaaaaaa; while [ ${#a} -lt 134217728 ]; do a=$a$a; done; while :; do :; done";
    let ended = sandbox.run(&shell(folder.path(), script)).unwrap();
    assert!(ended.too_large && ended.status.is_none(), "{ended:?}");
}
