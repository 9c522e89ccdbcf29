//! Source files that diagnostics refer to, and the columns that they mark.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use toolchain::cuda_text::{CudaText, Statements};

/// A source file and the name under which it is shown.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path as shown to the reader.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// Where its lines begin, once somebody has asked for one.
    starts: OnceLock<Vec<u32>>,
    /// Its statements, once somebody has asked for them, and with which defines.
    statements: OnceLock<(Vec<String>, Arc<Statements>)>,
    /// What it declares, likewise: a program that includes a library of templates has hundreds of files, and many findings.
    declarations: OnceLock<(Vec<String>, Arc<CudaText>)>,
}

impl PartialEq for SourceFile {
    fn eq(&self, other: &SourceFile) -> bool {
        self.path == other.path && self.text == other.text
    }
}

impl Eq for SourceFile {}

impl SourceFile {
    /// What a listing that racetrap made is called: of a source, of a build of it. Nobody else has that file.
    pub fn listing(of: &str, build: &str) -> String {
        let space = if build.is_empty() { "" } else { " " };
        format!("{of} ({build}{space}PTX)")
    }

    /// Whether it is a listing that racetrap made ([`SourceFile::listing`]).
    pub fn is_listing(&self) -> bool {
        self.path.ends_with("PTX)")
    }

    /// A file's text and the path that it is shown with.
    pub fn new(path: String, text: String) -> SourceFile {
        SourceFile {
            path,
            text,
            starts: OnceLock::new(),
            statements: OnceLock::new(),
            declarations: OnceLock::new(),
        }
    }

    /// What it declares as CUDA C++, compiled with `defines`.
    pub fn declarations(&self, defines: &[String]) -> Arc<CudaText> {
        let read = || Arc::new(CudaText::new(&self.text, defines));
        let (known, declarations) = self.declarations.get_or_init(|| (defines.to_vec(), read()));
        match known == defines {
            true => declarations.clone(),
            false => read(),
        }
    }

    /// Its statements as CUDA C++, compiled with `defines`.
    pub fn statements(&self, defines: &[String]) -> Arc<Statements> {
        let read = || Arc::new(Statements::of(&self.text, defines));
        let (known, statements) = self.statements.get_or_init(|| (defines.to_vec(), read()));
        match known == defines {
            true => statements.clone(),
            false => read(),
        }
    }

    /// The text of a line (counted from 1) without its line ending; `None` past the end.
    pub fn line(&self, line: u32) -> Option<&str> {
        let (start, text) = self.with_start(line)?;
        // A file that ends in a line feed has no line behind it.
        (start < self.text.len())
            .then(|| text.trim_end_matches('\n'))
            .map(|text| text.strip_suffix('\r').unwrap_or(text))
    }

    /// The byte range of `columns` of `line` (counted from 1) in the whole text, clamped to the line.
    pub fn range(&self, line: u32, columns: &Range<u32>) -> Range<usize> {
        let Some((start, text)) = self.with_start(line) else {
            return self.text.len()..self.text.len();
        };
        let length = text.trim_end_matches(['\n', '\r']).len();
        let cut = |column: u32| start + (column as usize).min(length);
        cut(columns.start)..cut(columns.end).max(cut(columns.start))
    }

    /// Where a line begins, and its text with the line feed.
    fn with_start(&self, line: u32) -> Option<(usize, &str)> {
        let starts = self.starts.get_or_init(|| {
            let feeds = self
                .text
                .bytes()
                .zip(1u32..)
                .filter(|(byte, _)| *byte == b'\n');
            std::iter::once(0)
                .chain(feeds.map(|(_, next)| next))
                .collect()
        });
        let index = line.checked_sub(1)? as usize;
        let start = *starts.get(index)? as usize;
        let end = starts
            .get(index + 1)
            .map_or(self.text.len(), |end| *end as usize);
        Some((start, self.text.get(start..end)?))
    }
}

/// The source files of a report. Given texts take precedence over the file system, of which only named folders are read.
///
/// A compiler writes the path that it was called with into the PTX. A text that was added under a path is found by that path,
/// by a longer path that ends in it, or by its file name if no other text has the same name.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    known: BTreeMap<String, Option<Arc<SourceFile>>>,
    folders: Vec<PathBuf>,
    given: Vec<Arc<SourceFile>>,
}

impl Sources {
    /// An empty collection.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Adds a text under the path that it is shown with.
    pub fn add(&mut self, path: &str, text: &str) -> Arc<SourceFile> {
        let file = Arc::new(SourceFile::new(path.to_string(), text.to_string()));
        self.known.insert(path.to_string(), Some(file.clone()));
        self.given.push(file.clone());
        file
    }

    /// Makes `alias` (the compiler's name for it) refer to a text added before.
    pub fn alias(&mut self, alias: &str, file: &Arc<SourceFile>) {
        self.known.insert(alias.to_string(), Some(file.clone()));
    }

    /// The text for a path that the compiler wrote, if it is available.
    pub fn find(&mut self, path: &str) -> Option<Arc<SourceFile>> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let found = self
            .given_like(path)
            .or_else(|| self.read(Path::new(path)))
            .or_else(|| match Path::new(path).is_file() {
                // It is there, and not to be shown: a file of the same name elsewhere is another one.
                true => None,
                false => self.of_that_name(path),
            });
        self.known.insert(path.to_string(), found.clone());
        if let Some(file) = &found
            && !self.given.contains(file)
        {
            self.given.push(file.clone());
        }
        found
    }

    /// A file that is no longer where the compiler saw it.
    fn of_that_name(&self, path: &str) -> Option<Arc<SourceFile>> {
        let wanted = Path::new(path).file_name();
        let mut same = self
            .given
            .iter()
            .filter(|f| Path::new(&f.path).file_name() == wanted);
        let only = same.next().filter(|_| same.next().is_none()).cloned();
        only.or_else(|| {
            self.folders
                .iter()
                .find_map(|folder| self.read(&folder.join(path)))
        })
        .or_else(|| {
            let name = wanted?;
            self.folders
                .iter()
                .find_map(|folder| self.read(&folder.join(name)))
        })
    }

    /// Adds a folder to search for files that are no longer where the compiler saw them. Files are read only from such folders.
    pub fn look_in(&mut self, folder: &Path) {
        let here = folder.as_os_str().is_empty();
        self.folders.push(match here {
            true => PathBuf::from("."),
            false => folder.to_path_buf(),
        });
    }

    /// A file's text, if the file is in one of the folders. PTX may name any file (`.file`, `#line`), and its text is shown.
    fn read(&self, path: &Path) -> Option<Arc<SourceFile>> {
        let real = path.canonicalize().ok()?;
        let inside = |folder: &PathBuf| folder.canonicalize().is_ok_and(|f| real.starts_with(f));
        match self.folders.iter().any(inside) {
            true => read(path),
            false => None,
        }
    }

    /// The texts added or found so far, in order.
    pub fn given(&self) -> impl Iterator<Item = &Arc<SourceFile>> {
        self.given.iter()
    }

    fn given_like(&self, path: &str) -> Option<Arc<SourceFile>> {
        let wanted = Path::new(path);
        let by = |matches: &dyn Fn(&Path) -> bool| {
            let mut all = self.given.iter().filter(|f| matches(Path::new(&f.path)));
            all.next().filter(|_| all.next().is_none()).cloned()
        };
        by(&|p| wanted.ends_with(p) || p.ends_with(wanted))
    }
}

/// The largest source file that is read for quoting.
const QUOTED_BYTES: u64 = 16 << 20;

fn read(path: &Path) -> Option<Arc<SourceFile>> {
    let data = std::fs::metadata(path).ok()?;
    if !data.is_file() || data.len() > QUOTED_BYTES {
        return None;
    }
    let text = String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned();
    let here = std::env::current_dir().ok();
    let shown = here
        .and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path);
    Some(Arc::new(SourceFile::new(shown.display().to_string(), text)))
}

/// The byte columns (from 0) of the statement that starts at `column` (from 1; 0 means the first character of the line). It
/// ends at its semicolon, its comment or the end of the line.
pub fn statement(line: &str, column: u32) -> Range<u32> {
    let first = line.len() - line.trim_start().len();
    let mut start = (column as usize)
        .saturating_sub(1)
        .max(first)
        .min(line.len());
    while !line.is_char_boundary(start) {
        start -= 1;
    }
    let rest = &line[start..];
    let comment = rest.find("//").unwrap_or(rest.len());
    let mut depth = 0i32;
    let mut end = comment;
    for (at, c) in rest[..comment].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ';' if depth <= 0 => {
                end = at;
                break;
            }
            '{' | '}' if at > 0 && depth <= 0 => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let end = start + rest[..end].trim_end().len();
    start as u32..end.max((start + 1).min(line.len())) as u32
}

/// The byte columns of `name[…]` (or `*name`) in the statement at `within`, if it is unambiguous: for a write the one that is
/// assigned to, for a read the only one that is not.
pub fn element(line: &str, within: &Range<u32>, name: &str, write: bool) -> Option<Range<u32>> {
    let text = line.get(within.start as usize..within.end as usize)?;
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut assigned = Vec::new();
    let mut others = Vec::new();
    for (at, _) in text.match_indices(name) {
        let after = &text[at + name.len()..];
        if text[..at].ends_with(word) || text[..at].ends_with(['.', '>']) || after.starts_with(word)
        {
            continue;
        }
        let mut end = at + name.len();
        while let Some(length) = text[end..].starts_with('[').then(|| closing(&text[end..])) {
            end += length?;
        }
        if end == at + name.len() {
            continue;
        }
        let range = within.start + at as u32..within.start + end as u32;
        let tail = text[end..].trim_start();
        let plain = tail.starts_with('=') && !tail.starts_with("==");
        let update = ["++", "--"]
            .iter()
            .any(|o| tail.starts_with(o) || text[..at].trim_end().ends_with(o))
            || ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="]
                .iter()
                .any(|o| tail.starts_with(o));
        if plain || update {
            assigned.push(range.clone());
        }
        if !plain {
            others.push(range);
        }
    }
    let mut candidates = if write { assigned } else { others };
    candidates.dedup();
    (candidates.len() == 1).then(|| candidates.remove(0))
}

/// The length of the bracketed text at the start.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn cut(line: &str, range: Range<u32>) -> &str {
        &line[range.start as usize..range.end as usize]
    }

    #[rstest]
    #[case("  a[i] = b[i]; // why", 3, "a[i] = b[i]")]
    #[case("  a[i] = b[i]; // why", 0, "a[i] = b[i]")]
    #[case("  for (int i = 0; i < 3; ++i) {", 3, "for (int i = 0; i < 3; ++i)")]
    #[case("__global__ void k() { x = 1; y = 2; }", 23, "x = 1")]
    #[case("  }", 3, "}")]
    #[case("", 9, "")]
    #[case("ü = 1;", 2, "ü = 1")]
    fn statements_end_where_they_end(#[case] line: &str, #[case] column: u32, #[case] want: &str) {
        assert_eq!(cut(line, statement(line, column)), want);
    }

    #[rstest]
    #[case("s[t] = s[t - d] + 1", true, Some("s[t]"))]
    #[case("s[t] = s[t - d] + 1", false, Some("s[t - d]"))]
    #[case("s[t] += s[t - d]", true, Some("s[t]"))]
    #[case("s[t] += s[t - d]", false, None)]
    #[case("s[k[2]][1]++", true, Some("s[k[2]][1]"))]
    #[case("++s[0]", true, Some("s[0]"))]
    #[case("cs[t] = 1", true, None)]
    #[case("p->s[t] = 1", true, None)]
    #[case("x = s[a] + s[b]", false, None)]
    #[case("y = s[a] == s[b", false, None)]
    fn elements_are_told_apart(
        #[case] line: &str,
        #[case] write: bool,
        #[case] want: Option<&str>,
    ) {
        let all = 0..line.len() as u32;
        assert_eq!(element(line, &all, "s", write).map(|r| cut(line, r)), want);
    }

    #[test]
    fn texts_are_found_by_any_name_of_theirs() {
        let mut sources = Sources::new();
        let a = sources.add("kernels/scan/a.cu", "x");
        assert_eq!(sources.find("kernels/scan/a.cu"), Some(a.clone()));
        assert_eq!(sources.find("/build/kernels/scan/a.cu"), Some(a.clone()));
        assert_eq!(sources.find("a.cu"), Some(a.clone()));
        assert_eq!(sources.find("/else/where/a.cu"), Some(a));
        assert_eq!(sources.find("/else/where/b.cu"), None);
    }

    /// PTX from a stranger names files; only those of the folders that the user named are shown.
    #[test]
    fn files_elsewhere_are_not_read() {
        let root = std::env::temp_dir().join(format!("racetrap-sources-{}", std::process::id()));
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        std::fs::create_dir_all(inside.join("sub")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(inside.join("sub/a.cu"), "a").unwrap();
        std::fs::write(outside.join("secret"), "s").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(outside.join("secret"), inside.join("link")).unwrap();
        let mut sources = Sources::new();
        let secret = outside.join("secret");
        assert_eq!(sources.find(&secret.display().to_string()), None);
        let mut sources = Sources::new();
        sources.look_in(&inside);
        assert_eq!(sources.find(&secret.display().to_string()), None);
        assert_eq!(sources.find("../outside/secret"), None);
        assert_eq!(sources.find("link"), None);
        assert!(sources.find("sub/a.cu").is_some());
        let whole = inside.join("sub/a.cu").display().to_string();
        assert!(sources.find(&whole).is_some());
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn lines_are_those_of_the_text() {
        for text in ["", "a", "a\n", "a\r\n\n é\n\nb", "\n", "a\n\n"] {
            let file = SourceFile::new("x".into(), text.into());
            let all: Vec<&str> = (1..).map_while(|line| file.line(line)).collect();
            assert_eq!(all, text.lines().collect::<Vec<_>>(), "{text:?}");
            assert_eq!(file.line(0), None);
        }
    }

    #[test]
    fn ranges_are_cut_to_their_line() {
        let file = SourceFile::new("x".into(), "ab\r\ncdef\n".into());
        assert_eq!(file.range(1, &(0..9)), 0..2);
        assert_eq!(file.range(2, &(1..3)), 5..7);
        assert_eq!(file.range(7, &(1..3)), 9..9);
    }
}
