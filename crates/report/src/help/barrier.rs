//! Where a barrier goes so that it orders two places of a source: at a statement that all of its threads reach together.
//!
//! The statements of the source ([`Statements`]) tell what the two have in common. Between the parts that hold them is where the barrier
//! goes, unless one is there already: then only a loop around both joins them, and it goes to the end of the loop's body; or another call
//! of their function. If only some threads come there ([`Agreements`]), a branch without `else` is closed before the barrier and opened
//! again behind it. What is read and written in one statement is split, unless a condition keeps the threads of one turn apart, as those of
//! trees and sorting networks do. Accesses in a function that some threads call are ordered where it is called.
//!
//! Not seen: what macros hide; `goto`; a barrier in a function that is called between the two.

mod guarded;
mod placed;
mod repair;

pub(super) use guarded::without_return;
use placed::CLUSTER;
pub(crate) use placed::{Barrier, Placed, Unplaced, Wanted};

use super::expression::{assigned, declared, identifiers, is_pure, leaves, update};
use super::text::Text;
use super::{Frame, Guilty};
use crate::edit::{Change, Edit};
use toolchain::cuda_text::{Agreement, Agreements, Kind, StatementId, Statements};

/// A barrier that orders two accesses, if one can be placed.
pub(crate) fn place(
    earlier: &Guilty,
    later: &Guilty,
    wanted: Wanted,
    defines: &[String],
) -> Result<Placed, Unplaced> {
    if !earlier.in_source || !later.in_source {
        return Err(Unplaced::Unread);
    }
    // From the outside in: frames that both have are calls that hold both accesses.
    let pairs = earlier.frames.iter().rev().zip(later.frames.iter().rev());
    let pairs: Vec<(&Frame, &Frame)> = pairs.collect();
    let same = |(a, b): &&(&Frame, &Frame)| {
        (&a.file.path, a.line, a.columns.start) == (&b.file.path, b.line, b.columns.start)
    };
    let shared = pairs.iter().take_while(same).count();
    let mut why = Unplaced::Unread;
    let mut tried = |result: Result<Placed, Unplaced>| match result {
        Err(unplaced) => {
            if why == Unplaced::Unread {
                why = unplaced;
            }
            None
        }
        Ok(placed) => Some(placed),
    };
    if let Some((a, b)) = pairs.get(shared)
        && a.file.path == b.file.path
    {
        let text = Text::of(&a.file, defines);
        if let Some(placed) = tried(Placing::of(&text, wanted).pair(a, b)) {
            return Ok(placed);
        }
    }
    for (frame, _) in pairs[..shared].iter().rev() {
        let text = Text::of(&frame.file, defines);
        if let Some(placed) = tried(Placing::of(&text, wanted).again(frame)) {
            return Ok(placed);
        }
    }
    Err(why)
}

/// A barrier of the cluster before all that a kernel does with an access, or behind it.
pub(crate) fn of_cluster(one: &Guilty, before: bool, defines: &[String]) -> Option<Edit> {
    let (text, part) = whole_statement(one, defines)?;
    let name = Placing::of(&text, Wanted::Cluster).behind(part).ok()?;
    Edit::new(vec![match before {
        true => in_front(&text, part, &name.to_string()),
        false => text.behind(part, &format!("{name};")),
    }])
}

/// A wait for the launch in front, before all that a kernel does with an access: each thread waits for itself (PTX ISA, "griddepcontrol").
pub(crate) fn of_dependency(one: &Guilty, defines: &[String]) -> Option<Edit> {
    let (text, part) = whole_statement(one, defines)?;
    Edit::new(vec![in_front(
        &text,
        part,
        "cudaGridDependencySynchronize()",
    )])
}

/// The statement of a kernel's own body that an access stands in.
fn whole_statement(one: &Guilty, defines: &[String]) -> Option<(Text, StatementId)> {
    let frame = one.frames.last().filter(|_| one.in_source)?;
    let text = Text::of(&frame.file, defines);
    let tree = text.tree();
    let id = text.at(frame)?;
    let body = *tree.get(tree.function_of(id)).parts.first()?;
    let part = Placing::of(&text, Wanted::Cluster).part(body, id).ok()?;
    Some((text, part))
}

/// A call in a line of its own in front of a statement.
fn in_front(text: &Text, part: StatementId, call: &str) -> Change {
    let start = text.tree().get(part).span.start;
    text.insert(start, format!("{call};\n{}", text.indentation(start)))
}

/// A barrier that only some threads reach, moved to behind or around the branch: the changes.
pub(super) fn moved_out(text: &Text, id: StatementId) -> Option<Edit> {
    Placing::of(text, Wanted::Block).moved_out(id)
}

/// What is looked for in a source file.
struct Placing<'t> {
    text: &'t Text,
    tree: &'t Statements,
    wanted: Wanted,
    agreements: Agreements<'t>,
}

impl<'t> Placing<'t> {
    fn of(text: &'t Text, wanted: Wanted) -> Placing<'t> {
        let tree: &Statements = &text.tree;
        Placing {
            text,
            tree,
            wanted,
            agreements: Agreements::of(tree),
        }
    }

    fn line(&self, id: StatementId) -> u32 {
        self.tree.line_of(self.tree.get(id).span.start)
    }

    fn last_line(&self, id: StatementId) -> u32 {
        let end = self.tree.get(id).span.end;
        self.tree.line_of(end.saturating_sub(1))
    }

    /// The part of a statement that another one is in, or is.
    fn part(&self, of: StatementId, id: StatementId) -> Result<StatementId, Unplaced> {
        let mut around = self.tree.around(id);
        let part = around.find(|x| self.tree.get(*x).parent == Some(of));
        part.ok_or(Unplaced::Unread)
    }

    /// Between two lines.
    fn pair(&mut self, a: &Frame, b: &Frame) -> Result<Placed, Unplaced> {
        let at = |frame| self.text.at(frame).ok_or(Unplaced::Unread);
        let (first, second) = (at(a)?, at(b)?);
        match first == second {
            true => self.within(first, a.line),
            false => self.between(first, second, (a.line, b.line)),
        }
    }

    /// Between two executions of one line.
    fn again(&mut self, frame: &Frame) -> Result<Placed, Unplaced> {
        let id = self.text.at(frame).ok_or(Unplaced::Unread)?;
        self.within(id, frame.line)
    }

    /// Whether a statement is a barrier that orders what is wanted.
    fn is_barrier(&self, id: StatementId) -> bool {
        let statement = self.tree.get(id);
        let code = self.tree.text(&statement.span);
        let function = self.tree.get(self.tree.function_of(id));
        let of_warp = matches!(self.wanted, Wanted::Warp | Wanted::Either);
        if self.wanted == Wanted::Cluster {
            let met = code.contains("cluster") && (code.contains("sync(") || code.contains("wait"));
            return statement.kind == Kind::Simple && met;
        }
        statement.kind == Kind::Simple
            && (is_block_barrier(code, self.tree.text(&function.span))
                || of_warp
                    && ["__syncwarp", ".sync(", "::sync("]
                        .iter()
                        .any(|word| code.contains(word)))
    }

    /// Whether all threads that a barrier is wanted for come to one that is there.
    fn is_reached(&mut self, id: StatementId) -> bool {
        let enough = match self.wanted {
            Wanted::Warp | Wanted::Either => Agreement::Warp,
            Wanted::Block | Wanted::BlockOrWarp | Wanted::Cluster => Agreement::Block,
        };
        self.agreements.behind(id) <= enough
    }

    /// The barriers behind (or before) a statement, in the parts of what is around it up to one of them.
    fn barriers(&self, from: StatementId, up_to: StatementId, behind: bool) -> Vec<StatementId> {
        let mut found = Vec::new();
        let mut inner = from;
        for around in self.tree.around(from).skip(1) {
            if inner == up_to {
                break;
            }
            let statement = self.tree.get(around);
            if statement.kind == Kind::Block {
                let parts = &statement.parts;
                let here = parts.iter().position(|p| *p == inner).unwrap_or(0);
                let parts = match behind {
                    true => &parts[here + 1..],
                    false => &parts[..here],
                };
                found.extend(parts.iter().filter(|p| self.is_barrier(**p)));
            }
            inner = around;
        }
        found
    }

    /// Whether one of these barriers is reached by all.
    fn barred(&mut self, barriers: &[StatementId]) -> bool {
        barriers.iter().any(|id| self.is_reached(*id))
    }

    /// The barrier that fits where so many come together.
    fn fitting(&mut self, at: StatementId, agreement: Agreement) -> Result<Barrier, Unplaced> {
        let function = self.tree.get(self.tree.function_of(at));
        let code = self.tree.text(&function.span);
        let of_warps = code.contains("__syncwarp") || code.contains("_sync(");
        if self.wanted == Wanted::Cluster {
            // What a block decides alike, another one may decide otherwise.
            let mut around = self.tree.around(at).skip(1);
            let decides = |kind: Kind| !matches!(kind, Kind::Block | Kind::Function | Kind::For);
            let apart = around.any(|id| decides(self.tree.get(id).kind));
            let groups = self.text.file.text.contains("cooperative_groups");
            return match agreement == Agreement::Block && !apart {
                true => Ok(Barrier::Cluster(CLUSTER[usize::from(!groups)])),
                false => Err(Unplaced::Apart(self.apart(at))),
            };
        }
        match (self.wanted, agreement) {
            (_, Agreement::None) | (Wanted::Block, Agreement::Warp) => {
                Err(Unplaced::Apart(self.apart(at)))
            }
            (Wanted::Warp, _) | (_, Agreement::Warp) => Ok(Barrier::Warp),
            (Wanted::Either, Agreement::Block) if of_warps => Ok(Barrier::Warp),
            (_, Agreement::Block) => Ok(Barrier::Block),
        }
    }

    /// The barrier that fits behind a statement.
    fn behind(&mut self, id: StatementId) -> Result<Barrier, Unplaced> {
        let agreement = self.agreements.behind(id);
        self.fitting(id, agreement)
    }

    /// The line of the outermost condition around a statement that threads of a block decide differently.
    fn apart(&mut self, id: StatementId) -> Option<u32> {
        let conditions = self.tree.around(id).skip(1).filter(|around| {
            let kind = self.tree.get(*around).kind;
            kind.is_loop() || matches!(kind, Kind::If | Kind::Switch)
        });
        let mut differing = None;
        for one in conditions {
            if self.agreements.condition(one) != Agreement::Block {
                differing = Some(one);
            }
        }
        differing.map(|one| self.line(one))
    }

    /// The only statement of a function that calls another one.
    fn only_call(&self, called: StatementId, caller: StatementId) -> Option<StatementId> {
        let (name, _) = self.tree.signature(called)?;
        let mut calls = self.tree.below(caller).into_iter().filter(|id| {
            let statement = self.tree.get(*id);
            let code = self.tree.text(&statement.span);
            statement.kind == Kind::Simple && identifiers(code).any(|word| word == name)
        });
        calls.next().filter(|_| calls.next().is_none())
    }

    /// Between two statements.
    fn between(
        &mut self,
        mut a: StatementId,
        mut b: StatementId,
        (mut earlier, mut later): (u32, u32),
    ) -> Result<Placed, Unplaced> {
        let tree = self.tree;
        let (one, other) = (tree.function_of(a), tree.function_of(b));
        if one != other {
            if let Some(call) = self.only_call(one, other) {
                (a, earlier) = (call, self.line(call));
            } else if let Some(call) = self.only_call(other, one) {
                (b, later) = (call, self.line(call));
            }
        }
        let outwards: Vec<StatementId> = tree.around(a).collect();
        let common = tree.around(b).find(|id| outwards.contains(id));
        let common = common.ok_or(Unplaced::Unread)?;
        let statement = tree.get(common);
        let parent = statement.parent.map(|parent| tree.get(parent).kind);
        // Both ways of a branch: who takes one does not take the other.
        if statement.kind == Kind::If || parent == Some(Kind::Switch) {
            return Err(match self.agreements.condition(common) {
                Agreement::Block => Unplaced::Unread,
                _ => Unplaced::Apart(Some(self.line(common))),
            });
        }
        if statement.kind != Kind::Block {
            return Err(Unplaced::Unread);
        }
        let (pa, pb) = (self.part(common, a)?, self.part(common, b)?);
        let backwards = tree.get(pb).span.start < tree.get(pa).span.start;
        let (first, last) = if backwards { (b, a) } else { (a, b) };
        let (pf, pl) = if backwards { (pb, pa) } else { (pa, pb) };
        let (from, to) = (earlier.min(later), earlier.max(later));
        let index = |id| statement.parts.iter().position(|p| *p == id);
        let index = |id| index(id).ok_or(Unplaced::Unread);
        let (fi, li) = (index(pf)?, index(pl)?);
        let mut there = self.barriers(first, pf, true);
        let between = &statement.parts[fi + 1..li];
        there.extend(between.iter().filter(|p| self.is_barrier(**p)));
        there.extend(self.barriers(last, pl, false));
        let barred = self.barred(&there);
        // One that some threads miss is to be moved, not to be joined by another.
        if let (false, Some(missed)) = (barred, there.first()) {
            let missed = *missed;
            return self.moved(missed, pf, pl, (from, to));
        }
        let around = tree.loop_of(pf);
        let mut changes = Vec::new();
        let mut words = Vec::new();
        let mut barrier = None;
        if !barred {
            match self.behind(pf) {
                Ok(name) => {
                    changes.push(self.text.behind(pf, &format!("{name};")));
                    barrier = Some(name);
                    let end = self.last_line(pf);
                    words.push(
                        match end > from && end < to && tree.get(pf).kind != Kind::Simple {
                            true => format!("between line {from} and line {to}, behind line {end}"),
                            false => format!("between line {from} and line {to}"),
                        },
                    );
                }
                Err(unplaced) => match self.reopened(common, fi) {
                    Some((name, more, line)) => {
                        changes.extend(more);
                        barrier = Some(name);
                        words.push(format!(
                            "between line {from} and line {to}, outside of the branch of line {line}, which not all threads take: end the branch before it and begin it again behind it"
                        ));
                    }
                    None if around.is_some_and(|body| self.are_disjoint(pf, body)) => {}
                    None => return Err(unplaced),
                },
            }
        }
        if let Some(body) = around {
            let inner = *tree.get(body).parts.last().ok_or(Unplaced::Unread)?;
            let mut back = self.barriers(pl, inner, true);
            back.extend(self.barriers(pf, inner, false));
            let back = self.barred(&back);
            if !back {
                let (name, more) = self.end_of_turn(body, pl)?;
                if barrier.is_some_and(|b| b != name) {
                    return Err(Unplaced::Apart(self.apart(pf)));
                }
                words.push(match barrier {
                    None => format!("after line {to}, before line {from} runs again"),
                    Some(_) => format!("after line {to} before the next iteration of the loop"),
                });
                barrier = Some(name);
                changes.extend(more);
            }
        }
        let function = tree.function_of(pf);
        if barrier.is_none() && around.is_none() && !tree.is_kernel(function) {
            let (name, change, line) = self.at_entry(function)?;
            words.push(format!(
                "at the beginning of the function of line {line}, which is called again while other threads are still in it"
            ));
            barrier = Some(name);
            changes.push(change);
        }
        Ok(Placed {
            barrier: barrier.ok_or(if barred {
                Unplaced::There
            } else {
                Unplaced::Unread
            })?,
            moved: None,
            place: words.join(", and "),
            edit: Edit::new(changes).ok_or(Unplaced::Unread)?,
        })
    }

    /// The barrier that some threads miss, moved to where all of them come, if that orders two parts of a block.
    fn moved(
        &mut self,
        missed: StatementId,
        first: StatementId,
        last: StatementId,
        (from, to): (u32, u32),
    ) -> Result<Placed, Unplaced> {
        let unplaced = Err(Unplaced::Apart(self.apart(missed)));
        if let Some(body) = self.tree.loop_of(first) {
            let inner = *self.tree.get(body).parts.last().ok_or(Unplaced::Unread)?;
            let mut back = self.barriers(last, inner, true);
            back.extend(self.barriers(first, inner, false));
            if !self.barred(&back) {
                return unplaced;
            }
        }
        if self.wanted == Wanted::Cluster {
            return unplaced;
        }
        match self.moved_out(missed) {
            Some(edit) => Ok(Placed {
                barrier: Barrier::Block,
                moved: Some(self.line(missed)),
                place: format!("between line {from} and line {to}"),
                edit,
            }),
            None => unplaced,
        }
    }

    /// A barrier in front of all that a function does, and the function's line.
    fn at_entry(&mut self, function: StatementId) -> Result<(Barrier, Change, u32), Unplaced> {
        let body = self.tree.get(function).parts.first();
        let first = body.and_then(|body| self.tree.get(*body).parts.first());
        let first = *first.ok_or(Unplaced::Unread)?;
        let agreement = self.agreements.before(first);
        let name = self.fitting(first, agreement)?;
        let start = self.tree.get(first).span.start;
        let indentation = self.text.indentation(start);
        let change = self.text.insert(start, format!("{name};\n{indentation}"));
        let head = self.tree.get(function).head.end;
        Ok((name, change, self.tree.line_of(head.saturating_sub(1))))
    }

    /// Whether the conditions between a statement and a loop around it keep the threads of one turn off each other's elements, as they
    /// do in trees (`t < d`, `t % (2 * d) == 0`) and sorting networks (`other > t`): by their form.
    fn are_disjoint(&mut self, id: StatementId, body: StatementId) -> bool {
        let around = self.tree.around(id).take_while(|a| *a != body);
        let branches: Vec<StatementId> = around
            .filter(|a| self.tree.get(*a).kind == Kind::If)
            .collect();
        !branches.is_empty() && branches.iter().all(|branch| self.is_partition(*branch))
    }

    fn is_partition(&mut self, branch: StatementId) -> bool {
        let text = self.tree.text(&self.tree.get(branch).head);
        if text.contains('%') && text.contains("==") {
            return true;
        }
        if text.contains(['=', '+', '-', '&', '|', '[']) {
            return false;
        }
        let differs =
            |all: &mut Self, side: &str| all.agreements.expression(branch, side) == Agreement::None;
        // The lesser one first.
        let sides = match (text.split_once('<'), text.split_once('>')) {
            (Some(sides), None) => sides,
            (None, Some((left, right))) => (right, left),
            _ => return false,
        };
        differs(self, sides.0)
    }

    /// A barrier at the end of a loop's body.
    fn end_of_turn(
        &mut self,
        around: StatementId,
        last: StatementId,
    ) -> Result<(Barrier, Vec<Change>), Unplaced> {
        let tree = self.tree;
        let body = *tree.get(around).parts.last().ok_or(Unplaced::Unread)?;
        if tree.get(body).kind == Kind::Block {
            let part = self.part(body, last)?;
            let name = self.behind(part)?;
            return Ok((name, vec![self.text.behind(part, &format!("{name};"))]));
        }
        let name = self.behind(body)?;
        let span = tree.get(body).span.clone();
        let open = tree.get(around).head.end + 1;
        let outer = self.text.indentation(tree.get(around).span.start);
        let inner = match self.text.indentation(span.start) {
            same if same == outer => format!("{outer}    "),
            deeper => deeper,
        };
        let end = self.text.end_of_line(span.end);
        Ok((
            name,
            vec![
                self.text.insert(open, " {".to_owned()),
                self.text
                    .insert(end, format!("\n{inner}{name};\n{outer}}}")),
            ],
        ))
    }

    /// A barrier in a branch that not all threads take: the branch ends before it and begins again behind it.
    fn reopened(&mut self, block: StatementId, part: usize) -> Option<(Barrier, Vec<Change>, u32)> {
        let tree = self.tree;
        let branch = tree.get(block).parent?;
        let parts = &tree.get(block).parts;
        let is_plain = tree.get(branch).kind == Kind::If && tree.get(branch).parts.len() == 1;
        let condition = self.text.written(&tree.get(branch).head);
        let code = |parts: &[StatementId]| -> String {
            let texts = parts.iter().map(|p| tree.text(&tree.get(*p).span));
            texts.collect::<Vec<_>>().join(" ")
        };
        let (before, after) = (code(&parts[..=part]), code(&parts[part + 1..]));
        let used = |text: &str, name: &str| identifiers(text).any(|n| n == name);
        let mut names = parts[..=part]
            .iter()
            .filter_map(|p| declared(tree.text(&tree.get(*p).span)));
        if !is_plain
            || !is_pure(condition)
            || names.any(|name| used(&after, name))
            || assigned(&before).iter().any(|name| used(condition, name))
            || leaves(&before)
        {
            return None;
        }
        // All come back together behind the branch.
        let name = self.behind(branch).ok()?;
        let outer = self.text.indentation(tree.get(branch).span.start);
        let at = self.text.end_of_line(tree.get(parts[part]).span.end);
        let text = format!("\n{outer}}}\n{outer}{name};\n{outer}if ({condition}) {{");
        let next = parts.get(part + 1).map(|p| tree.get(*p).span.start);
        let alone = next.is_none_or(|next| self.text.file.text[at..next].contains('\n'));
        let text = if alone { text } else { text + "\n" };
        Some((name, vec![self.text.insert(at, text)], self.line(branch)))
    }

    /// Two executions of one statement: by other threads, or in other turns of a loop.
    fn within(&mut self, id: StatementId, line: u32) -> Result<Placed, Unplaced> {
        let is_simple = self.tree.get(id).kind == Kind::Simple;
        let around = self.tree.loop_of(id);
        if let Some(around) = around
            && (!is_simple || self.are_disjoint(id, around))
        {
            return self.each_turn(id, around);
        }
        if !is_simple {
            return Err(Unplaced::Unread);
        }
        let code = self.tree.text(&self.tree.get(id).span);
        match (around, update(code.trim_end_matches(';'))) {
            // A call: what it does is not seen.
            (Some(around), None) => self.each_turn(id, around),
            (None, None) => Err(Unplaced::Unread),
            (_, Some(_)) => self.split(id, line),
        }
    }

    /// At the end of each turn of a loop around a statement.
    fn each_turn(&mut self, id: StatementId, around: StatementId) -> Result<Placed, Unplaced> {
        let tree = self.tree;
        let body = *tree.get(around).parts.last().ok_or(Unplaced::Unread)?;
        let mut outwards = tree.around(id);
        let last = outwards
            .find(|x| *x == body || tree.get(*x).parent == Some(body))
            .ok_or(Unplaced::Unread)?;
        let mut there = self.barriers(last, body, true);
        there.extend(self.barriers(last, body, false));
        if self.barred(&there) {
            return Err(Unplaced::Unread);
        }
        let (barrier, changes) = self.end_of_turn(around, last)?;
        Ok(Placed {
            barrier,
            moved: None,
            place: format!(
                "after line {}, at the end of each turn of the loop of line {}",
                self.last_line(last),
                self.line(around)
            ),
            edit: Edit::new(changes).ok_or(Unplaced::Unread)?,
        })
    }
}

/// Whether a statement is a barrier of the block, in a function's text that declares its group: `__syncthreads()`, `group.sync()` of a group
/// that is no part of the block.
pub(crate) fn is_block_barrier(statement: &str, function: &str) -> bool {
    const WHOLE: [&str; 4] = [
        "__syncthreads",
        "bar.sync",
        "barrier.sync",
        "arrive_and_wait",
    ];
    if WHOLE.iter().any(|word| statement.contains(word)) {
        return true;
    }
    let Some((group, _)) = statement.split_once(".sync(") else {
        return false;
    };
    let Some(group) = identifiers(group).last() else {
        return false;
    };
    const PARTS: [&str; 4] = [
        "tiled_partition",
        "coalesced",
        "labeled_partition",
        "thread_block_tile",
    ];
    let declares = |one: &&str| {
        PARTS.iter().any(|part| one.contains(part)) && identifiers(one).any(|name| name == group)
    };
    !function.split(';').any(|one| declares(&one))
}

#[cfg(test)]
mod tests;
