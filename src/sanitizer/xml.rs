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
                .and_then(|word| action(&word))
                .or_else(|| around(node, record, |near| action(near.tag_name().name()))),
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

/// The documents here are ours, in the shapes that the reader must cope with; no tool has written them.
#[cfg(test)]
mod tests {
    use super::*;

    fn one(record: &str) -> Record {
        let text =
            format!("<ComputeSanitizerOutput><record>{record}</record></ComputeSanitizerOutput>");
        let mut records = parse(&text).unwrap();
        assert_eq!(records.len(), 1);
        records.remove(0)
    }

    const WHO: &str = "<who><threadIdx><x>1</x><y>2</y><z>3</z></threadIdx>\
        <blockIdx><x>4</x><y>5</y><z>6</z></blockIdx></who>";
    const WHERE: &str =
        "<where><func>k(int*)</func><path>kernels/a.cu</path><line>7</line><pc>0x10</pc></where>";

    #[test]
    fn an_access_out_of_bounds() {
        let record = one(&format!(
            "<kind>Precise</kind><level>Error</level>{WHO}<what><text>Invalid __global__ write of size 4 bytes\
             : Access is out of bounds</text><direction>write</direction><address>0x7f00</address></what>{WHERE}\
             <deviceStack><frame><func>k</func><path>kernels/a.cu</path><line>30</line></frame></deviceStack>\
             <hostStack><frame><func>main</func><path>main.c</path><line>1</line></frame></hostStack>"
        ));
        assert_eq!(
            (record.kind, record.severity),
            (Kind::OutOfBounds, Severity::Error)
        );
        assert_eq!(
            (record.block, record.address),
            (Some([4, 5, 6]), Some(0x7f00))
        );
        let [end] = record.ends.as_slice() else {
            panic!("{:?}", record.ends)
        };
        assert_eq!(
            (end.action, end.thread),
            (Some(Action::Write), Some([1, 2, 3]))
        );
        assert_eq!(end.lines_in("kernels/a.cu"), [7, 30]);
        assert_eq!(end.lines_in("kernels/b.cu"), [0; 0]);
    }

    #[test]
    fn kinds_by_kind_and_sentence() {
        for (kind, text, expected) in [
            (
                "Precise",
                "Invalid __shared__ read: Address is misaligned",
                Kind::Misaligned,
            ),
            (
                "Imprecise",
                "Misaligned shared or local address",
                Kind::Imprecise,
            ),
            (
                "Initcheck",
                "Uninitialized __global__ memory read of size 4 bytes",
                Kind::Uninitialized,
            ),
            (
                "Synccheck",
                "Barrier error detected. Divergent thread(s) in warp",
                Kind::DivergentBarrier,
            ),
            (
                "Synccheck",
                "Barrier error detected. Invalid arguments",
                Kind::InvalidBarrier,
            ),
            ("Hazard", "Potential RAW hazard detected", Kind::HazardRaw),
            ("Hazard", "Potential WAR hazard detected", Kind::HazardWar),
            ("Hazard", "Potential WAW hazard detected", Kind::HazardWaw),
            ("Analysis", "Race reported", Kind::Race),
            ("Api", "Program hit an error", Kind::Api),
            (
                "Leak",
                "Leaked 4 bytes",
                Kind::Unknown("Leak: Leaked 4 bytes".to_owned()),
            ),
            ("Hazard", "", Kind::Unknown("Hazard".to_owned())),
            ("", "", Kind::Unknown(String::new())),
        ] {
            let record = one(&format!(
                "<kind>{kind}</kind><level>Warning</level><what><text>{text}</text></what>{WHERE}"
            ));
            assert_eq!(
                (record.kind, record.severity),
                (expected, Severity::Warning)
            );
        }
    }

    #[test]
    fn both_threads_of_a_hazard() {
        let thread = |x: u32, line: u32| {
            format!(
                "<threadIdx><x>{x}</x><y>0</y><z>0</z></threadIdx><where><path>/m/kernels/a.cu</path><line>{line}</line></where>"
            )
        };
        let record = one(&format!(
            "<kind>Hazard</kind><level>Error</level><what><text>Potential WAR hazard</text></what>\
             <thread0><direction>Read</direction>{}</thread0><thread1><direction>Write</direction>{}</thread1>",
            thread(3, 9),
            thread(4, 8)
        ));
        let ends: Vec<_> = record
            .ends
            .iter()
            .map(|end| (end.action, end.thread, end.lines_in("kernels/a.cu")))
            .collect();
        assert_eq!(
            ends,
            [
                (Some(Action::Read), Some([3, 0, 0]), vec![9]),
                (Some(Action::Write), Some([4, 0, 0]), vec![8]),
            ]
        );
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
