//! Threads that leave before a barrier stay: what they do not do is put under a condition.
//!
//! `if (c) return;` becomes `const bool active = !(c);`. Behind it each statement that is no barrier becomes `if (active) …`; a variable that is read from memory gets
//! 0 where nobody reads. Given up where that is not the same: two early returns, a condition that calls or reads memory, a barrier in a
//! branch, a type that is no number.

use crate::edit::{Change, Edit};
use crate::help::expression::{declared, identifiers, is_pure, update};
use crate::help::text::Text;
use toolchain::cuda_text::{Agreement, Agreements, Kind, StatementId, Statements};

/// The name of the condition.
const ACTIVE: &str = "active";

/// An early return before a barrier, made a condition of all that follows.
pub(in crate::help) fn without_return(text: &Text, barrier: StatementId) -> Option<Edit> {
    let tree = text.tree();
    let function = tree.function_of(barrier);
    let body = *tree.get(function).parts.first()?;
    let parts = tree.get(body).parts.clone();
    let holds = |id: StatementId| tree.around(barrier).any(|around| around == id);
    let at = parts.iter().position(|part| holds(*part))?;
    let mut agreements = Agreements::of(tree);
    let mut exits = parts[..at]
        .iter()
        .enumerate()
        .filter(|(_, id)| returns(tree, **id) && agreements.condition(**id) != Agreement::Block);
    let (exit, id) = exits.next().filter(|_| exits.next().is_none())?;
    let condition = text.written(&tree.get(*id).head).to_owned();
    if !is_pure(&condition) || !is_free(tree, function) {
        return None;
    }
    let mut changes = vec![text.replace(
        tree.get(*id).span.clone(),
        format!("const bool {ACTIVE} = !({condition});"),
    )];
    let rest: Vec<StatementId> = parts[exit + 1..].to_vec();
    guard(text, &mut agreements, &rest, &mut changes)?;
    Edit::new(changes)
}

/// Whether a statement is `if (…) return;`.
fn returns(tree: &Statements, id: StatementId) -> bool {
    let statement = tree.get(id);
    let [then] = statement.parts[..] else {
        return false;
    };
    let then = match (tree.get(then).kind, &tree.get(then).parts[..]) {
        (Kind::Block, [only]) => *only,
        _ => then,
    };
    statement.kind == Kind::If && tree.text(&tree.get(then).span).trim() == "return;"
}

fn is_free(tree: &Statements, function: StatementId) -> bool {
    let statement = tree.get(function);
    let all = [tree.text(&statement.head), tree.text(&statement.span)];
    !all.iter()
        .any(|text| identifiers(text).any(|name| name == ACTIVE))
}

/// Whether threads wait for each other in a statement.
fn waits(tree: &Statements, id: StatementId) -> bool {
    let code = tree.text(&tree.get(id).span);
    code.contains("sync(") || identifiers(code).any(|n| n.starts_with("__sync"))
}

/// Puts statements under the condition, all but the barriers among them.
fn guard(
    text: &Text,
    agreements: &mut Agreements<'_>,
    parts: &[StatementId],
    changes: &mut Vec<Change>,
) -> Option<()> {
    let tree = text.tree();
    for &id in parts {
        let statement = tree.get(id);
        let code = tree.text(&statement.span);
        if waits(tree, id) {
            match statement.kind {
                Kind::Simple => exchanges(code)?,
                Kind::Block => guard(text, agreements, &statement.parts, changes)?,
                Kind::For | Kind::While
                    if agreements.condition(id) == Agreement::Block
                        && !tree.text(&statement.head).contains('[') =>
                {
                    guard(text, agreements, &statement.parts, changes)?;
                }
                _ => return None,
            }
            continue;
        }
        match statement.kind {
            Kind::Simple if code.contains("__shared__") => {}
            Kind::Simple if declared(code.trim_end_matches(';')).is_some() => {
                let Some((target, "=", value)) = update(code.trim_end_matches(';')) else {
                    // Without a value.
                    continue;
                };
                if is_pure(value) && !value.contains('*') {
                    continue;
                }
                if !is_number(target) || code.matches(',').count() > value.matches(',').count() {
                    return None;
                }
                let start = statement.span.start + code.len() - 1 - value.len();
                let start = text.written(&(start..statement.span.end)).find(value)? + start;
                let end = start + value.len();
                changes.push(text.insert(start, format!("{ACTIVE} ? (")));
                changes.push(text.insert(end, ") : 0".to_owned()));
            }
            Kind::Label | Kind::Function => return None,
            Kind::Block => guard(text, agreements, &statement.parts, changes)?,
            _ => changes.push(text.insert(statement.span.start, format!("if ({ACTIVE}) "))),
        }
    }
    Some(())
}

/// Whether a statement in which lanes wait for each other does nothing else that counts: a barrier, or a sum to which 0 adds nothing.
fn exchanges(code: &str) -> Option<()> {
    match update(code.trim_end_matches(';')) {
        None => (!code.contains('[')).then_some(()),
        Some((target, "+=", value)) => {
            (!target.contains(['[', '*']) && !value.contains('[')).then_some(())
        }
        Some(_) => None,
    }
}

/// Whether a declaration is of a number.
fn is_number(declaration: &str) -> bool {
    const NUMBERS: [&str; 14] = [
        "const", "int", "unsigned", "float", "double", "long", "short", "char", "bool", "size_t",
        "uint32_t", "int32_t", "uint64_t", "int64_t",
    ];
    let words: Vec<&str> = identifiers(declaration).collect();
    let Some((_, types)) = words.split_last() else {
        return false;
    };
    !types.is_empty()
        && !declaration.contains(['*', '&', '<', '['])
        && types.iter().all(|word| NUMBERS.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use std::sync::Arc;

    fn changed(source: &str, how: impl Fn(&Text, StatementId) -> Option<Edit>) -> Option<String> {
        let file = Arc::new(SourceFile::new("k.cu".into(), source.into()));
        let text = Text::of(&file, &[]);
        let at = text.tree().at(source.find("__syncthreads();")?)?;
        Some(how(&text, at)?.applied(&file))
    }

    #[test]
    fn an_early_return_becomes_a_condition() {
        let source = "__global__ void k(int *d, int n) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    if (t >= n)\n        return;\n    int x = d[t];\n    s[t] = x;\n    __syncthreads();\n    d[t] = s[n - 1 - t];\n}\n";
        let wanted = "__global__ void k(int *d, int n) {\n    __shared__ int s[64];\n    int t = threadIdx.x;\n    const bool active = !(t >= n);\n    int x = active ? (d[t]) : 0;\n    if (active) s[t] = x;\n    __syncthreads();\n    if (active) d[t] = s[n - 1 - t];\n}\n";
        assert_eq!(changed(source, without_return).as_deref(), Some(wanted));
        // The value that leaves is read from memory; a second return; what is declared is no number.
        for other in [
            source.replace("t >= n", "t >= d[0]"),
            source.replace("    s[t]", "    if (x) return;\n    s[t]"),
            source.replace("int x", "float4 x"),
            source.replace("int t", "int active = 0, t"),
        ] {
            assert_eq!(changed(&other, without_return), None, "{other}");
        }
    }
}
