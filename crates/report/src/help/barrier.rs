//! Where a barrier goes so that it orders two places of a source: at a statement that all threads reach together.
//!
//! The statements of the source ([`Statements`]) tell what the two have in common. Between the parts that hold them is where the barrier
//! goes, unless one is there already: then only a loop around both joins them, and it goes to the end of the loop's body. If only some
//! threads come there ([`Agreements`]), a branch without `else` is closed before the barrier and opened again behind it. What is read and
//! written in one statement is split.
//!
//! Not seen: what macros hide; `goto`; a barrier in a function that is called between the two.

use super::expression::{assigned, declared, identifiers, is_bound, is_pure, leaves, update};
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
    /// One of the block; of the warp where only a warp comes together. One warp's lanes were seen, and others run the code, too.
    BlockOrWarp,
    /// As the code has them: only one warp runs it, so both are right.
    Either,
    /// One of the warp.
    Warp,
}

/// Why no barrier is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unplaced {
    /// The source is not there, is not CUDA C++, or is not read that far: where a barrier may stand is for the reader to see.
    Unread,
    /// Not all of its threads come there. The line of the condition that keeps some away, where it is around the place.
    Apart(Option<u32>),
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
) -> Result<Placed, Unplaced> {
    if !earlier.in_source || !later.in_source {
        return Err(Unplaced::Unread);
    }
    let mut pairs = earlier.frames.iter().rev().zip(later.frames.iter().rev());
    let differ = |(a, b): &(&Frame, &Frame)| {
        (&a.file.path, a.line, a.columns.start) != (&b.file.path, b.line, b.columns.start)
    };
    match pairs.find(differ) {
        Some((a, b)) if a.file.path == b.file.path => {
            let text = Text::of(&a.file, defines);
            let at = |frame| text.at(frame).ok_or(Unplaced::Unread);
            let (first, second) = (at(a)?, at(b)?);
            if first == second {
                return text.within(first, wanted, a.line);
            }
            text.between(first, second, (a.line, b.line), wanted)
        }
        Some(_) => Err(Unplaced::Unread),
        None => {
            let mut why = Unplaced::Unread;
            for frame in &earlier.frames {
                let text = Text::of(&frame.file, defines);
                let Some(id) = text.at(frame) else { continue };
                match text.within(id, wanted, frame.line) {
                    Ok(placed) => return Ok(placed),
                    Err(unplaced) => why = unplaced,
                }
            }
            Err(why)
        }
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

    /// The barrier that fits behind a statement, by who comes there together.
    fn barrier(
        &self,
        behind: StatementId,
        wanted: Wanted,
        agreements: &mut Agreements<'_>,
    ) -> Result<&'static str, Unplaced> {
        let function = self.tree.get(self.tree.function_of(behind));
        let code = self.tree.text(&function.span);
        let of_warps = code.contains("__syncwarp") || code.contains("_sync(");
        match (wanted, agreements.behind(behind)) {
            (_, Agreement::None) | (Wanted::Block, Agreement::Warp) => {
                Err(Unplaced::Apart(self.apart(behind, agreements)))
            }
            (Wanted::Warp, _) | (_, Agreement::Warp) => Ok("__syncwarp()"),
            (Wanted::Either, Agreement::Block) if of_warps => Ok("__syncwarp()"),
            (_, Agreement::Block) => Ok("__syncthreads()"),
        }
    }

    /// The line of the outermost condition around a statement that threads of a block decide differently.
    fn apart(&self, id: StatementId, agreements: &mut Agreements<'_>) -> Option<u32> {
        let tree = &self.tree;
        let conditions = tree.around(id).skip(1).filter(|around| {
            let kind = tree.get(*around).kind;
            kind.is_loop() || matches!(kind, Kind::If | Kind::Switch)
        });
        let differ = |id: &StatementId| agreements.condition(*id) != Agreement::Block;
        let outermost = conditions.filter(differ).last()?;
        Some(tree.line_of(tree.get(outermost).span.start))
    }

    /// Between two statements.
    fn between(
        &self,
        a: StatementId,
        b: StatementId,
        (earlier, later): (u32, u32),
        wanted: Wanted,
    ) -> Result<Placed, Unplaced> {
        let tree = &self.tree;
        let outwards: Vec<StatementId> = tree.around(a).collect();
        let common = tree.around(b).find(|id| outwards.contains(id));
        let common = common.ok_or(Unplaced::Unread)?;
        let part = |id: StatementId| {
            tree.around(id)
                .find(|x| tree.get(*x).parent == Some(common))
                .ok_or(Unplaced::Unread)
        };
        let mut agreements = Agreements::of(tree);
        let in_switch = |id: StatementId| {
            let parent = tree.get(id).parent;
            parent.is_some_and(|parent| tree.get(parent).kind == Kind::Switch)
        };
        // Both ways of a branch: who takes one does not take the other.
        if tree.get(common).kind == Kind::If || in_switch(common) {
            let line = tree.line_of(tree.get(common).span.start);
            return Err(match agreements.condition(common) {
                Agreement::Block => Unplaced::Unread,
                _ => Unplaced::Apart(Some(line)),
            });
        }
        if tree.get(common).kind != Kind::Block {
            return Err(Unplaced::Unread);
        }
        let (pa, pb) = (part(a)?, part(b)?);
        let backwards = tree.get(pb).span.start < tree.get(pa).span.start;
        let (first, last) = if backwards { (b, a) } else { (a, b) };
        let (pf, pl) = if backwards { (pb, pa) } else { (pa, pb) };
        let (from, to) = (earlier.min(later), earlier.max(later));
        let parts = &tree.get(common).parts;
        let index = |id| parts.iter().position(|p| *p == id).ok_or(Unplaced::Unread);
        let (fi, li) = (index(pf)?, index(pl)?);
        let barred = parts[fi + 1..li].iter().any(|p| self.is_barrier(*p))
            || self.barred(first, pf, true)
            || self.barred(last, pl, false);
        let around = tree.loop_of(pf);
        let mut changes = Vec::new();
        let mut words = Vec::new();
        let mut barrier = None;
        if !barred {
            match self.barrier(pf, wanted, &mut agreements) {
                Ok(name) => {
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
                Err(unplaced) => {
                    let reopened = self.reopened(common, fi, wanted, &mut agreements);
                    let (name, more, line) = reopened.ok_or(unplaced)?;
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
            let inner = *ends.parts.last().ok_or(Unplaced::Unread)?;
            let back = self.barred(pl, inner, true) || self.barred(pf, inner, false);
            if !back {
                let (name, more) = self.end_of_turn(body, pl, wanted, &mut agreements)?;
                if barrier.is_some_and(|b| b != name) {
                    return Err(Unplaced::Apart(self.apart(pf, &mut agreements)));
                }
                barrier = Some(name);
                changes.extend(more);
                words.push(match barred {
                    true => format!("after line {to}, before line {from} runs again"),
                    false => format!("after line {to} before the next iteration of the loop"),
                });
            }
        }
        Ok(Placed {
            barrier: barrier.ok_or(Unplaced::Unread)?,
            place: words.join(", and "),
            edit: Edit::new(changes).ok_or(Unplaced::Unread)?,
        })
    }

    /// A barrier at the end of a loop's body.
    fn end_of_turn(
        &self,
        around: StatementId,
        last: StatementId,
        wanted: Wanted,
        agreements: &mut Agreements<'_>,
    ) -> Result<(&'static str, Vec<Change>), Unplaced> {
        let tree = &self.tree;
        let body = *tree.get(around).parts.last().ok_or(Unplaced::Unread)?;
        if tree.get(body).kind == Kind::Block {
            let part = tree
                .around(last)
                .find(|x| tree.get(*x).parent == Some(body))
                .ok_or(Unplaced::Unread)?;
            let name = self.barrier(part, wanted, agreements)?;
            return Ok((name, vec![self.behind(part, &format!("{name};"))]));
        }
        let name = self.barrier(body, wanted, agreements)?;
        let span = tree.get(body).span.clone();
        let open = tree.get(around).head.end + 1;
        let outer = self.indentation(tree.get(around).span.start);
        let inner = match self.indentation(span.start) {
            same if same == outer => format!("{outer}    "),
            deeper => deeper,
        };
        let end = self.end_of_line(span.end);
        Ok((
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
        let name = self.barrier(branch, wanted, agreements).ok()?;
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
    fn within(&self, id: StatementId, wanted: Wanted, line: u32) -> Result<Placed, Unplaced> {
        let tree = &self.tree;
        let function = tree.function_of(id);
        let mut agreements = Agreements::of(tree);
        let around = tree.loop_of(id);
        let branch = self.branch_of(id);
        let guarded = branch.is_some_and(|b| is_bound(tree.text(&tree.get(b).head)));
        if let Some(around) = around
            && (guarded || tree.get(id).kind != Kind::Simple)
        {
            let body = *tree.get(around).parts.last().ok_or(Unplaced::Unread)?;
            let last = tree
                .around(id)
                .find(|x| *x == body || tree.get(*x).parent == Some(body))
                .ok_or(Unplaced::Unread)?;
            if self.barred(last, body, true) || self.barred(last, body, false) {
                return Err(Unplaced::Unread);
            }
            let (name, changes) = self.end_of_turn(around, last, wanted, &mut agreements)?;
            let end = tree.line_of(tree.get(last).span.end.saturating_sub(1));
            return Ok(Placed {
                barrier: name,
                place: format!(
                    "after line {end}, at the end of each turn of the loop of line {}",
                    tree.line_of(tree.get(around).span.start)
                ),
                edit: Edit::new(changes).ok_or(Unplaced::Unread)?,
            });
        }
        // Read into a variable, wait, write.
        let statement = tree.get(id);
        if statement.kind != Kind::Simple {
            return Err(Unplaced::Unread);
        }
        let whole = branch.unwrap_or(id);
        let span = tree.get(whole).span.clone();
        let name = self.barrier(whole, wanted, &mut agreements)?;
        let text = self.written(&statement.span).trim_end_matches(';');
        let (target, operator, value) = update(text).ok_or(Unplaced::Unread)?;
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
            return Err(Unplaced::Unread);
        }
        let new = format!(
            "{{\n{deeper}const auto value = {value};\n{deeper}{name};\n{deeper}{store}\n{deeper}{name};\n{indentation}}}"
        );
        Ok(Placed {
            barrier: name,
            place: format!(
                "after the read and after the write of line {line}, which is split: read into a variable first"
            ),
            edit: Edit::new(vec![self.replace(span, new)]).ok_or(Unplaced::Unread)?,
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
