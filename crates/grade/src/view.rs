//! What a student may see of a grade.
//!
//! Every format that a student reads is made of a [`View`], and of nothing else. Of what only hidden inputs show it names the rule and
//! the lines at most: no sizes, no values, no threads, no seeds, no output of the kernel. Of several inputs that show one root cause,
//! a visible one is told.

use crate::assignment::{Assignment, BuildKind, Detail, Disclosure, Feedback, Visibility};
use crate::hint::hint;
use crate::result::{Cause, Graded, InputResult, Loss, Outcome, PartResult, State};
use detect::rules::Rule;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Root causes of one rule that are told at length; of the others the lines are named.
const CAUSES: usize = 2;

/// When it is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Before the due date.
    #[default]
    BeforeDue,
    /// After it.
    AfterDue,
}

/// A grade as a student sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// The assignment's title.
    pub title: String,
    /// The submission's name.
    pub submission: String,
    /// Points that are decided, of parts that students see.
    pub points: f64,
    /// Points that there are.
    pub of: f64,
    /// Whether a person has still to decide something.
    pub provisional: bool,
    /// The parts.
    pub parts: Vec<PartView>,
}

/// A part as a student sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartView {
    /// Its name.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// Points that it earned.
    pub earned: Option<f64>,
    /// Points that it can earn.
    pub of: f64,
    /// How it went.
    pub state: State,
    /// Why, one paragraph each.
    pub text: Vec<String>,
    /// When students see it.
    pub visibility: Visibility,
}

/// What a student may see.
pub fn view(graded: &Graded, assignment: &Assignment, when: When) -> View {
    let seer = Seer {
        graded,
        feedback: &assignment.feedback,
        has_files: assignment.build.kind != BuildKind::Kernel,
        when,
    };
    let seen = |part: &&PartResult| match part.visibility {
        Visibility::Visible => true,
        Visibility::AfterDueDate => when == When::AfterDue,
        Visibility::AfterPublished | Visibility::Hidden => false,
    };
    let parts: Vec<PartView> = graded
        .parts
        .iter()
        .filter(seen)
        .map(|p| seer.part(p))
        .collect();
    View {
        title: graded.title.clone(),
        submission: graded.submission.name.clone(),
        points: crate::score::round(parts.iter().filter_map(|p| p.earned).sum()),
        of: crate::score::round(parts.iter().map(|p| p.of).sum()),
        provisional: parts.iter().any(|p| p.earned.is_none()),
        parts,
    }
}

/// One part, whether students see it at that time or not.
pub fn part_view(
    graded: &Graded,
    assignment: &Assignment,
    part: &PartResult,
    when: When,
) -> PartView {
    let seer = Seer {
        graded,
        feedback: &assignment.feedback,
        has_files: assignment.build.kind != BuildKind::Kernel,
        when,
    };
    seer.part(part)
}

struct Seer<'a> {
    graded: &'a Graded,
    feedback: &'a Feedback,
    /// Whether commands need the files of an input, which a course hands out.
    has_files: bool,
    when: When,
}

impl Seer<'_> {
    /// What a command needs.
    fn files_of(&self, input: &str) -> String {
        match self.has_files {
            true => format!(" (with the files of input \"{input}\")"),
            false => String::new(),
        }
    }

    fn detail(&self, visible: bool) -> Detail {
        let at = |told: Disclosure| match self.when {
            When::BeforeDue => told.before,
            When::AfterDue => told.after,
        };
        match visible {
            true => at(self.feedback.visible),
            // What threads did says how large the input is.
            false => at(self.feedback.hidden).min(Detail::Lines),
        }
    }

    fn part(&self, part: &PartResult) -> PartView {
        let mut text: Vec<String> = Vec::new();
        let mut hidden = 0;
        let mut shown: BTreeMap<Rule, (usize, BTreeSet<String>)> = BTreeMap::new();
        for loss in &part.losses {
            let words = self.loss(loss);
            if let (Loss::Cause { cause, .. }, Some(_)) = (loss, &words)
                && let Some(cause) = self.graded.causes.get(*cause)
            {
                let (count, lines) = shown.entry(cause.rule).or_default();
                *count += 1;
                if *count > CAUSES {
                    if self.detail_of(cause) >= Detail::Lines {
                        lines.extend(cause.lines.iter().map(|l| l.line.to_string()));
                    }
                    continue;
                }
            }
            match words {
                Some(words) if !text.contains(&words) => text.push(words),
                Some(_) => {}
                None => hidden += 1,
            }
        }
        for (rule, (count, lines)) in shown.iter().filter(|(_, (count, _))| *count > CAUSES) {
            let mut more = format!("{rule}: {} more like it", count - CAUSES);
            if !lines.is_empty() {
                let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
                more += &format!(", on lines {}", lines.join(", "));
            }
            text.push(more + ".");
        }
        if hidden > 0 {
            text.push("Hidden tests take points here.".to_owned());
        }
        if part.state == State::Manual {
            text.push("A person reads this part.".to_owned());
        }
        PartView {
            id: part.id.clone(),
            title: part.title.clone(),
            earned: part.earned,
            of: part.of,
            state: part.state,
            text: text.iter().map(|words| visible(words)).collect(),
            visibility: part.visibility,
        }
    }

    fn input(&self, id: &str) -> Option<&InputResult> {
        self.graded.inputs.iter().find(|i| i.id == id)
    }

    fn is_visible(&self, id: &str) -> bool {
        self.input(id).is_some_and(|i| i.visible)
    }

    /// A loss in words; `None` where no more may be said than that points are lost.
    fn loss(&self, loss: &Loss) -> Option<String> {
        Some(match loss {
            Loss::Refused => {
                let refused = self.graded.refused.as_ref()?;
                match refused.messages.is_empty() {
                    true => sentence(&refused.what),
                    false => format!("{}\n{}", sentence(&refused.what), refused.messages.trim_end()),
                }
            }
            Loss::Requires { part } => {
                let part = self.graded.parts.iter().find(|p| p.id == *part)?;
                format!("No points here before \"{}\" earns enough.", part.title)
            }
            Loss::Undecided { .. } => "This could not be decided automatically. A person looks at it, and there are no points before.".to_owned(),
            Loss::Cause { cause, .. } => self.cause(self.graded.causes.get(*cause)?)?,
            Loss::Input { input, .. } => self.wrong(self.input(input)?)?,
            Loss::Count { metric, input, count, reference, full } => {
                if !self.is_visible(input) {
                    return (self.detail(false) > Detail::Verdict).then(|| format!("There are too many {}.", metric.words()));
                }
                let count = number(*count);
                match reference {
                    Some(reference) => format!("On input \"{input}\" there are {count} {}; the reference has {}, and up to {} times that earns all points.", metric.words(), number(*reference), number(*full)),
                    None => format!("On input \"{input}\" there are {count} {}; up to {} earn all points.", metric.words(), number(*full)),
                }
            }
        })
    }

    fn wrong(&self, input: &InputResult) -> Option<String> {
        if !input.visible {
            return (self.detail(false) > Detail::Verdict)
                .then(|| "On a hidden input the results are wrong.".to_owned());
        }
        let detail = self.detail(true);
        let mut text = format!("On input \"{}\"", input.id);
        if detail == Detail::Verdict {
            return Some(text + " the results are wrong.");
        }
        let draw = input
            .draws
            .iter()
            .find(|d| matches!(d.outcome, Outcome::Wrong { .. }))?;
        let Outcome::Wrong {
            what, differences, ..
        } = &draw.outcome
        else {
            return None;
        };
        let sizes: Vec<String> = draw
            .sizes
            .iter()
            .map(|(name, size)| format!("{name} = {size}"))
            .collect();
        text += &format!(" ({}): {what}.", sizes.join(", "));
        if detail >= Detail::Lines {
            for difference in differences {
                let found = match &difference.found {
                    Some(found) => format!("is {found}"),
                    None => "was never written".to_owned(),
                };
                text += &format!(
                    "\n  {} {found}, expected {}",
                    difference.place, difference.expected
                );
            }
        }
        Some(text)
    }

    /// How much is told of a root cause.
    fn detail_of(&self, cause: &Cause) -> Detail {
        self.detail(cause.seen.iter().any(|seen| self.is_visible(&seen.input)))
    }

    fn cause(&self, cause: &Cause) -> Option<String> {
        let seen = cause.seen.iter().find(|seen| self.is_visible(&seen.input));
        let detail = self.detail(seen.is_some());
        if detail == Detail::Verdict {
            return seen.map(|_| "Something is wrong here.".to_owned());
        }
        let mut text = format!("{}: {}", cause.rule, cause.rule.summary());
        if detail >= Detail::Lines {
            for line in &cause.lines {
                text += &match &line.text {
                    Some(code) => format!("\n  {}:{}: {code}", line.file, line.line),
                    None => format!("\n  {}:{}", line.file, line.line),
                };
            }
        }
        if detail >= Detail::Schedule
            && let Some(seen) = seen
        {
            text += &format!("\n  On input \"{}\", in the order of time:", seen.input);
            for (number, step) in seen.steps.iter().enumerate() {
                text += &format!("\n    {}. {step}", number + 1);
            }
            if let Some(replay) = &seen.replay {
                text += &format!("\n  To repeat it{}: {replay}", self.files_of(&seen.input));
            }
            if let Some(smallest) = cause
                .smallest
                .as_ref()
                .filter(|s| self.is_visible(&s.input))
            {
                let sizes: Vec<String> = smallest
                    .sizes
                    .iter()
                    .map(|(n, v)| format!("{n} = {v}"))
                    .collect();
                // Its files are not those that a course hands out.
                let replay = match self.has_files {
                    true => String::new(),
                    false => format!(": {}", smallest.replay),
                };
                text += &format!("\n  With less ({}){replay}", sizes.join(", "));
            }
        }
        if detail >= Detail::Lines
            && let Some(hint) = hint(cause, self.feedback)
        {
            text += &format!("\n  {hint}");
        }
        Some(text)
    }
}

/// A text in which nothing speaks to a terminal or turns the direction of writing: such characters are written as what they are.
pub fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control() && !"\n\t".contains(c)
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match hidden(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    out
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

/// A number without needless decimal places.
pub fn number(n: f64) -> String {
    match n.fract() == 0.0 {
        true => format!("{n:.0}"),
        false => format!("{n:.2}").trim_end_matches('0').to_owned(),
    }
}
