//! The tags on a kernel's guilty lines: `//~[case] data-race#1 read write`.
//!
//! `kernels/ANNOTATIONS.md` defines the grammar. This module reads the tags and decides which cases each tag applies to;
//! [`crate::expect`] matches them with findings.

use super::condition::{Defines, kept_lines};
use super::error::{CatalogError, Hint, Place};
use detect::finding::Action;
use detect::rules::Rule;

/// What a tag names: a rule, a wrong result or a compiler error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// A finding of this rule.
    Rule(Rule),
    /// A result that differs from the oracle.
    WrongResult,
    /// The compiler rejects the line.
    CompileError,
}

impl Fault {
    /// The word in the annotation.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Rule(rule) => rule.name(),
            Fault::WrongResult => "wrong-result",
            Fault::CompileError => "compile-error",
        }
    }

    fn all() -> impl Iterator<Item = Fault> + Clone {
        Rule::ALL
            .iter()
            .map(|rule| Fault::Rule(*rule))
            .chain([Fault::WrongResult, Fault::CompileError])
    }
}

/// The kind of file that a tag is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Home {
    /// A kernel's source file.
    Kernel,
    /// The plan in a case file.
    Case,
}

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The rule or result that it names.
    pub fault: Fault,
    /// The number shared by the ends of one fault; 0 if omitted.
    pub number: u32,
    /// What the threads do there; empty if any action matches.
    pub actions: Vec<Action>,
    /// The file that contains it.
    pub home: Home,
    /// The line in that file, counted from 1.
    pub line: u32,
    /// The column where the tag starts, counted from 1.
    pub column: usize,
    /// The stems of the cases that it applies to; empty for every case that compiles the line.
    pub cases: Vec<String>,
}

/// The actions that a tag can name.
const ACTIONS: &[(&str, Action)] = &[
    ("read", Action::Read),
    ("write", Action::Write),
    ("atomic", Action::Atomic),
    ("copy", Action::Copy),
    ("multiply", Action::Multiply),
    ("wait", Action::Wait),
    ("sync", Action::Sync),
    ("pass", Action::Pass),
    ("exit", Action::Exit),
    ("run", Action::Run),
    ("branch", Action::Branch),
    ("use", Action::Use),
    ("stop", Action::Stop),
    ("free", Action::Free),
];

/// The word for an action, as spelt in tags and reports.
pub fn action_name(action: Action) -> &'static str {
    ACTIONS
        .iter()
        .find(|(_, a)| *a == action)
        .map_or("", |(name, _)| name)
}

/// All tags (`//~ …`) of a kernel's source. `file` is its name in error messages.
pub fn parse(file: &str, source: &str) -> Result<Vec<Tag>, Vec<CatalogError>> {
    read(file, source, "//~", Home::Kernel)
}

/// All tags (`#~ …`) of a case file. They apply to this case.
pub fn parse_case(file: &str, source: &str) -> Result<Vec<Tag>, Vec<CatalogError>> {
    read(file, source, "#~", Home::Case)
}

fn read(file: &str, source: &str, mark: &str, home: Home) -> Result<Vec<Tag>, Vec<CatalogError>> {
    let (mut tags, mut errors) = (Vec::new(), Vec::new());
    for (index, line) in source.lines().enumerate() {
        let starts: Vec<_> = line.match_indices(mark).map(|(at, _)| at).collect();
        for (k, start) in starts.iter().enumerate() {
            let end = starts.get(k + 1).copied().unwrap_or(line.len());
            let mut reader = Reader {
                file,
                line,
                number: index + 1,
                position: start + mark.len(),
                end,
                home,
            };
            match reader.annotation() {
                Ok(read) => tags.extend(read),
                Err(error) => errors.push(*error),
            }
        }
    }
    if errors.is_empty() {
        Ok(tags)
    } else {
        Err(errors)
    }
}

struct Reader<'a> {
    file: &'a str,
    line: &'a str,
    number: usize,
    position: usize,
    end: usize,
    home: Home,
}

impl<'a> Reader<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.line[self.position..self.end];
        let trimmed = rest.trim_start();
        self.position += rest.len() - trimmed.len();
        trimmed.trim_end()
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        self.position += if found { c.len_utf8() } else { 0 };
        found
    }

    fn word(&mut self) -> (usize, &'a str) {
        let rest = self.rest();
        let at = self.position;
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
            .unwrap_or(rest.len());
        self.position += end;
        (at, &rest[..end])
    }

    fn place(&self, at: usize) -> Place {
        let column = self.line[..at].chars().count() + 1;
        Place {
            file: self.file.to_owned(),
            line: self.number,
            column,
        }
    }

    fn bad(&mut self, problem: impl Into<String>) -> Box<CatalogError> {
        self.rest();
        let place = self.place(self.position);
        Box::new(CatalogError::BadAnnotation {
            place,
            problem: problem.into(),
        })
    }

    fn annotation(&mut self) -> Result<Vec<Tag>, Box<CatalogError>> {
        let mut cases = Vec::new();
        if self.eat('[') {
            loop {
                match self.word().1 {
                    "" => return Err(self.bad("expected the name of a case")),
                    case => cases.push(case.to_owned()),
                }
                if self.eat(']') {
                    break;
                }
                if !self.eat(',') {
                    return Err(self.bad("expected `,` or `]` after the name of a case"));
                }
            }
        }
        let mut tags = vec![self.tag(&cases)?];
        while self.eat(',') {
            tags.push(self.tag(&cases)?);
        }
        match self.rest() {
            "" => Ok(tags),
            rest => Err(self.bad(format!(
                "expected `,` or the end of the line, found `{rest}`"
            ))),
        }
    }

    fn tag(&mut self, cases: &[String]) -> Result<Tag, Box<CatalogError>> {
        let (at, word) = self.word();
        if word.is_empty() {
            return Err(self.bad("expected the name of a rule"));
        }
        let fault = Fault::all().find(|f| f.name() == word).ok_or_else(|| {
            let hint = Hint::new(word, Fault::all().map(Fault::name));
            Box::new(CatalogError::UnknownTag {
                place: self.place(at),
                kind: "rule",
                word: word.to_owned(),
                hint,
            })
        })?;
        let column = self.place(at).column;
        let mut number = 0;
        if self.eat('#') {
            let digits = self.word().1;
            number = digits
                .parse()
                .map_err(|_| self.bad("expected a number after `#`"))?;
        }
        let mut actions = Vec::new();
        loop {
            let (at, word) = self.word();
            if word.is_empty() {
                break;
            }
            match ACTIONS.iter().find(|(name, _)| *name == word) {
                Some((_, action)) => actions.push(*action),
                None => {
                    let names = ACTIONS.iter().map(|(name, _)| *name);
                    // A missing comma between two rules is more likely than a misspelt action.
                    if Fault::all().any(|f| f.name() == word) {
                        self.position = at;
                        return Err(self.bad(format!("expected `,` before `{word}`")));
                    }
                    return Err(Box::new(CatalogError::UnknownTag {
                        place: self.place(at),
                        kind: "action",
                        word: word.to_owned(),
                        hint: Hint::new(word, names),
                    }));
                }
            }
        }
        let line = u32::try_from(self.number).unwrap_or(u32::MAX);
        Ok(Tag {
            fault,
            number,
            actions,
            home: self.home,
            line,
            column,
            cases: cases.to_vec(),
        })
    }
}

/// The tags that apply to a case: those that name its stem, and those without names on lines that its defines keep.
pub fn applying<'a>(
    file: &str,
    source: &str,
    tags: &'a [Tag],
    stem: &str,
    defines: &Defines,
) -> Result<Vec<&'a Tag>, CatalogError> {
    if tags.is_empty() {
        return Ok(Vec::new());
    }
    let kept = kept_lines(source, defines).map_err(|e| CatalogError::BadCondition {
        place: Place {
            file: file.to_owned(),
            line: e.line,
            column: 0,
        },
        problem: e.problem.to_string(),
    })?;
    Ok(tags
        .iter()
        .filter(|tag| match tag.cases.is_empty() {
            true => kept.get(tag.line as usize - 1).copied().unwrap_or(false),
            false => tag.cases.iter().any(|case| case == stem),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(source: &str) -> String {
        let errors = parse("k.cu", source).unwrap_err();
        errors
            .iter()
            .map(CatalogError::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn reads_tags() {
        let source = "x; //~ data-race#2 read write, out-of-bounds //~[a, b-c]deadlock#1 wait\ny; //~ wrong-result";
        let tags = parse("k.cu", source).unwrap();
        assert_eq!(tags.len(), 4);
        assert_eq!(tags[0].fault, Fault::Rule(Rule::DataRace));
        assert_eq!((tags[0].number, tags[0].line, tags[0].column), (2, 1, 8));
        assert_eq!(tags[0].actions, [Action::Read, Action::Write]);
        assert_eq!((tags[1].number, tags[1].actions.len()), (0, 0));
        assert_eq!(tags[2].cases, ["a", "b-c"]);
        assert_eq!((tags[3].fault, tags[3].line), (Fault::WrongResult, 2));
    }

    #[test]
    fn refuses_what_is_misspelt() {
        assert_eq!(
            errors("x; //~ data-rase"),
            "k.cu:1:8: unknown rule `data-rase` (did you mean `data-race`?)"
        );
        assert_eq!(
            errors("\nx; //~[a] data-race#1 wirte"),
            "k.cu:2:23: unknown action `wirte` (did you mean `write`?)"
        );
        assert_eq!(
            errors("x //~ data-race deadlock"),
            "k.cu:1:17: invalid annotation: expected `,` before `deadlock`"
        );
        assert_eq!(
            errors("x //~"),
            "k.cu:1:6: invalid annotation: expected the name of a rule"
        );
        assert_eq!(
            errors("x //~[a data-race"),
            "k.cu:1:9: invalid annotation: expected `,` or `]` after the name of a case"
        );
        assert_eq!(
            errors("x //~ data-race#x"),
            "k.cu:1:18: invalid annotation: expected a number after `#`"
        );
        assert_eq!(
            errors("x //~ data-race!"),
            "k.cu:1:16: invalid annotation: expected `,` or the end of the line, found `!`"
        );
    }

    #[test]
    fn ties() {
        let source = "a //~[one] data-race\n#ifdef X\nb //~ deadlock\n#endif";
        let tags = parse("k.cu", source).unwrap();
        let lines = |stem, defines| {
            let tags = applying("k.cu", source, &tags, stem, &defines).unwrap();
            tags.iter().map(|t| t.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("one", Defines::new()), [1]);
        assert_eq!(lines("two", Defines::new()), [0u32; 0]);
        assert_eq!(lines("two", Defines::from([("X".to_owned(), None)])), [3]);
    }
}
