//! What the host program in the same source says of a launch: geometry, arguments, sizes and contents of buffers.
//!
//! The first launch of the kernel whose geometry can be read counts. A problem that is too large for a simulator is made smaller as a
//! whole: the sizes that the program defines are divided by two until the launch fits. Sizes of buffers bind (reaching outside is an
//! error) only where nothing else is guessed that could make the kernel reach there: arguments, and integers in buffers.

use super::host_facts::{self, Asked, BYTES, Followed, SHRINK, THREADS, bytes_of, threads_of};
use toolchain::cuda_text::{CudaText, HostArgument, HostLaunch};

/// Threads from which on smaller sizes are tried.
const MANY: u64 = 1 << 16;
/// Integers up to this say nothing of the problem's size.
const SMALL: u64 = 64;

/// A launch as the host program makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The launch.
    pub launch: HostLaunch,
    /// The file that makes it, where that is not the first one.
    pub file: Option<String>,
    /// Whether its sizes are smaller than those of the program.
    pub smaller: bool,
    /// What was guessed so that it makes a launch.
    pub followed: Option<Followed>,
}

impl Host {
    /// What a source says of the launches of a kernel.
    pub fn read(source: &CudaText, asked: &Asked) -> Option<Host> {
        let mut block = None;
        let mut large = None;
        for shrink in 0..=SHRINK {
            let all = source.launches(&asked.name, shrink);
            let whole = all
                .iter()
                .position(|l| l.grid.is_some() && l.block.is_some());
            let Some(number) = whole else {
                if let Some((launch, followed)) = host_facts::any(source, asked) {
                    return Some(Host::of(launch, false, source, Some(followed)));
                }
                block = all.into_iter().find(|l| l.block.is_some());
                break;
            };
            let launch = &all[number];
            if fits(launch) {
                let it = (launch.clone(), number, shrink);
                if threads_of(launch) <= MANY {
                    return Some(Host::whole(it, source, asked));
                }
                large.get_or_insert(it);
            }
            block.get_or_insert_with(|| launch.clone());
        }
        if let Some(large) = large {
            return Some(Host::whole(large, source, asked));
        }
        let mut launch = block?;
        // Its sizes are unknown, or too large. What is small is no size: radius, steps, threshold.
        launch.grid = None;
        for argument in &mut launch.arguments {
            match argument {
                HostArgument::Integer(value) if value.unsigned_abs() <= SMALL => {}
                HostArgument::Float(_) => {}
                other => *other = HostArgument::Unknown,
            }
        }
        Some(Host::of(launch, false, source, None))
    }

    /// A launch whose shape is known; arguments may depend on more.
    fn whole(
        (launch, number, shrink): (HostLaunch, usize, u32),
        source: &CudaText,
        asked: &Asked,
    ) -> Host {
        let (launch, followed) = match Followed::new(source, asked, number, shrink) {
            Some((launch, followed)) => (launch, Some(followed)),
            None => (launch, None),
        };
        Host::of(launch, shrink > 0, source, followed)
    }

    fn of(
        mut launch: HostLaunch,
        smaller: bool,
        source: &CudaText,
        followed: Option<Followed>,
    ) -> Host {
        let (file, line) = source.file_of(launch.line);
        launch.line = line;
        Host {
            file: file.map(str::to_owned),
            launch,
            smaller,
            followed,
        }
    }

    /// Where a value comes from, for readers.
    pub fn describe(&self) -> String {
        let smaller = match self.smaller {
            true => ", with smaller sizes",
            false => "",
        };
        let line = line_of(self.launch.line, self.file.as_deref());
        let guesses = self.followed.as_ref().map(Followed::describe);
        let guesses = guesses.filter(|g| !g.is_empty());
        let guesses = guesses.map_or(String::new(), |g| format!(" if {g}"));
        format!("as {line} launches it{guesses}{smaller}")
    }
}

/// `line 12`, or `line 12 of main.cu` where that is not the file that was given first.
pub(crate) fn line_of(line: u32, file: Option<&str>) -> String {
    match file {
        Some(file) => format!("line {line} of {file}"),
        None => format!("line {line}"),
    }
}

fn fits(launch: &HostLaunch) -> bool {
    threads_of(launch) <= THREADS && bytes_of(launch) <= BYTES
}
