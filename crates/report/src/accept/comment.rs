//! Comments that allow a rule on a line: `// racetrap: allow(data-race): the last writer wins on purpose`.
//!
//! A comment behind code is about its line. A comment on a line of its own is about the next line that is no comment. The reason must
//! be there. What looks like such a comment and is none is told.

use super::Complaint;
use crate::source::SourceFile;
use crate::suggest;
use detect::rules::Rule;
use std::sync::Arc;

/// How such comments begin.
const MARK: &str = "racetrap:";

/// A rule that a comment allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    /// The rule.
    pub rule: Rule,
    /// The reason.
    pub reason: String,
    /// The comment's line, counted from 1.
    pub line: u32,
    /// The line that it is about.
    pub covers: u32,
}

/// All such comments of a text, and those that can't be obeyed.
pub fn read(source: &Arc<SourceFile>) -> (Vec<Allow>, Vec<Complaint>) {
    let (mut allows, mut complaints) = (Vec::new(), Vec::new());
    if !source.text.contains(MARK) {
        return (allows, complaints);
    }
    let lines: Vec<&str> = source.text.lines().collect();
    for (index, text) in lines.iter().enumerate() {
        let Some((code, directive)) = directive(text) else {
            continue;
        };
        let line = index as u32 + 1;
        let is_comment = |text: &&str| text.trim_start().starts_with("//");
        let further = lines[index + 1..].iter().take_while(|t| is_comment(t));
        let covers = match code.trim().is_empty() {
            true => line + 1 + further.count() as u32,
            false => line,
        };
        match parse(directive) {
            Ok((rules, reason)) => allows.extend(rules.into_iter().map(|rule| Allow {
                rule,
                reason: reason.clone(),
                line,
                covers,
            })),
            Err((message, help)) => complaints.push(Complaint {
                message,
                at: Some((source.clone(), line)),
                help,
            }),
        }
    }
    (allows, complaints)
}

/// The code before the comment, and what stands behind the mark.
fn directive(text: &str) -> Option<(&str, &str)> {
    let comment = text.match_indices("//").map(|(at, _)| at);
    comment
        .filter_map(|at| {
            let rest = text[at..].trim_start_matches('/').trim_start();
            Some((&text[..at], rest.strip_prefix(MARK)?.trim()))
        })
        .next()
}

/// Rules and reason, or what is wrong and what to write.
fn parse(directive: &str) -> Result<(Vec<Rule>, String), (String, String)> {
    let write = "write `// racetrap: allow(RULE): reason`".to_owned();
    let not_understood = || ("this comment is not understood".to_owned(), write.clone());
    let rest = directive.strip_prefix("allow").ok_or_else(not_understood)?;
    let rest = rest.trim_start().strip_prefix('(');
    let (names, rest) = rest
        .and_then(|r| r.split_once(')'))
        .ok_or_else(not_understood)?;
    let mut rules = Vec::new();
    for name in names.split(',').map(str::trim) {
        let rule = Rule::ALL.iter().find(|r| r.name() == name);
        rules.push(*rule.ok_or_else(|| {
            let near = suggest(name, Rule::ALL.iter().map(|r| r.name()));
            let near = near.unwrap_or_else(|| "`racetrap explain` lists the rules".to_owned());
            (format!("there is no rule `{name}`"), near)
        })?);
    }
    let reason = rest.trim_start().strip_prefix(':').map(str::trim);
    match reason.filter(|reason| !reason.is_empty()) {
        Some(reason) => Ok((rules, reason.to_owned())),
        None => Err((
            "this comment states no reason, so it allows nothing".to_owned(),
            format!("{write}: whoever reads the line next has to know why"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn allows(text: &str) -> (Vec<(Rule, u32)>, Vec<String>) {
        let source = Arc::new(SourceFile::new("k.cu".into(), text.into()));
        let (allows, complaints) = read(&source);
        let allows = allows.into_iter().map(|a| (a.rule, a.covers)).collect();
        (allows, complaints.into_iter().map(|c| c.message).collect())
    }

    #[rstest]
    #[case::behind_code("x = 1; // racetrap: allow(data-race): why", &[(Rule::DataRace, 1)])]
    #[case::before("// racetrap: allow(data-race): why\nx = 1;", &[(Rule::DataRace, 2)])]
    #[case::further_comments(
        "  // racetrap: allow(data-race): why\n  // more\n  x = 1;", &[(Rule::DataRace, 3)]
    )]
    #[case::two_rules(
        "x; // racetrap: allow(data-race, leak) : why", &[(Rule::DataRace, 1), (Rule::Leak, 1)]
    )]
    #[case::behind_a_comment("x; // why // racetrap: allow(leak): y", &[(Rule::Leak, 1)])]
    #[case::text("puts(\"racetrap: allow(leak): y\");", &[])]
    #[case::other("// racetraps: allow(leak): y", &[])]
    fn comments(#[case] text: &str, #[case] want: &[(Rule, u32)]) {
        let (found, complaints) = allows(text);
        assert_eq!(found, want);
        assert_eq!(complaints, [""; 0]);
    }

    #[rstest]
    #[case("x; // racetrap: allow(data-race)", "states no reason")]
    #[case("x; // racetrap: allow(data-race): ", "states no reason")]
    #[case("x; // racetrap: allow(data-rce): why", "no rule `data-rce`")]
    #[case("x; // racetrap: ignore(data-race): why", "not understood")]
    #[case("x; // racetrap: allow data-race: why", "not understood")]
    fn mistakes(#[case] text: &str, #[case] want: &str) {
        let (found, complaints) = allows(text);
        assert_eq!(found, []);
        assert!(complaints[0].contains(want), "{complaints:?}");
    }
}
