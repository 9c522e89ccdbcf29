//! What of the system a sandboxed program may call: filters of system calls (Linux, "Seccomp BPF").
//!
//! Landlock does not cover everything: who starts processes without end, sends signals, opens sockets of other kinds than TCP, or
//! changes the permissions of a file. [`Calls::Family`] takes that from a build, which must start processes. [`Calls::Alone`] is a list
//! of what one process needs that computes, reads and writes; all else does not exist for it (`ENOSYS`). Threads are allowed, processes
//! are not. A signal reaches the process itself alone.
//!
//! The filter is set between `fork` and `exec`, because it would also bind the thread that starts the program.

use std::process::Command;

/// What may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// Everything.
    #[default]
    Any,
    /// What a build needs: no sockets, no sessions of its own, no other process's memory, no permissions changed.
    Family,
    /// What one process needs.
    Alone,
}

#[cfg(not(target_os = "linux"))]
impl Calls {
    pub(super) fn bind(self, _: &mut Command, _: Option<u64>) {}
}

#[cfg(target_os = "linux")]
pub(super) use linux::available;

/// Whether calls can be filtered.
#[cfg(not(target_os = "linux"))]
pub(super) fn available() -> bool {
    false
}

impl Calls {
    /// Whether this system can filter calls.
    pub fn are_filtered() -> bool {
        available()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    #![allow(unsafe_code)] // `pre_exec` runs code in the child before it becomes the program; there is no other way to bind it alone.

    use super::{Calls, Command};
    use libc as c;
    use rustix::process::{Resource, Rlimit, setrlimit};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch,
    };
    use std::collections::BTreeMap;
    use std::os::unix::process::CommandExt;

    /// Stands for the process's own number, which is known only when it is there.
    const ITSELF: u32 = 0x7fff_fffe;

    impl Calls {
        /// Binds a command; with a limit of address space, in bytes, where no shell sets one.
        pub(in super::super) fn bind(self, command: &mut Command, memory: Option<u64>) {
            let mut filter = self.filter();
            if filter.is_none() && memory.is_none() {
                return;
            }
            let set = move || {
                if let Some(memory) = memory {
                    let limit = |resource, most| {
                        let both = Rlimit {
                            current: Some(most),
                            maximum: Some(most),
                        };
                        setrlimit(resource, both)
                    };
                    limit(Resource::As, memory)?;
                    limit(Resource::Core, 0)?;
                    limit(Resource::Nofile, 128)?;
                }
                if let Some(filter) = &mut filter {
                    let own = std::process::id();
                    for step in filter.iter_mut().filter(|step| step.k == ITSELF) {
                        step.k = own;
                    }
                    seccompiler::apply_filter(filter)
                        .map_err(|_| std::io::Error::from(std::io::ErrorKind::PermissionDenied))?;
                }
                Ok(())
            };
            // SAFETY: between `fork` and `exec` the closure makes system calls and changes memory that it owns; it allocates nothing
            // and takes no lock.
            unsafe { command.pre_exec(set) };
        }

        fn filter(self) -> Option<BpfProgram> {
            let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
            let refused = |error: i32| SeccompAction::Errno(error.cast_unsigned());
            let filter = match self {
                Calls::Any => return None,
                Calls::Family => {
                    SeccompFilter::new(family(), SeccompAction::Allow, refused(c::EPERM), arch)
                }
                Calls::Alone => {
                    SeccompFilter::new(alone(), refused(c::ENOSYS), SeccompAction::Allow, arch)
                }
            };
            filter.ok()?.try_into().ok()
        }
    }

    /// Whether calls can be filtered here.
    pub fn available() -> bool {
        Calls::Alone.filter().is_some()
            && std::path::Path::new("/proc/sys/kernel/seccomp/actions_avail").exists()
    }

    /// What a build may not call, and with which arguments.
    fn family() -> BTreeMap<i64, Vec<SeccompRule>> {
        let mut all: BTreeMap<i64, Vec<SeccompRule>> =
            never().map(|call| (call, Vec::new())).collect();
        // Its own limits and places a process may change, but no other's.
        for call in [
            c::SYS_prlimit64,
            c::SYS_sched_setaffinity,
            c::SYS_sched_setscheduler,
            c::SYS_sched_setparam,
            c::SYS_sched_setattr,
        ] {
            let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)
                .and_then(|condition| SeccompRule::new(vec![condition]));
            // A rule that can't be made forbids all.
            all.insert(call, other.into_iter().collect());
        }
        all
    }

    /// What a build may not call at all.
    fn never() -> impl Iterator<Item = i64> {
        let all = [
            c::SYS_socket,
            c::SYS_setsid,
            c::SYS_setpgid,
            c::SYS_ptrace,
            c::SYS_process_vm_readv,
            c::SYS_process_vm_writev,
            c::SYS_kill,
            c::SYS_tkill,
            // Whoever aborts ends without it, too.
            c::SYS_tgkill,
            c::SYS_rt_sigqueueinfo,
            c::SYS_rt_tgsigqueueinfo,
            c::SYS_pidfd_open,
            c::SYS_pidfd_send_signal,
            c::SYS_fchmod,
            c::SYS_fchmodat,
            c::SYS_fchown,
            c::SYS_fchownat,
            c::SYS_setxattr,
            c::SYS_lsetxattr,
            c::SYS_fsetxattr,
            c::SYS_mount,
            c::SYS_umount2,
            c::SYS_unshare,
            c::SYS_setns,
            c::SYS_bpf,
            c::SYS_perf_event_open,
            c::SYS_io_uring_setup,
            c::SYS_keyctl,
            c::SYS_reboot,
            c::SYS_settimeofday,
            c::SYS_clock_settime,
            c::SYS_sethostname,
            c::SYS_setpriority,
            c::SYS_ioprio_set,
            c::SYS_shmget,
            c::SYS_msgget,
            c::SYS_semget,
            c::SYS_mq_open,
        ];
        #[cfg(target_arch = "x86_64")]
        let more = [c::SYS_chmod, c::SYS_chown, c::SYS_lchown];
        #[cfg(not(target_arch = "x86_64"))]
        let more = [];
        all.into_iter().chain(more)
    }

    /// What one process may call, with what its arguments must be.
    fn alone() -> BTreeMap<i64, Vec<SeccompRule>> {
        let mut all: BTreeMap<i64, Vec<SeccompRule>> =
            plain().map(|call| (call, Vec::new())).collect();
        let is = |argument, operator, value| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
                .and_then(|condition| SeccompRule::new(vec![condition]))
        };
        let mut when = |call, rules: Vec<Result<SeccompRule, seccompiler::BackendError>>| {
            // A rule that can't be made allows nothing.
            all.insert(call, rules.into_iter().filter_map(Result::ok).collect());
        };
        let thread = u64::from(c::CLONE_THREAD.cast_unsigned());
        when(
            c::SYS_clone,
            vec![is(0, SeccompCmpOp::MaskedEq(thread), thread)],
        );
        for call in [c::SYS_tgkill, c::SYS_kill] {
            when(call, vec![is(0, SeccompCmpOp::Eq, u64::from(ITSELF))]);
        }
        // Limits may be read.
        let none = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)
            .and_then(|condition| SeccompRule::new(vec![condition]));
        when(c::SYS_prlimit64, vec![none]);
        let one_of = |argument, values: &[i32]| {
            let rule = |v: &i32| is(argument, SeccompCmpOp::Eq, u64::from(v.cast_unsigned()));
            values.iter().map(rule).collect::<Vec<_>>()
        };
        // Whether it is a terminal.
        when(c::SYS_ioctl, one_of(1, &[0x5401]));
        let duplicates = [
            c::F_DUPFD,
            c::F_GETFD,
            c::F_SETFD,
            c::F_GETFL,
            c::F_SETFL,
            c::F_DUPFD_CLOEXEC,
        ];
        when(c::SYS_fcntl, one_of(1, &duplicates));
        // Names of threads, and of memory.
        when(c::SYS_prctl, one_of(0, &[c::PR_SET_NAME, 0x5356_4d41]));
        all
    }

    fn plain() -> impl Iterator<Item = i64> {
        let all = [
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
            c::SYS_mmap,
            c::SYS_munmap,
            c::SYS_mprotect,
            c::SYS_mremap,
            c::SYS_madvise,
            c::SYS_mincore,
            c::SYS_msync,
            c::SYS_brk,
            c::SYS_memfd_create,
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
        ];
        #[cfg(target_arch = "x86_64")]
        let more = [
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
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let more = [];
        all.into_iter().chain(more)
    }
}
