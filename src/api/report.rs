//! [`Report`]: the verdict, the findings, what was tried, and what the kernel left in memory.

use super::{BufferError, Element};
use ::check::Checked;
use ::check::verdict::preamble;
use session::Independence;
use std::fmt;

pub use ::report::Format;
pub use detect::rules::Level;

/// What came out of a check.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No error and no warning.
    Clean,
    /// Errors or warnings.
    Findings,
    /// The kernel uses something that the simulator does not have.
    Unsupported,
    /// A budget was spent before anything could be said.
    Inconclusive,
}

/// What a clean verdict promises for the arguments that were passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Every schedule gives this result.
    EverySchedule,
    /// Every schedule has this verdict; values in memory may depend on the order of threads.
    EveryVerdict,
    /// It holds for the schedules that were tried.
    SchedulesTried,
}

/// What was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// The schedules, in the notation of `racetrap check --schedule`.
    pub schedules: Vec<String>,
    /// The builds; empty where the kernel is PTX.
    pub builds: Vec<String>,
    /// Arguments that were guessed, in the notation of `racetrap check --arg`.
    pub guessed: Vec<String>,
    /// What follows for schedules that were not tried; `None` where there are findings.
    pub promise: Option<Promise>,
}

/// A place in a source text, and what happened there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as the compiler saw it; the PTX itself where it names no source.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// What happened: ``thread (0,0,0) of block (0,0,0) writes `tile[0]` ``.
    pub message: String,
}

/// Something that is wrong with the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that it breaks: `data-race`. `racetrap explain` lists the rules.
    pub rule: &'static str,
    /// How bad it is.
    pub level: Level,
    /// One line, with the memory by name.
    pub message: String,
    /// The guilty places, the one that completed the error first.
    pub places: Vec<Place>,
    /// Further facts.
    pub notes: Vec<String>,
    /// The remedy.
    pub help: Option<String>,
    /// How often it happened.
    pub count: u64,
}

/// The verdict on a kernel, with the findings, what was tried, and the memory that the kernel left. `Display` shows it as
/// `racetrap check` does.
#[derive(Debug)]
pub struct Report {
    checked: Checked,
    findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(checked: Checked) -> Report {
        let findings = checked.check.diagnostics.iter().map(finding).collect();
        Report { checked, findings }
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match self.checked.check.verdict {
            ::report::Verdict::Clean => Verdict::Clean,
            ::report::Verdict::Unsupported => Verdict::Unsupported,
            ::report::Verdict::Inconclusive => Verdict::Inconclusive,
            _ => Verdict::Findings,
        }
    }

    /// Whether there is neither an error nor a warning. "I could not tell" is not clean.
    pub fn is_clean(&self) -> bool {
        self.verdict() == Verdict::Clean
    }

    /// Fails the test, with the findings as `racetrap check` shows them, unless the kernel is [clean](Report::is_clean).
    ///
    /// # Panics
    ///
    /// Where it is not.
    ///
    /// ```should_panic
    /// # let every_thread_writes = "
    /// #     .version 8.0
    /// #     .target sm_75
    /// #     .address_size 64
    /// #     .visible .entry write(.param .u64 out) {
    /// #         .reg .b64 %a; .reg .b32 %t;
    /// #         ld.param.u64 %a, [out];
    /// #         mov.u32 %t, %tid.x;
    /// #         st.global.u32 [%a], %t;
    /// #         ret;
    /// #     }";
    /// racetrap::Check::ptx(every_thread_writes).block(64).run().unwrap().assert_clean();
    /// ```
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.is_clean(), "the kernel is not clean\n\n{self}");
    }

    /// Fails the test unless there is a finding of the rule: a bug that is to stay caught.
    ///
    /// # Panics
    ///
    /// Where there is none.
    #[track_caller]
    pub fn assert_finds(&self, rule: &str) {
        let found = self.findings.iter().any(|f| f.rule == rule);
        assert!(found, "no `{rule}` was found\n\n{self}");
    }

    /// The findings, the worst first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The verdict in a sentence: what was tried, and what it promises.
    pub fn summary(&self) -> &str {
        &self.checked.check.summary
    }

    /// What the kernel printed.
    pub fn output(&self) -> &str {
        &self.checked.check.output
    }

    /// Warp-instructions that were executed and watched, under all schedules and of all builds.
    pub fn instructions(&self) -> u64 {
        self.checked.explored.iter().map(|e| e.executed).sum()
    }

    /// Accesses to memory that were judged, under all schedules and of all builds: one for each thread and instruction, however wide.
    pub fn accesses(&self) -> u64 {
        self.checked.explored.iter().map(|e| e.accesses).sum()
    }

    /// What was tried.
    pub fn explored(&self) -> Explored {
        let setting = self.checked.check.setting.clone().unwrap_or_default();
        let guessed = setting.arguments.iter().filter(|a| a.guessed);
        Explored {
            guessed: guessed.map(|a| format!("{}={}", a.name, a.value)).collect(),
            schedules: setting.schedules,
            builds: setting.builds,
            promise: self.checked.independence.map(|one| match one {
                Independence::Independent => Promise::EverySchedule,
                Independence::VerdictOnly => Promise::EveryVerdict,
                Independence::Dependent => Promise::SchedulesTried,
            }),
        }
    }

    /// What lies in the buffer of an argument, by the parameter's name or index, after the first run (of the optimised build,
    /// in lockstep unless another schedule was asked for).
    ///
    /// # Errors
    ///
    /// There is no such buffer, its elements have another size, or one was never written.
    pub fn buffer<T: Element>(&self, name: &str) -> Result<Vec<T>, BufferError> {
        let buffer = self.named(name)?;
        if buffer.element.bytes() != T::TYPE.bytes() {
            return Err(BufferError::WrongType {
                name: buffer.name.clone(),
                held: buffer.element.name(),
                wanted: T::TYPE.name(),
            });
        }
        Ok(T::read(&self.bytes(name)?))
    }

    /// The same as bytes, of elements of any type.
    ///
    /// # Errors
    ///
    /// There is no such buffer, or an element was never written.
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, BufferError> {
        let buffer = self.named(name)?;
        let read = self.checked.memory.read(buffer);
        let (bytes, written) = read.ok_or_else(|| self.unknown(name))?;
        match written.iter().position(|written| !written) {
            Some(byte) => Err(BufferError::Unwritten {
                name: buffer.name.clone(),
                index: byte / buffer.element.bytes(),
            }),
            None => Ok(bytes),
        }
    }

    fn unknown(&self, name: &str) -> BufferError {
        let buffers = self.checked.memory.buffers();
        BufferError::Unknown {
            name: name.to_owned(),
            known: buffers.iter().map(|b| b.name.clone()).collect(),
        }
    }

    fn named(&self, name: &str) -> Result<&::check::explore::Buffer, BufferError> {
        let buffers = self.checked.memory.buffers();
        let index = name.parse::<usize>().ok();
        let by_name = buffers.iter().find(|b| b.name == name);
        by_name
            .or_else(|| buffers.iter().find(|b| Some(b.parameter) == index))
            .ok_or_else(|| self.unknown(name))
    }

    /// For racetrap's own packages.
    #[doc(hidden)]
    pub fn as_check(&self) -> &::report::Check {
        &self.checked.check
    }

    /// The report in one of the formats of `racetrap check --format`.
    pub fn render(&self, format: Format) -> String {
        let report = ::report::Report {
            checks: vec![self.checked.check.clone()],
        };
        ::report::render(&report, format)
    }
}

fn finding(diagnostic: &::report::Diagnostic) -> Finding {
    let guilty = diagnostic.labels.iter().filter(|l| l.is_guilty());
    Finding {
        rule: diagnostic.rule.name(),
        level: diagnostic.level,
        message: diagnostic.title.clone(),
        places: guilty
            .map(|label| Place {
                file: label.source.path.clone(),
                line: label.line,
                message: label.text.clone(),
            })
            .collect(),
        notes: diagnostic.notes.clone(),
        help: diagnostic.help.clone(),
        count: diagnostic.count,
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&preamble(&self.checked, false))?;
        f.write_str(self.render(Format::Text).trim_end())
    }
}
