//! A signal ends the program, and leaves no compiler running and no scratch folder behind.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Waits for signals in a thread of its own. Without it, which can't be helped, they end the program as they always do.
pub fn handle() {
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
        return;
    };
    let _ = std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                toolchain::scratch::abandon();
                // As a shell reports it.
                std::process::exit(128 + signal);
            }
        });
}
