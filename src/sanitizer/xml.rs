//! The records: what `--xml --save FILE` wrote.
//!
//! The format is not documented. A document is `<ComputeSanitizerOutput>` with one `<record>` for each report, and
//! a record has a `<kind>`, a `<level>`, and, each where it applies, `<who>` (thread and block), `<what>` (the sentence, the
//! address), `<where>` (function, file, line) or several places, and stacks. So the reader looks for places wherever they are,
//! and insists on what it cannot do without: a record whose kind or level it does not know is a
//! [`Kind::Unknown`], from which nothing can be concluded, and is never left out.

use super::record::{End, Kind, Record, Severity};
use crate::finding::Action;
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
    /// An element beside the records that is not known.
    #[error("it has an element `<{0}>` that is not known")]
    Element(String),
}

/// Reads all records.
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
            // With `--save-session-details`: about the machine and the program.
            "session" => {}
            other => return Err(XmlError::Element(other.to_owned())),
        }
    }
    Ok(records)
}

fn record(node: Node) -> Record {
    let name = text_of(node, "kind").unwrap_or_default();
    let what = child(node, "what");
    let text = sentence(node);
    let level = text_of(node, "level").unwrap_or_default();
    let severity = severity(&level);
    let kind = match severity {
        Some(_) => kind(&name, &text),
        None => Kind::Unknown(format!("{name} of level {level}")),
    };
    let who = child(node, "who");
    let mut ends = places(node);
    if let [only] = ends.as_mut_slice() {
        // One place, with its thread and its action beside it.
        only.thread = only.thread.or(who.and_then(|who| point(who, "threadIdx")));
        only.action = only.action.or_else(|| {
            let said = what.and_then(|what| text_of(what, "direction"));
            action(&said.unwrap_or_else(|| text.clone()))
        });
        only.callers = stack(node);
    }
    Record {
        kind,
        severity: severity.unwrap_or(Severity::Error),
        block: descendant_point(node, "blockIdx"),
        address: what
            .and_then(|what| text_of(what, "address").or_else(|| text_of(what, "accessAddress")))
            .and_then(|address| number(&address)),
        text,
        ends,
    }
}

/// The tool's sentence: the `<text>`, wherever it is, else all that `<what>` says.
fn sentence(record: Node) -> String {
    let whole = |node: Node| {
        let words = node
            .descendants()
            .filter(Node::is_text)
            .filter_map(|n| n.text())
            .flat_map(str::split_whitespace);
        words.collect::<Vec<_>>().join(" ")
    };
    record
        .descendants()
        .find(|node| is(*node, "text"))
        .or_else(|| child(record, "what"))
        .map(whole)
        .unwrap_or_default()
}

fn severity(level: &str) -> Option<Severity> {
    match level.to_lowercase().as_str() {
        "info" => Some(Severity::Info),
        "warning" | "warn" => Some(Severity::Warning),
        "error" => Some(Severity::Error),
        "fatal" => Some(Severity::Fatal),
        _ => None,
    }
}

fn kind(name: &str, text: &str) -> Kind {
    let says = |word: &str| text.to_lowercase().contains(word);
    match name.to_lowercase().as_str() {
        "hazard" if says("raw") => Kind::HazardRaw,
        "hazard" if says("war ") || says("war)") => Kind::HazardWar,
        "hazard" if says("waw") => Kind::HazardWaw,
        "analysis" | "race condition" => Kind::Race,
        "synccheck" if says("divergent") => Kind::DivergentBarrier,
        "synccheck" => Kind::InvalidBarrier,
        "precise" if says("misaligned") => Kind::Misaligned,
        "precise" if says("out of bounds") || says("invalid") => Kind::OutOfBounds,
        "imprecise" => Kind::Imprecise,
        "initcheck" => Kind::Uninitialized,
        "api" | "driver" => Kind::Api,
        _ if text.is_empty() => Kind::Unknown(name.to_owned()),
        _ => Kind::Unknown(format!("{name}: {text}")),
    }
}

/// What a thread did, by the word that says it.
fn action(word: &str) -> Option<Action> {
    let word = word.to_lowercase();
    let has = |name: &str| {
        word.split(|c: char| !c.is_alphanumeric())
            .any(|w| w == name)
    };
    match () {
        () if has("atomic") || has("reduction") => Some(Action::Atomic),
        () if has("write") || has("store") => Some(Action::Write),
        () if has("read") || has("load") || has("prefetch") => Some(Action::Read),
        () => None,
    }
}

/// Every element of a record that names a place, those of the stacks apart.
fn places(record: Node) -> Vec<End> {
    record
        .descendants()
        .filter(|node| names_a_place(*node) && !in_a_stack(*node))
        .map(|node| End {
            action: around(node, record, |near| text_of(near, "direction"))
                .or_else(|| around(node, record, |near| text_of(near, "access")))
                .and_then(|word| action(&word)),
            function: text_of(node, "func"),
            file: file(node),
            line: line(node),
            callers: Vec::new(),
            thread: around(node, record, |near| point(near, "threadIdx")),
            count: around(node, record, |near| {
                text_of(near, "hazards").or_else(|| text_of(near, "count"))
            })
            .and_then(|count| number(&count)),
        })
        .collect()
}

fn names_a_place(node: Node) -> bool {
    ["func", "line", "path"]
        .iter()
        .any(|name| child(node, name).is_some())
}

fn in_a_stack(node: Node) -> bool {
    node.ancestors()
        .any(|n| n.is_element() && n.tag_name().name().ends_with("Stack"))
}

/// Looks at a node and its ancestors below `top`.
fn around<T>(node: Node, top: Node, look: impl Fn(Node) -> Option<T>) -> Option<T> {
    node.ancestors()
        .take_while(|near| *near != top)
        .find_map(look)
}

/// The callers on the device's stack.
fn stack(record: Node) -> Vec<(String, u32)> {
    let frames = record
        .descendants()
        .filter(|node| is(*node, "deviceStack"))
        .flat_map(|stack| stack.children())
        .filter(Node::is_element);
    frames
        .filter_map(|frame| Some((file(frame)?, line(frame)?)))
        .collect()
}

fn file(node: Node) -> Option<String> {
    text_of(node, "path").or_else(|| text_of(node, "file"))
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

fn descendant_point(node: Node, name: &str) -> Option<[u32; 3]> {
    let parent = node.descendants().find(|n| child(*n, name).is_some())?;
    point(parent, name)
}
