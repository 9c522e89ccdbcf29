//! What a help advises as data: changes of source files that can be shown as a difference and applied.

use crate::source::SourceFile;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Changes of the source that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The changes, in the order of the text; none overlaps another.
    pub changes: Vec<Change>,
    /// Whether it was made, and what was found afterwards shows that it mends its finding ([`crate::proof`]). Nothing else is offered.
    pub proven: bool,
}

/// A range of a file and what stands there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file.
    pub file: Arc<SourceFile>,
    /// The bytes that are replaced; empty where something is only put in.
    pub at: Range<usize>,
    /// What stands there instead.
    pub text: String,
}

impl Edit {
    /// An edit of these changes; `None` without any, where two overlap, where one is not in its file, or where the file is not the user's
    /// to change: a header of the toolkit, or one outside of the folder. Lines end as the file's do.
    pub fn new(mut changes: Vec<Change>) -> Option<Edit> {
        for change in &mut changes {
            if change.file.text.contains("\r\n") {
                change.text = change.text.replace("\r\n", "\n").replace('\n', "\r\n");
            }
        }
        changes.sort_by(|a, b| {
            (&a.file.path, a.at.start, a.at.end).cmp(&(&b.file.path, b.at.start, b.at.end))
        });
        let fits = |c: &Change| {
            let text = &c.file.text;
            c.at.start <= c.at.end
                && c.at.end <= text.len()
                && text.is_char_boundary(c.at.start)
                && text.is_char_boundary(c.at.end)
        };
        let apart = changes
            .windows(2)
            .all(|w| w[0].file.path != w[1].file.path || w[0].at.end <= w[1].at.start);
        let own = |c: &Change| !crate::of_toolkit(&c.file.path) && !is_of_library(&c.file.path);
        let good = !changes.is_empty() && apart && changes.iter().all(|c| fits(c) && own(c));
        good.then_some(Edit {
            changes,
            proven: false,
        })
    }

    /// The files that it changes.
    pub fn files(&self) -> Vec<&Arc<SourceFile>> {
        let mut files: Vec<_> = self.changes.iter().map(|c| &c.file).collect();
        files.dedup_by(|a, b| a.path == b.path);
        files
    }

    /// The text of one of its files, changed.
    pub fn applied(&self, file: &SourceFile) -> String {
        let mut text = file.text.clone();
        for change in self.changes.iter().rev() {
            if change.file.path == file.path {
                text.replace_range(change.at.clone(), &change.text);
            }
        }
        text
    }

    /// Whether two edits touch one place, so that only one of them can be applied.
    pub fn overlaps(&self, other: &Edit) -> bool {
        let touch = |a: &Change, b: &Change| {
            a.file.path == b.file.path && a.at.start <= b.at.end && b.at.start <= a.at.end
        };
        self.changes
            .iter()
            .any(|a| other.changes.iter().any(|b| touch(a, b)))
    }

    /// The line before it (from 1) of a line after it. All lines of a change count as its first one.
    pub fn line_before(&self, file: &str, line: u32) -> u32 {
        let mut shift = 0;
        for (first, last, added) in self.lines_of(file) {
            if i64::from(line) < i64::from(first) + shift {
                break;
            }
            if i64::from(line) <= i64::from(last) + shift + added {
                return self.joined(file, first);
            }
            shift += added;
        }
        u32::try_from(i64::from(line) - shift).unwrap_or(line)
    }

    /// The first line of the change that a line is in, before it; the line itself where it is in none.
    pub fn joined(&self, file: &str, line: u32) -> u32 {
        let mut found = line;
        // From behind: one may end where another begins.
        for (first, last, _) in self.lines_of(file).rev() {
            if (first..=last).contains(&found) {
                found = first;
            }
        }
        found
    }

    /// Of each change of a file, its first and last line and how many lines more there are.
    fn lines_of(&self, file: &str) -> impl DoubleEndedIterator<Item = (u32, u32, i64)> {
        let feeds = |text: &str| text.matches('\n').count() as u32;
        let changes = self.changes.iter().filter(move |c| c.file.path == file);
        changes.map(move |change| {
            let first = feeds(&change.file.text[..change.at.start]) + 1;
            let removed = feeds(&change.file.text[change.at.clone()]);
            let added = i64::from(feeds(&change.text)) - i64::from(removed);
            (first, first + removed, added)
        })
    }

    /// The difference that it makes, in unified format.
    pub fn diff(&self) -> String {
        let one = |file: &&Arc<SourceFile>| diff(&file.path, &file.text, &self.applied(file));
        self.files().iter().map(one).collect()
    }
}

/// The difference between two texts of a file, in unified format.
pub fn diff(path: &str, before: &str, after: &str) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .header(&format!("a{slash}{path}"), &format!("b{slash}{path}"))
        .to_string()
}

/// Whether a path is in a folder of the system or of installed packages.
fn is_of_library(path: &str) -> bool {
    let path = path.replace('\\', "/");
    let parts = || Path::new(&path).components();
    path.starts_with("/usr/")
        || path.starts_with("/opt/")
        || parts().any(|p| {
            ["site-packages", "dist-packages", "third_party", "_deps"]
                .iter()
                .any(|f| p.as_os_str() == *f)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(file: &Arc<SourceFile>, at: Range<usize>, text: &str) -> Change {
        Change {
            file: file.clone(),
            at,
            text: text.into(),
        }
    }

    #[test]
    fn edits_are_applied_and_shown() {
        let file = Arc::new(SourceFile::new("a.cu".into(), "one\ntwo\nthree\n".into()));
        let edit = Edit::new(vec![
            change(&file, 13..13, "\nfour"),
            change(&file, 3..3, "\nbetween"),
        ])
        .unwrap();
        assert_eq!(edit.applied(&file), "one\nbetween\ntwo\nthree\nfour\n");
        assert_eq!(
            edit.diff(),
            "--- a/a.cu\n+++ b/a.cu\n@@ -1,3 +1,5 @@\n one\n+between\n two\n three\n+four\n"
        );
        let before = |edit: &Edit, count: u32| -> Vec<u32> {
            (1..=count).map(|l| edit.line_before("a.cu", l)).collect()
        };
        assert_eq!(before(&edit, 5), [1, 1, 2, 3, 3]);
        assert_eq!(edit.joined("a.cu", 2), 2);
        let split = Edit::new(vec![change(&file, 4..13, "a\nb\nc")]).unwrap();
        assert_eq!(before(&split, 5), [1, 2, 2, 2, 4]);
        assert_eq!([1, 2, 3].map(|l| split.joined("a.cu", l)), [1, 2, 2]);
        let other = Edit::new(vec![change(&file, 2..5, "")]).unwrap();
        assert!(edit.overlaps(&other));
        assert_eq!(Edit::new(vec![change(&file, 0..99, "")]), None);
        assert_eq!(
            Edit::new(vec![change(&file, 0..2, ""), change(&file, 1..3, "")]),
            None
        );
        assert_eq!(Edit::new(Vec::new()), None);
    }

    #[test]
    fn headers_of_others_are_never_edited() {
        for path in [
            "/usr/include/a.h",
            "/x/site-packages/cupy/a.cuh",
            "/p/cuda/include/cub/a.cuh",
        ] {
            let file = Arc::new(SourceFile::new(path.into(), "text".into()));
            assert_eq!(Edit::new(vec![change(&file, 0..0, "x")]), None, "{path}");
        }
    }
}
