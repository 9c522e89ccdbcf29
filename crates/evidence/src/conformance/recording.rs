//! What a GPU gave, small enough to keep: a hash of each column, and some columns whole.
//!
//! Programs and inputs follow from the seed, so a line for each program is enough: its number, the hash of its text and
//! inputs, and a hash of each column of outputs. The hash of the program tells a generator that writes another
//! program now from a wrong value. A recording is two files: `recording.txt` with these lines below a head of
//! `key: value`, and `columns.bin` with whole columns (number of the program, number of the column and length as
//! 32-bit words in little-endian order, then the bytes). Both are written by `racetrap dev conform --record`.

use super::build::Program;
use super::compare::{Comparison, compare, difference, follows};
use super::family::Family;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The names of the two files.
pub const FILES: [&str; 2] = ["recording.txt", "columns.bin"];

/// A recording that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file can't be read or written.
    #[error("{path}: {error}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A line that is none of a recording.
    #[error("recording.txt, line {0}: not a line of a recording")]
    Line(usize),
    /// `columns.bin` ends too early.
    #[error("columns.bin is cut off after {0} bytes")]
    CutOff(usize),
}

/// What a GPU gave for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The hash of the program and its inputs.
    pub identity: u64,
    /// The hash of each column.
    pub columns: Vec<u64>,
    /// Columns that are there as they are.
    pub whole: BTreeMap<usize, Vec<u8>>,
}

/// See the module's page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The GPU and its driver.
    pub device: String,
    /// The seed of the programs.
    pub seed: u64,
    /// By the program's number.
    pub programs: BTreeMap<u32, Recorded>,
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo): short, and the same in every version.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The hash of a program and its inputs.
pub fn identity(program: &Program) -> u64 {
    hash(program.ptx.as_bytes()) ^ hash(&program.input_bytes()).rotate_left(1)
}

impl Recorded {
    /// What is kept of a program's outputs; `whole` names the columns to keep as they are.
    pub fn of(
        program: &Program,
        outputs: &[u8],
        whole: impl IntoIterator<Item = usize>,
    ) -> Recorded {
        let column = |o: usize| outputs[program.outputs[o].range()].to_vec();
        Recorded {
            identity: identity(program),
            columns: program
                .outputs
                .iter()
                .map(|o| hash(&outputs[o.range()]))
                .collect(),
            whole: whole.into_iter().map(|o| (o, column(o))).collect(),
        }
    }

    /// Compares what the simulator gives with what is recorded; `None` if the recording is of another program.
    pub fn compare(&self, program: &Program, simulated: &[u8], shown: usize) -> Option<Comparison> {
        if self.identity != identity(program) || self.columns.len() != program.outputs.len() {
            return None;
        }
        // Where no bytes are kept, those of the simulator stand for them if their hash is right.
        let mut real = simulated.to_vec();
        for (&o, bytes) in &self.whole {
            let range = program.outputs.get(o)?.range();
            if bytes.len() != range.len() {
                return None;
            }
            real[range].copy_from_slice(bytes);
        }
        let mut wrong = Vec::new();
        if program.family != Family::Approximate {
            wrong.extend(
                (0..self.columns.len())
                    .filter(|&o| self.columns[o] != hash(&simulated[program.outputs[o].range()])),
            );
        }
        let mut comparison = compare(program, &real, simulated, &wrong, shown);
        let hashed = wrong.iter().filter(|o| !self.whole.contains_key(o));
        for &o in hashed.filter(|&&o| !follows(&program.outputs[o], &wrong)) {
            comparison.differences.push(difference(program, o, None));
        }
        Some(comparison)
    }
}

impl Recording {
    /// Keeps only these programs, and whole columns only of those that `is_kept_whole` names, up to `limit` bytes of them.
    pub fn shrink(&mut self, numbers: &[u32], is_kept_whole: impl Fn(u32) -> bool, limit: usize) {
        let mut left = limit;
        self.programs.retain(|number, _| numbers.contains(number));
        for (number, recorded) in &mut self.programs {
            let kept = is_kept_whole(*number);
            recorded.whole.retain(|_, bytes| {
                let fits = kept && bytes.len() <= left;
                left -= if fits { bytes.len() } else { 0 };
                fits
            });
        }
    }

    /// The two files.
    pub fn write(&self) -> (String, Vec<u8>) {
        let mut text = format!("device: {}\nseed: {}\n", self.device, self.seed);
        let mut bytes = Vec::new();
        for (number, recorded) in &self.programs {
            let _ = write!(text, "{number} {:016x}", recorded.identity);
            for column in &recorded.columns {
                let _ = write!(text, " {column:016x}");
            }
            text.push('\n');
            for (output, column) in &recorded.whole {
                for word in [*number, *output as u32, column.len() as u32] {
                    bytes.extend(word.to_le_bytes());
                }
                bytes.extend(column);
            }
        }
        (text, bytes)
    }

    /// Reads what [`Recording::write`] has written.
    ///
    /// # Errors
    /// [`RecordingError`].
    pub fn read(text: &str, columns: &[u8]) -> Result<Recording, RecordingError> {
        let mut recording = Recording::default();
        for (n, line) in text.lines().enumerate() {
            let wrong = || RecordingError::Line(n + 1);
            if let Some(device) = line.strip_prefix("device: ") {
                recording.device = device.to_owned();
            } else if let Some(seed) = line.strip_prefix("seed: ") {
                recording.seed = seed.parse().map_err(|_| wrong())?;
            } else {
                let mut words = line.split(' ');
                let number = words
                    .next()
                    .and_then(|w| w.parse().ok())
                    .ok_or_else(wrong)?;
                let hashes: Option<Vec<u64>> =
                    words.map(|w| u64::from_str_radix(w, 16).ok()).collect();
                let (identity, columns) = hashes
                    .as_deref()
                    .and_then(<[u64]>::split_first)
                    .map(|(first, rest)| (*first, rest.to_vec()))
                    .ok_or_else(wrong)?;
                let whole = BTreeMap::new();
                recording.programs.insert(
                    number,
                    Recorded {
                        identity,
                        columns,
                        whole,
                    },
                );
            }
        }
        let mut rest = columns;
        while !rest.is_empty() {
            let at = columns.len() - rest.len();
            let cut = || RecordingError::CutOff(at);
            let (head, body) = rest.split_at_checked(12).ok_or_else(cut)?;
            let word = |n: usize| {
                head[4 * n..4 * n + 4]
                    .iter()
                    .rev()
                    .fold(0, |w, &b| w << 8 | u32::from(b))
            };
            let (bytes, after) = body.split_at_checked(word(2) as usize).ok_or_else(cut)?;
            if let Some(recorded) = recording.programs.get_mut(&word(0)) {
                recorded.whole.insert(word(1) as usize, bytes.to_vec());
            }
            rest = after;
        }
        Ok(recording)
    }

    /// Reads the two files of a folder.
    ///
    /// # Errors
    /// [`RecordingError`].
    pub fn load(folder: &Path) -> Result<Recording, RecordingError> {
        let failed = |path: PathBuf| move |error| RecordingError::File { path, error };
        let [text, columns] = FILES.map(|name| folder.join(name));
        let bytes = std::fs::read(&columns).map_err(failed(columns))?;
        Recording::read(
            &std::fs::read_to_string(&text).map_err(failed(text))?,
            &bytes,
        )
    }

    /// Writes the two files to a folder, which is made if need be.
    ///
    /// # Errors
    /// [`RecordingError::File`].
    pub fn save(&self, folder: &Path) -> Result<(), RecordingError> {
        let failed = |path: PathBuf| move |error| RecordingError::File { path, error };
        std::fs::create_dir_all(folder).map_err(failed(folder.to_owned()))?;
        let (text, bytes) = self.write();
        let [at, columns] = FILES.map(|name| folder.join(name));
        std::fs::write(&at, text).map_err(failed(at))?;
        std::fs::write(&columns, bytes).map_err(failed(columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Generator;
    use crate::conformance::run::simulate;

    #[test]
    fn what_is_written_is_read() {
        let recorded = Recorded {
            identity: 7,
            columns: vec![1, u64::MAX],
            whole: BTreeMap::from([(1, vec![1, 2, 3])]),
        };
        let recording = Recording {
            device: "some GPU, driver 1".to_owned(),
            seed: 3,
            programs: BTreeMap::from([(5, recorded)]),
        };
        let (text, bytes) = recording.write();
        assert_eq!(Recording::read(&text, &bytes).unwrap(), recording);
        assert!(matches!(
            Recording::read("5 x\n", &[]),
            Err(RecordingError::Line(1))
        ));
        assert!(matches!(
            Recording::read("5\n", &[]),
            Err(RecordingError::Line(1))
        ));
        let cut = Recording::read(&text, &bytes[..bytes.len() - 1]);
        assert!(matches!(cut, Err(RecordingError::CutOff(0))));
    }

    /// The first word of a column is another one.
    fn changed(program: &Program, outputs: &[u8], column: usize) -> Vec<u8> {
        let mut outputs = outputs.to_vec();
        outputs[program.outputs[column].offset] ^= 1;
        outputs
    }

    #[test]
    fn a_wrong_value_is_found_by_its_hash_and_shown_where_it_is_kept() {
        let program = Generator::new(1).program(0);
        let right = simulate(&program).unwrap();
        let wrong = changed(&program, &right, 3);

        let hashes = Recorded::of(&program, &right, []);
        let same = hashes.compare(&program, &right, 4).unwrap();
        assert!(same.differences.is_empty());
        let found = hashes.compare(&program, &wrong, 4).unwrap().differences;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].output, found[0].threads), (3, None));

        let whole = Recorded::of(&program, &right, 0..program.outputs.len());
        let found = whole.compare(&program, &wrong, 4).unwrap().differences;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].output, found[0].threads), (3, Some(1)));
        let example = &found[0].examples[0];
        assert_eq!((example.thread, example.gpu ^ example.simulator), (0, 1));
    }

    #[test]
    fn a_recording_of_another_program_is_no_wrong_value() {
        let generator = Generator::new(1);
        let (one, other) = (generator.program(0), generator.program(1));
        let outputs = simulate(&one).unwrap();
        let recorded = Recorded::of(&one, &outputs, []);
        assert!(
            recorded
                .compare(&other, &simulate(&other).unwrap(), 4)
                .is_none()
        );
    }

    #[test]
    fn what_follows_from_a_wrong_value_is_not_told_twice() {
        let generator = Generator::new(1);
        let feeds = |p: &Program| {
            let source = |o: &crate::conformance::build::Output| {
                o.sources.iter().find_map(|s| match s {
                    crate::conformance::build::Source::Output(k) => Some(*k),
                    _ => None,
                })
            };
            p.outputs
                .iter()
                .enumerate()
                .find_map(|(o, out)| Some((source(out)?, o)))
        };
        let first = generator.systematic();
        let (program, (from, to)) = (first..first + 50)
            .find_map(|n| Some(generator.program(n)).and_then(|p| feeds(&p).map(|f| (p, f))))
            .unwrap();
        let right = simulate(&program).unwrap();
        let wrong = changed(&program, &changed(&program, &right, from), to);
        let recorded = Recorded::of(&program, &right, []);
        let found = recorded.compare(&program, &wrong, 4).unwrap().differences;
        assert_eq!(found.iter().map(|d| d.output).collect::<Vec<_>>(), [from]);
    }
}
