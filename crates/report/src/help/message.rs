//! What a message between blocks lacks: data are written, a flag or counter is set, another block sees it and reads the data.
//!
//! In the text: behind the write stands a statement that sets something by an atomic operation or through `volatile`, and before the read one
//! that reads so. Then it takes a fence between the write and the set, one between the look and the read, and, where one thread sets for
//! several, a barrier of the block before it (PTX ISA, "Release and Acquire Patterns", "Causality order"). What is missing is put in. Where nothing
//! is, something else is wrong, and there is no change. Followed into the function that an access stands in, outwards to its callers, and
//! into functions that look for the reader.
//!
//! Not seen: flags that are set through `asm`, and whether the reader does what it saw.

use super::barrier::is_block_barrier;
use super::expression::{identifiers, update};
use super::text::Text;
use super::{Frame, Guilty};
use crate::edit::{Change, Edit};
use crate::finding_view::FindingView;
use crate::language::{Language, Word};
use toolchain::cuda_text::{Agreement, Agreements, Kind, StatementId, Statements};

/// What orders the data of a message, in words, and the change.
pub(crate) struct Message {
    pub words: String,
    pub edit: Edit,
}

/// What lacks between a write and a read of other blocks that pass a flag; `None` where they pass none, or nothing lacks.
pub(crate) fn complete(
    view: &FindingView<'_>,
    write: &Guilty,
    read: &Guilty,
    fence: Word,
) -> Option<Message> {
    let (first, second) = (write.frames.first()?, read.frames.first()?);
    if !write.in_source || !read.in_source || first.file.path != second.file.path {
        return None;
    }
    let text = Text::of(&first.file, view.defines());
    let code = format!("{};", Language::Cuda.word(fence));
    let fence = view.word(fence);
    let (set, data) = write.frames.iter().find_map(|f| set_behind(&text, f))?;
    let (look, shut) = read.frames.iter().find_map(|f| look_before(&text, f))?;
    let mut changes = Vec::new();
    let mut words = Vec::new();
    let tree = text.tree();
    let line = |id: StatementId| tree.line_of(tree.get(id).span.start);
    if let Some(barrier) = barrier_before(&text, data, set)? {
        words.push(format!(
            "`{}` behind line {}, because line {} sets it for all threads of the block",
            view.word(Word::BlockBarrier),
            line(data),
            line(set)
        ));
        changes.push(barrier);
    }
    if !is_fenced(tree, data, set) {
        words.push(format!(
            "`{fence}` before line {}, which tells others",
            line(set)
        ));
        changes.extend(before(&text, set, &code)?);
    }
    if !shut {
        words.push(format!(
            "`{fence}` behind line {}, which learns of it",
            line(look)
        ));
        changes.extend(behind(&text, look, &code)?);
    }
    Some(Message {
        words: words.join(", and "),
        edit: Edit::new(changes)?,
    })
}

/// What decides or does something: a condition, or the statement itself.
fn own_text(tree: &Statements, id: StatementId) -> &str {
    let statement = tree.get(id);
    match statement.kind {
        Kind::Simple => tree.text(&statement.span),
        Kind::If | Kind::For | Kind::While | Kind::Do | Kind::Switch => tree.text(&statement.head),
        _ => "",
    }
}

fn is_atomic(text: &str) -> bool {
    let function = |word: &str| {
        let rest = word.strip_prefix("atomic").unwrap_or_default();
        rest.starts_with(|c: char| c.is_ascii_uppercase())
    };
    const METHODS: [&str; 3] = [".fetch_", ".exchange(", ".compare_exchange"];
    identifiers(text).any(function) || METHODS.iter().any(|m| text.contains(m))
}

/// Whether a text names something that its function or the file declares `volatile`, or casts to it.
fn is_volatile(tree: &Statements, function: StatementId, text: &str) -> bool {
    if identifiers(text).any(|word| word == "volatile") {
        return true;
    }
    let is_elsewhere = |at: usize| {
        let mut others = tree.functions.iter().filter(|id| **id != function);
        others.any(|id| {
            let other = tree.get(*id);
            other.head.contains(&at) || other.span.contains(&at)
        })
    };
    tree.code.match_indices("volatile").any(|(at, _)| {
        let piece = &tree.code[at..];
        let end = piece
            .find([';', ',', '(', ')', '{', '='])
            .unwrap_or(piece.len());
        let name = identifiers(piece[..end].split('[').next().unwrap_or_default()).last();
        !is_elsewhere(at)
            && name.is_some_and(|name| name != "volatile" && identifiers(text).any(|n| n == name))
    })
}

fn sets(tree: &Statements, id: StatementId) -> bool {
    let text = own_text(tree, id);
    let target = update(text.trim_end_matches(';')).map(|(target, ..)| target);
    is_atomic(text)
        || text.contains(".store(")
        || target.is_some_and(|target| is_volatile(tree, tree.function_of(id), target))
}

fn looks(tree: &Statements, id: StatementId) -> bool {
    let text = own_text(tree, id);
    let value = match update(text.trim_end_matches(';')) {
        Some((_, _, value)) => value,
        None => text,
    };
    is_atomic(text) || text.contains(".load(") || is_volatile(tree, tree.function_of(id), value)
}

/// Whether one statement comes behind another, and not on the other way of a branch.
fn follows(tree: &Statements, first: StatementId, second: StatementId) -> bool {
    let outwards: Vec<StatementId> = tree.around(first).collect();
    let common = tree.around(second).find(|id| outwards.contains(id));
    let apart = common.is_none_or(|c| {
        let kind = tree.get(c).kind;
        c != first && c != second && matches!(kind, Kind::If | Kind::Switch)
    });
    !apart && tree.get(second).span.start >= tree.get(first).span.end
}

/// What sets a flag behind an access, and the access's statement.
fn set_behind(text: &Text, frame: &Frame) -> Option<(StatementId, StatementId)> {
    let tree = text.tree();
    let data = text.at(frame)?;
    let all = tree.below(tree.function_of(data));
    let sets = all
        .into_iter()
        .filter(|id| follows(tree, data, *id) && sets(tree, *id));
    Some((sets.min_by_key(|id| tree.get(*id).span.start)?, data))
}

/// What looks at a flag before an access, and whether a fence follows it.
fn look_before(text: &Text, frame: &Frame) -> Option<(StatementId, bool)> {
    let tree = text.tree();
    let data = text.at(frame)?;
    let all = tree.below(tree.function_of(data));
    let decides = |id: StatementId| tree.around(data).skip(1).any(|around| around == id);
    let looks_here =
        |id: &StatementId| looks(tree, *id) && (follows(tree, *id, data) || decides(*id));
    let look = all
        .into_iter()
        .filter(looks_here)
        .max_by_key(|id| tree.get(*id).span.start)?;
    // A look that is repeated until the flag is there ends with its loop.
    let turns = tree.loop_of(look).filter(|l| follows(tree, *l, data));
    let look = turns.unwrap_or(look);
    Some((look, is_fenced(tree, look, data)))
}

/// Whether a fence stands between two statements, or is a part of one of them.
fn is_fenced(tree: &Statements, first: StatementId, second: StatementId) -> bool {
    const FENCES: [&str; 4] = [
        "__threadfence()",
        "__threadfence_system()",
        "atomic_thread_fence",
        "fence.",
    ];
    const ORDERS: [&str; 4] = ["_release", "_acquire", "_acq_rel", "_seq_cst"];
    let (from, to) = (tree.get(first).span.start, tree.get(second).span.start);
    let between = tree.below(tree.function_of(first)).into_iter().any(|id| {
        let statement = tree.get(id);
        let code = tree.text(&statement.span);
        statement.kind == Kind::Simple
            && (from..to).contains(&statement.span.start)
            && FENCES.iter().any(|fence| code.contains(fence))
    });
    let orders = |id: StatementId| ORDERS.iter().any(|o| own_text(tree, id).contains(o));
    between || orders(first) || orders(second)
}

/// The barrier that is missing between data that several threads write and what one of them sets; `None` where there is no place for it.
fn barrier_before(text: &Text, data: StatementId, set: StatementId) -> Option<Option<Change>> {
    let tree = text.tree();
    let outwards: Vec<StatementId> = tree.around(data).collect();
    let common = tree.around(set).find(|id| outwards.contains(id))?;
    let mut agreements = Agreements::of(tree);
    let mut conditions = tree.around(set).skip(1).take_while(|id| *id != common);
    let by_some = conditions.any(|id| {
        let decides = !matches!(tree.get(id).kind, Kind::Block | Kind::Function);
        decides && agreements.condition(id) != Agreement::Block
    });
    if !by_some || tree.get(common).kind != Kind::Block {
        return Some(None);
    }
    let part = |id: StatementId| {
        let mut around = tree.around(id);
        around.find(|x| tree.get(*x).parent == Some(common))
    };
    let (from, to) = (part(data)?, part(set)?);
    let (start, end) = (tree.get(from).span.end, tree.get(to).span.start);
    let there = tree.get(common).parts.iter().any(|id| {
        let span = &tree.get(*id).span;
        (start..end).contains(&span.start) && is_block_barrier(tree.text(span), "")
    });
    if there {
        return Some(None);
    }
    (agreements.behind(from) == Agreement::Block)
        .then(|| Some(text.behind(from, "__syncthreads();")))
}

/// Whether a statement is one of several in braces.
fn is_listed(tree: &Statements, id: StatementId) -> bool {
    let parent = tree.get(id).parent;
    parent.is_some_and(|p| matches!(tree.get(p).kind, Kind::Block))
}

/// Code before a statement, executed by the same threads.
fn before(text: &Text, id: StatementId, code: &str) -> Option<Vec<Change>> {
    let tree = text.tree();
    let span = &tree.get(id).span;
    Some(match is_listed(tree, id) {
        true => {
            let indentation = text.indentation(span.start);
            vec![text.insert(span.start, format!("{code}\n{indentation}"))]
        }
        false => vec![
            text.insert(span.start, format!("{{ {code} ")),
            text.insert(span.end, " }".to_owned()),
        ],
    })
}

/// Code behind a statement, executed by the same threads: in the branch that a condition decides.
fn behind(text: &Text, id: StatementId, code: &str) -> Option<Vec<Change>> {
    let tree = text.tree();
    let statement = tree.get(id);
    if statement.kind == Kind::If {
        let then = *statement.parts.first()?;
        let first = match tree.get(then).kind {
            Kind::Block => *tree.get(then).parts.first()?,
            _ => then,
        };
        return before(text, first, code);
    }
    Some(match is_listed(tree, id) {
        true => vec![text.behind(id, code)],
        false => vec![
            text.insert(statement.span.start, "{ ".to_owned()),
            text.insert(statement.span.end, format!(" {code} }}")),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::end_of;
    use super::*;
    use crate::source::SourceFile;
    use detect::finding::Finding;
    use detect::rules::Rule;
    use rstest::rstest;
    use std::sync::Arc;

    fn completed(source: &str) -> Option<String> {
        let file = Arc::new(SourceFile::new("k.cu".into(), source.into()));
        let line = |mark: &str| {
            source
                .lines()
                .position(|l| l.contains(mark))
                .map(|at| at as u32 + 1)
        };
        let (write, read) = (end_of(&file, line("// a")?), end_of(&file, line("// b")?));
        let finding = Finding::new(Rule::DataRace, Vec::new());
        let view = FindingView {
            finding: &finding,
            guilty: &[],
            kernel: None,
            names: None,
            language: Language::Cuda,
        };
        let message = complete(&view, &write, &read, Word::DeviceFence)?;
        Some(message.edit.applied(&file))
    }

    const FLAG: &str = "__device__ volatile int up;\n__global__ void k(int *d) {\n  if (blockIdx.x == 0) {\n    d[0] = 1; // a\n    up = 1;\n  } else {\n    while (!up) {}\n    d[1] = d[0]; // b\n  }\n}\n";

    #[test]
    fn both_fences_are_put_in() {
        let wanted = FLAG
            .replace("    up = 1;", "    __threadfence();\n    up = 1;")
            .replace("{}\n", "{}\n    __threadfence();\n");
        assert_eq!(completed(FLAG), Some(wanted));
    }

    #[test]
    fn one_that_sets_for_all_waits_for_them() {
        let source = "__global__ void k(int *d, unsigned *n) {\n  __shared__ bool last;\n  int t = threadIdx.x;\n  d[t] = t; // a\n  if (t == 0) {\n    __threadfence();\n    last = atomicAdd(n, 1) == 3;\n    __threadfence();\n  }\n  __syncthreads();\n  if (last) d[t] += d[t + 1]; // b\n}\n";
        let wanted = source.replace("// a\n", "// a\n  __syncthreads();\n");
        assert_eq!(completed(source), Some(wanted));
    }

    #[rstest]
    #[case::no_flag(FLAG.replace("up = 1;", "d[2] = 1;"))]
    #[case::nobody_looks(FLAG.replace("while (!up) {}", ""))]
    #[case::nothing_lacks(FLAG.replace("up = 1;", "__threadfence(); up = 1;").replace("{}\n", "{}\n__threadfence();\n"))]
    #[case::on_the_other_way(FLAG.replace("    up = 1;\n  } else {", "  } else {\n    up = 1;"))]
    fn there_is_nothing_to_complete(#[case] source: String) {
        assert_eq!(completed(&source), None);
    }
}
