//! Checks an assignment as a whole: every name in it is known, and every key has a meaning where it stands.

use super::error::AssignmentError;
use super::{
    Argument, Assignment, BuildKind, Dimensions, FORMAT, Kernel, Kind, Layout, Metric, OUTPUT,
    Part, Program, STDOUT, Size,
};
use catalog::locate::{Step, locate};
use context::options::LeaveOut;
use report::{nearest, suggest};
use session::expression::Expression;
use std::collections::BTreeSet;

/// The most inputs that are run, draws included.
const RUNS: u64 = 200;

/// Checks an assignment; mistakes are placed in its text.
pub(super) struct Checking<'a> {
    /// The file's name.
    pub file: &'a str,
    /// Its text.
    pub text: &'a str,
}

type Checked = Result<(), AssignmentError>;

impl Checking<'_> {
    fn wrong<T>(&self, path: &[Step<'_>], what: impl Into<String>) -> Result<T, AssignmentError> {
        let (line, column) = locate(self.text, path);
        let mut key = String::new();
        for step in path {
            match step {
                Step::Key(name) if key.is_empty() => key += name,
                Step::Key(name) => key += &format!(".{name}"),
                Step::Index(index) => key += &format!("[{index}]"),
            }
        }
        Err(AssignmentError::Wrong {
            file: self.file.to_owned(),
            line,
            column,
            key,
            what: what.into(),
        })
    }

    /// The first mistake.
    pub fn whole(&self, a: &Assignment) -> Checked {
        if a.racetrap_assignment != FORMAT {
            let what = format!("this program reads version {FORMAT} of the format");
            return self.wrong(&["racetrap-assignment".into()], what);
        }
        if !is_name(&a.id) {
            return self.wrong(&["id".into()], "use letters, digits, `-` and `_`");
        }
        self.submission(a)?;
        self.inputs(a)?;
        match (a.build.kind, &a.kernel, &a.program) {
            (BuildKind::Kernel, Some(kernel), None) => self.kernel(a, kernel)?,
            (BuildKind::Kernel, None, _) => {
                return self.wrong(&["build".into()], "this kind needs the key `kernel`");
            }
            (BuildKind::Kernel, _, Some(_)) => {
                return self.wrong(&["program".into()], "has no meaning for `kind: kernel`");
            }
            (_, Some(_), _) => {
                return self.wrong(&["kernel".into()], "has no meaning for this kind of build");
            }
            (_, None, None) => {
                return self.wrong(&["build".into()], "this kind needs the key `program`");
            }
            (_, None, Some(program)) => self.program(a, program)?,
        }
        self.compare(a)?;
        self.parts(a)?;
        self.selftest(a)
    }

    fn submission(&self, a: &Assignment) -> Checked {
        if a.submission.require.is_empty() {
            return self.wrong(&["submission".into(), "require".into()], "name a file");
        }
        for (index, name) in a.submission.require.iter().enumerate() {
            if !is_file_name(name) {
                let path = ["submission".into(), "require".into(), index.into()];
                return self.wrong(
                    &path,
                    format!("`{name}` is not the name of a file: folders are not taken"),
                );
            }
        }
        if a.build.builds.is_empty() {
            return self.wrong(
                &["build".into(), "builds".into()],
                "name at least one build",
            );
        }
        for (index, file) in a.build.harness.iter().enumerate() {
            let name = file
                .file_name()
                .and_then(|n| n.to_str())
                .unwrap_or_default();
            if a.submission.require.iter().any(|r| r == name) {
                let path = ["build".into(), "harness".into(), index.into()];
                return self.wrong(
                    &path,
                    format!("students hand in a file of the name `{name}`, too"),
                );
            }
        }
        Ok(())
    }

    fn inputs(&self, a: &Assignment) -> Checked {
        if a.inputs.is_empty() {
            return self.wrong(&["inputs".into()], "there is none");
        }
        let mut seen = BTreeSet::new();
        let mut runs = 0u64;
        let first: BTreeSet<&str> = names(&a.inputs[0].sizes.0);
        for (index, input) in a.inputs.iter().enumerate() {
            let at = |key| ["inputs".into(), index.into(), Step::Key(key)];
            if !is_name(&input.id) || !seen.insert(&input.id) {
                return self.wrong(
                    &at("id"),
                    "each input needs a name of its own, of letters, digits, `-` and `_`",
                );
            }
            runs += u64::from(input.draws);
            if input.draws == 0 || runs > RUNS {
                return self.wrong(
                    &at("draws"),
                    format!("from 1, and at most {RUNS} of all inputs together"),
                );
            }
            if !input.visible && a.secret.is_none() {
                return self.wrong(
                    &at("visible"),
                    "hidden inputs need `secret`: any text that students don't know",
                );
            }
            if let Some(name) = input
                .expected
                .keys()
                .find(|name| !a.compare.contains_key(*name))
            {
                return self.wrong(&at("expected"), format!("`{name}` is not compared"));
            }
            let mut known: BTreeSet<&str> = BTreeSet::new();
            for (name, size) in &input.sizes.0 {
                let ends = match size {
                    Size::Is(one) => vec![one],
                    Size::Drawn(low, high) => vec![low, high],
                };
                let path = [
                    "inputs".into(),
                    index.into(),
                    "sizes".into(),
                    Step::Key(name),
                ];
                self.names(ends, &known, &path)?;
                known.insert(name);
            }
            if known != first {
                return self.wrong(&at("sizes"), "all inputs need the same names");
            }
        }
        Ok(())
    }

    fn names(&self, all: Vec<&Expression>, known: &BTreeSet<&str>, path: &[Step<'_>]) -> Checked {
        for expression in all {
            if let Some(name) = expression.names().into_iter().find(|n| !known.contains(n)) {
                let near = nearest(name, known.iter().copied());
                let near = near
                    .map(|n| format!(", did you mean `{n}`?"))
                    .unwrap_or_default();
                return self.wrong(path, format!("`{name}` is no size of the inputs{near}"));
            }
        }
        Ok(())
    }

    fn program(&self, a: &Assignment, program: &Program) -> Checked {
        let sizes = names(&a.inputs[0].sizes.0);
        let wb = a.build.kind == BuildKind::Wb;
        let key = |key| ["program".into(), Step::Key(key)];
        for (name, file) in &program.files.0 {
            let path = ["program".into(), "files".into(), Step::Key(name)];
            if !is_file_name(name) || name == STDOUT || wb && (name.contains(',') || name == OUTPUT)
            {
                return self.wrong(&path, "this can't be the name of a file here");
            }
            let mut all = vec![&file.length];
            all.extend(&file.columns);
            self.names(all, &sizes, &path)?;
            if let Some(number) = file.fill.misfit(file.element) {
                let what = format!("{number} does not fit in {}", file.element.name());
                return self.wrong(&path, what);
            }
        }
        let known = |name: &String| program.files.0.iter().any(|(file, _)| file == name);
        if program.stdin.as_ref().is_some_and(|name| !known(name)) {
            return self.wrong(&key("stdin"), "is none of `files`");
        }
        if let Some(name) = program.writes.iter().find(|name| !is_file_name(name)) {
            return self.wrong(
                &key("writes"),
                format!("`{name}` is not the name of a file"),
            );
        }
        if wb && !program.arguments.is_empty() {
            return self.wrong(
                &key("arguments"),
                "those of `wb` are made of `files` and `output`",
            );
        }
        for word in &program.arguments {
            for name in placeholders(word) {
                if !sizes.contains(name) {
                    return self.wrong(
                        &key("arguments"),
                        format!("`{name}` is no size of the inputs"),
                    );
                }
            }
        }
        if !(program.seconds > 0.0 && program.least_work >= 0.0) {
            return self.wrong(
                &["program".into()],
                "`seconds` and `least-work` are not negative",
            );
        }
        if a.build
            .make
            .as_ref()
            .is_some_and(|target| !is_file_name(target))
        {
            return self.wrong(
                &["build".into(), "make".into()],
                "is not the name of a file",
            );
        }
        Ok(())
    }

    fn kernel(&self, a: &Assignment, kernel: &Kernel) -> Checked {
        let sizes = names(&a.inputs[0].sizes.0);
        if a.build.make.is_some() {
            return self.wrong(
                &["build".into(), "make".into()],
                "has no meaning for `kind: kernel`",
            );
        }
        let dimensions: [(&str, &Dimensions); 2] =
            [("grid", &kernel.grid), ("block", &kernel.block)];
        for (key, dimensions) in dimensions {
            let path = ["kernel".into(), Step::Key(key)];
            if !(1..=3).contains(&dimensions.parts().len()) {
                return self.wrong(&path, "give one to three numbers");
            }
            self.names(dimensions.parts().iter().collect(), &sizes, &path)?;
        }
        self.names(
            kernel.shared.iter().collect(),
            &sizes,
            &["kernel".into(), "shared".into()],
        )?;
        for (name, argument) in &kernel.arguments.0 {
            let path = ["kernel".into(), "arguments".into(), Step::Key(name)];
            match argument {
                Argument::Number(expression) => self.names(vec![expression], &sizes, &path)?,
                Argument::Float(_) => {}
                Argument::Buffer(buffer) => {
                    self.names(vec![&buffer.length], &sizes, &path)?;
                    if let Some(number) = buffer.fill.misfit(buffer.element) {
                        let what = format!("{number} does not fit in {}", buffer.element.name());
                        return self.wrong(&path, what);
                    }
                }
            }
        }
        Ok(())
    }

    fn compare(&self, a: &Assignment) -> Checked {
        let arguments = a.kernel.iter().flat_map(|kernel| &kernel.arguments.0);
        let buffers = arguments.filter(|(_, v)| matches!(v, Argument::Buffer(_)));
        let buffers: Vec<&str> = buffers.map(|(name, _)| name.as_str()).collect();
        for (name, compare) in &a.compare {
            let path = ["compare".into(), Step::Key(name)];
            if a.program.is_some() {
                self.compared_file(a, name, compare, &path)?;
            } else if compare.element.is_some() || compare.layout.is_some() {
                return self.wrong(&path, "a buffer has its type and layout from `kernel`");
            } else if !buffers.contains(&name.as_str()) {
                let near = suggest(name, buffers.iter().copied()).unwrap_or_default();
                return self.wrong(
                    &path,
                    format!("no argument of the kernel is a buffer of this name; {near}"),
                );
            }
            let mut sizes = names(&a.inputs[0].sizes.0);
            self.names(compare.first.iter().collect(), &sizes, &path)?;
            sizes.insert("i");
            self.names(compare.each.iter().collect(), &sizes, &path)?;
            let in_files = a
                .inputs
                .iter()
                .all(|input| input.expected.contains_key(name));
            if compare.each.is_none() && a.reference.is_none() && !in_files {
                let what =
                    "say what is expected: `reference`, `each` here, or `expected` of each input";
                return self.wrong(&path, what);
            }
            if !(compare.rtol >= 0.0 && compare.atol >= 0.0) {
                return self.wrong(&path, "tolerances are not negative");
            }
        }
        Ok(())
    }

    fn compared_file(
        &self,
        a: &Assignment,
        name: &str,
        compare: &super::Compare,
        path: &[Step<'_>],
    ) -> Checked {
        let wb = a.build.kind == BuildKind::Wb && name == OUTPUT;
        if name != STDOUT && !is_file_name(name) {
            return self.wrong(path, "this is not the name of a file");
        }
        let words =
            compare.layout == Some(Layout::Words) || name == STDOUT && compare.layout.is_none();
        if wb && (compare.element.is_some() || compare.layout.is_some()) {
            return self.wrong(path, "its type and layout follow from `program.output`");
        }
        if !wb && !words && compare.element.is_none() {
            return self.wrong(path, "give the `type` of its numbers");
        }
        if compare.each.is_some() && (words || compare.first.is_none()) {
            return self.wrong(
                path,
                "`each` needs numbers, and `first`: how many of them there are",
            );
        }
        Ok(())
    }

    fn parts(&self, a: &Assignment) -> Checked {
        let ids: Vec<&str> = a.parts.iter().map(|p| p.id.as_str()).collect();
        for (index, part) in a.parts.iter().enumerate() {
            let at = |key| ["parts".into(), index.into(), Step::Key(key)];
            if !is_name(&part.id) || ids[..index].contains(&part.id.as_str()) {
                return self.wrong(
                    &at("id"),
                    "each part needs a name of its own, of letters, digits, `-` and `_`",
                );
            }
            if !(part.points >= 0.0 && part.points.is_finite()) {
                return self.wrong(&at("points"), "points are a number from 0");
            }
            for required in &part.requires {
                if !ids[..index].contains(&required.part()) {
                    let near = suggest(required.part(), ids[..index].iter().copied());
                    let what = format!(
                        "`{}` is no part before this one; {}",
                        required.part(),
                        near.unwrap_or_default()
                    );
                    return self.wrong(&at("requires"), what);
                }
            }
            for input in &part.inputs {
                self.input(a, input, &at("inputs"))?;
            }
            self.keys_of(part, &at)?;
            for (number, limit) in part.limits.iter().enumerate() {
                let path = ["parts".into(), index.into(), "limits".into(), number.into()];
                self.limit(a, part, limit, &path)?;
            }
        }
        if !a.parts.iter().any(|p| p.check == Kind::Compile) {
            return self.wrong(
                &["parts".into()],
                "one part must be `check: compile` (with `points: 0` if it earns none)",
            );
        }
        Ok(())
    }

    fn limit(
        &self,
        a: &Assignment,
        part: &Part,
        limit: &super::Limit,
        path: &[Step<'_>],
    ) -> Checked {
        if let Some(input) = &limit.input {
            self.input(a, input, path)?;
        }
        if limit.metric.of_launch() != (part.check == Kind::Style) {
            let of = |metric: Metric| {
                if metric.of_launch() {
                    "style"
                } else {
                    "counts"
                }
            };
            return self.wrong(
                path,
                format!("this metric is for `check: {}`", of(limit.metric)),
            );
        }
        if limit.relative_to_reference && a.reference.is_none() {
            return self.wrong(path, "there is no `reference`");
        }
        if limit
            .zero
            .is_some_and(|zero| zero.is_nan() || zero < limit.full)
        {
            return self.wrong(
                path,
                "`zero` lies below `full`, but smaller counts are better",
            );
        }
        Ok(())
    }

    fn input(&self, a: &Assignment, id: &str, path: &[Step<'_>]) -> Checked {
        let ids = a.inputs.iter().map(|i| i.id.as_str());
        if ids.clone().any(|known| known == id) {
            return Ok(());
        }
        let near = suggest(id, ids).unwrap_or_default();
        self.wrong(path, format!("`{id}` is no input; {near}"))
    }

    /// Keys that mean nothing for what the part judges.
    fn keys_of<'k>(&self, part: &Part, at: &dyn Fn(&'static str) -> [Step<'k>; 3]) -> Checked {
        let findings = matches!(part.check, Kind::Races | Kind::Barriers | Kind::Memory);
        let counted = matches!(part.check, Kind::Counts | Kind::Style);
        let given = [
            ("credit", part.credit.is_some(), part.check == Kind::Output),
            ("each", part.each.is_some(), findings),
            ("rules", !part.rules.is_empty(), findings),
            ("limits", !part.limits.is_empty(), counted),
        ];
        for (key, given, has_meaning) in given {
            if given && !has_meaning {
                return self.wrong(
                    &at(key),
                    format!("has no meaning for `check: {}`", part.check.name()),
                );
            }
        }
        if counted && part.limits.is_empty() {
            return self.wrong(&at("check"), "give `limits`");
        }
        Ok(())
    }

    fn selftest(&self, a: &Assignment) -> Checked {
        for (folder, scores) in &a.selftest.submissions {
            for part in scores.keys() {
                if part != "total" && !a.parts.iter().any(|p| p.id == *part) {
                    let folder = folder.to_str().unwrap_or_default();
                    let path = [
                        "selftest".into(),
                        "submissions".into(),
                        Step::Key(folder),
                        Step::Key(part),
                    ];
                    return self.wrong(&path, "there is no such part; `total` is the sum");
                }
            }
        }
        for (index, lose) in a.selftest.without.iter().enumerate() {
            let at = |key| {
                [
                    "selftest".into(),
                    "without".into(),
                    index.into(),
                    Step::Key(key),
                ]
            };
            if !LeaveOut::FUNCTIONS.contains(&lose.call.as_str()) {
                let near = suggest(&lose.call, LeaveOut::FUNCTIONS);
                let near = near.map_or(String::new(), |near| format!("; {near}"));
                let what = format!("calls of `{}` can't be left out{near}", lose.call);
                return self.wrong(&at("call"), what);
            }
            if a.build.kind == BuildKind::Kernel || a.reference.is_none() {
                let what = "calls are left out of the `reference` of a program, and there is none";
                return self.wrong(&at("call"), what);
            }
            if lose.lose.is_empty() && lose.scores.is_empty() {
                let what = "say what the reference must `lose` without it, or its `scores`";
                return self.wrong(&at("call"), what);
            }
            let known = |id: &String| id == "total" || a.parts.iter().any(|p| p.id == *id);
            if let Some(part) = lose.scores.keys().find(|id| !known(id)) {
                return self.wrong(&at("scores"), format!("there is no part `{part}`"));
            }
            if let Some(part) = lose.lose.iter().find(|id| !known(id)) {
                return self.wrong(&at("lose"), format!("there is no part `{part}`"));
            }
        }
        for (index, lose) in a.selftest.mutants.iter().enumerate() {
            let at = |key| {
                [
                    "selftest".into(),
                    "mutants".into(),
                    index.into(),
                    Step::Key(key),
                ]
            };
            if lose.lose.is_empty() && lose.scores.is_empty() {
                return self.wrong(
                    &at("mutation"),
                    "say what its mutants `lose`, or their `scores`",
                );
            }
            let mut scored = lose.scores.keys();
            if let Some(part) =
                scored.find(|id| *id != "total" && !a.parts.iter().any(|p| p.id == **id))
            {
                return self.wrong(&at("scores"), format!("there is no part `{part}`"));
            }
            if a.reference.is_none() {
                return self.wrong(
                    &at("mutation"),
                    "mutants are made of the `reference`, and there is none",
                );
            }
            if let Some(part) = lose
                .lose
                .iter()
                .find(|l| !a.parts.iter().any(|p| p.id == **l))
            {
                return self.wrong(&at("lose"), format!("there is no part `{part}`"));
            }
        }
        Ok(())
    }
}

fn names(sizes: &[(String, Size)]) -> BTreeSet<&str> {
    sizes.iter().map(|(name, _)| name.as_str()).collect()
}

/// The names that stand in braces.
fn placeholders(word: &str) -> impl Iterator<Item = &str> {
    let pieces = word.split('{').skip(1);
    pieces.filter_map(|piece| Some(piece.split_once('}')?.0))
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(fits)
}

/// Whether a text is the name of a file in a folder, and nothing that leads out of it.
pub fn is_file_name(text: &str) -> bool {
    let fits = |c: char| !c.is_control() && !"/\\\"".contains(c);
    !text.is_empty() && text.len() <= 200 && text.chars().all(fits) && !text.starts_with(['.', '-'])
}
