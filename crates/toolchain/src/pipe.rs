//! Named pipes: what went into one can't be taken back, and what was read out of one is gone.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often an empty pipe is looked at.
const POLL: Duration = Duration::from_millis(1);

/// A pipe with a name in the file system.
#[derive(Clone, Debug)]
pub struct NamedPipe {
    path: PathBuf,
}

impl NamedPipe {
    /// Makes one.
    ///
    /// # Errors
    ///
    /// There is something of this name, or no room.
    pub fn make(path: &Path) -> io::Result<NamedPipe> {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        Ok(NamedPipe {
            path: path.to_owned(),
        })
    }

    /// Puts something in, which waits there for who reads it as long as what is given back lives. No more than 64 KiB fit.
    ///
    /// # Errors
    ///
    /// The pipe can't be opened.
    pub fn fill(&self, bytes: &[u8]) -> io::Result<File> {
        // Opened in both ways, it waits for nobody (fifo(7)).
        let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Opens it for reading, before anybody writes.
    ///
    /// # Errors
    ///
    /// The pipe can't be opened.
    pub fn reader(&self) -> io::Result<File> {
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(&self.path)
    }
}

/// Reads until nothing is left after `done`; what is beyond `most` bytes is read and dropped.
///
/// # Errors
///
/// It can't be read.
pub fn drain(reader: &mut File, most: usize, done: &AtomicBool) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        // Asked before the pipe is: what comes in between is not lost.
        let over = done.load(Ordering::Acquire);
        match reader.read(&mut buffer) {
            Ok(0) if over => return Ok(kept),
            Ok(0) => std::thread::sleep(POLL),
            Ok(n) => kept.extend(&buffer[..n.min(most.saturating_sub(kept.len()))]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => match over {
                true => return Ok(kept),
                false => std::thread::sleep(POLL),
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_comes_out_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let pipe = NamedPipe::make(&path).unwrap();
        let mut reader = pipe.reader().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let read = scope.spawn(|| drain(&mut reader, 6, &done).unwrap());
            let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
            writer.write_all(b"some words").unwrap();
            drop(writer);
            done.store(true, Ordering::Release);
            assert_eq!(read.join().unwrap(), b"some w");
        });
        let held = pipe.fill(b"a secret\n").unwrap();
        let mut first = std::io::BufReader::new(File::open(&path).unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut first, &mut line).unwrap();
        assert_eq!(line, "a secret\n");
        let mut second = pipe.reader().unwrap();
        done.store(true, Ordering::Release);
        assert_eq!(drain(&mut second, 100, &done).unwrap(), b"");
        drop(held);
    }
}
