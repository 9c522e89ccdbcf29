//! The changes that helps advise besides barriers: atomic operations, fences, scopes, and barriers that are moved.

use super::Guilty;
use super::barrier::{moved_out, without_return};
use super::expression::{identifiers, is_pure, update};
use super::text::Text;
use crate::edit::{Change, Edit};
use detect::finding::Action;
use std::collections::BTreeSet;
use toolchain::cuda_text::{Agreement, Agreements, Kind, StatementId};

/// The statement that an access is in, and its file.
fn statement(one: &Guilty, defines: &[String]) -> Option<(Text, StatementId)> {
    let frame = one.frames.first().filter(|_| one.in_source)?;
    let text = Text::of(&frame.file, defines);
    let mut id = text.at(frame)?;
    let tree = text.tree();
    // What a condition decides, where that is one statement: the compiler gives it the condition's place.
    while let [only] = tree.get(id).parts[..]
        && matches!(tree.get(id).kind, Kind::If | Kind::Block)
    {
        id = only;
    }
    (tree.get(id).kind == Kind::Simple).then_some((text, id))
}

/// `if (x == c) { x = v; … }`, made `if (atomicCAS(&x, c, v) == c) { … }`, of a word at the store's access.
pub(crate) fn compare_and_swap(store: &Guilty, defines: &[String]) -> Option<Edit> {
    let frame = store.frames.first().filter(|_| store.in_source)?;
    let text = Text::of(&frame.file, defines);
    let tree = text.tree();
    let id = text.at(frame)?;
    let mut around = tree.around(id).skip(1);
    let branch = around.find(|a| tree.get(*a).kind != Kind::Block)?;
    let (statement, head) = (tree.get(branch), &tree.get(branch).head);
    let (target, operator, value) =
        update(text.written(&tree.get(id).span).strip_suffix(';')?.trim())?;
    let then = statement.parts.first()?;
    let first = *then == id || tree.get(*then).parts.first() == Some(&id);
    let condition = text.written(head).trim();
    let expected = match condition.strip_prefix('!') {
        Some(negated) => (negated.trim() == target).then_some("0")?,
        None => {
            let (left, right) = condition.split_once("==")?;
            (left.trim() == target && !right.contains(['&', '|', '='])).then_some(right.trim())?
        }
    };
    let name = identifiers(target).next()?;
    if statement.kind != Kind::If
        || operator != "="
        || !first
        || !is_pure(value)
        || is_word_type(&tree.code, name) != Some(true)
    {
        return None;
    }
    let new = format!(
        "atomicCAS({}, {expected}, {value}) == {expected}",
        address(target)
    );
    // One change, because the store moves into the condition.
    let span = &tree.get(id).span;
    let between = text.written(&(head.end..span.start)).trim_end();
    let empty = if *then == id { ";" } else { "" };
    Edit::new(vec![
        text.replace(head.start..span.end, format!("{new}{between}{empty}")),
    ])
}

/// Whether what a line reads is more than the old value of an update: a condition goes by it, or it is stored somewhere else, as in a swap.
pub(crate) fn moves_on(one: &Guilty, [line, last]: [u32; 2], defines: &[String]) -> bool {
    let Some(frame) = one.frames.first().filter(|_| one.in_source) else {
        return false;
    };
    let text = Text::of(&frame.file, defines);
    let tree = text.tree();
    let begins = |line: u32| {
        let code = tree.code.lines().nth(line.checked_sub(1)? as usize)?;
        let column = (code.len() - code.trim_start().len()) as u32;
        tree.offset(line, column)
    };
    let Some(id) = begins(line).and_then(|at| tree.at(at)) else {
        return false;
    };
    let written = tree.text(&tree.get(id).span).trim_end_matches(';');
    let moved = update(written).is_some_and(|(target, operator, value)| {
        operator == "=" && target.contains('[') && value.contains('[') && target != value
    });
    match tree.get(id).kind {
        Kind::Simple => moved,
        // A loop or a branch that goes by it, in other threads than the one that writes: the write of a maximum is within.
        Kind::If => {
            let span = &tree.get(id).span;
            !begins(last).is_some_and(|at| span.contains(&at))
        }
        kind => kind.is_loop(),
    }
}

/// An update of one statement, made atomic.
pub(crate) fn atomic_update(one: &Guilty, defines: &[String]) -> Option<Edit> {
    let (text, id) = statement(one, defines)?;
    let span = text.tree().get(id).span.clone();
    let written = text.written(&span).strip_suffix(';')?.trim().to_owned();
    let new = atomic(&written)?;
    Edit::new(vec![text.replace(span, format!("{new};"))])
}

/// The address of what an expression names: `&x` for `x`, `p` for `*p`.
fn address(target: &str) -> String {
    let pointer = target.strip_prefix('*').map(str::trim);
    let plain = pointer.filter(|p| p.chars().all(|c| c.is_alphanumeric() || c == '_'));
    plain.map_or_else(|| format!("&{target}"), str::to_owned)
}

/// `atomicAdd(&x, y)` for `x += y`, `x++`, `x = x + y` and their like.
fn atomic(statement: &str) -> Option<String> {
    let plain = |target: &str| {
        let target = target.trim();
        let fits =
            !target.is_empty() && !target.contains([',', '?', '=']) && !target.contains("++");
        fits.then(|| target.to_owned())
    };
    for (step, by) in [("++", "1"), ("--", "-1")] {
        let target = statement
            .strip_suffix(step)
            .or_else(|| statement.strip_prefix(step));
        if let Some(target) = target {
            return Some(format!("atomicAdd({}, {by})", address(&plain(target)?)));
        }
    }
    let (target, operator, value) = update(statement)?;
    // A declaration has a type in front.
    let words = target.split('[').next().unwrap_or_default().trim();
    if words.contains(char::is_whitespace) {
        return None;
    }
    let target = plain(target)?;
    let call = |name: &str, value: &str| Some(format!("{name}({}, {value})", address(&target)));
    match operator {
        "+=" => return call("atomicAdd", value),
        "-=" => return call("atomicAdd", &format!("-({value})")),
        "|=" => return call("atomicOr", value),
        "&=" => return call("atomicAnd", value),
        "^=" => return call("atomicXor", value),
        "=" => {}
        _ => return None,
    }
    if let Some(rest) = value.strip_prefix(&target)
        && let Some(added) = rest.trim_start().strip_prefix('+')
    {
        return call("atomicAdd", added.trim());
    }
    for (name, function) in [("max", "atomicMax"), ("min", "atomicMin")] {
        if let Some(inside) = value
            .strip_prefix(name)
            .and_then(|v| v.trim_start().strip_prefix('('))
            && let Some(inside) = inside.strip_suffix(')')
            && let Some(other) = inside.trim_start().strip_prefix(&target)
            && let Some(other) = other.trim_start().strip_prefix(',')
        {
            return call(function, other.trim());
        }
    }
    None
}

/// A plain store, made an atomic exchange.
pub(crate) fn atomic_store(one: &Guilty, defines: &[String]) -> Option<Edit> {
    let (text, id) = statement(one, defines)?;
    let span = text.tree().get(id).span.clone();
    let written = text.written(&span).strip_suffix(';')?.trim();
    let (target, operator, value) = update(written)?;
    let words = target.split('[').next().unwrap_or_default().trim();
    if operator != "=" || words.contains(char::is_whitespace) || value.contains(" = ") {
        return None;
    }
    let new = format!("atomicExch({}, {value});", address(target));
    Edit::new(vec![text.replace(span, new)])
}

/// A plain store of one constant by many, made an atomic exchange, where the element has a type that `atomicExch` takes.
pub(crate) fn atomic_exchange(one: &Guilty, bytes: u32, defines: &[String]) -> Option<Edit> {
    let (text, id) = statement(one, defines)?;
    let written = text.written(&text.tree().get(id).span.clone()).to_owned();
    let (target, _, value) = update(written.strip_suffix(';')?.trim())?;
    let name = identifiers(target).next()?;
    // What is computed may differ with other inputs, and then it counts whose value stays.
    let constant = ["true", "false"].contains(&value) || value.parse::<i64>().is_ok();
    let fits = constant && bytes == 4 && is_word_type(&text.tree().code, name)?;
    fits.then(|| atomic_store(one, defines))?
}

/// Whether a file declares a name as a variable, array or pointer of a plain type of 32 bits; `None` where it does not declare it.
fn is_word_type(code: &str, name: &str) -> Option<bool> {
    const WORDS: [&str; 7] = [
        "int",
        "unsigned",
        "float",
        "uint32_t",
        "int32_t",
        "uint",
        "unsigned int",
    ];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let places = code.match_indices(name).filter(|(at, _)| {
        !code[..*at].ends_with(is_word) && !code[at + name.len()..].starts_with(is_word)
    });
    places.into_iter().find_map(|(at, _)| {
        let start = code[..at]
            .rfind([';', '{', '}', '(', ','])
            .map_or(0, |at| at + 1);
        let before = code[start..at]
            .replace("__restrict__", " ")
            .replace(['*', '&'], " ");
        let words: Vec<&str> = before
            .split_whitespace()
            .filter(|w| !["__shared__", "__device__", "static", "extern"].contains(w))
            .collect();
        let typed = !words.is_empty() && words.iter().all(|w| w.chars().all(is_word));
        let typed = typed && !["return", "else", "case"].contains(&words[0]);
        typed.then(|| WORDS.contains(&words.join(" ").as_str()))
    })
}

/// Code behind the statement of an access, executed by the same threads.
pub(crate) fn behind(one: &Guilty, code: &str, defines: &[String]) -> Option<Edit> {
    let (text, id) = statement(one, defines)?;
    let statement = text.tree().get(id);
    // A function within a class is no statement.
    if text.tree().text(&statement.span).contains('{') {
        return None;
    }
    let (start, end) = (statement.span.start, statement.span.end);
    let parent = text.tree().get(statement.parent?).kind;
    Edit::new(match parent {
        Kind::Block => vec![text.behind(id, code)],
        // The whole body of a condition or a loop.
        _ => vec![
            text.insert(start, "{ ".to_owned()),
            text.insert(end, format!(" {code} }}")),
        ],
    })
}

/// What waits for copies, before each barrier that an edit puts in.
pub(crate) fn waits_before_barrier(mut edit: Edit, wait: &str) -> Option<Edit> {
    const BARRIER: &str = "__syncthreads();";
    let mut any = false;
    for change in &mut edit.changes {
        any |= change.text.contains(BARRIER);
        change.text = change.text.replace(BARRIER, &format!("{wait} {BARRIER}"));
    }
    any.then_some(edit)
}

/// Scopes of the block, wherever a file names them, made scopes of the device: for scopes that stand in macros and constants.
pub(crate) fn wider_file(one: &Guilty) -> Option<Edit> {
    const NARROW: [(&str, &str); 3] = [
        // A macro that makes the names.
        ("##_block", ""),
        ("__threadfence_block", "__threadfence"),
        ("thread_scope_block", "thread_scope_device"),
    ];
    let frame = one.frames.first().filter(|_| one.in_source)?;
    let text = Text::of(&frame.file, &[]);
    let whole = &frame.file.text;
    let is_code = |at: usize| {
        let line = whole[..at].rfind('\n').map_or(0, |at| at + 1);
        !whole[line..at].contains("//")
    };
    let mut changes = Vec::new();
    for (narrow, wide) in NARROW {
        let all = whole.match_indices(narrow).filter(|(at, _)| is_code(*at));
        changes.extend(all.map(|(at, _)| text.replace(at..at + narrow.len(), wide.to_owned())));
    }
    Edit::new(changes)
}

/// A read through `__ldg`, made a plain one.
pub(crate) fn without_ldg(one: &Guilty, defines: &[String]) -> Option<Edit> {
    let (text, id) = statement(one, defines)?;
    let span = text.tree().get(id).span.clone();
    let code = text.tree().text(&span);
    let mut all = code.match_indices("__ldg(");
    let (at, name) = all.next().filter(|_| all.next().is_none())?;
    let at = span.start + at;
    Edit::new(vec![text.replace(at..at + name.len(), "*(".to_owned())])
}

/// A fence behind the statement of a line, in the function of an access and before it.
pub(crate) fn fence_behind(
    one: &Guilty,
    line: u32,
    fence: &str,
    defines: &[String],
) -> Option<Edit> {
    let frame = one.frames.iter().rev().find(|_| one.in_source)?;
    let text = Text::of(&frame.file, defines);
    let tree = text.tree();
    let code = tree.code.lines().nth(line.checked_sub(1)? as usize)?;
    let column = (code.len() - code.trim_start().len()) as u32;
    let (poll, read) = (tree.at(tree.offset(line, column)?)?, text.at(frame)?);
    if tree.function_of(poll) != tree.function_of(read) {
        // A function that waits: behind its loop.
        let whole = tree.loop_of(poll).unwrap_or(poll);
        let parent = tree.get(tree.get(whole).parent?).kind;
        let fence = format!("{fence};");
        return (parent == Kind::Block).then(|| Edit::new(vec![text.behind(whole, &fence)]))?;
    }
    let outwards: Vec<StatementId> = tree.around(poll).collect();
    let common = tree.around(read).find(|id| outwards.contains(id))?;
    let statement = tree.get(common);
    let fence = format!("{fence};");
    match statement.kind {
        Kind::Block => {
            let part = tree
                .around(poll)
                .find(|id| tree.get(*id).parent == Some(common))?;
            Edit::new(vec![text.behind(part, &fence)])
        }
        // `if (flag) { … }`: into the branch.
        Kind::If if common == poll => {
            let then = *statement.parts.first()?;
            let first = *tree
                .get(then)
                .parts
                .first()
                .filter(|_| tree.get(then).kind == Kind::Block)?;
            let start = tree.get(first).span.start;
            let indentation = text.indentation(start);
            Edit::new(vec![text.insert(start, format!("{fence}\n{indentation}"))])
        }
        _ => None,
    }
}

/// A word replaced at the statements of some accesses; in the whole file where it stands at none of them, as the scope of a type does.
pub(crate) fn renamed(all: &[&Guilty], from: &str, to: &str) -> Option<Edit> {
    let mut changes: Vec<Change> = Vec::new();
    let mut somewhere: BTreeSet<usize> = BTreeSet::new();
    let file = all.first()?.frames.first()?.file.clone();
    for one in all
        .iter()
        .filter(|g| g.in_source && g.frames[0].file.path == file.path)
    {
        let frame = &one.frames[0];
        let text = Text::of(&file, &[]);
        let range = file.range(frame.line, &(frame.columns.start..u32::MAX));
        let (start, code) = (range.start, text.written(&range).to_owned());
        somewhere.extend(code.match_indices(from).map(|(at, _)| start + at));
    }
    if somewhere.is_empty() {
        let last = from.rsplit("::").next()?;
        let whole = &file.text;
        somewhere.extend(whole.match_indices(last).map(|(at, _)| at));
        let to = to.rsplit("::").next()?;
        let text = Text::of(&file, &[]);
        changes.extend(
            somewhere
                .iter()
                .map(|at| text.replace(*at..*at + last.len(), to.to_owned())),
        );
    } else {
        let text = Text::of(&file, &[]);
        changes.extend(
            somewhere
                .iter()
                .map(|at| text.replace(*at..*at + from.len(), to.to_owned())),
        );
    }
    Edit::new(changes)
}

/// Atomic operations whose function says the scope of the block in its name, at the lines of some accesses.
pub(crate) fn wider_lines(all: &[&Guilty], to: &str) -> Option<Edit> {
    let narrow = format!("{to}_block");
    let written = |one: &&&Guilty| {
        let frame = &one.frames[0];
        one.in_source
            && frame
                .file
                .line(frame.line)
                .unwrap_or_default()
                .contains(&narrow)
    };
    all.iter()
        .all(|one| written(&one))
        .then(|| renamed(all, &narrow, to))?
}

/// Fences of the block at some lines, made fences of the device.
pub(crate) fn wider_fences(
    one: &Guilty,
    lines: &BTreeSet<u32>,
    defines: &[String],
) -> Option<Edit> {
    let frame = one.frames.first().filter(|_| one.in_source)?;
    let text = Text::of(&frame.file, defines);
    let mut changes = Vec::new();
    const NARROW: &str = "__threadfence_block";
    for line in lines {
        let start = text.tree().offset(*line, 0)?;
        let code = text.tree().code[start..].lines().next()?;
        let found = code.match_indices(NARROW).map(|(at, _)| start + at);
        changes.extend(
            found.map(|at| text.replace(at..at + NARROW.len(), "__threadfence".to_owned())),
        );
    }
    Edit::new(changes)
}

/// A barrier that threads leave before, and that all of them come to: it is moved, or they stay.
pub(crate) fn joined_by_all(here: &Guilty, defines: &[String]) -> Option<Edit> {
    let (text, id) = statement(here, defines)?;
    moved_out(&text, id).or_else(|| without_return(&text, id))
}

/// A barrier that some threads do not reach, moved to where all do; two of both ways of a branch, made one behind it.
pub(crate) fn moved_barrier(
    here: &Guilty,
    there: &Guilty,
    other: Action,
    defines: &[String],
) -> Option<Edit> {
    let (text, id) = statement(here, defines)?;
    if other != Action::Wait {
        return moved_out(&text, id);
    }
    let (theirs, second) = statement(there, defines)?;
    let mut agreements = Agreements::of(text.tree());
    let Some(edit) = moved_out(&text, id) else {
        // The other one is the one that some miss.
        let all_come = agreements.behind(id) == Agreement::Block;
        return (all_come && theirs.file.path == text.file.path)
            .then(|| moved_out(&theirs, second))?;
    };
    if theirs.file.path == text.file.path && agreements.behind(second) == Agreement::Block {
        return Some(edit);
    }
    let same = theirs.tree().around(second).any(|around| {
        text.tree()
            .around(id)
            .skip(1)
            .take(2)
            .any(|a| a == around && text.tree().get(a).kind == Kind::If)
    });
    let removed = text.without_line(&theirs.tree().get(second).span);
    let changes = edit.changes.into_iter().chain([removed]).collect();
    (same && moved_out(&theirs, second).is_some()).then(|| Edit::new(changes))?
}

/// The line between two accesses, or in their function, that takes a mask from `__activemask()` and passes it to a barrier.
pub(crate) fn active_mask(a: &Guilty, b: &Guilty, defines: &[String]) -> Option<u32> {
    let frame = a.frames.first().filter(|_| a.in_source && b.in_source)?;
    let text = Text::of(&frame.file, defines);
    let tree = text.tree();
    let function = tree.function_of(text.at(frame)?);
    let all = tree.below(function);
    let statements = || {
        all.iter()
            .map(|id| tree.get(*id))
            .filter(|s| s.kind == Kind::Simple)
    };
    let source = statements().find(|s| tree.text(&s.span).contains("__activemask"))?;
    let (target, _, _) = update(tree.text(&source.span))?;
    let name = identifiers(target).last()?;
    let passed = statements().any(|s| {
        let code = tree.text(&s.span);
        code.contains("__syncwarp") && identifiers(code).any(|n| n == name)
    });
    passed.then(|| tree.line_of(source.span.start))
}

#[cfg(test)]
mod tests {
    use super::{atomic, is_word_type};
    use rstest::rstest;

    #[test]
    fn types_of_names_are_read() {
        let code = "__global__ void k(int *a, const float * __restrict__ b, bool *c, unsigned int d[4], volatile int *e, double *f)\n\
                    { __shared__ unsigned s[32]; a[0] = 1; long long g; return h; }";
        for (name, is) in [
            ("a", Some(true)),
            ("d", Some(true)),
            ("s", Some(true)),
            ("b", Some(false)),
            ("c", Some(false)),
            ("e", Some(false)),
            ("f", Some(false)),
            ("g", Some(false)),
            ("h", None),
            ("x", None),
        ] {
            assert_eq!(is_word_type(code, name), is, "{name}");
        }
    }

    #[rstest]
    #[case("h[b[i]]++", Some("atomicAdd(&h[b[i]], 1)"))]
    #[case("--n", Some("atomicAdd(&n, -1)"))]
    #[case("a[0] += x * y", Some("atomicAdd(&a[0], x * y)"))]
    #[case("a[0] -= x", Some("atomicAdd(&a[0], -(x))"))]
    #[case("a[0] = a[0] + x", Some("atomicAdd(&a[0], x)"))]
    #[case("a[0] = max(a[0], x[i])", Some("atomicMax(&a[0], x[i])"))]
    #[case("f |= 1 << k", Some("atomicOr(&f, 1 << k)"))]
    #[case("*sum += x", Some("atomicAdd(sum, x)"))]
    #[case("*p++ += x", None)]
    #[case("a[0] *= x", None)]
    #[case("a[0] = x", None)]
    #[case("int a = a + 1", None)]
    fn updates_become_atomic(#[case] statement: &str, #[case] wanted: Option<&str>) {
        assert_eq!(atomic(statement).as_deref(), wanted);
    }
}
