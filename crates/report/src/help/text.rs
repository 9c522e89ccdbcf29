//! The source text around a statement: where a line of its own goes, how far it is indented, what is taken away.

use super::Frame;
use crate::edit::Change;
use crate::source::SourceFile;
use std::ops::Range;
use std::sync::Arc;
use toolchain::cuda_text::{StatementId, Statements};

/// A source file with its statements.
pub(super) struct Text {
    pub(super) file: Arc<SourceFile>,
    pub(super) tree: Arc<Statements>,
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
    pub(super) fn end_of_line(&self, offset: usize) -> usize {
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
