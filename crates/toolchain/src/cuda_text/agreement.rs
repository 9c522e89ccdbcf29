//! Which threads are sure to come to a place in the source together: all of a block, all of a warp, or nobody knows.
//!
//! A barrier is legal only where all of its threads come (CUDA C++ Programming Guide, "Synchronization Functions"). Conditions decide
//! that: what is computed from `threadIdx`, from lanes and from what atomics return differs between threads; kernel parameters,
//! `blockIdx` and what lies in shared memory at one place do not. Values are followed through assignments of a function, and into
//! functions by what all calls in the text pass, to a fixed point. An early `return`, `break` or `continue` counts where it stands.
//!
//! It errs on the side of "nobody knows": what a macro or a function elsewhere returns differs.

use super::scan::{identifier, matching, split, words};
use super::statements::{Kind, StatementId, Statements};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Who comes to a place together, or has one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    /// All threads of a block.
    Block,
    /// All lanes of a warp.
    Warp,
    /// It may differ between lanes.
    None,
}

/// Functions that call each other, at most.
const CALLERS: u32 = 6;
/// Rounds in which values are followed.
const ROUNDS: u32 = 8;

/// Statements of a function, at most: in a larger one nobody knows.
const STATEMENTS: usize = 1000;

/// What is known of variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Values {
    known: HashMap<String, Agreement>,
    /// Those that are `threadIdx.x` and nothing else.
    thread: HashSet<String>,
}

/// What has been found out about the functions of a source.
#[derive(Debug, Default)]
pub struct Agreements<'s> {
    functions: BTreeMap<StatementId, Values>,
    source: Option<&'s Statements>,
}

impl<'s> Agreements<'s> {
    /// Of a source, so far nothing.
    pub fn of(source: &'s Statements) -> Agreements<'s> {
        Agreements {
            functions: BTreeMap::new(),
            source: Some(source),
        }
    }

    /// Who comes together to the place behind a statement (or, for a block that is the place, into it).
    pub fn behind(&mut self, id: StatementId) -> Agreement {
        self.reach(id, true, 0)
    }

    /// Who comes together to the place before a statement.
    pub fn before(&mut self, id: StatementId) -> Agreement {
        self.reach(id, false, 0)
    }

    /// Who computes one value from an expression where a statement stands.
    pub fn expression(&mut self, id: StatementId, text: &str) -> Agreement {
        let Some(source) = self.source else {
            return Agreement::None;
        };
        let values = self.values(source.function_of(id), 0);
        level(source, text, &values)
    }

    /// Whose lanes decide a condition alike.
    pub fn condition(&mut self, id: StatementId) -> Agreement {
        match self.source {
            Some(source) => self.expression(id, source.text(&source.get(id).head)),
            None => Agreement::None,
        }
    }

    /// Who comes together to a statement: conditions around it, and what leaves early before it.
    fn reach(&mut self, id: StatementId, behind: bool, depth: u32) -> Agreement {
        let Some(source) = self.source else {
            return Agreement::None;
        };
        let function = source.function_of(id);
        if source.below(function).len() > STATEMENTS {
            return Agreement::None;
        }
        let values = self.values(function, depth);
        let mut found = controlled(source, id, &values);
        let place = match behind {
            true => source.get(id).span.end,
            false => source.get(id).span.start,
        };
        let loops: Vec<StatementId> = source
            .around(id)
            .skip(1)
            .filter(|id| source.get(*id).kind.is_loop())
            .collect();
        for one in source.below(function) {
            let statement = source.get(one);
            if statement.kind != Kind::Simple {
                continue;
            }
            let before = statement.span.start < place;
            let leaves = identifier(source.text(&statement.span));
            let within = loops
                .iter()
                .copied()
                .find(|l| source.around(one).any(|a| a == *l));
            let counts = match leaves {
                "return" => before || within.is_some(),
                // It leaves the innermost loop around it, so later turns are missed as well.
                "break" => {
                    within.is_some() && source.loop_of(one).is_some_and(|l| loops.contains(&l))
                }
                "continue" => before && source.loop_of(one).is_some_and(|l| loops.contains(&l)),
                _ => false,
            };
            // What is inside of the statement itself is not before the place behind it, unless it leaves the function.
            if counts {
                found = found.max(controlled(source, one, &values));
            }
        }
        match source.is_kernel(function) {
            true => found,
            false => found.max(self.called(function, depth)),
        }
    }

    /// Who calls a function together.
    fn called(&mut self, function: StatementId, depth: u32) -> Agreement {
        let calls = self.calls(function);
        if calls.is_empty() || depth >= CALLERS {
            return Agreement::None;
        }
        let calls = calls.into_iter();
        calls.fold(Agreement::Block, |all, (call, _)| {
            all.max(self.reach(call, false, depth + 1))
        })
    }

    /// The calls of a function: the statement, and what it passes.
    fn calls(&self, function: StatementId) -> Vec<(StatementId, Vec<String>)> {
        let Some(source) = self.source else {
            return Vec::new();
        };
        let Some((name, _)) = source.signature(function) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for at in words(&source.code, &name) {
            let Some(caller) = source.at(at).filter(|c| source.function_of(*c) != function) else {
                continue;
            };
            if let Some(passed) = arguments(&source.code[at + name.len()..]) {
                found.push((caller, passed.into_iter().map(str::to_owned).collect()));
            }
        }
        found
    }

    /// What is known of a function's variables.
    fn values(&mut self, function: StatementId, depth: u32) -> Values {
        if let Some(known) = self.functions.get(&function) {
            return known.clone();
        }
        let Some(source) = self.source else {
            return Values::default();
        };
        let mut values = Values::default();
        let parameters = source.signature(function).map_or(Vec::new(), |s| s.1);
        if !source.is_kernel(function) {
            let calls = if depth < CALLERS {
                self.calls(function)
            } else {
                Vec::new()
            };
            let known: Vec<(Values, Vec<String>)> = calls
                .into_iter()
                .map(|(call, passed)| (self.values(source.function_of(call), depth + 1), passed))
                .collect();
            for (index, name) in parameters.iter().enumerate() {
                let each = known.iter().map(|(values, passed)| {
                    passed
                        .get(index)
                        .map_or(Agreement::None, |text| level(source, text, values))
                });
                let joined = each.fold(None, |all: Option<Agreement>, one| {
                    Some(all.map_or(one, |all| all.max(one)))
                });
                values
                    .known
                    .insert(name.clone(), joined.unwrap_or(Agreement::None));
            }
        }
        let assignments = assignments(source, function);
        for one in &assignments {
            let only = assignments.iter().filter(|a| a.name == one.name).count() == 1;
            if only && one.value.trim() == "threadIdx.x" {
                values.thread.insert(one.name.clone());
            }
        }
        for _ in 0..ROUNDS {
            let before = values.clone();
            for one in &assignments {
                let value = level(source, &one.value, &values);
                let value = value.max(controlled(source, one.statement, &values));
                let known = values
                    .known
                    .entry(one.name.clone())
                    .or_insert(Agreement::Block);
                *known = (*known).max(value);
            }
            if before == values {
                break;
            }
        }
        self.functions.insert(function, values.clone());
        values
    }
}

/// Who agrees in all conditions around a statement.
fn controlled(source: &Statements, id: StatementId, values: &Values) -> Agreement {
    let mut found = Agreement::Block;
    for around in source.around(id).skip(1) {
        let statement = source.get(around);
        if !matches!(statement.kind, Kind::Function | Kind::Block) {
            found = found.max(level(source, source.text(&statement.head), values));
            if statement.kind.is_loop() {
                // Who leaves it early misses later turns.
                for inner in source.below(around) {
                    let one = source.get(inner);
                    let leaves = one.kind == Kind::Simple
                        && identifier(source.text(&one.span)) == "break"
                        && source.loop_of(inner) == Some(around);
                    if leaves {
                        let up = source.around(inner).skip(1).take_while(|a| *a != around);
                        for condition in up {
                            let condition = source.get(condition);
                            if condition.kind != Kind::Block {
                                found =
                                    found.max(level(source, source.text(&condition.head), values));
                            }
                        }
                    }
                }
            }
        }
    }
    found
}

/// What a name in front of brackets passes: `<…>(a, b)`.
fn arguments(behind: &str) -> Option<Vec<&str>> {
    let rest = behind.trim_start();
    let rest = match rest.strip_prefix('<') {
        Some(types) => &types[matching(types, '<', '>')? + 1..],
        None => rest,
    };
    let inner = rest.trim_start().strip_prefix('(')?;
    Some(split(&inner[..matching(inner, '(', ')')?]))
}

/// A variable that gets a value.
struct Assignment {
    statement: StatementId,
    name: String,
    value: String,
}

/// The assignments of a function to variables of its own: not through pointers, nor to shared memory.
fn assignments(source: &Statements, function: StatementId) -> Vec<Assignment> {
    let below = source.below(function);
    let mut arrays: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    let shared: HashSet<&str> = below
        .iter()
        .map(|id| source.get(*id))
        .filter(|s| s.kind == Kind::Simple)
        .map(|s| source.text(&s.span))
        .filter(|text| text.contains("__shared__"))
        .flat_map(|text| split(text.trim_end_matches(';')))
        .filter_map(|one| names(one.split(['=', '[']).next().unwrap_or_default()).last())
        .collect();
    for id in below {
        let statement = source.get(id);
        let text = match statement.kind {
            Kind::Simple => source.text(&statement.span),
            Kind::For | Kind::If | Kind::While | Kind::Do | Kind::Switch => {
                source.text(&statement.head)
            }
            _ => continue,
        };
        if text.contains("__shared__") {
            continue;
        }
        if words(text, "asm").next().is_some() {
            for name in names(text) {
                found.push(assignment(id, name, "threadIdx"));
            }
            continue;
        }
        for part in text.split(';').flat_map(split) {
            // `int a[4]` declares what belongs to each thread.
            let open = part.find('[');
            if let Some(open) = open
                && part[..open].trim().contains(char::is_whitespace)
                && !part[..open].contains(['=', '('])
                && let Some(name) = names(&part[..open]).last()
            {
                arrays.push(name);
            }
            for (at, name) in named(part) {
                let before = part[..at].trim_end();
                let rest = part[at + name.len()..].trim_start();
                let mut behind = rest;
                let mut indexed = false;
                while let Some(inside) = behind.strip_prefix('[') {
                    let Some(length) = matching(inside, '[', ']') else {
                        break;
                    };
                    behind = inside[length + 1..].trim_start();
                    indexed = true;
                }
                while let Some(field) = behind.strip_prefix('.') {
                    behind = field.trim_start();
                    behind = behind[identifier(behind).len()..].trim_start();
                }
                let through = indexed && !arrays.contains(&name)
                    || before.ends_with('*') && !before.contains(char::is_alphabetic);
                let operators = [
                    "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--",
                ];
                let sets = behind.starts_with('=') && !behind.starts_with("==");
                let changes = operators.iter().any(|o| behind.starts_with(o));
                let stepped = before.ends_with("++") || before.ends_with("--");
                let taken = before.ends_with('&')
                    && !before.ends_with("&&")
                    && before
                        .trim_end_matches('&')
                        .trim_end()
                        .ends_with(['(', ',']);
                if through
                    || before.ends_with(['.'])
                    || before.ends_with("->")
                    || shared.contains(name)
                {
                    continue;
                }
                if sets {
                    found.push(assignment(id, name, &behind[1..]));
                } else if changes || stepped {
                    found.push(assignment(id, name, part));
                } else if taken && arrays.contains(&name) {
                    found.push(assignment(id, name, "threadIdx"));
                }
            }
        }
    }
    found
}

fn assignment(statement: StatementId, name: &str, value: &str) -> Assignment {
    Assignment {
        statement,
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// The identifiers of a text, and where each stands.
fn named(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text[at..].find(|c: char| c.is_alphanumeric() || c == '_')?;
            let name = identifier(&text[start..]);
            at = start + name.len();
            if !name.starts_with(|c: char| c.is_ascii_digit()) {
                return Some((start, name));
            }
        }
    })
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    named(text).map(|(_, name)| name)
}

/// Who computes one value from an expression.
fn level(source: &Statements, text: &str, values: &Values) -> Agreement {
    if of_warp(text, values) {
        return Agreement::Warp;
    }
    let mut found = Agreement::Block;
    for (at, name) in named(text) {
        let one = match name {
            "threadIdx" | "__activemask" | "clock" | "clock64" | "thread_rank" | "thread_index"
            | "laneid" | "meta_group_rank" | "this" | "asm" => Agreement::None,
            "__any_sync" | "__all_sync" | "__ballot_sync" => return Agreement::Warp,
            "__syncthreads_or" | "__syncthreads_and" | "__syncthreads_count" => {
                return Agreement::Block;
            }
            _ if name.starts_with("atomic")
                || name.starts_with("__shfl")
                || name.starts_with("__match") =>
            {
                Agreement::None
            }
            _ => {
                let field = text[..at].ends_with('.') || text[..at].ends_with("->");
                let called = !field && text[at + name.len()..].trim_start().starts_with('(');
                match values.known.get(name) {
                    Some(known) if !field => *known,
                    _ if called => of_function(source, name),
                    _ => Agreement::Block,
                }
            }
        };
        found = found.max(one);
    }
    found
}

/// Whether an expression is the number of a warp, or asks for whole warps: `threadIdx.x / 32`, `threadIdx.x < 32`.
fn of_warp(text: &str, values: &Values) -> bool {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let text = text.trim_start_matches('(');
    let name = identifier(text);
    let rest = match text.strip_prefix("threadIdx.x") {
        Some(rest) => rest,
        None if values.thread.contains(name) => &text[name.len()..],
        None => return false,
    };
    let number = |rest: &str| rest.trim_end_matches([')', 'u', 'U']).parse::<u32>().ok();
    let whole = |rest: &str| {
        number(rest).is_some_and(|n| n > 0 && n % 32 == 0)
            || rest.trim_end_matches(')') == "warpSize"
    };
    for operator in [">=", "<", "/"] {
        if let Some(rest) = rest.strip_prefix(operator)
            && !rest.starts_with('=')
        {
            return whole(rest);
        }
    }
    rest.strip_prefix(">>").and_then(number) == Some(5)
}

/// Whether what a function of the text returns may differ between threads by itself.
fn of_function(source: &Statements, name: &str) -> Agreement {
    const KNOWN: [&str; 15] = [
        "this_thread_block",
        "this_grid",
        "size",
        "min",
        "max",
        "abs",
        "sizeof",
        "ceil",
        "floor",
        "int",
        "float",
        "double",
        "unsigned",
        "size_t",
        "static_cast",
    ];
    if KNOWN.contains(&name) {
        return Agreement::Block;
    }
    let body = source
        .functions
        .iter()
        .find(|id| source.signature(**id).is_some_and(|s| s.0 == name));
    let differs = |id: &StatementId| {
        let text = source.text(&source.get(*id).span);
        names(text).any(|n| {
            n == "threadIdx" || n == "asm" || n.starts_with("atomic") || n.starts_with("__")
        })
    };
    match body {
        Some(id) if !differs(id) => Agreement::Block,
        _ => Agreement::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
__device__ void join(int *d, int step) { d[0] += step; }
__global__ void k(int *out, int n) {
    __shared__ int s[64]; __shared__ bool last;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    out[0] = 1;
    if (t < n) out[1] = 2;
    for (int d = 1; d < 64; d *= 2) { s[t] = d; }
    for (int j = t; j < n; j += 64) { s[j] = 1; }
    if (threadIdx.x < 32) { s[t] = 3; }
    if (last) { s[t] = 4; }
    while (true) { s[t] = 5; if (s[0] == 3) break; }
    while (true) { s[t] = 6; if (s[t] == 3) break; }
    if (n > 3) return;
    s[t] = 7;
    join(s, n);
    if (i >= n) return;
    s[t] = 8;
}
";

    #[test]
    fn places_are_reached_by_whom() {
        let read = Statements::of(TEXT, &[]);
        let mut all = Agreements::of(&read);
        let mut behind = |text: &str| {
            let at = TEXT.find(text).unwrap();
            all.behind(read.at(at).unwrap())
        };
        use Agreement::*;
        assert_eq!(behind("out[0] = 1"), Block);
        assert_eq!(behind("out[1] = 2"), None);
        assert_eq!(behind("s[t] = d"), Block);
        assert_eq!(behind("s[j] = 1"), None);
        assert_eq!(behind("s[t] = 3"), Warp);
        assert_eq!(behind("s[t] = 4"), Block);
        assert_eq!(behind("s[t] = 5"), Block);
        assert_eq!(behind("s[t] = 6"), None);
        assert_eq!(behind("s[t] = 7"), Block);
        assert_eq!(behind("s[t] = 8"), None);
        assert_eq!(behind("d[0] += step"), Block);
    }
}
