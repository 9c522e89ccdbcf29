//! Lets guessed buffers grow to what the kernel reaches, within one budget for all of them.

use super::encode::ROW_GAP;
use super::{Origin, Plan, Planned};
use crate::argument::{BufferSpec, Fill, Value};

/// Bytes of all guessed buffers together, at most: what needs more is reported as it is, with the guess as it was.
pub(super) const GUESSED_BYTES: u64 = 768 << 20;

impl Planned {
    /// Bytes of the buffers that racetrap chose.
    pub(super) fn guessed_bytes(&self) -> u64 {
        fn bytes(value: &Value) -> u64 {
            let of = |spec: &BufferSpec| {
                let size = spec.element.bytes() as u64;
                spec.length.unwrap_or(1).saturating_mul(size)
            };
            match value {
                Value::Buffer(spec) => of(spec),
                Value::Rows(count, row) => count.saturating_mul(of(row).saturating_add(ROW_GAP)),
                Value::Fields(fields) => fields.iter().map(bytes).sum(),
                _ => 0,
            }
        }
        match self.origin.may_grow() {
            true => bytes(&self.value),
            false => 0,
        }
    }
}

impl Plan {
    /// Lets a guessed buffer have at least `bytes` bytes, with some room; false where it is no guess, or memory for guesses is
    /// used up.
    pub fn grow(&mut self, index: usize, buffer: &str, bytes: u64) -> bool {
        let length = |spec: &BufferSpec| spec.length.unwrap_or(1);
        let wanted = |now: u64, size: u64| {
            let wanted = now.max(bytes.div_ceil(size)).saturating_add(now);
            wanted.checked_next_power_of_two().unwrap_or(wanted)
        };
        let mut grown = self.values[index].clone();
        if !grown.origin.may_grow() {
            return false;
        }
        let label = self.parameters.label(index);
        let mut kept = false;
        let of_rows = self.parameters.0.iter().any(|p| p.usage.rows);
        match &mut grown.value {
            // A run with another schedule has seen to it already.
            Value::Buffer(spec)
                if length(spec).saturating_mul(spec.element.bytes() as u64) >= bytes =>
            {
                return false;
            }
            Value::Buffer(spec) => {
                // What the host program's arrays hold are indices into arrays of its sizes, not of larger ones; and the columns of a
                // matrix, or the vertices of a graph, are no more because there are many elements.
                let host = matches!(grown.origin, Origin::Host { .. });
                if (host || of_rows) && spec.fill == Fill::Random(None) && !spec.element.is_float()
                {
                    let below = i64::try_from(length(spec)).unwrap_or(i64::MAX);
                    let most = (1 << (8 * spec.element.bytes().min(4) - 1)) - 1;
                    spec.fill = Fill::random_in(0, (below - 1).clamp(0, most));
                    kept = true;
                }
                spec.length = Some(wanted(length(spec), spec.element.bytes() as u64));
            }
            Value::Rows(count, row) if buffer == label => {
                let _ = row;
                *count = wanted(*count, 8);
            }
            Value::Rows(_, row) => {
                row.length = Some(wanted(length(row), row.element.bytes() as u64));
            }
            Value::Fields(fields) => {
                let number = buffer[label.len()..].strip_prefix('.');
                let number = number.and_then(|n| n.parse().ok()).unwrap_or(0);
                let buffers = fields.iter_mut().filter_map(|field| match field {
                    Value::Buffer(spec) => Some(spec),
                    _ => None,
                });
                match buffers.into_iter().nth(number) {
                    Some(spec) => {
                        spec.length = Some(wanted(length(spec), spec.element.bytes() as u64));
                    }
                    None => return false,
                }
            }
            _ => return false,
        }
        let others = self.values.iter().enumerate().filter(|(i, _)| *i != index);
        let others: u64 = others.map(|(_, planned)| planned.guessed_bytes()).sum();
        if others.saturating_add(grown.guessed_bytes()) > GUESSED_BYTES {
            return false;
        }
        self.values[index] = grown;
        if kept {
            self.kept.push(index);
        }
        true
    }
}
