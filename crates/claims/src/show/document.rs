//! As Markdown: a document of all claims, the table first.

use super::{one_line, sums, word};
use crate::claim::{Prediction, Ruling};
use crate::decide::{Decided, Looked};
use std::fmt::Write as _;

/// One row a claim.
fn table(all: &[Decided]) -> String {
    let mut out = String::from("| claim | of | verdict | seen |\n|---|---|---|---|\n");
    for decided in all {
        let seen = telling(decided);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            one_line(&decided.claim.says),
            decided.claim.documents.join("; "),
            ruling(decided.ruling),
            one_line(seen)
        );
    }
    out
}

/// The figure that tells most: of what does not hold, if anything does not; times and counts before verdicts.
fn telling(decided: &Decided) -> &str {
    let both = decided.claim.predicts.iter().zip(&decided.looked);
    let shown = both.filter(|(_, looked)| !looked.figure.is_empty());
    let rank = |(prediction, looked): &(&Prediction, &Looked)| {
        let measured = prediction.time.is_some() || prediction.count.is_some();
        let against = looked.holds == Some(false);
        (!against, !(measured || prediction.ptx.is_some()))
    };
    shown.min_by_key(rank).map_or("", |(_, l)| &l.figure)
}

/// Every claim with its predictions and what is true instead.
pub fn document(all: &[Decided]) -> String {
    let mut out = format!("{}.\n\n{}", sums(all), table(all));
    for decided in all {
        let claim = &decided.claim;
        let _ = writeln!(out, "\n## {}\n", claim.id);
        let _ = writeln!(
            out,
            "*{}*: {} {}\n",
            claim.documents.join("; "),
            one_line(&claim.says),
            ruling(decided.ruling)
        );
        out.push_str("| if so, then | is it? | seen |\n|---|---|---|\n");
        for (prediction, looked) in claim.predicts.iter().zip(&decided.looked) {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                one_line(&prediction.what),
                word(looked),
                one_line(&looked.figure)
            );
        }
        if let Some(instead) = &claim.instead {
            let _ = writeln!(out, "\n{}", one_line(instead));
        }
    }
    out
}

fn ruling(ruling: Ruling) -> String {
    match ruling {
        Ruling::Confirmed => ruling.name().to_owned(),
        other => format!("**{}**", other.name()),
    }
}
