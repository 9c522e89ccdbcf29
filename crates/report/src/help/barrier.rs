//! Where a barrier goes so that it orders two places of a source: at a statement that all threads reach together.
//!
//! The statements of the source ([`Statements`]) tell what the two have in common. Between the parts that hold them is where the barrier
//! goes, unless one is there already: then only a loop around both joins them, and it goes to the end of the loop's body. If only some
//! threads come there ([`Agreements`]), a branch without `else` is closed before the barrier and opened again behind it. What is read and
//! written in one statement is split.
//!
//! Not seen: what macros hide; `goto`; a barrier in a function that is called between the two.

use super::{Frame, Guilty};
use crate::edit::{Change, Edit};
use crate::source::SourceFile;
use std::ops::Range;
use std::sync::Arc;
use toolchain::cuda_text::{Agreement, Agreements, Kind, StatementId, Statements};

/// Words that indicate a block or warp barrier in a statement.
const BARRIERS: [&str; 6] = [
    "__syncthreads",
    "__syncwarp",
    ".sync(",
    "bar.sync",
    "barrier",
    "sync(",
];

/// What is to be put between two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A barrier of the block.
    Block,
    /// One of the block, or of the warp where only a warp comes together, or the code is one of warps: what a launch of one warp shows
    /// does not tell.
    Either,
    /// One of the warp.
    Warp,
}

/// Where a barrier goes.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// `__syncthreads()` or `__syncwarp()`.
    pub barrier: &'static str,
    /// Where, in words: `between line 6 and line 8`.
    pub place: String,
    /// The change.
    pub edit: Edit,
}

/// A barrier that orders two accesses, if one can be placed.
pub(super) fn place(
    earlier: &Guilty,
    later: &Guilty,
    wanted: Wanted,
    defines: &[String],
) -> Option<Placed> {
    if !earlier.in_source || !later.in_source {
        return None;
    }
    let mut pairs = earlier.frames.iter().rev().zip(later.frames.iter().rev());
    let differ = |(a, b): &(&Frame, &Frame)| {
        (&a.file.path, a.line, a.columns.start) != (&b.file.path, b.line, b.columns.start)
    };
    match pairs.find(differ) {
        Some((a, b)) if a.file.path == b.file.path => {
            let text = Text::of(&a.file, defines);
            let (first, second) = (text.at(a)?, text.at(b)?);
            if first == second {
                return text.within(first, wanted, a.line);
            }
            text.between(first, second, (a.line, b.line), wanted)
        }
        Some(_) => None,
        None => earlier.frames.iter().find_map(|frame| {
            let text = Text::of(&frame.file, defines);
            text.within(text.at(frame)?, wanted, frame.line)
        }),
    }
}

/// A source file with its statements.
pub(super) struct Text {
    file: Arc<SourceFile>,
    tree: Arc<Statements>,
}

impl Text {
    pub(super) fn of(file: &Arc<SourceFile>, defines: &[String]) -> Text {
        Text {
            file: file.clone(),
            tree: file.statements(defines),
        }
    }

    pub(super) fn tree(&self) -> &Statements {
        &self.tree
    }

    pub(super) fn at(&self, frame: &Frame) -> Option<StatementId> {
        self.tree
            .at(self.tree.offset(frame.line, frame.columns.start)?)
    }

    pub(super) fn insert(&self, at: usize, text: String) -> Change {
        Change {
            file: self.file.clone(),
            at: at..at,
            text,
        }
    }

    pub(super) fn replace(&self, at: Range<usize>, text: String) -> Change {
        Change {
            file: self.file.clone(),
            at,
            text,
        }
    }

    /// The text of a range as it is written.
    pub(super) fn written(&self, range: &Range<usize>) -> &str {
        self.file.text.get(range.clone()).unwrap_or_default()
    }

    /// The white space that the line of an offset begins with.
    pub(super) fn indentation(&self, offset: usize) -> String {
        let before = &self.file.text[..offset];
        let line = &self.file.text[before.rfind('\n').map_or(0, |at| at + 1)..];
        line.chars()
            .take_while(|c| *c == ' ' || *c == '\t')
            .collect()
    }

    /// The end of a line's rest where it holds only white space and a comment, so that something put there gets a line of its own.
    fn end_of_line(&self, offset: usize) -> usize {
        let code = &self.tree.code[offset..];
        let rest = code.find('\n').unwrap_or(code.len());
        match code[..rest].trim().is_empty() {
            true => {
                let line = &self.file.text[offset..offset + rest];
                offset + line.strip_suffix('\r').unwrap_or(line).len()
            }
            false => offset,
        }
    }

    /// A change that puts a line behind a statement.
    pub(super) fn behind(&self, id: StatementId, line: &str) -> Change {
        let span = &self.tree.get(id).span;
        let at = self.end_of_line(span.end);
        self.insert(at, format!("\n{}{line}", self.indentation(span.start)))
    }

    fn is_barrier(&self, id: StatementId) -> bool {
        let statement = self.tree.get(id);
        let text = self.tree.text(&statement.span);
        statement.kind == Kind::Simple && BARRIERS.iter().any(|b| text.contains(b))
    }

    /// Whether a barrier stands behind (or before) a statement, in the parts of what is around it up to one of them.
    fn barred(&self, from: StatementId, up_to: StatementId, behind: bool) -> bool {
        let mut inner = from;
        for around in self.tree.around(from).skip(1) {
            if inner == up_to {
                return false;
            }
            let statement = self.tree.get(around);
            if statement.kind == Kind::Block {
                let here = statement
                    .parts
                    .iter()
                    .position(|p| *p == inner)
                    .unwrap_or(0);
                let parts = match behind {
                    true => &statement.parts[here + 1..],
                    false => &statement.parts[..here],
                };
                if parts.iter().any(|p| self.is_barrier(*p)) {
                    return true;
                }
            }
            inner = around;
        }
        false
    }

    /// The barrier that fits where so many come together.
    fn barrier(
        &self,
        wanted: Wanted,
        agreement: Agreement,
        function: StatementId,
    ) -> Option<&'static str> {
        let code = self.tree.text(&self.tree.get(function).span);
        let of_warps = code.contains("__syncwarp") || code.contains("_sync(");
        match (wanted, agreement) {
            (_, Agreement::None) => None,
            (Wanted::Block, Agreement::Block) => Some("__syncthreads()"),
            (Wanted::Block, Agreement::Warp) => None,
            (Wanted::Warp, _) | (Wanted::Either, Agreement::Warp) => Some("__syncwarp()"),
            (Wanted::Either, Agreement::Block) if of_warps => Some("__syncwarp()"),
            (Wanted::Either, Agreement::Block) => Some("__syncthreads()"),
        }
    }

    /// Between two statements.
    fn between(
        &self,
        a: StatementId,
        b: StatementId,
        (earlier, later): (u32, u32),
        wanted: Wanted,
    ) -> Option<Placed> {
        let tree = &self.tree;
        let function = tree.function_of(a);
        let outwards: Vec<StatementId> = tree.around(a).collect();
        let common = tree.around(b).find(|id| outwards.contains(id))?;
        let part = |id: StatementId| {
            tree.around(id)
                .find(|x| tree.get(*x).parent == Some(common))
        };
        let (pa, pb) = (part(a)?, part(b)?);
        if tree.get(common).kind != Kind::Block
            || tree.get(tree.get(common).parent?).kind == Kind::Switch
        {
            return None;
        }
        let backwards = tree.get(pb).span.start < tree.get(pa).span.start;
        let (first, last) = if backwards { (b, a) } else { (a, b) };
        let (pf, pl) = if backwards { (pb, pa) } else { (pa, pb) };
        let (from, to) = (earlier.min(later), earlier.max(later));
        let parts = &tree.get(common).parts;
        let index = |id| parts.iter().position(|p| *p == id);
        let (fi, li) = (index(pf)?, index(pl)?);
        let barred = parts[fi + 1..li].iter().any(|p| self.is_barrier(*p))
            || self.barred(first, pf, true)
            || self.barred(last, pl, false);
        let around = tree.loop_of(pf);
        let mut agreements = Agreements::of(tree);
        let mut changes = Vec::new();
        let mut words = Vec::new();
        let mut barrier = None;
        if !barred {
            let legal = agreements.behind(pf);
            match self.barrier(wanted, legal, function) {
                Some(name) => {
                    changes.push(self.behind(pf, &format!("{name};")));
                    barrier = Some(name);
                    let end = tree.line_of(tree.get(pf).span.end.saturating_sub(1));
                    words.push(
                        match end > from && end < to && tree.get(pf).kind != Kind::Simple {
                            true => format!("between line {from} and line {to}, behind line {end}"),
                            false => format!("between line {from} and line {to}"),
                        },
                    );
                }
                None => {
                    let (name, more, line) = self.reopened(common, fi, wanted, &mut agreements)?;
                    changes.extend(more);
                    barrier = Some(name);
                    words.push(format!(
                        "between line {from} and line {to}, outside of the branch of line {line}, which not all threads take: end the branch before it and begin it again behind it"
                    ));
                }
            }
        }
        if let Some(body) = around {
            let ends = tree.get(body);
            let inner = *ends.parts.last()?;
            let back = self.barred(pl, inner, true) || self.barred(pf, inner, false);
            if !back && (barred || backwards || wanted != Wanted::Warp) {
                let (name, more) = self.end_of_turn(body, pl, wanted, &mut agreements)?;
                if barrier.is_some_and(|b| b != name) {
                    return None;
                }
                barrier = Some(name);
                changes.extend(more);
                words.push(match barred {
                    true => format!("after line {to}, before line {from} runs again"),
                    false => format!("after line {to} before the next iteration of the loop"),
                });
            }
        }
        Some(Placed {
            barrier: barrier?,
            place: words.join(", and "),
            edit: Edit::new(changes)?,
        })
    }

    /// A barrier at the end of a loop's body.
    fn end_of_turn(
        &self,
        around: StatementId,
        last: StatementId,
        wanted: Wanted,
        agreements: &mut Agreements<'_>,
    ) -> Option<(&'static str, Vec<Change>)> {
        let tree = &self.tree;
        let body = *tree.get(around).parts.last()?;
        let function = tree.function_of(body);
        if tree.get(body).kind == Kind::Block {
            let part = tree
                .around(last)
                .find(|x| tree.get(*x).parent == Some(body))?;
            let name = self.barrier(wanted, agreements.behind(part), function)?;
            return Some((name, vec![self.behind(part, &format!("{name};"))]));
        }
        let name = self.barrier(wanted, agreements.behind(body), function)?;
        let span = tree.get(body).span.clone();
        let open = tree.get(around).head.end + 1;
        let outer = self.indentation(tree.get(around).span.start);
        let inner = match self.indentation(span.start) {
            same if same == outer => format!("{outer}    "),
            deeper => deeper,
        };
        let end = self.end_of_line(span.end);
        Some((
            name,
            vec![
                self.insert(open, " {".to_owned()),
                self.insert(end, format!("\n{inner}{name};\n{outer}}}")),
            ],
        ))
    }

    /// A barrier in a branch that not all threads take: the branch ends before it and begins again behind it.
    fn reopened(
        &self,
        block: StatementId,
        part: usize,
        wanted: Wanted,
        agreements: &mut Agreements<'_>,
    ) -> Option<(&'static str, Vec<Change>, u32)> {
        let tree = &self.tree;
        let branch = tree.get(block).parent?;
        let parts = &tree.get(block).parts;
        let is_plain = tree.get(branch).kind == Kind::If && tree.get(branch).parts.len() == 1;
        let condition = self.written(&tree.get(branch).head);
        let before: String = parts[..=part]
            .iter()
            .map(|p| tree.text(&tree.get(*p).span))
            .collect::<Vec<_>>()
            .join(" ");
        let after: String = parts[part + 1..]
            .iter()
            .map(|p| tree.text(&tree.get(*p).span))
            .collect::<Vec<_>>()
            .join(" ");
        let used = |text: &str, name: &str| identifiers(text).any(|n| n == name);
        let declared = parts[..=part]
            .iter()
            .filter_map(|p| declared(tree.text(&tree.get(*p).span)));
        if !is_plain
            || !is_pure(condition)
            || declared.into_iter().any(|name| used(&after, name))
            || assigned(&before).iter().any(|name| used(condition, name))
            || leaves(&before)
        {
            return None;
        }
        // All come back together behind the branch.
        let name = self.barrier(wanted, agreements.behind(branch), tree.function_of(block))?;
        let outer = self.indentation(tree.get(branch).span.start);
        let at = self.end_of_line(tree.get(parts[part]).span.end);
        let text = format!("\n{outer}}}\n{outer}{name};\n{outer}if ({condition}) {{");
        let next = parts.get(part + 1).map(|p| tree.get(*p).span.start);
        let alone = next.is_none_or(|next| self.file.text[at..next].contains('\n'));
        let text = if alone { text } else { text + "\n" };
        let line = tree.line_of(tree.get(branch).span.start);
        Some((name, vec![self.insert(at, text)], line))
    }

    /// Two executions of one statement: by other threads, or in other turns of a loop.
    fn within(&self, id: StatementId, wanted: Wanted, line: u32) -> Option<Placed> {
        let tree = &self.tree;
        let function = tree.function_of(id);
        let mut agreements = Agreements::of(tree);
        let around = tree.loop_of(id);
        let branch = self.branch_of(id);
        let guarded = branch.is_some_and(|b| is_bound(tree.text(&tree.get(b).head)));
        if let Some(around) = around
            && (guarded || tree.get(id).kind != Kind::Simple)
        {
            let body = *tree.get(around).parts.last()?;
            let last = tree
                .around(id)
                .find(|x| *x == body || tree.get(*x).parent == Some(body))?;
            if self.barred(last, body, true) || self.barred(last, body, false) {
                return None;
            }
            let (name, changes) = self.end_of_turn(around, last, wanted, &mut agreements)?;
            let end = tree.line_of(tree.get(last).span.end.saturating_sub(1));
            return Some(Placed {
                barrier: name,
                place: format!(
                    "after line {end}, at the end of each turn of the loop of line {}",
                    tree.line_of(tree.get(around).span.start)
                ),
                edit: Edit::new(changes)?,
            });
        }
        // Read into a variable, wait, write.
        let statement = tree.get(id);
        if statement.kind != Kind::Simple {
            return None;
        }
        let whole = branch.unwrap_or(id);
        let span = tree.get(whole).span.clone();
        let name = self.barrier(wanted, agreements.behind(whole), function)?;
        let text = self.written(&statement.span).trim_end_matches(';');
        let (target, operator, value) = update(text)?;
        let indentation = self.indentation(span.start);
        let deeper = format!("{indentation}    ");
        let (value, store) = match branch {
            None => (value.to_owned(), format!("{target} {operator} value;")),
            Some(branch) => {
                let condition = self.written(&tree.get(branch).head);
                (
                    format!("({condition}) ? ({value}) : 0"),
                    format!("if ({condition}) {target} {operator} value;"),
                )
            }
        };
        if identifiers(self.tree.text(&tree.get(function).span)).any(|n| n == "value")
            || declared(text).is_some()
        {
            return None;
        }
        let new = format!(
            "{{\n{deeper}const auto value = {value};\n{deeper}{name};\n{deeper}{store}\n{deeper}{name};\n{indentation}}}"
        );
        Some(Placed {
            barrier: name,
            place: format!(
                "after the read and after the write of line {line}, which is split: read into a variable first"
            ),
            edit: Edit::new(vec![self.replace(span, new)])?,
        })
    }

    /// The `if` without `else` of which a statement is all that it does.
    fn branch_of(&self, id: StatementId) -> Option<StatementId> {
        let tree = &self.tree;
        let parent = tree.get(id).parent?;
        let branch = match tree.get(parent).kind {
            Kind::If => parent,
            Kind::Block if tree.get(parent).parts.len() == 1 => tree.get(parent).parent?,
            _ => return None,
        };
        let statement = tree.get(branch);
        (statement.kind == Kind::If && statement.parts.len() == 1).then_some(branch)
    }

    /// A barrier that only some threads reach, moved to behind or around the branch: the changes, and the line of the branch.
    pub(super) fn moved_out(&self, id: StatementId) -> Option<(Edit, u32)> {
        let tree = &self.tree;
        if !self.is_barrier(id) {
            return None;
        }
        let block = tree.get(id).parent?;
        let branch = match tree.get(block).kind {
            Kind::Block => tree.get(block).parent?,
            _ => return None,
        };
        let statement = tree.get(branch);
        let mut agreements = Agreements::of(tree);
        if statement.kind != Kind::If || agreements.behind(branch) != Agreement::Block {
            return None;
        }
        let line = tree.line_of(statement.span.start);
        let parts = &tree.get(block).parts;
        let index = parts.iter().position(|p| *p == id)?;
        let text = self.written(&tree.get(id).span).to_owned();
        let removed = self.without_line(&tree.get(id).span);
        if index + 1 == parts.len() {
            return Some((Edit::new(vec![removed, self.behind(branch, &text)])?, line));
        }
        if index == 0 || statement.parts.len() != 1 {
            return None;
        }
        let (name, changes, line) =
            self.reopened(block, index - 1, Wanted::Block, &mut agreements)?;
        if format!("{name};") != text {
            return None;
        }
        Some((
            Edit::new(changes.into_iter().chain([removed]).collect())?,
            line,
        ))
    }

    /// A change that removes a statement, with its line where nothing else is there.
    pub(super) fn without_line(&self, span: &Range<usize>) -> Change {
        let text = &self.file.text;
        let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let end = self.end_of_line(span.end);
        let alone = text[start..span.start].trim().is_empty() && text[end..].starts_with('\n');
        match alone && end >= span.end {
            true => self.replace(start..end + 1, String::new()),
            false => self.replace(span.clone(), String::new()),
        }
    }
}

/// The identifiers of a text.
pub(super) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// The name that a statement declares, if it is a declaration: two words in a row.
fn declared(statement: &str) -> Option<&str> {
    let left = statement.split(['=', ';', '[', '(']).next()?.trim();
    let name = left
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    let ty = left[..left.len() - name.len()].trim();
    let is_type =
        ty.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '*' || c == '>' || c == '&');
    (!name.is_empty() && is_type && !["return", "delete", "goto"].contains(&ty)).then_some(name)
}

/// The names that a text changes, or may.
fn assigned(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    for name in identifiers(text) {
        let Some(next) = text[at..].find(name) else {
            break;
        };
        at += next + name.len();
        let rest = text[at..].trim_start();
        let before = text[..at - name.len()].trim_end();
        let sets = rest.starts_with('=') && !rest.starts_with("==");
        let operators = [
            "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--",
        ];
        if sets
            || operators.iter().any(|o| rest.starts_with(o))
            || before.ends_with("++")
            || before.ends_with("--")
            || before.ends_with('&')
        {
            found.push(name);
        }
    }
    found
}

/// Whether a text leaves its function or loop.
fn leaves(text: &str) -> bool {
    identifiers(text).any(|word| ["return", "break", "continue", "goto"].contains(&word))
}

/// Whether an expression may be computed twice: it calls nothing, reads no memory and changes nothing.
fn is_pure(text: &str) -> bool {
    let calls = text.char_indices().any(|(at, c)| {
        c == '('
            && text[..at]
                .trim_end()
                .ends_with(|c: char| c.is_alphanumeric() || c == '_')
    });
    !calls && !text.contains(['[', '"']) && assigned(text).is_empty() && !text.contains("->")
}

/// Whether a condition keeps the upper part of the indices out, as trees do: `t < d`, `t % (2 * d) == 0`.
fn is_bound(text: &str) -> bool {
    let below = text.contains('<') && !text.contains("<<") && !text.contains('>');
    below || text.contains('%') && text.contains("==")
}

/// Target, operator and value of `x[i] += y`.
pub(super) fn update(text: &str) -> Option<(&str, &str, &str)> {
    let mut depth = 0;
    let bytes = text.as_bytes();
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '=' if depth == 0 && at > 0 => {
                if bytes.get(at + 1) == Some(&b'=')
                    || b"=!<>".contains(&bytes[at - 1]) && !text[..at].ends_with("<<")
                {
                    return None;
                }
                let operator = match bytes[at - 1] {
                    b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' => at - 1,
                    _ => at,
                };
                let value = text[at + 1..].trim();
                return Some((text[..operator].trim(), &text[operator..=at], value));
            }
            _ => {}
        }
    }
    None
}
