//! Decisions written down, to be followed again.

use super::{Decision, Ready, Schedule};
use crate::ids::Mask;
use std::fmt;
use std::str::FromStr;

/// The decisions of a run. Written as `index.lanes.visible` joined by `-`, the lanes in
/// hexadecimal or `*` for all, with `.o` behind it where strong loads return stale values. A run that needs more decisions goes on with
/// the first runnable, as far as it can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// In order.
    pub decisions: Vec<Decision>,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.decisions.iter().enumerate() {
            let dash = if i == 0 { "" } else { "-" };
            match d.lanes {
                Mask::MAX => write!(f, "{dash}{}.*.{}", d.index, d.visible)?,
                lanes => write!(f, "{dash}{}.{lanes:x}.{}", d.index, d.visible)?,
            }
            if d.stale {
                f.write_str(".o")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Trace {
    type Err = ();

    fn from_str(text: &str) -> Result<Trace, ()> {
        let decision = |part: &str| {
            let mut fields = part.split('.');
            let mut next = || fields.next().ok_or(());
            let (index, lanes, visible) = (next()?, next()?, next()?);
            let lanes = if lanes == "*" {
                Mask::MAX
            } else {
                Mask::from_str_radix(lanes, 16).map_err(drop)?
            };
            let stale = match (fields.next(), fields.next()) {
                (None, _) => false,
                (Some("o"), None) => true,
                _ => return Err(()),
            };
            Ok(Decision {
                index: index.parse().map_err(drop)?,
                lanes,
                visible: visible.parse().map_err(drop)?,
                stale,
            })
        };
        let parts = text.split('-').filter(|p| !p.is_empty());
        Ok(Trace {
            decisions: parts.map(decision).collect::<Result<_, ()>>()?,
        })
    }
}

/// Follows a trace.
pub(crate) struct Replay {
    trace: Trace,
    at: usize,
    shift: usize,
}

impl Replay {
    pub fn new(trace: Trace) -> Replay {
        Replay {
            trace,
            at: 0,
            shift: 0,
        }
    }
}

impl Schedule for Replay {
    fn decide(&mut self, ready: &Ready) -> Decision {
        let Some(d) = self.trace.decisions.get(self.at).copied() else {
            // Whoever seems to wait for somebody makes room for the next one.
            self.shift += usize::from(ready.tired().is_some());
            return Decision {
                index: (self.shift % ready.len()) as u32,
                lanes: Mask::MAX,
                visible: u32::MAX,
                stale: false,
            };
        };
        self.at += 1;
        let index = (d.index as usize).min(ready.len() - 1);
        let some = d.lanes & ready.get(index).lanes;
        let lanes = if some == 0 { Mask::MAX } else { some };
        Decision {
            index: index as u32,
            lanes,
            visible: d.visible.max(1),
            stale: d.stale,
        }
    }
}
