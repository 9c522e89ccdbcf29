//! Statements that are written anew around a barrier: one that reads and writes is split, and a barrier that only some threads reach is moved.

use super::{Placed, Placing, Unplaced, is_block_barrier};
use crate::edit::Edit;
use crate::help::expression::{declared, identifiers, update};
use toolchain::cuda_text::{Agreement, Kind, StatementId};

impl Placing<'_> {
    /// A statement that reads and writes, as three: read into a variable, wait, write.
    pub(super) fn split(&mut self, id: StatementId, line: u32) -> Result<Placed, Unplaced> {
        let tree = self.tree;
        let statement = tree.get(id);
        let branch = self.branch_of(id);
        let whole = branch.unwrap_or(id);
        let span = tree.get(whole).span.clone();
        let name = self.behind(whole)?;
        let text = self.text.written(&statement.span).trim_end_matches(';');
        let (target, operator, value) = update(text).ok_or(Unplaced::Unread)?;
        let function = tree.get(tree.function_of(id));
        let used = |name: &str| {
            let all = [&function.head, &function.span];
            let mut all = all.into_iter().flat_map(|r| identifiers(tree.text(r)));
            all.any(|n| n == name)
        };
        let read = ["value", "read", "before"].into_iter().find(|n| !used(n));
        let read = read.ok_or(Unplaced::Unread)?;
        let indentation = self.text.indentation(span.start);
        let deeper = format!("{indentation}    ");
        let (value, store) = match branch {
            None => (value.to_owned(), format!("{target} {operator} {read};")),
            Some(branch) => {
                let condition = self.text.written(&tree.get(branch).head);
                (
                    format!("({condition}) ? ({value}) : 0"),
                    format!("if ({condition}) {target} {operator} {read};"),
                )
            }
        };
        if declared(text).is_some() {
            return Err(Unplaced::Unread);
        }
        let new = format!(
            "{{\n{deeper}const auto {read} = {value};\n{deeper}{name};\n{deeper}{store}\n{deeper}{name};\n{indentation}}}"
        );
        let mut changes = vec![self.text.replace(span, new)];
        // What is written right before the loop has to be there in its first turn.
        let turns = tree.loop_of(whole).unwrap_or(whole);
        let siblings = tree.get(turns).parent.map(|p| &tree.get(p).parts);
        let at = siblings.and_then(|all| all.iter().position(|part| *part == turns));
        if let (Some(all), Some(at)) = (siblings, at)
            && let Some(before) = at.checked_sub(1).map(|at| all[at])
            && let Some((written, ..)) =
                update(tree.text(&tree.get(before).span).trim_end_matches(';'))
            && written.contains('[')
            && identifiers(written).next() == identifiers(target).next()
            && tree.get(before).kind == Kind::Simple
            && declared(written).is_none()
            && self.agreements.behind(before) <= self.agreements.behind(whole)
        {
            changes.push(self.text.behind(before, &format!("{name};")));
        }
        Ok(Placed {
            barrier: name,
            moved: None,
            place: format!(
                "after the read and after the write of line {line}, which is split: read into a variable first"
            ),
            edit: Edit::new(changes).ok_or(Unplaced::Unread)?,
        })
    }

    /// The `if` without `else` of which a statement is all that it does.
    fn branch_of(&self, id: StatementId) -> Option<StatementId> {
        let tree = self.tree;
        let parent = tree.get(id).parent?;
        let branch = match tree.get(parent).kind {
            Kind::If => parent,
            Kind::Block if tree.get(parent).parts.len() == 1 => tree.get(parent).parent?,
            _ => return None,
        };
        let statement = tree.get(branch);
        (statement.kind == Kind::If && statement.parts.len() == 1).then_some(branch)
    }

    /// A barrier that only some threads reach, moved to behind or around the branch that keeps the others away.
    pub(super) fn moved_out(&mut self, id: StatementId) -> Option<Edit> {
        let tree = self.tree;
        let block = tree.get(id).parent?;
        let branch = match tree.get(block).kind {
            Kind::Block => tree.get(block).parent?,
            _ => return None,
        };
        let statement = tree.get(branch);
        let text = self.text.written(&tree.get(id).span).to_owned();
        if !is_block_barrier(&text, "")
            || statement.kind != Kind::If
            || self.agreements.behind(branch) != Agreement::Block
        {
            return None;
        }
        let parts = &tree.get(block).parts;
        let index = parts.iter().position(|p| *p == id)?;
        let removed = self.text.without_line(&tree.get(id).span);
        if index + 1 == parts.len() {
            return Edit::new(vec![removed, self.text.behind(branch, &text)]);
        }
        if index == 0 || statement.parts.len() != 1 {
            return None;
        }
        let (name, changes, _) = self.reopened(block, index - 1)?;
        match format!("{name};") == text {
            true => Edit::new(changes.into_iter().chain([removed]).collect()),
            false => None,
        }
    }
}
