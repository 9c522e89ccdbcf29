//! Makes points of what runs have shown.
//!
//! Whatever is judged, three things hold. A part that could not be decided has no points yet, neither all nor none. A part whose
//! requirements are not met earns nothing, so that a kernel that does nothing is not paid for having no races. And a root cause costs
//! once, however many threads, inputs and schedules show it. What was shown in spite of a race is paid: results that are right in one
//! order of threads earn half, and parts that require others are judged.

use crate::assignment::{Assignment, Credit, Kind, Limit, Part, Visibility};
use crate::observe::{Observed, ratio, worst};
use crate::result::{Loss, Outcome, PartResult, Refused, Review, State, round};

/// The share of an input's points that results earn which are right under one schedule and wrong under another. What computes them is
/// there, and something that orders threads is not: that is what the other half is lost for, and the points of the race.
const SCHEDULE_DEPENDENT: f64 = 0.5;

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Why nothing was run.
    pub refused: Option<&'a Refused>,
    /// What runs have shown.
    pub observed: &'a Observed,
}

/// Scores all parts.
pub fn score(assignment: &Assignment, evidence: Evidence<'_>) -> (Vec<PartResult>, Vec<Review>) {
    let mut done: Vec<PartResult> = Vec::new();
    let mut closed: Option<String> = None;
    for part in &assignment.parts {
        let mut result = match &closed {
            Some(gate) if part.check != Kind::Manual => skipped(part, gate),
            _ => one(part, evidence, &done),
        };
        result.visibility = part.visibility(&assignment.inputs);
        if part.gate && result.state == State::Failed && closed.is_none() {
            closed = Some(part.id.clone());
        }
        done.push(result);
    }
    let open = done.iter().filter(|p| p.earned.is_none());
    let review = open.map(|part| Review {
        part: part.id.clone(),
        why: part
            .losses
            .iter()
            .find_map(why)
            .unwrap_or_else(|| "a person reads this part".into()),
    });
    let review = review.collect();
    (done, review)
}

fn why(loss: &Loss) -> Option<String> {
    match loss {
        Loss::Undecided { input, why } => Some(match input {
            Some(input) => format!("input `{input}`: {why}"),
            None => why.clone(),
        }),
        _ => None,
    }
}

fn result(part: &Part, earned: Option<f64>, losses: Vec<Loss>) -> PartResult {
    let earned = earned.map(|e| round(e.clamp(0.0, part.points)));
    let state = match earned {
        None if part.check == Kind::Manual => State::Manual,
        None => State::NeedsReview,
        Some(e) if e >= part.points && losses.is_empty() => State::Passed,
        Some(e) if e > 0.0 || part.points == 0.0 && losses.is_empty() => State::Partial,
        Some(_) => State::Failed,
    };
    PartResult {
        id: part.id.clone(),
        title: part.title().to_owned(),
        check: part.check,
        of: part.points,
        earned,
        state,
        losses,
        visibility: Visibility::Visible,
    }
}

fn skipped(part: &Part, because: &str) -> PartResult {
    let losses = vec![Loss::Requires {
        part: because.to_owned(),
    }];
    PartResult {
        state: State::Skipped,
        ..result(part, Some(0.0), losses)
    }
}

fn one(part: &Part, evidence: Evidence<'_>, done: &[PartResult]) -> PartResult {
    if part.check == Kind::Manual {
        return result(part, None, Vec::new());
    }
    if evidence.refused.is_some() {
        return result(part, Some(0.0), vec![Loss::Refused]);
    }
    let mut open = None;
    for required in &part.requires {
        let Some(other) = done.iter().find(|p| p.id == required.part()) else {
            continue;
        };
        match other.earned {
            None => open = Some(other.id.clone()),
            Some(earned) => {
                let enough = required.least() * other.of;
                let met =
                    earned + 1e-9 >= enough && !(other.of == 0.0 && other.state == State::Failed);
                if !met {
                    let mut result = skipped(part, &other.id);
                    // It is worth knowing all the same: a race may well be why results are wrong.
                    if matches!(part.check, Kind::Races | Kind::Barriers | Kind::Memory) {
                        let found = findings(part, evidence.observed).losses.into_iter();
                        result.losses.extend(found.filter_map(|loss| match loss {
                            Loss::Cause { cause, .. } => Some(Loss::Cause { cause, points: 0.0 }),
                            _ => None,
                        }));
                    }
                    return result;
                }
            }
        }
    }
    let scored = match part.check {
        Kind::Compile | Kind::Manual => result(part, Some(part.points), Vec::new()),
        Kind::Output => output(part, evidence.observed),
        Kind::Races | Kind::Barriers | Kind::Memory => findings(part, evidence.observed),
        Kind::Counts | Kind::Style => counts(part, evidence.observed),
    };
    match open {
        Some(other) => {
            let why = format!("`{other}` is not decided yet, and this part requires it");
            result(part, None, vec![Loss::Undecided { input: None, why }])
        }
        None => scored,
    }
}

fn wanted<'a>(part: &'a Part, id: &str) -> bool {
    part.inputs.is_empty() || part.inputs.iter().any(|i: &'a String| i == id)
}

fn output(part: &Part, observed: &Observed) -> PartResult {
    let inputs: Vec<_> = observed
        .inputs
        .iter()
        .filter(|i| wanted(part, &i.id))
        .collect();
    let (mut share, mut least, mut losses, mut open) = (0.0, 1.0_f64, Vec::new(), false);
    for input in &inputs {
        let earned = input.draws.iter().map(|draw| match draw.outcome {
            Outcome::Right => 1.0,
            Outcome::ScheduleDependent { .. } => SCHEDULE_DEPENDENT,
            Outcome::Wrong { .. } => 0.0,
            Outcome::Undecided { .. } => 0.0,
        });
        share += earned.sum::<f64>() / input.draws.len().max(1) as f64;
        let (wrong, dependent) = (input.wrong(), input.dependent());
        if wrong + dependent > 0 {
            least = least.min(if wrong > 0 { 0.0 } else { SCHEDULE_DEPENDENT });
            losses.push(Loss::Input {
                input: input.id.clone(),
                wrong,
                dependent,
            });
        }
        let undecided = input.draws.iter().find_map(|d| match &d.outcome {
            Outcome::Undecided { why } => Some(why.clone()),
            _ => None,
        });
        if let Some(why) = undecided {
            open = true;
            losses.push(Loss::Undecided {
                input: Some(input.id.clone()),
                why,
            });
        }
    }
    let credit = part.credit.unwrap_or_default();
    let earned = match credit {
        // One wrong input decides, whatever the others are.
        Credit::All if least == 0.0 => Some(0.0),
        _ if open => None,
        Credit::All => Some(part.points * least),
        Credit::PerInput => Some(part.points * share / inputs.len().max(1) as f64),
    };
    result(part, earned, losses)
}

fn findings(part: &Part, observed: &Observed) -> PartResult {
    let rules = part.rules();
    let each = part.each.unwrap_or(part.points);
    let mut left = part.points;
    let mut losses = Vec::new();
    for (index, cause) in observed.causes.iter().enumerate() {
        let shown = cause.seen.iter().any(|seen| wanted(part, &seen.input));
        if !rules.contains(&cause.rule) || !shown {
            continue;
        }
        let costs = each.min(left - part.floor).max(0.0);
        left -= costs;
        losses.push(Loss::Cause {
            cause: index,
            points: round(costs),
        });
    }
    let open = observed
        .undecided
        .iter()
        .find(|(input, _)| wanted(part, input));
    let earned = match open {
        // What was not seen could only cost more, and there is no more to lose.
        Some(_) if left <= part.floor && !losses.is_empty() => Some(left),
        Some((input, why)) => {
            losses.push(Loss::Undecided {
                input: Some(input.clone()),
                why: why.clone(),
            });
            None
        }
        None => Some(left),
    };
    result(part, earned, losses)
}

fn counts(part: &Part, observed: &Observed) -> PartResult {
    let (mut share, mut losses, mut open) = (0.0, Vec::new(), false);
    for limit in &part.limits {
        let inputs: Vec<String> = match &limit.input {
            Some(one) => vec![one.clone()],
            None => part.inputs.clone(),
        };
        let Some((input, count, reference)) = worst(
            &observed.inputs,
            &inputs,
            limit.metric,
            limit.relative_to_reference,
        ) else {
            open = true;
            losses.push(Loss::Undecided {
                input: None,
                why: format!("the {} could not be counted", limit.metric.words()),
            });
            continue;
        };
        let measure = match limit.relative_to_reference {
            true => ratio(count, reference),
            false => count,
        };
        let part_of_it = share_of(limit, measure);
        share += part_of_it;
        if part_of_it < 1.0 {
            losses.push(Loss::Count {
                metric: limit.metric,
                input,
                count,
                reference: limit.relative_to_reference.then_some(reference),
                full: limit.full,
            });
        }
    }
    let earned = part.points * share / part.limits.len().max(1) as f64;
    result(part, (!open).then_some(earned), losses)
}

/// The share that a count earns: all up to `full`, none from `zero` on, evenly between.
fn share_of(limit: &Limit, measure: f64) -> f64 {
    if measure <= limit.full {
        return 1.0;
    }
    let zero = limit.zero.unwrap_or(limit.full);
    match measure < zero {
        true => (zero - measure) / (zero - limit.full),
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{DrawResult, InputResult};
    use std::collections::BTreeMap;

    /// What the results of an example's part earn, with one draw of each input.
    fn earned(credit: Credit, outcomes: &[Outcome]) -> Option<f64> {
        let text = include_str!("../../../examples/course/reduction/assignment.yaml");
        let mut assignment = crate::assignment::read::from_yaml("assignment.yaml", text).unwrap();
        assignment.parts.retain(|part| part.check == Kind::Output);
        let [part] = &mut assignment.parts[..] else {
            panic!("one part judges results");
        };
        (part.points, part.credit) = (40.0, Some(credit));
        let inputs = outcomes.iter().enumerate();
        let inputs = inputs.map(|(number, outcome)| InputResult {
            id: number.to_string(),
            visible: true,
            draws: vec![DrawResult {
                sizes: BTreeMap::new(),
                seed: 0,
                outcome: outcome.clone(),
                promise: String::new(),
                counts: BTreeMap::new(),
                reference: BTreeMap::new(),
            }],
        });
        let observed = Observed {
            inputs: inputs.collect(),
            ..Observed::default()
        };
        let evidence = Evidence {
            refused: None,
            observed: &observed,
        };
        score(&assignment, evidence).0[0].earned
    }

    #[test]
    fn results_that_are_right_in_one_order_of_threads_earn_half() {
        let wrong = || Outcome::Wrong {
            what: String::new(),
            differences: Vec::new(),
            elements: 1,
        };
        let both = || Outcome::Right.or_in_step(wrong());
        let dependent = |outcome| matches!(outcome, Outcome::ScheduleDependent { .. });
        assert!(dependent(both()) && dependent(wrong().or_in_step(Outcome::Right)));
        assert_eq!(wrong().or_in_step(wrong()), wrong());
        for (credit, outcomes, points) in [
            (Credit::PerInput, vec![Outcome::Right, both()], 30.0),
            (Credit::PerInput, vec![wrong(), both()], 10.0),
            (Credit::All, vec![Outcome::Right, both()], 20.0),
            (Credit::All, vec![wrong(), both()], 0.0),
            (Credit::All, vec![Outcome::Right, Outcome::Right], 40.0),
        ] {
            assert_eq!(earned(credit, &outcomes), Some(points), "{outcomes:?}");
        }
    }
}
