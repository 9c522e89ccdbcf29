//! Which calls there are for whom: by name, by architecture, with what their arguments must be (man-pages, "syscalls(2)").

use libc as c;
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};
use std::collections::BTreeMap;

/// Calls, each with the rules of which one must hold; with none it is on the list whatever its arguments are.
pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Stands for the process's own number, which is known only when it is there.
pub(super) const ITSELF: u32 = 0x7fff_fffe;

/// `CLONE_NEW…`, and `CLONE_PARENT`, by which a process is a child of who started its parent.
const OTHER_NAMESPACES: u64 = 0x7e02_0000 | 0x8000;

/// A condition on an argument, of which 32 bits count.
fn is(argument: u8, operator: SeccompCmpOp, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).ok()
}

/// The argument has one of these values.
fn one_of(argument: u8, values: &[i32]) -> Vec<Vec<Option<SeccompCondition>>> {
    let rule = |v: &i32| vec![is(argument, SeccompCmpOp::Eq, u64::from(v.cast_unsigned()))];
    values.iter().map(rule).collect()
}

/// Puts a call on a list where one of the rules holds, each of several conditions.
fn when(all: &mut Rules, call: i64, rules: Vec<Vec<Option<SeccompCondition>>>) {
    let rule = |conditions: Vec<Option<SeccompCondition>>| {
        let conditions: Option<Vec<SeccompCondition>> = conditions.into_iter().collect();
        SeccompRule::new(conditions?).ok()
    };
    let rules: Vec<SeccompRule> = rules.into_iter().filter_map(rule).collect();
    // No rule at all would allow everything.
    if !rules.is_empty() {
        all.insert(call, rules);
    }
}

fn plain(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

/// What one process may call that starts no other.
pub(super) fn alone() -> Rules {
    let mut all = both();
    let thread = u64::from(c::CLONE_THREAD.cast_unsigned());
    let same = SeccompCmpOp::MaskedEq(thread | OTHER_NAMESPACES);
    when(&mut all, c::SYS_clone, vec![vec![is(0, same, thread)]]);
    // Not to kill or stop: who is found so was ended by somebody else.
    for (call, signal) in [(c::SYS_kill, 1), (c::SYS_tgkill, 2)] {
        let other = |s: i32| is(signal, SeccompCmpOp::Ne, u64::from(s.cast_unsigned()));
        let itself = is(0, SeccompCmpOp::Eq, u64::from(ITSELF));
        let rule = vec![itself, other(c::SIGKILL), other(c::SIGSTOP)];
        when(&mut all, call, vec![rule]);
    }
    // Limits may be read.
    let none = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0);
    when(&mut all, c::SYS_prlimit64, vec![vec![none.ok()]]);
    // Whether it is a terminal.
    when(&mut all, c::SYS_ioctl, one_of(1, &[0x5401]));
    let duplicates = [
        c::F_DUPFD,
        c::F_GETFD,
        c::F_SETFD,
        c::F_GETFL,
        c::F_SETFL,
        c::F_DUPFD_CLOEXEC,
    ];
    when(&mut all, c::SYS_fcntl, one_of(1, &duplicates));
    // Names of threads, and of memory.
    when(
        &mut all,
        c::SYS_prctl,
        one_of(0, &[c::PR_SET_NAME, 0x5356_4d41]),
    );
    all
}

/// What a build may call: it starts processes, and makes and removes files.
pub(super) fn family() -> Rules {
    let mut all = both();
    all.extend(plain(&[
        c::SYS_execveat,
        c::SYS_wait4,
        c::SYS_waitid,
        c::SYS_getpgid,
        c::SYS_getsid,
        c::SYS_getresuid,
        c::SYS_getresgid,
        c::SYS_getgroups,
        c::SYS_capget,
        c::SYS_getpriority,
        c::SYS_sched_getparam,
        c::SYS_sched_getscheduler,
        c::SYS_sched_get_priority_max,
        c::SYS_sched_get_priority_min,
        // GNU make sets the user that it already is.
        c::SYS_setresuid,
        c::SYS_setresgid,
        c::SYS_setreuid,
        c::SYS_setregid,
        c::SYS_get_robust_list,
        c::SYS_umask,
        c::SYS_chdir,
        c::SYS_fchdir,
        c::SYS_mkdirat,
        c::SYS_unlinkat,
        c::SYS_renameat,
        c::SYS_renameat2,
        c::SYS_linkat,
        c::SYS_symlinkat,
        c::SYS_truncate,
        c::SYS_fallocate,
        c::SYS_copy_file_range,
        c::SYS_sendfile,
        c::SYS_splice,
        c::SYS_sync_file_range,
        c::SYS_flock,
        c::SYS_faccessat2,
        c::SYS_preadv,
        c::SYS_pwritev,
        c::SYS_readahead,
        c::SYS_getxattr,
        c::SYS_lgetxattr,
        c::SYS_fgetxattr,
        c::SYS_listxattr,
        c::SYS_llistxattr,
        c::SYS_flistxattr,
        c::SYS_epoll_create1,
        c::SYS_epoll_ctl,
        c::SYS_epoll_pwait,
        c::SYS_timerfd_create,
        c::SYS_timerfd_settime,
        c::SYS_signalfd4,
        c::SYS_setitimer,
        c::SYS_getitimer,
        c::SYS_rt_sigsuspend,
        c::SYS_rt_sigpending,
        c::SYS_rt_sigtimedwait,
    ]));
    #[cfg(target_arch = "x86_64")]
    all.extend(plain(&[
        c::SYS_fork,
        c::SYS_vfork,
        c::SYS_getpgrp,
        c::SYS_creat,
        c::SYS_mkdir,
        c::SYS_rmdir,
        c::SYS_unlink,
        c::SYS_rename,
        c::SYS_link,
        c::SYS_symlink,
        c::SYS_getdents,
        c::SYS_epoll_create,
        c::SYS_epoll_wait,
        c::SYS_alarm,
        c::SYS_pause,
    ]));
    // These have filters of their own.
    all.extend(permissions());
    all.extend(times());
    let none = SeccompCmpOp::MaskedEq(OTHER_NAMESPACES);
    when(&mut all, c::SYS_clone, vec![vec![is(0, none, 0)]]);
    // Its own limits and places a process may change, but no other's.
    for call in [
        c::SYS_prlimit64,
        c::SYS_sched_setaffinity,
        c::SYS_sched_setscheduler,
        c::SYS_sched_setparam,
        c::SYS_sched_setattr,
    ] {
        when(&mut all, call, one_of(0, &[0]));
    }
    // Terminals' settings and size, what can be read, flags of a file, and copies of it.
    let asks = [0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451];
    let copies = [0x4004_9409, 0x4020_940d];
    when(
        &mut all,
        c::SYS_ioctl,
        one_of(1, &[&asks[..], &copies].concat()),
    );
    let commands = [
        c::F_DUPFD,
        c::F_GETFD,
        c::F_SETFD,
        c::F_GETFL,
        c::F_SETFL,
        c::F_DUPFD_CLOEXEC,
        c::F_GETLK,
        c::F_SETLK,
        c::F_SETLKW,
        c::F_OFD_GETLK,
        c::F_OFD_SETLK,
        c::F_OFD_SETLKW,
    ];
    when(&mut all, c::SYS_fcntl, one_of(1, &commands));
    let names = [
        c::PR_SET_NAME,
        c::PR_GET_NAME,
        0x5356_4d41,
        c::PR_SET_PDEATHSIG,
        c::PR_CAPBSET_READ,
    ];
    when(&mut all, c::SYS_prctl, one_of(0, &names));
    // Pipes with names, and no devices.
    let fifo = |argument| {
        let kind = SeccompCmpOp::MaskedEq(u64::from(c::S_IFMT));
        vec![vec![is(argument, kind, u64::from(c::S_IFIFO))]]
    };
    when(&mut all, c::SYS_mknodat, fifo(2));
    #[cfg(target_arch = "x86_64")]
    when(&mut all, c::SYS_mknod, fifo(1));
    all
}

/// What changes who may do what with a file, wherever it lies.
pub(super) fn permissions() -> Rules {
    // `fchmodat2`, `setxattrat`, `removexattrat`, `file_setattr`: their numbers are the same everywhere.
    let newest = [452, 463, 466, 469];
    let mut all = plain(&[
        c::SYS_fchmod,
        c::SYS_fchmodat,
        c::SYS_fchown,
        c::SYS_fchownat,
        c::SYS_setxattr,
        c::SYS_lsetxattr,
        c::SYS_fsetxattr,
        c::SYS_removexattr,
        c::SYS_lremovexattr,
        c::SYS_fremovexattr,
    ]);
    all.extend(plain(&newest));
    #[cfg(target_arch = "x86_64")]
    all.extend(plain(&[c::SYS_chmod, c::SYS_chown, c::SYS_lchown]));
    all
}

/// What changes the times of a file, wherever it lies.
pub(super) fn times() -> Rules {
    let mut all = plain(&[c::SYS_utimensat]);
    #[cfg(target_arch = "x86_64")]
    all.extend(plain(&[c::SYS_utime, c::SYS_utimes, c::SYS_futimesat]));
    all
}

/// What takes a process out of its group.
pub(super) fn groups() -> Rules {
    plain(&[c::SYS_setsid, c::SYS_setpgid])
}

/// What both may call.
fn both() -> Rules {
    let mut all = plain(&[
        c::SYS_read,
        c::SYS_write,
        c::SYS_readv,
        c::SYS_writev,
        c::SYS_pread64,
        c::SYS_pwrite64,
        c::SYS_openat,
        c::SYS_close,
        c::SYS_fstat,
        c::SYS_newfstatat,
        c::SYS_statx,
        c::SYS_statfs,
        c::SYS_fstatfs,
        c::SYS_lseek,
        c::SYS_faccessat,
        c::SYS_readlinkat,
        c::SYS_getdents64,
        c::SYS_getcwd,
        c::SYS_ftruncate,
        c::SYS_fsync,
        c::SYS_fdatasync,
        c::SYS_fadvise64,
        c::SYS_dup,
        c::SYS_dup3,
        c::SYS_pipe2,
        c::SYS_eventfd2,
        c::SYS_ppoll,
        c::SYS_pselect6,
        c::SYS_munmap,
        c::SYS_mprotect,
        c::SYS_mremap,
        c::SYS_madvise,
        c::SYS_mincore,
        c::SYS_msync,
        c::SYS_brk,
        c::SYS_futex,
        c::SYS_set_robust_list,
        c::SYS_set_tid_address,
        c::SYS_rseq,
        c::SYS_membarrier,
        c::SYS_sched_yield,
        c::SYS_sched_getaffinity,
        c::SYS_getcpu,
        c::SYS_rt_sigaction,
        c::SYS_rt_sigprocmask,
        c::SYS_rt_sigreturn,
        c::SYS_sigaltstack,
        c::SYS_restart_syscall,
        c::SYS_getpid,
        c::SYS_gettid,
        c::SYS_getppid,
        c::SYS_getuid,
        c::SYS_geteuid,
        c::SYS_getgid,
        c::SYS_getegid,
        c::SYS_getrandom,
        c::SYS_getrusage,
        c::SYS_times,
        c::SYS_uname,
        c::SYS_sysinfo,
        c::SYS_clock_gettime,
        c::SYS_clock_getres,
        c::SYS_clock_nanosleep,
        c::SYS_nanosleep,
        c::SYS_gettimeofday,
        c::SYS_execve,
        c::SYS_exit,
        c::SYS_exit_group,
    ]);
    #[cfg(target_arch = "x86_64")]
    all.extend(plain(&[
        c::SYS_open,
        c::SYS_stat,
        c::SYS_lstat,
        c::SYS_access,
        c::SYS_readlink,
        c::SYS_dup2,
        c::SYS_pipe,
        c::SYS_poll,
        c::SYS_select,
        c::SYS_time,
        c::SYS_getrlimit,
        c::SYS_arch_prctl,
    ]));
    // Memory that the process has by itself, or that is a file's: what nobody has mapped is nowhere else counted.
    let flag = |flags: i32| u64::from(flags.cast_unsigned());
    let (kind, huge) = (flag(c::MAP_SHARED | c::MAP_PRIVATE), flag(c::MAP_HUGETLB));
    let (private, anonymous) = (flag(c::MAP_PRIVATE), flag(c::MAP_ANONYMOUS));
    let own = SeccompCmpOp::MaskedEq(kind | huge);
    let of_file = SeccompCmpOp::MaskedEq(anonymous | huge);
    let rules = vec![vec![is(3, own, private)], vec![is(3, of_file, 0)]];
    when(&mut all, c::SYS_mmap, rules);
    all
}
