//! Seals: records that somebody else in the program's process can neither make nor take out without its being noticed.
//!
//! The program's own code runs beside the library, can write to the same pipe and can close it. So each line ends in its number and in
//! a hash of a key, the number and the line (SHA-256). The key comes through a pipe that the library empties before any code of the
//! program runs. What a seal can't stop is code that finds the key in the library's memory.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Seals lines, one after the other.
#[derive(Clone, Debug)]
pub struct Seal {
    key: String,
    next: u64,
}

/// Records that are not what the library wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the records was not written by the library, or one before it is missing")]
pub struct Broken {
    /// The line, from 1.
    pub line: u64,
}

impl Seal {
    /// With a key.
    pub fn new(key: &str) -> Seal {
        Seal {
            key: key.to_owned(),
            next: 0,
        }
    }

    fn hash(&self, text: &[u8]) -> String {
        let mut hash = Sha256::new();
        for part in [
            self.key.as_bytes(),
            &self.next.to_le_bytes(),
            text,
            self.key.as_bytes(),
        ] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().iter().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
    }

    /// Adds its seal to a line, which holds no tab.
    pub fn seal(&mut self, line: &mut Vec<u8>) {
        let seal = format!("\t{}\t{}", self.next, self.hash(line));
        self.next += 1;
        line.extend(seal.as_bytes());
    }

    /// The next line without its seal.
    ///
    /// # Errors
    ///
    /// It is not the next line.
    pub fn open<'a>(&mut self, line: &'a [u8]) -> Result<&'a [u8], Broken> {
        let broken = Broken {
            line: self.next + 1,
        };
        let mut parts = line.rsplitn(3, |b| *b == b'\t');
        let (Some(hash), Some(number), Some(text)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(broken);
        };
        let right =
            number == self.next.to_string().as_bytes() && hash == self.hash(text).as_bytes();
        self.next += 1;
        right.then_some(text).ok_or(broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(texts: &[&str]) -> Vec<Vec<u8>> {
        let mut seal = Seal::new("key");
        let line = |text: &&str| {
            let mut line = text.as_bytes().to_vec();
            seal.seal(&mut line);
            line
        };
        texts.iter().map(line).collect()
    }

    #[test]
    fn lines_open_in_their_order() {
        let mut seal = Seal::new("key");
        for (line, text) in sealed(&["a", "b", "a"]).iter().zip(["a", "b", "a"]) {
            assert_eq!(seal.open(line), Ok(text.as_bytes()));
        }
    }

    #[test]
    fn a_line_that_is_missing_made_up_changed_or_repeated_is_noticed() {
        let lines = sealed(&["a", "b"]);
        let open = |lines: &[&[u8]]| {
            let mut seal = Seal::new("key");
            lines
                .iter()
                .map(|line| seal.open(line).is_ok())
                .collect::<Vec<_>>()
        };
        assert_eq!(open(&[&lines[1]]), [false]);
        assert_eq!(open(&[&lines[0], &lines[0]]), [true, false]);
        assert_eq!(open(&[b"a"]), [false]);
        let mut other = b"c".to_vec();
        Seal::new("other key").seal(&mut other);
        assert_eq!(open(&[&other]), [false]);
        let changed = String::from_utf8(lines[0].clone())
            .unwrap()
            .replacen('a', "c", 1);
        assert_eq!(open(&[changed.as_bytes()]), [false]);
    }
}
