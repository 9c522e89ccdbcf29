//! Parses the records of a tool, written with `--xml --save FILE`.
//!
//! NVIDIA's manual does not document the format; this reader knows only what occurs in the recordings that test it.
//! A document is `<ComputeSanitizerOutput>` with one `<record>` for each report. A record has a `<kind>`, for some kinds a
//! `<level>`, and then, by kind:
//!
//! | `<kind>` | by | places | also read |
//! |---|---|---|---|
//! | `Analysis` | racecheck | `<what>`: one `<source>`, one or more `<destination>`, each with `<direction>` and `<where>` | `<level>`; `<count>` of a destination |
//! | `Hazard` | racecheck, with `--racecheck-report hazard` or `all` | `<what>`: `<thread0>` and `<thread1>`, each with `<access>`, `<threadIdx>` and `<where>` | `<common>`: `<type>`, `<address>`, `<blockIdx>`, `<current>`, `<write>`, `<isCudaBarrierOp>` |
//! | `Synccheck` | synccheck | `<where>`, `<who>`, `<deviceStack>` | `<what><type>` |
//! | `Precise` | memcheck | `<where>`, `<who>`, `<deviceStack>` | `<level>`; `<what>`: `<direction>`, `<error>`, `<address>` |
//! | `Imprecise` | memcheck | `<where>`, `<who>`, `<deviceStack>` | `<level>`; `<what><exception>` |
//! | `StackOverflow` | all | `<where>`, `<who>`, `<deviceStack>` | `<level>` |
//! | `Syscall` | memcheck | `<where>`, `<who>`, `<deviceStack>` | `<level>`; `<what><error>` |
//! | `Api` | memcheck | none | `<what><text>` |
//! | `Initcheck` | initcheck | `<where>`, `<who>`, `<deviceStack>` | `<what><address>` |
//! | `InitcheckApiError` | initcheck | none | `<level>`; `<what><errorAddress>`, in decimal |
//!
//! A record of another kind or level, or with another `<type>`, `<error>` or `<exception>`, is a [`Kind::Unknown`]: it allows no
//! conclusion, and is never omitted.

use super::record::{End, Hazard, Kind, Record, Severity};
use detect::finding::Action;
use roxmltree::{Document, Node};

/// Records that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// The file ends early, or is no XML.
    #[error("{0}")]
    Syntax(String),
    /// XML of something else.
    #[error("its root is `<{0}>`, not `<ComputeSanitizerOutput>`")]
    Root(String),
    /// An element beside the records.
    #[error("it has an unknown element `<{0}>`")]
    Element(String),
}

/// Reads all records.
///
/// # Errors
///
/// The text is no such document.
pub fn parse(text: &str) -> Result<Vec<Record>, XmlError> {
    let document = Document::parse(text).map_err(|e| XmlError::Syntax(e.to_string()))?;
    let root = document.root_element();
    if !is(root, "ComputeSanitizerOutput") {
        return Err(XmlError::Root(root.tag_name().name().to_owned()));
    }
    let mut records = Vec::new();
    for child in root.children().filter(Node::is_element) {
        match child.tag_name().name() {
            "record" => records.push(record(child)),
            other => return Err(XmlError::Element(other.to_owned())),
        }
    }
    Ok(records)
}

fn record(node: Node) -> Record {
    let name = text_of(node, "kind").unwrap_or_default();
    let what = child(node, "what");
    let said = |key| what.and_then(|what| text_of(what, key));
    let common = what.and_then(|what| child(what, "common"));
    let shared = |key| common.and_then(|common| text_of(common, key));
    let text = said("text")
        .or_else(|| said("exception"))
        .unwrap_or_default();
    let (kind, severity) = known(node, &name)
        .unwrap_or_else(|unknown| (Kind::Unknown(unknown.to_string()), Severity::Error));
    let ends = match kind {
        Kind::Race => what.map(sides).unwrap_or_default(),
        Kind::Hazard(_) => what.map(threads).unwrap_or_default(),
        _ => child(node, "where")
            .map(|place| End {
                action: said("direction").and_then(|word| action(&word)),
                thread: child(node, "who").and_then(|who| point(who, "threadIdx")),
                callers: callers(node),
                ..end(place)
            })
            .into_iter()
            .collect(),
    };
    Record {
        kind,
        severity,
        text: match said("type") {
            Some(more) => format!("{text}: {more}"),
            None => text,
        },
        block: child(node, "who")
            .or(common)
            .and_then(|who| point(who, "blockIdx")),
        address: said("address")
            .or_else(|| said("errorAddress"))
            .or_else(|| shared("address"))
            .and_then(|address| number(&address)),
        value: shared("current").and_then(|value| number(&value)),
        written: shared("write").and_then(|value| number(&value)),
        ends,
    }
}

/// A report of a form that is not known.
#[derive(Debug, thiserror::Error)]
enum UnknownReport {
    /// The kind, and what is said of it.
    #[error("{}", .0.join(": "))]
    Kind(Vec<String>),
    /// The kind is known, and this level is not one of it.
    #[error("{kind} of level {level}")]
    Level { kind: String, level: String },
    /// The kind is known, and has no level.
    #[error("{kind} of no level")]
    NoLevel { kind: String },
}

/// What kind of report it is, and how bad; else what about it is not known.
fn known(record: Node, name: &str) -> Result<(Kind, Severity), UnknownReport> {
    let what = child(record, "what");
    let said = |key| what.and_then(|what| text_of(what, key)).unwrap_or_default();
    let (kind, has_level) = match name {
        "Analysis" => (Some(Kind::Race), true),
        "Hazard" => (what.and_then(hazard).map(Kind::Hazard), false),
        "Synccheck" => match said("type").as_str() {
            "Invalid arguments" => (Some(Kind::InvalidBarrier), false),
            other => {
                let divergent = other.starts_with("Divergent thread(s)");
                (divergent.then_some(Kind::DivergentBarrier), false)
            }
        },
        "Precise" => match said("error").as_str() {
            "out of bounds" => (Some(Kind::OutOfBounds), true),
            "misaligned" => (Some(Kind::Misaligned), true),
            _ => (None, true),
        },
        "StackOverflow" => (Some(Kind::Stopped), true),
        "Imprecise" => {
            let known = said("exception") == "Warp assert";
            (known.then_some(Kind::Stopped), true)
        }
        "Syscall" => {
            let known = said("error") == "Device-side double free";
            (known.then_some(Kind::Stopped), true)
        }
        "Api" => (Some(Kind::Api), false),
        "Initcheck" => (Some(Kind::Uninitialized), false),
        "InitcheckApiError" => (Some(Kind::UnwrittenResult), true),
        _ => (None, false),
    };
    let Some(kind) = kind else {
        let details = [said("text"), said("type"), said("error"), said("exception")];
        let said = [name.to_owned()].into_iter().chain(details);
        return Err(UnknownReport::Kind(
            said.filter(|words| !words.is_empty()).collect(),
        ));
    };
    match (text_of(record, "level").as_deref(), has_level) {
        (Some("Error"), true) | (None, false) => Ok((kind, Severity::Error)),
        (Some("Warning"), true) => Ok((kind, Severity::Warning)),
        (Some(level), _) => Err(UnknownReport::Level {
            kind: name.to_owned(),
            level: level.to_owned(),
        }),
        (None, true) => Err(UnknownReport::NoLevel {
            kind: name.to_owned(),
        }),
    }
}

/// What a thread did, by the word that says it.
fn action(word: &str) -> Option<Action> {
    match word {
        "Read" | "read" => Some(Action::Read),
        "Write" | "write" => Some(Action::Write),
        "atomic" => Some(Action::Atomic),
        _ => None,
    }
}

/// The two sides of a race: its source, then its destinations.
fn sides(what: Node) -> Vec<End> {
    let sides = ["source", "destination"]
        .into_iter()
        .flat_map(|name| what.children().filter(move |node| is(*node, name)));
    sides
        .map(|side| End {
            action: text_of(side, "direction").and_then(|word| action(&word)),
            count: text_of(side, "count").and_then(|count| number(&count)),
            ..child(side, "where").map(end).unwrap_or_default()
        })
        .collect()
}

/// The hazard's order, if its record has both threads and is of plain accesses, not of a barrier's.
fn hazard(what: Node) -> Option<Hazard> {
    let common = child(what, "common")?;
    let order = Hazard::named(&text_of(common, "type")?)?;
    let known = threads(what)
        .iter()
        .all(|end| end.action.is_some() && end.thread.is_some());
    let plain = text_of(common, "isCudaBarrierOp").as_deref() == Some("false");
    (known && plain && threads(what).len() == 2).then_some(order)
}

/// The two threads of a hazard, in the order of their accesses.
fn threads(what: Node) -> Vec<End> {
    let both = ["thread0", "thread1"].into_iter();
    both.filter_map(|name| child(what, name))
        .map(|thread| End {
            action: text_of(thread, "access").and_then(|word| action(&word)),
            thread: point(thread, "threadIdx"),
            ..child(thread, "where").map(end).unwrap_or_default()
        })
        .collect()
}

fn end(place: Node) -> End {
    End {
        function: text_of(place, "func"),
        file: text_of(place, "path"),
        line: line(place),
        ..End::default()
    }
}

/// The callers on the device's stack.
fn callers(record: Node) -> Vec<(String, u32)> {
    let frames = child(record, "deviceStack")
        .into_iter()
        .flat_map(|stack| stack.children())
        .filter(|node| is(*node, "frame"));
    frames
        .filter_map(|frame| Some((text_of(frame, "path")?, line(frame)?)))
        .collect()
}

fn line(node: Node) -> Option<u32> {
    text_of(node, "line")?.parse().ok().filter(|line| *line > 0)
}

fn is(node: Node, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

fn child<'a, 'd>(node: Node<'a, 'd>, name: &str) -> Option<Node<'a, 'd>> {
    node.children().find(|n| is(*n, name))
}

fn text_of(node: Node, name: &str) -> Option<String> {
    let text = child(node, name)?.text()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn point(node: Node, name: &str) -> Option<[u32; 3]> {
    let node = child(node, name)?;
    let axis = |name| text_of(node, name)?.parse().ok();
    Some([axis("x")?, axis("y")?, axis("z")?])
}

/// What is no document of the tool, or one that is not known. Real documents are in `crates/evidence/tests/recordings/`, and
/// `tests/evidence/recordings.rs` reads them.
#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(record: &str) -> Kind {
        let text =
            format!("<ComputeSanitizerOutput><record>{record}</record></ComputeSanitizerOutput>");
        let mut records = parse(&text).unwrap();
        assert_eq!(records.len(), 1);
        records.remove(0).kind
    }

    #[test]
    fn what_is_not_known() {
        for (record, unknown) in [
            ("", ""),
            ("<kind>Novelty</kind>", "Novelty"),
            (
                "<kind>Novelty</kind><level>Error</level><what><text>Something new</text></what>",
                "Novelty: Something new",
            ),
            ("<kind>Analysis</kind>", "Analysis of no level"),
            (
                "<kind>Analysis</kind><level>Doubtful</level>",
                "Analysis of level Doubtful",
            ),
            (
                "<kind>Api</kind><level>Warning</level>",
                "Api of level Warning",
            ),
            (
                "<kind>Synccheck</kind><what><text>Barrier error</text><type>Something new</type></what>",
                "Synccheck: Barrier error: Something new",
            ),
            (
                "<kind>Precise</kind><level>Error</level><what><error>something new</error></what>",
                "Precise: something new",
            ),
            (
                "<kind>Imprecise</kind><level>Error</level><what><exception>Something new</exception></what>",
                "Imprecise: Something new",
            ),
            ("<kind>StackOverflow</kind>", "StackOverflow of no level"),
            ("<kind>Hazard</kind>", "Hazard"),
        ] {
            assert_eq!(
                kind_of(record),
                Kind::Unknown(unknown.to_owned()),
                "{record}"
            );
        }
    }

    /// Of a hazard nothing may be missing, and nothing be of another sort than is known.
    #[test]
    fn a_hazard_is_whole_or_unknown() {
        let thread = |number: u32, access: &str| {
            format!(
                "<thread{number}><access>{access}</access><threadIdx><x>{number}</x><y>0</y><z>0</z></threadIdx></thread{number}>"
            )
        };
        let hazard = |order: &str, barrier: &str, threads: String| {
            kind_of(&format!(
                "<kind>Hazard</kind><what><common><type>{order}</type><isCudaBarrierOp>{barrier}</isCudaBarrierOp></common>{threads}</what>"
            ))
        };
        let both = thread(0, "Write") + &thread(1, "Read");
        assert_eq!(
            hazard("RAW", "false", both.clone()),
            Kind::Hazard(Hazard::Raw)
        );
        for unknown in [
            hazard("RAR", "false", both.clone()),
            hazard("RAW", "true", both),
            hazard("RAW", "false", thread(0, "Write")),
            hazard("RAW", "false", thread(0, "Write") + &thread(1, "Guess")),
            hazard("RAW", "false", String::new()),
        ] {
            assert!(matches!(unknown, Kind::Unknown(_)), "{unknown:?}");
        }
    }

    #[test]
    fn what_is_no_document_of_the_tool() {
        assert!(matches!(parse(""), Err(XmlError::Syntax(_))));
        assert!(matches!(
            parse("<ComputeSanitizerOutput><record>"),
            Err(XmlError::Syntax(_))
        ));
        assert_eq!(parse("<a/>"), Err(XmlError::Root("a".to_owned())));
        assert_eq!(
            parse("<ComputeSanitizerOutput><verdict/></ComputeSanitizerOutput>"),
            Err(XmlError::Element("verdict".to_owned()))
        );
        assert_eq!(parse("<ComputeSanitizerOutput/>"), Ok(vec![]));
        let doctype = "<!DOCTYPE x [<!ENTITY a \"a\">]><ComputeSanitizerOutput/>";
        assert!(matches!(parse(doctype), Err(XmlError::Syntax(_))));
    }
}
