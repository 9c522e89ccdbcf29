//! As JSON, for programs.

use super::one_line;
use crate::decide::Decided;
use serde::Serialize;

/// A decided claim for programs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Row<'a> {
    id: &'a str,
    documents: &'a [String],
    says: String,
    verdict: &'static str,
    expected: &'static str,
    predicts: Vec<PredictionOutcome<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct PredictionOutcome<'a> {
    what: &'a str,
    holds: Option<bool>,
    seen: &'a str,
}

/// As JSON: a list of claims.
pub fn json(all: &[Decided]) -> String {
    let rows: Vec<_> = all
        .iter()
        .map(|decided| Row {
            id: &decided.claim.id,
            documents: &decided.claim.documents,
            says: one_line(&decided.claim.says),
            verdict: decided.ruling.name(),
            expected: decided.claim.verdict.name(),
            predicts: decided
                .claim
                .predicts
                .iter()
                .zip(&decided.looked)
                .map(|(prediction, looked)| PredictionOutcome {
                    what: &prediction.what,
                    holds: looked.holds,
                    seen: &looked.figure,
                })
                .collect(),
            instead: decided.claim.instead.as_deref().map(one_line),
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&rows)
        .unwrap_or_else(|e| unreachable!("claims are plain JSON: {e}"));
    text.push('\n');
    text
}
