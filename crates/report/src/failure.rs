//! Errors that stop a command before it reaches a verdict: a message with a place and a hint.

use super::SourceFile;
use super::exit;
use annotate_snippets as a;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Why a command failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// One of [`exit`].
    pub code: u8,
    /// The problem, in one line.
    pub message: String,
    /// The place.
    pub place: Option<Box<FailurePlace>>,
    /// The output of another program or a list of choices, printed unchanged below the message.
    pub text: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FailurePlace {
    /// The source file.
    pub source: Arc<SourceFile>,
    /// The byte range in the text.
    pub span: Range<usize>,
    /// The problem at this place.
    pub label: String,
}

impl Failure {
    /// An invalid command line or input.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure {
            code: exit::USAGE,
            message: message.into(),
            place: None,
            text: None,
            help: None,
        }
    }

    /// racetrap could not reach a verdict.
    pub fn inconclusive(message: impl Into<String>) -> Failure {
        Failure {
            code: exit::INCONCLUSIVE,
            ..Failure::usage(message)
        }
    }

    /// Adds a hint.
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }

    /// Adds the output of another program or a list.
    pub fn text(mut self, text: impl Into<String>) -> Failure {
        self.text = Some(text.into());
        self
    }

    /// Adds a place.
    pub fn at(
        mut self,
        source: Arc<SourceFile>,
        span: Range<usize>,
        label: impl Into<String>,
    ) -> Failure {
        let end = source.text.len();
        let start = span.start.min(end);
        self.place = Some(Box::new(FailurePlace {
            span: start..span.end.clamp(start, end),
            source,
            label: label.into(),
        }));
        self
    }

    /// Renders the message, ending in a line feed.
    pub fn render(&self, color: bool) -> String {
        let mut group = a::Group::with_title(a::Level::ERROR.primary_title(&self.message));
        if let Some(place) = &self.place {
            let text = &place.source.text;
            let start = text[..place.span.start].rfind('\n').map_or(0, |p| p + 1);
            let end = text[place.span.end..]
                .find('\n')
                .map_or(text.len(), |p| place.span.end + p);
            group = group.element(
                a::Snippet::source(&text[start..end])
                    .path(&place.source.path)
                    .line_start(text[..start].matches('\n').count() + 1)
                    .annotation(
                        a::AnnotationKind::Primary
                            .span(place.span.start - start..place.span.end - start)
                            .label(ptx::shortened(&place.label)),
                    ),
            );
        }
        // Put the hint in the snippet's frame if there is one, otherwise on its own line below the other program's output.
        let mut last = None;
        match &self.help {
            Some(help) if self.place.is_some() && self.text.is_none() => {
                group = group.element(a::Level::HELP.message(help.as_str()));
            }
            help => last = help.as_ref(),
        }
        let renderer = if color {
            a::Renderer::styled()
        } else {
            a::Renderer::plain()
        };
        let mut out = renderer.render(&[group]) + "\n";
        for line in self.text.iter().flat_map(|text| text.lines()) {
            out.push_str("  ");
            out.push_str(line);
            out.push('\n');
        }
        if let Some(help) = last {
            let group = a::Group::with_title(a::Level::HELP.secondary_title(help.as_str()));
            out += &renderer.render(&[group]);
            out.push('\n');
        }
        super::safe(&out).into_owned()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
