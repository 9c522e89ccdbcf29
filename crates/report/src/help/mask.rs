//! Masks of warp operations that name other lanes than those that come: the operation is moved out of the condition where all lanes of
//! the warp come together, or gets a mask that is computed there (CUDA C++ Programming Guide, "Warp Vote Functions", "Warp Shuffle
//! Functions").
//!
//! A shuffle under a mask that is computed still reads from lanes outside of it, so it is only moved, unless it names a width of its own. Given up where the
//! condition reads memory or calls something, and where no place is found that the lanes of a warp reach together.

use super::Guilty;
use super::expression::{identifiers, is_pure};
use super::text::Text;
use crate::edit::{Change, Edit};
use std::ops::Range;
use toolchain::cuda_text::{Agreement, Agreements, Kind, StatementId};

/// All lanes.
const FULL: &str = "0xffffffff";

/// How a mask is mended: in words, and the change.
pub(crate) struct Mended {
    pub words: String,
    pub edit: Edit,
}

/// Makes the lanes that a warp operation names those that come.
pub(crate) fn mend(one: &Guilty, defines: &[String]) -> Option<Mended> {
    let frame = one.frames.first().filter(|_| one.in_source)?;
    let text = Text::of(&frame.file, defines);
    let tree = text.tree();
    let id = text.at(frame)?;
    let place = tree.get(id);
    let range = match place.kind {
        Kind::Simple => place.span.clone(),
        _ => return None,
    };
    let calls = calls(tree.text(&range), range.start);
    let [call] = &calls[..] else {
        return None;
    };
    let mut agreements = Agreements::of(tree);
    if agreements.before(id) <= Agreement::Warp {
        let edit = Edit::new(vec![text.replace(call.mask.clone(), FULL.to_owned())])?;
        let words = format!("let the mask at line {} name all lanes: {FULL}", frame.line);
        return Some(Mended { words, edit });
    }
    let branch = tree
        .around(id)
        .skip(1)
        .take_while(|around| tree.get(*around).kind != Kind::Function)
        .filter(|around| !matches!(tree.get(*around).kind, Kind::Block))
        .find(|around| agreements.before(*around) <= Agreement::Warp)?;
    let statement = tree.get(branch);
    let parent = tree.get(statement.parent?).kind;
    let condition = text.written(&statement.head).to_owned();
    let holds = |part: &StatementId| tree.around(id).any(|around| around == *part);
    if statement.kind != Kind::If || !statement.parts.first().is_some_and(holds) {
        return None;
    }
    let line = tree.line_of(statement.span.start);
    let function = tree.get(tree.function_of(id));
    let names: Vec<&str> = identifiers(tree.text(&function.head))
        .chain(identifiers(tree.text(&function.span)))
        .collect();
    let free = |all: [&'static str; 3]| all.into_iter().find(|name| !names.contains(name));
    let indentation = text.indentation(statement.span.start);
    // In braces of its own where it is all that another statement does.
    let framed = |declaration: String, mut more: Vec<Change>| {
        let start = statement.span.start;
        match parent {
            Kind::Block => {
                more.push(text.insert(start, format!("{declaration}\n{indentation}")));
            }
            _ => {
                more.push(text.insert(start, format!("{{ {declaration} ")));
                more.push(text.insert(statement.span.end, " }".to_owned()));
            }
        }
        Edit::new(more)
    };
    let shuffles = call.name.starts_with("__shfl");
    if shuffles && !call.has_width {
        let first = statement.parts.first()?;
        let alone = *first == id || tree.get(*first).parts.first() == Some(&id);
        let written = text.written(&call.whole).to_owned();
        let safe = is_pure(text.written(&(call.mask.start..call.whole.end - 1)));
        if !alone || !safe {
            return None;
        }
        let name = free(["received", "other", "shuffled"])?;
        let edit = framed(
            format!("const auto {name} = {written};"),
            vec![text.replace(call.whole.clone(), name.to_owned())],
        )?;
        let words = format!(
            "move the operation at line {} out of the condition of line {line}: let all lanes execute it, and use its value under the condition",
            frame.line
        );
        return Some(Mended { words, edit });
    }
    if !is_pure(&condition) {
        return None;
    }
    let name = free(["mask", "lanes", "present"])?;
    let mask = text.written(&call.mask).to_owned();
    let all = tree.below(*statement.parts.first()?);
    let mut changes = Vec::new();
    for one in all {
        let one = tree.get(one);
        if one.kind != Kind::Simple {
            continue;
        }
        for other in self::calls(tree.text(&one.span), one.span.start) {
            if text.written(&other.mask) == mask {
                changes.push(text.replace(other.mask, name.to_owned()));
            }
        }
    }
    let edit = framed(
        format!("const unsigned {name} = __ballot_sync({FULL}, {condition});"),
        changes,
    )?;
    let words = format!(
        "compute the mask before the condition of line {line}, where all lanes come: `{name} = __ballot_sync({FULL}, {condition})`, and pass it at line {}",
        frame.line
    );
    Some(Mended { words, edit })
}

/// A call of a warp operation with a mask.
struct Call {
    name: String,
    whole: Range<usize>,
    mask: Range<usize>,
    has_width: bool,
}

/// The warp operations in a text that begins at an offset.
fn calls(code: &str, offset: usize) -> Vec<Call> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("__") {
        let rest = &code[at..];
        let Some(name) = identifiers(rest).next().filter(|n| rest.starts_with(n)) else {
            continue;
        };
        let fits = name == "__syncwarp" || name.starts_with("__") && name.ends_with("_sync");
        let open = at + name.len();
        if !fits
            || code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
            || !code[open..].starts_with('(')
        {
            continue;
        }
        let (mut depth, mut commas, mut end) = (0, Vec::new(), None);
        for (index, c) in code[open..].char_indices() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                ',' if depth == 1 => commas.push(open + index),
                _ => {}
            }
            if depth == 0 {
                end = Some(open + index);
                break;
            }
        }
        let Some(end) = end else { continue };
        let mask = open + 1..commas.first().copied().unwrap_or(end);
        found.push(Call {
            name: name.to_owned(),
            whole: offset + at..offset + end + 1,
            mask: offset + mask.start..offset + mask.end,
            has_width: commas.len() >= 3,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::end_of;
    use super::*;
    use crate::source::SourceFile;
    use std::sync::Arc;

    fn changed(body: &str, line: u32) -> Option<String> {
        let source = format!("__global__ void k(int *d, int n) {{\n{body}}}\n");
        let file = Arc::new(SourceFile::new("k.cu".into(), source));
        let mended = mend(&end_of(&file, line), &[])?;
        let text = mended.edit.applied(&file);
        let inner = text.lines().skip(1).collect::<Vec<_>>();
        Some(inner[..inner.len() - 1].join("\n"))
    }

    #[test]
    fn a_mask_is_computed_before_the_branch() {
        assert_eq!(
            changed(
                "  int t = threadIdx.x;\n  if (t < n) {\n    d[t] = 1;\n    __syncwarp();\n  }\n",
                5
            )
            .as_deref(),
            Some(
                "  int t = threadIdx.x;\n  const unsigned mask = __ballot_sync(0xffffffff, t < n);\n  if (t < n) {\n    d[t] = 1;\n    __syncwarp(mask);\n  }"
            )
        );
        // The condition reads memory.
        assert_eq!(
            changed(
                "  int t = threadIdx.x;\n  if (d[t]) {\n    __syncwarp();\n  }\n",
                4
            ),
            None
        );
    }

    #[test]
    fn a_shuffle_is_moved_out() {
        assert_eq!(
            changed("  int t = threadIdx.x, v = t;\n  if (t < n) v += __shfl_down_sync(0xffffffff, v, 4);\n  d[t] = v;\n", 3).as_deref(),
            Some("  int t = threadIdx.x, v = t;\n  const auto received = __shfl_down_sync(0xffffffff, v, 4);\n  if (t < n) v += received;\n  d[t] = v;")
        );
        // What it passes is read from memory.
        assert_eq!(
            changed(
                "  int t = threadIdx.x, v = t;\n  if (t < n) v += __shfl_down_sync(0xffffffff, d[t], 4);\n  d[t] = v;\n",
                3
            ),
            None
        );
    }

    #[test]
    fn all_lanes_that_come_are_named() {
        assert_eq!(
            changed(
                "  int v = __shfl_sync(0xffff, n, 4);\n  d[threadIdx.x] = v;\n",
                2
            )
            .as_deref(),
            Some("  int v = __shfl_sync(0xffffffff, n, 4);\n  d[threadIdx.x] = v;")
        );
    }
}
