//! A launch on both engines ([`Engine::Both`]): on the fast one, and from the same memory again on the plain one. Memory, what has been written of it,
//! the heap, output, counts, the schedule's decisions, how it ended and what the observer has seen must be equal to the byte. Where they are
//! not, the launch ends with [`Stop::EnginesDiffer`], which nothing that watches launches takes for a result.
//!
//! Every launch of the simulator passes here, so that any test, command or program can be run on both engines: `ci/engines.sh` does so with
//! all that the tests have, by two variables. `RACETRAP_ENGINES` is the number of warp-instructions up to which a launch runs on the plain engine,
//! too, and `RACETRAP_ENGINES_LOG` a file that gets a line for each launch: what came of it, the kernel, its warp-instructions.
//!
//! Not compared: launches that are longer, or of a device with more than [`MOST_BYTES`]; those whose end nobody can repeat (time, memory, a
//! signal); those whose memory others write meanwhile; those of observers that can't be doubled ([`Observer::twin`]). Blocks of launches that
//! nobody watches run on one core here, since nothing tells whether they were independent.

use crate::device::Device;
use crate::observer::Observer;
use crate::plain::ONLY_FAST;
use crate::stop::{Engine, Limits, Live, Others, Pause, Stats, Stop, most_steps};
use std::io::Write as _;

/// Bytes of a device that are copied for the second run.
const MOST_BYTES: u64 = 256 << 20;

/// What came of a comparison.
enum Compared {
    Same,
    /// Why there was none.
    Not(String),
    Differ(String),
}

/// How a launch ended; where it was put aside, with what goes on.
type Ended<W> = Result<Stats, (Stop, Option<W>)>;

/// Runs the launch of a kernel on both engines, by `run`, which is given the limits with one of them. Before, what it allocates is there: a
/// launch for which that failed is not `ready`, and not compared.
pub(super) fn launch<O: Observer, W>(
    device: &mut Device,
    (kernel, ready): (&str, bool),
    limits: &Limits,
    observer: &mut O,
    mut run: impl FnMut(&mut Device, &Limits, &mut O) -> Ended<W>,
) -> Ended<W> {
    let alone = limits.others == Others::Nobody && limits.pause == Pause::Nowhere;
    let before = match ready && alone {
        true => device.image(MOST_BYTES),
        false => None,
    };
    let twin = before.as_ref().and_then(|_| observer.twin());
    let fast = Limits {
        engine: Engine::Fast,
        ..limits.clone()
    };
    let ended = run(device, &fast, observer);
    let compared = match (before, twin) {
        (Some(before), Some(mut twin)) => {
            if let Some(why) = not_compared(&ended, limits) {
                Compared::Not(why)
            } else if let Some(left) = device.image(MOST_BYTES) {
                device.put_back(&before);
                let plain = Limits {
                    engine: Engine::Plain,
                    wall: None,
                    live: limits.live.as_ref().map(Live::apart),
                    ..limits.clone()
                };
                let other = run(device, &plain, &mut twin);
                let compared = compare(&ended, &other, device.differs_from(&left), || {
                    observer.difference(twin)
                });
                device.put_back(&left);
                compared
            } else {
                Compared::Not("too much memory".into())
            }
        }
        (Some(_), None) => Compared::Not("an observer of another kind".into()),
        _ => Compared::Not("not alone, too much memory, or invalid".into()),
    };
    log(kernel, steps(&ended, limits), &compared);
    match compared {
        Compared::Differ(what) => Err((Stop::EnginesDiffer(what), None)),
        _ => ended,
    }
}

/// Warp-instructions of a launch that ended like this.
fn steps<W>(ended: &Ended<W>, limits: &Limits) -> u64 {
    match ended {
        Ok(stats) => stats.steps,
        Err((Stop::NoProgress { steps, .. } | Stop::Budget { steps, .. }, _)) => *steps,
        Err(_) => limits.live.as_ref().map_or(0, Live::steps),
    }
}

/// Why a launch that ended like this is not run again.
fn not_compared<W>(ended: &Ended<W>, limits: &Limits) -> Option<String> {
    match ended {
        Err((stop, _)) if !repeats(stop) => Some(stop.to_string()),
        _ => (steps(ended, limits) > most_steps().unwrap_or(u64::MAX)).then(|| "too long".into()),
    }
}

/// Whether a launch ends like this each time.
fn repeats(stop: &Stop) -> bool {
    !matches!(
        stop,
        Stop::WallClock(_) | Stop::Memory(_) | Stop::Interrupted | Stop::InvalidLaunch(_)
    )
}

fn compare<W>(
    fast: &Ended<W>,
    plain: &Ended<W>,
    memory: Option<String>,
    observed: impl FnOnce() -> Option<String>,
) -> Compared {
    let kept = |ended: &Ended<W>| match ended {
        // Only one of the engines deals blocks out to several cores.
        Ok(stats) => Ok(Stats {
            parallel: false,
            ..stats.clone()
        }),
        Err((stop, waiting)) => Err((stop.clone(), waiting.is_some())),
    };
    let (fast, plain) = (kept(fast), kept(plain));
    if let Err((stop, _)) = &plain {
        let only_fast = matches!(stop, Stop::Unsupported { text, .. } if text.ends_with(ONLY_FAST));
        if only_fast || !repeats(stop) {
            return Compared::Not(stop.to_string());
        }
    }
    if fast != plain {
        return Compared::Differ(format!("fast: {fast:?}, plain: {plain:?}"));
    }
    match memory.or_else(observed) {
        Some(what) => Compared::Differ(what),
        None => Compared::Same,
    }
}

/// Writes a line to the file that was named for it, in one write: tests run side by side.
fn log(kernel: &str, steps: u64, compared: &Compared) {
    let Some(path) = std::env::var_os("RACETRAP_ENGINES_LOG") else {
        return;
    };
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    let what = match compared {
        Compared::Same => "same",
        Compared::Not(why) => why,
        Compared::Differ(_) => "DIFFER",
    };
    if let Ok(mut file) = file {
        let _ = file.write_all(format!("{what}\t{kernel}\t{steps}\n").as_bytes());
    }
}
