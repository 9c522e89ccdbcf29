//! The whole result as JSON, for those who teach: hidden inputs are in it.

use crate::result::Graded;

/// All results, as one array.
pub fn render(all: &[Graded]) -> String {
    let mut text = serde_json::to_string_pretty(all).unwrap_or_default();
    text.push('\n');
    text
}

/// The JSON Schema of one result.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Graded).to_value()
}
