//! The whole result as JSON, for those who teach: hidden inputs are in it.

use crate::result::Graded;

/// All results, as one array.
pub fn render(all: &[Graded]) -> String {
    let text = serde_json::to_string_pretty(all).unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // JSON has no place outside of strings for characters that are not visible, and inside they are the same when they are escaped.
        match c == '\n' || report::visible(c) == c {
            true => out.push(c),
            false => out += &format!("\\u{:04x}", u32::from(c)),
        }
    }
    out.push('\n');
    out
}

/// The JSON Schema of one result.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Graded).to_value()
}
