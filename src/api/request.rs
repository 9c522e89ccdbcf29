//! [`Check`]: which kernel, how it is launched, what is tried.

use super::{Argument, Error, Report};
use ::check::{Request, Schedules, Source, Watch};
use simt::{Dim3, Live, ScheduleSpec};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A kernel to check: where it is, how it is launched, what is tried.
///
/// What you leave out is guessed as `racetrap check` does, and [`Report`] says what was guessed.
///
/// ```
/// use racetrap::{Buffer, Check};
///
/// # const PTX: &str = "
/// # .version 8.0
/// # .target sm_75
/// # .address_size 64
/// # .visible .entry twice(.param .u64 data, .param .u32 n) {
/// #     .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %a<4>;
/// #     ld.param.u64 %a0, [data]; ld.param.u32 %r0, [n];
/// #     mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
/// #     mad.lo.s32 %r4, %r1, %r2, %r3;
/// #     setp.ge.s32 %p, %r4, %r0;
/// #     @%p bra DONE;
/// #     mul.wide.s32 %a1, %r4, 4;
/// #     add.s64 %a2, %a0, %a1;
/// #     ld.global.u32 %r5, [%a2];
/// #     add.s32 %r5, %r5, %r5;
/// #     st.global.u32 [%a2], %r5;
/// # DONE:
/// #     ret;
/// # }";
/// let report = Check::ptx(PTX)
///     .entry("twice")
///     .grid(4)
///     .block(256)
///     .arg(Buffer::iota::<i32>(1000))
///     .arg(1000)
///     .run()?;
/// report.assert_clean();
/// assert_eq!(report.buffer::<i32>("0")?[..4], [0, 2, 4, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Check {
    request: Request,
    /// Arguments given by position so far.
    positional: usize,
    wrong: Option<Error>,
    switch: Option<Arc<AtomicBool>>,
}

/// Who may end a check.
struct Switch(Option<Live>);

impl Watch for Switch {
    fn cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(Live::is_ended)
    }

    fn live(&self) -> Option<&Live> {
        self.0.as_ref()
    }
}

/// A size in one, two or three dimensions: `4`, `(4, 2)`, `(4, 2, 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent(Dim3);

impl From<u32> for Extent {
    fn from(x: u32) -> Extent {
        Extent(Dim3 { x, y: 1, z: 1 })
    }
}

impl From<(u32, u32)> for Extent {
    fn from((x, y): (u32, u32)) -> Extent {
        Extent(Dim3 { x, y, z: 1 })
    }
}

impl From<(u32, u32, u32)> for Extent {
    fn from((x, y, z): (u32, u32, u32)) -> Extent {
        Extent(Dim3 { x, y, z })
    }
}

impl Check {
    fn of(source: Source) -> Check {
        Check {
            request: Request::new(source),
            positional: 0,
            wrong: None,
            switch: None,
        }
    }

    /// A kernel in PTX text.
    pub fn ptx(text: impl Into<String>) -> Check {
        Check::of(Source::Ptx {
            name: "<ptx>".into(),
            text: text.into(),
        })
    }

    /// A kernel in a file of CUDA source (`.cu`), which needs nvcc, or of PTX (`.ptx`), which needs nothing.
    ///
    /// CUDA source is compiled twice, optimised and unoptimised, and both builds are checked.
    pub fn cuda(path: impl Into<PathBuf>) -> Check {
        Check::of(Source::File(path.into()))
    }

    /// The kernel's name, plain or mangled; needless where there is only one.
    pub fn entry(mut self, name: impl Into<String>) -> Check {
        self.request.entry = Some(name.into());
        self
    }

    /// Blocks: `4`, `(4, 2)` or `(4, 2, 1)`.
    pub fn grid(mut self, blocks: impl Into<Extent>) -> Check {
        self.request.launch.grid = Some(blocks.into().0);
        self
    }

    /// Threads of a block: `256`, `(16, 16)` or `(8, 8, 4)`.
    pub fn block(mut self, threads: impl Into<Extent>) -> Check {
        self.request.launch.block = Some(threads.into().0);
        self
    }

    /// Bytes of dynamic shared memory of a block.
    pub fn shared(mut self, bytes: u32) -> Check {
        self.request.launch.shared = Some(bytes);
        self
    }

    /// Blocks of a cluster.
    pub fn cluster(mut self, blocks: impl Into<Extent>) -> Check {
        self.request.launch.cluster = Some(blocks.into().0);
        self
    }

    /// Launches cooperatively: all blocks are resident, and `grid.sync()` works.
    pub fn cooperative(mut self) -> Check {
        self.request.cooperative = true;
        self
    }

    /// The next argument, in the order of the kernel's parameters.
    pub fn arg(mut self, value: impl Into<Argument>) -> Check {
        let index = self.positional;
        self.positional += 1;
        self.set(index.to_string(), value.into())
    }

    /// The argument of the parameter of that name. Names come from CUDA source; in PTX alone parameters have only an index.
    pub fn arg_named(self, name: impl Into<String>, value: impl Into<Argument>) -> Check {
        self.set(name.into(), value.into())
    }

    /// Names of the parameters by position, for findings about PTX, which has none: those of a kernel that is written in another language.
    pub fn parameter_names(mut self, names: impl IntoIterator<Item = Option<String>>) -> Check {
        self.request.names = names.into_iter().collect();
        self
    }

    /// An argument in the notation of `racetrap check --arg`: `"n=1000"`, `"data=i32[64]:random"`.
    pub fn arg_text(mut self, text: &str) -> Check {
        match ::check::argument::parse(text) {
            Ok(argument) => self.request.arguments.push(argument),
            Err(error) => {
                self.wrong.get_or_insert(error.into());
            }
        }
        self
    }

    fn set(mut self, parameter: String, value: Argument) -> Check {
        self.request.arguments.push(::check::Argument {
            parameter,
            value: value.0,
        });
        self
    }

    /// How many schedules are tried where the result may depend on them; 8 unless told.
    pub fn schedules(mut self, count: u32) -> Check {
        self.request.schedules = Schedules::UpTo(count.max(1));
        self
    }

    /// Tries one schedule alone, in the notation of `racetrap check --schedule`: `"lockstep"`, `"random:7"`.
    pub fn schedule(mut self, name: &str) -> Check {
        match name.parse::<ScheduleSpec>() {
            Ok(schedule) => self.request.schedules = Schedules::Only(schedule),
            Err(error) => {
                let error = ::check::Error::new(
                    ::check::ErrorKind::Launch,
                    format!("`{name}` is no schedule: {error}"),
                );
                self.wrong.get_or_insert(error.into());
            }
        }
        self
    }

    /// How many settings of integers that you leave out are tried; 6 unless told.
    pub fn inputs(mut self, count: u32) -> Check {
        self.request.inputs = count.max(1);
        self
    }

    /// Seed of random inputs and schedules; 1 unless told.
    pub fn seed(mut self, seed: u64) -> Check {
        self.request.seed = seed;
        self
    }

    /// Time for everything; two minutes unless told.
    pub fn timeout(mut self, time: Duration) -> Check {
        self.request.budgets.time = Some(time);
        self
    }

    /// Budget of a launch, in warp-instructions.
    pub fn max_steps(mut self, steps: u64) -> Check {
        self.request.budgets.steps = steps.max(1);
        self
    }

    /// Cores to use; all unless told.
    pub fn jobs(mut self, jobs: usize) -> Check {
        self.request.budgets.jobs = jobs.max(1);
        self
    }

    /// Judges performance, too: bank conflicts, coalescing, divergent branches.
    pub fn perf(mut self) -> Check {
        self.request.perf = true;
        self
    }

    /// Defines a macro for the compiler: `"N=3"`.
    pub fn define(mut self, define: impl Into<String>) -> Check {
        self.request.compiler.defines.push(define.into());
        self
    }

    /// Adds a folder of headers for the compiler.
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Check {
        self.request.compiler.includes.push(folder.into());
        self
    }

    /// The C++ standard for the compiler: `"c++17"`.
    pub fn std(mut self, standard: impl Into<String>) -> Check {
        self.request.compiler.std = Some(standard.into());
        self
    }

    /// The architecture to compile for: `"sm_90"`.
    pub fn arch(mut self, arch: impl Into<String>) -> Check {
        self.request.compiler.arch = Some(arch.into());
        self
    }

    /// Ends the check once another thread has set this to `true`: with an error where that is before a run, and without a verdict where it is
    /// in the midst of one.
    pub fn cancelled_by(mut self, switch: Arc<AtomicBool>) -> Check {
        self.switch = Some(switch);
        self
    }

    /// Checks the kernel.
    ///
    /// # Errors
    ///
    /// What stops it before there is a verdict: the file, the compiler, the launch, an argument. A kernel with bugs is no error
    /// but a [`Report`] with findings.
    ///
    /// ```
    /// use racetrap::{Check, ErrorKind};
    ///
    /// let error = Check::ptx("no PTX at all").run().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Input);
    /// ```
    pub fn run(self) -> Result<Report, Error> {
        match self.wrong {
            Some(error) => Err(error),
            None => Ok(Report::new(::check::check(
                &self.request,
                &Switch(self.switch.map(Live::until)),
            )?)),
        }
    }
}
