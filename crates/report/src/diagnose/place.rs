//! Where the ends of a finding are: source lines out of debug information, through inlined calls, to the lines that a user wrote.

use super::Scene;
use crate::help::{Frame, Guilty};
use crate::own_line::{is_of_toolkit, lines_of, of_toolkit};
use crate::source::{element, statement};
use crate::view::View;
use detect::finding::{Action, End, Finding};

/// The source frames of an end, innermost first; the PTX line if there are none.
pub(super) fn locate(end: &End, finding: &Finding, scene: &mut Scene<'_>) -> Guilty {
    let view = match &scene.steps[end.launch as usize] {
        View::Kernel(view) => view,
        View::Host(view) => {
            let columns = view.columns();
            let text = view.source.line(view.line).unwrap_or_default();
            let text = text.get(columns.start as usize..columns.end as usize);
            return Guilty {
                instruction: text.unwrap_or_default().to_owned(),
                frames: vec![Frame {
                    file: view.source.clone(),
                    line: view.line,
                    columns,
                    function: None,
                }],
                in_source: true,
                unread: None,
                toolkit: false,
                library: false,
            };
        }
    };
    let site = &view.sites[end.site.0 as usize];
    let name = finding
        .place
        .and_then(|p| view.memory.region(&p).map(|r| r.name.clone()));
    let mut unread = None;
    let mut frames = Vec::new();
    // Code that the compiler adds has no source lines, while everything else has some.
    let lined = view.sites.iter().any(|s| !s.lines.is_empty());
    let toolkit = lined && is_of_toolkit(site);
    for line in lines_of(site, view.sites) {
        // Show the call of `atomicAdd` and the like rather than the toolkit's code behind it.
        if frames.is_empty() && of_toolkit(&line.file) {
            continue;
        }
        let file = scene.sources.find(&line.file);
        let text = file.as_ref().and_then(|f| f.line(line.line));
        let (Some(file), Some(text)) = (&file, text) else {
            unread.get_or_insert_with(|| format!("{}:{}", line.file, line.line));
            continue;
        };
        let whole = statement(text, line.column);
        let columns = match (&name, end.action, frames.is_empty()) {
            (Some(name), Action::Read, true) => element(text, &whole, name, false),
            (Some(name), Action::Write, true) => element(text, &whole, name, true),
            _ => None,
        };
        frames.push(Frame {
            file: file.clone(),
            line: line.line,
            columns: columns.unwrap_or(whole),
            function: line.function.clone(),
        });
    }
    let in_source = !frames.is_empty();
    if !in_source {
        let text = view.ptx.line(site.ptx_line).unwrap_or_default();
        frames.push(Frame {
            file: view.ptx.clone(),
            line: site.ptx_line,
            columns: instruction(text),
            function: None,
        });
    }
    Guilty {
        library: in_source && site.lines.first().is_some_and(|l| of_toolkit(&l.file)),
        frames,
        in_source,
        unread: unread.filter(|_| !in_source),
        toolkit,
        instruction: site.text.clone(),
    }
}

/// The byte columns of a PTX line, without indentation and semicolon.
fn instruction(line: &str) -> std::ops::Range<u32> {
    let start = line.len() - line.trim_start().len();
    start as u32..line.trim_end().trim_end_matches(';').len().max(start) as u32
}
