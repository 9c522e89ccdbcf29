//! Launches that do not come to their end, and the error that the host gets.

use crate::call::{Call, LaunchName};
use crate::context::Context;
use crate::error::Error;
use crate::operation::{Request, dim};
use crate::trace::Shown;
use report::function_name::readable;
use simt::Stop;

impl Context {
    /// A launch did not come to its end.
    pub(super) fn stopped(
        &mut self,
        stop: &Stop,
        request: &Request,
        name: &LaunchName,
        call: &impl Fn() -> Call,
        shown: Shown<'_>,
    ) {
        if let Some(finding) = session::simulator::finding(stop, 0) {
            self.report_under(&[finding], request, name, call, shown);
        }
        let kernel = &request.kernel;
        let error = match stop {
            Stop::Assert {
                message,
                file,
                line,
                function,
                block,
                thread,
                ..
            } => {
                let [bx, by, bz] = dim(request.grid).coordinates(block.0);
                let [tx, ty, tz] = dim(request.block).coordinates(thread.0);
                if self.is_own() {
                    eprintln!(
                        "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] Assertion `{message}` failed."
                    );
                }
                Error::ASSERT
            }
            Stop::Trap { .. } | Stop::InvalidCall { .. } => Error::LAUNCH_FAILURE,
            Stop::Deadlock { .. } | Stop::NoProgress { .. } => Error::LAUNCH_TIMEOUT,
            Stop::InvalidLaunch(what) => {
                self.findings
                    .doubt(&format!("launch of `{}`: {what}", readable(&kernel.name)));
                Error::INVALID_CONFIGURATION
            }
            Stop::Unsupported { site, .. } => {
                let line = kernel.program.site(*site).lines.first();
                let at = line
                    .map(|l| format!(" ({}:{})", l.file, l.line))
                    .unwrap_or_default();
                self.findings
                    .doubt(&format!("`{}`{at}: {stop}", readable(&kernel.name)));
                Error::NOT_SUPPORTED
            }
            stop => {
                let budget = matches!(stop, Stop::Budget { .. });
                self.findings
                    .doubt_for(&format!("`{}`: {stop}", kernel.name), budget);
                Error::LAUNCH_FAILURE
            }
        };
        self.findings.sticky = Some(error);
    }
}
