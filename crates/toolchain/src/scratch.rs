//! Scratch folders and running compilers, so that a signal leaves neither behind.
//!
//! A program that is ended by a signal drops nothing. So folders and process groups are noted here, and who handles signals calls
//! [`abandon`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static OPEN: Mutex<Open> = Mutex::new(Open {
    folders: Vec::new(),
    groups: Vec::new(),
});

struct Open {
    folders: Vec<PathBuf>,
    groups: Vec<u32>,
}

fn open<T>(change: impl FnOnce(&mut Open) -> T) -> T {
    change(&mut OPEN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A folder that is removed with all that is in it when it is dropped, or abandoned.
#[derive(Debug)]
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    /// A new folder among the system's temporary files.
    ///
    /// # Errors
    ///
    /// There is no room for it.
    pub fn new() -> io::Result<Scratch> {
        let folder = tempfile::Builder::new().prefix("racetrap-").tempdir()?;
        open(|all| all.folders.push(folder.path().to_path_buf()));
        Ok(Scratch(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let path = self.0.path();
        open(|all| all.folders.retain(|p| p != path));
    }
}

/// A process that leads a group of its own, and is killed with it when abandoned.
pub(super) struct Group(u32);

impl Group {
    pub(super) fn new(leader: u32) -> Group {
        open(|all| all.groups.push(leader));
        Group(leader)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        open(|all| all.groups.retain(|g| *g != self.0));
    }
}

/// Kills what is running and removes all scratch folders: for a program that is about to end.
pub fn abandon() {
    let (folders, groups) = open(|all| (all.folders.clone(), all.groups.clone()));
    #[cfg(unix)]
    for leader in groups {
        use rustix::process::{Pid, Signal, kill_process_group};
        if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
    #[cfg(not(unix))]
    let _ = groups;
    for folder in folders {
        let _ = std::fs::remove_dir_all(folder);
    }
}
