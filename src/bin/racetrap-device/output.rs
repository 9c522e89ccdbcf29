//! Separates standard output: replies go to one descriptor, the output of kernels to a file.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _};
use std::os::fd::AsFd as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;

/// What the process writes to.
pub struct Output {
    /// Where the standard output went when the process started.
    pub replies: BufWriter<File>,
    /// Where it goes now.
    printed: File,
}

impl Output {
    /// Puts the standard output aside and a file in its place.
    pub fn take() -> io::Result<Output> {
        let replies = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let printed = tempfile::tempfile()?;
        // SAFETY: both descriptors are open, and nothing here keeps descriptor 1 as a handle of its own.
        if unsafe { libc::dup2(printed.as_raw_fd(), libc::STDOUT_FILENO) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Output {
            replies: BufWriter::new(replies),
            printed,
        })
    }

    /// What was printed since the last call.
    pub fn printed(&mut self) -> io::Result<String> {
        // The driver prints through the C library, which keeps what goes to a file in a buffer.
        // SAFETY: a null stream stands for all of them (C11 7.21.5.2).
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let length = usize::try_from(self.printed.metadata()?.len()).unwrap_or(usize::MAX);
        let mut text = vec![0; length];
        self.printed.read_exact_at(&mut text, 0)?;
        // Both descriptors share their position.
        self.printed.set_len(0)?;
        self.printed.rewind()?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
