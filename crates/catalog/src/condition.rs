//! Which lines of a kernel a set of defines keeps.
//!
//! Follows `#if`, `#ifdef`, `#ifndef`, `#elif`, `#else`, `#endif` with conditions made of
//! `defined(NAME)`, names (their value, or 0), integers, `!`, `&&`, `||`, comparisons and parentheses. It
//! expands no macros and follows no includes: enough to know to which cases an annotated
//! line belongs.

use super::values::DefineValue;
use std::collections::BTreeMap;

/// The symbols defined on the command line.
pub type Defines = BTreeMap<String, Option<DefineValue>>;

/// A condition that this can't follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// Line from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A directive that belongs to an `#if`, and there is none.
    #[error("without its `#if`")]
    NoIf,
    /// The file ends before the condition does.
    #[error("an `#if` has no `#endif`")]
    NoEnd,
    /// What is left of a condition that has been read.
    #[error("`{0}` is not understood")]
    Rest(String),
    /// A parenthesis stays open.
    #[error("`)` expected")]
    Open,
    /// That of `defined(` does.
    #[error("`)` expected after `defined(`")]
    OpenDefined,
    /// Something else stands where a name or a number should.
    #[error("a name or a number expected before `{0}`")]
    NoOperand(String),
    /// A number of another kind.
    #[error("`{0}` is not a decimal integer")]
    Number(String),
}

/// For each line of `source`, whether the defines keep it. A directive's own line counts as dropped.
pub fn kept_lines(source: &str, defines: &Defines) -> Result<Vec<bool>, ConditionError> {
    // One entry for each open condition: whether its surroundings are kept, whether the present branch is,
    // and whether a branch was taken already.
    let mut open: Vec<(bool, bool, bool)> = Vec::new();
    let mut kept = Vec::new();
    for (index, line) in source.lines().enumerate() {
        let outside = open.last().is_none_or(|(_, now, _)| *now);
        let Some(directive) = line.trim_start().strip_prefix('#') else {
            kept.push(outside);
            continue;
        };
        kept.push(false);
        let directive = directive.split("//").next().unwrap_or_default().trim();
        let word_end = directive
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(directive.len());
        let (word, rest) = directive.split_at(word_end);
        let error = |problem| ConditionError {
            line: index + 1,
            problem,
        };
        let holds = |text: &str| evaluate(text, defines).map_err(error);
        match word {
            "if" | "ifdef" | "ifndef" => {
                // What stands in a dropped branch need not be understood.
                let value = outside
                    && match word {
                        "ifdef" => defines.contains_key(rest.trim()),
                        "ifndef" => !defines.contains_key(rest.trim()),
                        _ => holds(rest)?,
                    };
                open.push((outside, value, value));
            }
            "elif" | "else" => {
                let Some((around, now, taken)) = open.last_mut() else {
                    return Err(error(Problem::NoIf));
                };
                *now = *around && !*taken && (word == "else" || holds(rest)?);
                *taken |= *now;
            }
            "endif" => {
                open.pop().ok_or_else(|| error(Problem::NoIf))?;
            }
            _ => {}
        }
    }
    match open.is_empty() {
        true => Ok(kept),
        false => Err(ConditionError {
            line: source.lines().count(),
            problem: Problem::NoEnd,
        }),
    }
}

fn evaluate(text: &str, defines: &Defines) -> Result<bool, Problem> {
    let mut condition = Condition {
        rest: text.trim(),
        defines,
    };
    let value = condition.or()?;
    match condition.rest.is_empty() {
        true => Ok(value != 0),
        false => Err(Problem::Rest(condition.rest.to_owned())),
    }
}

struct Condition<'a> {
    rest: &'a str,
    defines: &'a Defines,
}

impl<'a> Condition<'a> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn or(&mut self) -> Result<i64, Problem> {
        let mut left = self.and()?;
        while self.eat("||") {
            left = i64::from((self.and()? != 0) | (left != 0));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<i64, Problem> {
        let mut left = self.comparison()?;
        while self.eat("&&") {
            left = i64::from((self.comparison()? != 0) & (left != 0));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<i64, Problem> {
        let left = self.operand()?;
        let operators: [(&str, fn(&i64, &i64) -> bool); 6] = [
            ("==", i64::eq),
            ("!=", i64::ne),
            ("<=", i64::le),
            (">=", i64::ge),
            ("<", i64::lt),
            (">", i64::gt),
        ];
        for (operator, holds) in operators {
            if self.eat(operator) {
                let right = self.operand()?;
                return Ok(i64::from(holds(&left, &right)));
            }
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<i64, Problem> {
        if self.eat("!") {
            return Ok(i64::from(self.operand()? == 0));
        }
        if self.eat("(") {
            let value = self.or()?;
            return if self.eat(")") {
                Ok(value)
            } else {
                Err(Problem::Open)
            };
        }
        let word = self.word();
        match word {
            "" => Err(Problem::NoOperand(self.rest.to_owned())),
            "defined" => {
                let parenthesis = self.eat("(");
                let name = self.word();
                if parenthesis && !self.eat(")") {
                    return Err(Problem::OpenDefined);
                }
                Ok(i64::from(self.defines.contains_key(name)))
            }
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
                let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
                digits.parse().map_err(|_| Problem::Number(word.to_owned()))
            }
            name => Ok(match self.defines.get(name) {
                Some(Some(DefineValue::Number(value))) => *value,
                Some(None) => 1,
                Some(Some(DefineValue::Word(_))) | None => 0,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(source: &str, names: &[(&str, i64)]) -> String {
        let defines = names
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Some(DefineValue::Number(*value))))
            .collect();
        let kept = kept_lines(source, &defines).unwrap();
        source
            .lines()
            .zip(kept)
            .filter(|(_, k)| *k)
            .map(|(l, _)| l.trim())
            .collect()
    }

    #[test]
    fn branches() {
        let source =
            "a\n#ifdef X\nb\n#if Y > 2\nc\n#elif Y\nd\n#else\ne\n#endif\n#else\nf\n#endif\ng";
        assert_eq!(kept(source, &[]), "afg");
        assert_eq!(kept(source, &[("X", 1)]), "abeg");
        assert_eq!(kept(source, &[("X", 1), ("Y", 1)]), "abdg");
        assert_eq!(kept(source, &[("X", 1), ("Y", 3)]), "abcg");
    }

    #[test]
    fn conditions() {
        let source = "#if defined(A) && !defined B || (C == 4 && C != D)\nyes\n#endif // end";
        assert_eq!(kept(source, &[("A", 0)]), "yes");
        assert_eq!(kept(source, &[("A", 0), ("B", 0)]), "");
        assert_eq!(kept(source, &[("C", 4)]), "yes");
        assert_eq!(kept(source, &[("C", 4), ("D", 4)]), "");
    }

    #[test]
    fn mistakes() {
        let line = |source| kept_lines(source, &Defines::new()).unwrap_err().line;
        assert_eq!(line("a\n#endif"), 2);
        assert_eq!(line("a\n#else\n#endif"), 2);
        assert_eq!(line("#if A\nb"), 2);
        assert_eq!(line("\n#if A ? B : C\n#endif"), 2);
    }
}
