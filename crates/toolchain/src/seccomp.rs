//! What of the system a sandboxed program may call: filters of system calls (Linux, "Seccomp BPF").
//!
//! Landlock does not cover everything: who starts processes without end, sends signals, opens sockets of other kinds than TCP, or
//! changes the permissions of a file. So both kinds of programs have a list of what they may call, by architecture
//! ([`lists`]); what is on neither does not exist for them (`ENOSYS`), whatever the kernel of tomorrow brings. A build
//! ([`Calls::Family`]) starts processes and makes files; it changes no permissions or owners (`EPERM`), since the system can't tell it which files are
//! its own, and setting times does nothing. One process of a stranger ([`Calls::Alone`]) computes, reads and writes. Threads are
//! allowed there, processes are not; a signal reaches the process itself alone, and `SIGKILL` not even that, so that whoever ends by
//! it was ended from outside.
//!
//! The filter is set between `fork` and `exec`, because it would also bind the thread that starts the program.

#[cfg(target_os = "linux")]
mod lists;

use std::process::Command;

/// What may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// Everything.
    #[default]
    Any,
    /// Everything but what takes a process out of its group, so that all that a program starts is counted and ends with it.
    Group,
    /// What a build needs.
    Family,
    /// What one process needs.
    Alone,
}

#[cfg(not(target_os = "linux"))]
impl Calls {
    pub(super) fn bind(self, _: &mut Command, _: Bounds) {}
}

#[cfg(target_os = "linux")]
pub(super) use linux::available;

/// Whether calls can be filtered.
#[cfg(not(target_os = "linux"))]
pub(super) fn available() -> bool {
    false
}

/// What a process is bound to where no shell does it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// Address space, bytes.
    pub memory: Option<u64>,
    /// A file of the parent's, and the number that the process has it under.
    pub file: Option<(i32, i32)>,
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

    use super::lists::{self, ITSELF, Rules};
    use super::{Bounds, Calls, Command};
    use rustix::process::{Resource, Rlimit, setrlimit};
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
    use std::os::unix::process::CommandExt;

    impl Calls {
        /// Binds a command.
        pub(in super::super) fn bind(self, command: &mut Command, bounds: Bounds) {
            let mut filters = self.filters().unwrap_or_default();
            if filters.is_empty() && bounds.memory.is_none() {
                return;
            }
            let set = move || {
                if let Some(memory) = bounds.memory {
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
                if let Some((file, number)) = bounds.file {
                    // SAFETY: two numbers; the copy stays open when the program starts.
                    if unsafe { libc::dup2(file, number) } < 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                for filter in &mut filters {
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

        /// The filters, in the order in which they are set: a call is allowed where all of them allow it.
        pub(super) fn filters(self) -> Option<Vec<BpfProgram>> {
            let nowhere = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
            let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
            let done = SeccompAction::Errno(0);
            let (allow, only) = (SeccompAction::Allow, filter);
            match self {
                Calls::Any => Some(Vec::new()),
                Calls::Group => Some(vec![only(lists::groups(), allow, refused)?]),
                Calls::Alone => Some(vec![only(lists::alone(), nowhere, allow)?]),
                Calls::Family => Some(vec![
                    only(lists::permissions(), allow.clone(), refused)?,
                    only(lists::times(), allow.clone(), done)?,
                    // It forbids to set more of them.
                    only(lists::family(), nowhere, allow)?,
                ]),
            }
        }
    }

    fn filter(rules: Rules, others: SeccompAction, these: SeccompAction) -> Option<BpfProgram> {
        let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
        let filter = SeccompFilter::new(rules, others, these, arch);
        filter.ok()?.try_into().ok()
    }

    /// Whether calls can be filtered here.
    pub fn available() -> bool {
        Calls::Alone.filters().is_some()
            && Calls::Family.filters().is_some()
            && std::path::Path::new("/proc/sys/kernel/seccomp/actions_avail").exists()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use seccompiler::{BpfProgram, sock_filter};
    use std::collections::BTreeMap;

    /// What the kernel is given to judge (`struct seccomp_data`): number, architecture, instruction, arguments.
    fn data(number: u32, arguments: [u64; 6]) -> [u32; 16] {
        let arch = match std::env::consts::ARCH {
            "x86_64" => 0xc000_003e,
            _ => 0xc000_00b7,
        };
        let mut words = [number, arch, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for (index, argument) in arguments.iter().enumerate() {
            words[4 + 2 * index] = *argument as u32;
            words[5 + 2 * index] = (argument >> 32) as u32;
        }
        words
    }

    /// Runs a filter as the kernel does (Linux, "Linux Socket Filtering"): the operations that filters of calls are made of.
    fn judge(filter: &[sock_filter], data: &[u32; 16]) -> u32 {
        let (mut at, mut a) = (0, 0u32);
        loop {
            let step = &filter[at];
            at += 1;
            let jump = |yes: bool| usize::from(if yes { step.jt } else { step.jf });
            match step.code {
                0x20 => a = data[step.k as usize / 4],
                0x54 => a &= step.k,
                0x05 => at += step.k as usize,
                0x15 => at += jump(a == step.k),
                0x25 => at += jump(a > step.k),
                0x35 => at += jump(a >= step.k),
                0x45 => at += jump(a & step.k != 0),
                0x06 => return step.k,
                other => panic!("operation {other:#x}"),
            }
        }
    }

    /// The errno that a call gets; `None` where it is allowed.
    fn errno(filters: &[BpfProgram], number: u32, arguments: [u64; 6]) -> Option<u32> {
        let data = data(number, arguments);
        // Of errors, that of the filter that was set last counts.
        let all = filters.iter().rev().map(|filter| judge(filter, &data));
        let mut errors = all.filter(|action| action & 0xffff_0000 != 0x7fff_0000);
        errors.next().map(|action| {
            assert_eq!(action & 0xffff_0000, 0x0005_0000, "call {number}");
            action & 0xffff
        })
    }

    /// The kernel's own table, as its headers have it: by number.
    fn table() -> BTreeMap<u32, String> {
        let places = [
            "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
            "/usr/include/asm/unistd_64.h",
            "/usr/include/asm-generic/unistd.h",
        ];
        let found = places
            .iter()
            .find_map(|place| std::fs::read_to_string(place).ok());
        let text = found.expect("the system's headers are there, as for any compiler");
        let line = |line: &str| {
            let (name, number) = line.strip_prefix("#define __NR_")?.split_once(' ')?;
            Some((number.trim().parse().ok()?, name.to_owned()))
        };
        text.lines().filter_map(line).collect()
    }

    #[test]
    fn what_the_kernel_has_and_no_list_does_not_exist() {
        let table = table();
        assert!(table.len() > 300);
        let rare = [
            "add_key",
            "keyctl",
            "request_key",
            "setdomainname",
            "sethostname",
            "fanotify_init",
            "fanotify_mark",
            "userfaultfd",
            "ptrace",
            "process_vm_readv",
            "process_vm_writev",
            "process_madvise",
            "pidfd_open",
            "pidfd_getfd",
            "pidfd_send_signal",
            "bpf",
            "perf_event_open",
            "io_uring_setup",
            "io_uring_enter",
            "mount",
            "umount2",
            "move_mount",
            "open_tree",
            "fsopen",
            "mount_setattr",
            "pivot_root",
            "chroot",
            "unshare",
            "setns",
            "clone3",
            "socket",
            "socketpair",
            "connect",
            "bind",
            "sendmsg",
            "recvmsg",
            "shmget",
            "shmat",
            "msgget",
            "semget",
            "mq_open",
            "memfd_create",
            "memfd_secret",
            "setsid",
            "setpgid",
            "kill",
            "tkill",
            "tgkill",
            "rt_sigqueueinfo",
            "reboot",
            "kexec_load",
            "init_module",
            "finit_module",
            "delete_module",
            "swapon",
            "settimeofday",
            "clock_settime",
            "adjtimex",
            "setpriority",
            "ioprio_set",
            "setuid",
            "setgid",
            "setgroups",
            "acct",
            "quotactl",
            "syslog",
            "iopl",
            "ioperm",
            "seccomp",
            "mlockall",
            "personality",
        ];
        for calls in [Calls::Family, Calls::Alone] {
            let filters = calls.filters().unwrap();
            let of = |number| errno(&filters, number, [0; 6]);
            for (number, name) in &table {
                let is_rare = rare.contains(&name.as_str());
                // Arguments of zero: `kill(0, 0)` is for a whole group.
                assert!(
                    !is_rare || of(*number) == Some(38),
                    "{calls:?}: {name}: {:?}",
                    of(*number)
                );
            }
            // Calls of kernels to come, and those of the 32-bit ABI in a 64-bit process.
            for number in (480..4096).chain(0x4000_0000..0x4000_0400) {
                assert_eq!(of(number), Some(38), "{calls:?}: {number}");
            }
            let allowed = table.iter().filter(|(number, _)| of(**number).is_none());
            let names: Vec<&str> = allowed.map(|(_, name)| name.as_str()).collect();
            assert!(names.contains(&"read") && names.contains(&"openat"));
            assert!(names.len() < 200, "{} of {}", names.len(), table.len());
        }
    }

    #[test]
    fn no_call_changes_permissions_of_what_is_outside() {
        let table = table();
        let family = Calls::Family.filters().unwrap();
        let alone = Calls::Alone.filters().unwrap();
        let changes = |name: &str| {
            name.contains("chmod")
                || name.contains("chown")
                || name.contains("setxattr")
                || name.contains("removexattr")
        };
        let mut seen = 0;
        for (number, name) in table.iter().filter(|(_, name)| changes(name)) {
            assert_eq!(errno(&family, *number, [0; 6]), Some(1), "{name}");
            assert_eq!(errno(&alone, *number, [0; 6]), Some(38), "{name}");
            seen += 1;
        }
        assert!(seen >= 10, "{seen}");
        // `fchmodat2` and the newest are there, whether or not the headers know them.
        for number in [452, 463, 466, 469] {
            assert!(
                errno(&family, number, [0; 6]).is_some_and(|e| e != 0),
                "{number}"
            );
        }
        let utimensat = u32::try_from(libc::SYS_utimensat).unwrap();
        assert_eq!(errno(&family, utimensat, [0; 6]), Some(0));
    }

    #[test]
    fn arguments_count() {
        let (family, alone) = (
            Calls::Family.filters().unwrap(),
            Calls::Alone.filters().unwrap(),
        );
        let number = |call: i64| u32::try_from(call).unwrap();
        let clone = |filters, flags: i32| {
            errno(
                filters,
                number(libc::SYS_clone),
                [u64::from(flags.cast_unsigned()), 0, 0, 0, 0, 0],
            )
            .is_none()
        };
        assert!(clone(&family, libc::SIGCHLD) && !clone(&alone, libc::SIGCHLD));
        assert!(clone(
            &alone,
            libc::CLONE_THREAD | libc::CLONE_VM | libc::CLONE_SIGHAND
        ));
        for namespace in [
            libc::CLONE_NEWUSER,
            libc::CLONE_NEWNS,
            libc::CLONE_NEWNET,
            libc::CLONE_PARENT,
        ] {
            assert!(!clone(&family, namespace) && !clone(&alone, namespace | libc::CLONE_THREAD));
        }
        let mmap = |filters, flags: i32| {
            let flags = u64::from(flags.cast_unsigned());
            errno(filters, number(libc::SYS_mmap), [0, 0, 0, flags, 0, 0]).is_none()
        };
        for filters in [&family, &alone] {
            assert!(mmap(filters, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS));
            assert!(mmap(filters, libc::MAP_SHARED));
            assert!(!mmap(filters, libc::MAP_SHARED | libc::MAP_ANONYMOUS));
            assert!(!mmap(
                filters,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB
            ));
        }
        let signal = |signal: i32| {
            let to = u64::from(lists::ITSELF);
            let all = [
                (libc::SYS_kill, [to, signal as u64, 0]),
                (libc::SYS_tgkill, [to, 5, signal as u64]),
            ];
            all.map(|(call, [a, b, c])| errno(&alone, number(call), [a, b, c, 0, 0, 0]).is_none())
        };
        assert_eq!(signal(libc::SIGABRT), [true; 2]);
        assert_eq!(
            [signal(libc::SIGKILL), signal(libc::SIGSTOP)],
            [[false; 2]; 2]
        );
        let pipes = [0, 1031, 0, 0, 0, 0];
        assert!(
            errno(&family, number(libc::SYS_fcntl), pipes).is_some(),
            "F_SETPIPE_SZ"
        );
        assert!(
            errno(
                &family,
                number(libc::SYS_mknodat),
                [0, 0, 0o020_666, 0, 0, 0]
            )
            .is_some()
        );
        assert!(
            errno(
                &family,
                number(libc::SYS_mknodat),
                [0, 0, 0o010_666, 0, 0, 0]
            )
            .is_none()
        );
    }
}
