//! Matches the explanations of a case ([`catalog::equivalent`]) with its mutants.

use super::operator::Change;
use catalog::equivalent::{Equivalent, lines};

/// The result of matching the explanations of a case with its mutants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explained {
    /// For each mutant, why it is equivalent.
    pub mutants: Vec<Option<String>>,
    /// The explanations that match no mutant, one line each.
    pub unused: Vec<String>,
}

/// Matches explanations with mutants: what each changes, and its line in the kernel's source.
pub fn explain(
    equivalent: &[Equivalent],
    source: &str,
    mutants: &[(&Change, Option<u32>)],
) -> Explained {
    let mut out = Explained {
        mutants: vec![None; mutants.len()],
        unused: Vec::new(),
    };
    for one in equivalent {
        let lines = lines(source, &one.line);
        let mut used = false;
        for ((change, line), why) in mutants.iter().zip(&mut out.mutants) {
            let there = line.is_some_and(|line| lines.iter().any(|l| l.contains(&line)));
            let same = one.mutation == change.kind
                && one.to.as_ref().is_none_or(|to| change.to == Some(to));
            if there && same {
                used = true;
                *why = Some(one.why.clone());
            }
        }
        if !used {
            let to = one.to.as_ref().map(|to| format!(" to {to}"));
            out.unused.push(format!(
                "the case explains a `{}`{} at a line with `{}`, but there is no such mutant",
                one.mutation,
                to.unwrap_or_default(),
                one.line.trim()
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::equivalent::Kind;

    const SOURCE: &str = "a;\n  sync();\nb = 1;\n\nsync( );\n}\n";

    #[test]
    fn words_cover_lines() {
        assert_eq!(lines(SOURCE, "sync();"), [2..=2, 5..=5]);
        assert_eq!(lines(SOURCE, "sync(); }"), [5..=6]);
        assert_eq!(lines(SOURCE, "a;\nsync"), [1..=2]);
        assert!(lines(SOURCE, "d").is_empty() && lines(SOURCE, " ").is_empty());
    }

    #[test]
    fn explanations_and_mutants_are_matched_both_ways() {
        let change = |kind, to| Change {
            kind,
            what: "fence",
            from: None,
            to,
        };
        let remove = change(Kind::RemoveFence, None);
        let narrow = change(Kind::NarrowScope, Some("cta"));
        let mutants = [(&remove, Some(2)), (&narrow, Some(2)), (&remove, Some(5))];
        let one = |mutation, to: Option<&str>, line: &str| Equivalent {
            mutation,
            to: to.map(str::to_owned),
            line: line.to_owned(),
            why: format!("{line}!"),
        };
        let explained = explain(
            &[
                one(Kind::RemoveFence, None, "sync(); }"),
                one(Kind::NarrowScope, Some("gpu"), "sync()"),
                one(Kind::NarrowScope, Some("cta"), "a; sync()"),
                one(Kind::RemoveFence, None, "b = 1"),
            ],
            SOURCE,
            &mutants,
        );
        let why = |w: &str| Some(w.to_owned());
        assert_eq!(
            explained.mutants,
            [None, why("a; sync()!"), why("sync(); }!")]
        );
        assert_eq!(
            explained.unused,
            [
                "the case explains a `narrow-scope` to gpu at a line with `sync()`, but there is no such mutant",
                "the case explains a `remove-fence` at a line with `b = 1`, but there is no such mutant",
            ]
        );
    }
}
