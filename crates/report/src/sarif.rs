//! Renders SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format").

use super::json::columns;
use super::{Accepted, Diagnostic, Edit, Label, Report};
use detect::finding::is_at_least;
use detect::rules::{Level, Rule};
use serde_json::{Value, json};

/// Renders a log with one run. Findings that a case expects are left out, because they need no action.
pub fn render(report: &Report) -> String {
    let results: Vec<Value> = report
        .checks
        .iter()
        .flat_map(|check| check.diagnostics.iter())
        .filter(|diagnostic| !diagnostic.expected)
        .map(result)
        .collect();
    let rules: Vec<Value> = Rule::ALL.iter().map(|r| rule(*r)).collect();
    let untold: Vec<Value> = report
        .checks
        .iter()
        .filter(|check| !check.ok && !check.diagnostics.iter().any(Diagnostic::counts))
        .map(|check| {
            json!({
                "level": "error",
                "message": { "text": format!("{}: {}: {}", check.verdict.name(), check.name, check.summary) },
            })
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "racetrap",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "automationDetails": { "id": automation(report) },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": untold.is_empty(),
                "toolExecutionNotifications": untold,
            }],
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).expect("plain data serialises") + "\n"
}

/// Why logs can't be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// It is no JSON.
    #[error("{0}")]
    Json(String),
    /// It is no log that [`render`] wrote.
    #[error("not a SARIF log of racetrap {version}", version = env!("CARGO_PKG_VERSION"))]
    Foreign,
}

/// Puts the logs of several files into one with one run, whose `automationDetails` name this category: of one commit, a service takes one run
/// for each tool and category.
///
/// # Errors
///
/// A log that this version of racetrap did not write, with its number.
pub fn merge(logs: &[String], category: &str) -> Result<String, (usize, MergeError)> {
    let mut merged: Option<Value> = None;
    for (number, text) in logs.iter().enumerate() {
        let wrong = |error| (number, error);
        let mut log: Value = serde_json::from_str(text)
            .map_err(|error| wrong(MergeError::Json(error.to_string())))?;
        let runs = log.get_mut("runs").and_then(Value::as_array_mut);
        let Some([run]) = runs.map(Vec::as_mut_slice) else {
            return Err(wrong(MergeError::Foreign));
        };
        let run = run.take();
        let driver = &run["tool"]["driver"];
        let ours = driver["name"] == "racetrap" && driver["version"] == env!("CARGO_PKG_VERSION");
        if !ours {
            return Err(wrong(MergeError::Foreign));
        }
        let Some(first) = &mut merged else {
            log["runs"][0] = run;
            merged = Some(log);
            continue;
        };
        let all = &mut first["runs"][0];
        for key in ["results", "invocations"] {
            let more = run[key].as_array().cloned().unwrap_or_default();
            match all[key].as_array_mut() {
                Some(known) => known.extend(more),
                None => return Err(wrong(MergeError::Foreign)),
            }
        }
    }
    let mut log = merged.unwrap_or_else(|| json!({ "version": "2.1.0", "runs": [] }));
    if let Some(run) = log["runs"].get_mut(0) {
        run["automationDetails"] = json!({ "id": format!("{category}/") });
    }
    Ok(serde_json::to_string_pretty(&log).expect("plain data serialises") + "\n")
}

/// What was looked at, as a path that ends in a slash: uploads of one commit that look at something else do not replace each other, nor
/// are they refused for being of one kind (SARIF 2.1.0, 3.17.3; GitHub Docs, "SARIF support for code scanning": `runAutomationDetails`).
fn automation(report: &Report) -> String {
    let more = report.checks.len().saturating_sub(1);
    match (report.checks.first(), more) {
        (None, _) => "racetrap/".to_owned(),
        (Some(first), 0) => format!("racetrap/{}/", first.name),
        (Some(first), more) => format!("racetrap/{} and {more} more/", first.name),
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

fn rule(rule: Rule) -> Value {
    json!({
        "id": rule.name(),
        "shortDescription": { "text": rule.summary() },
        "help": { "text": crate::rules::page(rule), "markdown": crate::rules::page(rule) },
        "defaultConfiguration": { "level": level(rule.level()) },
    })
}

fn result(diagnostic: &Diagnostic) -> Value {
    let mut text = diagnostic.title.clone();
    for note in &diagnostic.notes {
        text.push_str("\nnote: ");
        text.push_str(note);
    }
    if let Some(help) = &diagnostic.help {
        text.push_str("\nhelp: ");
        text.push_str(help);
    }
    // At a line of the project, where there is one: nobody else has a listing of PTX.
    let labels = diagnostic.labels.iter();
    let (files, listings): (Vec<&Label>, Vec<&Label>) =
        labels.partition(|label| !label.source.is_listing());
    let mut labels = files.into_iter().chain(listings);
    let first: Vec<Value> = labels
        .next()
        .map(|label| location(label, None))
        .into_iter()
        .collect();
    let related: Vec<Value> = labels
        .enumerate()
        .map(|(id, label)| location(label, Some(id)))
        .collect();
    let mut value = json!({
        "ruleId": diagnostic.rule.name(),
        "ruleIndex": Rule::ALL.iter().position(|r| *r == diagnostic.rule),
        "level": level(diagnostic.level),
        "message": { "text": text },
        "locations": first,
        "relatedLocations": related,
        "occurrenceCount": diagnostic.count,
    });
    if is_at_least(diagnostic.rule, diagnostic.count) {
        // SARIF 2.1.0, 3.8 "Property bags".
        value["properties"] = json!({ "occurrenceCountIsMinimum": true });
    }
    if let Some(edit) = diagnostic.edit.as_ref().filter(|edit| edit.proven) {
        value["fixes"] = json!([fix(diagnostic, edit)]);
    }
    // SARIF 2.1.0, 3.35 "suppression object".
    if let Some(accepted) = &diagnostic.accepted {
        let (kind, reason) = match accepted {
            Accepted::Baseline { reason } => ("external", reason.as_ref()),
            Accepted::Comment { reason } => ("inSource", Some(reason)),
        };
        let mut suppression = json!({ "kind": kind, "status": "accepted" });
        if let Some(reason) = reason {
            suppression["justification"] = json!(reason);
        }
        value["suppressions"] = json!([suppression]);
    }
    value
}

/// SARIF 2.1.0, 3.55 "fix object".
fn fix(diagnostic: &Diagnostic, edit: &Edit) -> Value {
    let changes = edit.files().into_iter().map(|file| {
        // Line and column from 1, columns in characters.
        let position = |offset: usize| {
            let before = &file.text[..offset];
            let line = before.rfind('\n').map_or(0, |at| at + 1);
            (before.matches('\n').count() + 1, before[line..].chars().count() + 1)
        };
        let own = edit.changes.iter().filter(|c| c.file.path == file.path);
        let replacements: Vec<Value> = own
            .map(|change| {
                let (start, end) = (position(change.at.start), position(change.at.end));
                json!({
                    "deletedRegion": {
                        "startLine": start.0, "startColumn": start.1, "endLine": end.0, "endColumn": end.1,
                    },
                    "insertedContent": { "text": change.text },
                })
            })
            .collect();
        json!({ "artifactLocation": { "uri": uri(&file.path) }, "replacements": replacements })
    });
    json!({
        "description": { "text": diagnostic.help.as_deref().unwrap_or_default() },
        "artifactChanges": changes.collect::<Vec<Value>>(),
    })
}

fn uri(path: &str) -> String {
    path.replace('\\', "/").replace(' ', "%20")
}

fn location(label: &Label, id: Option<usize>) -> Value {
    let (column, end) = columns(label);
    let mut value = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&label.source.path) },
            "region": { "startLine": label.line, "startColumn": column, "endColumn": end },
        },
        "message": { "text": label.text },
    });
    if let Some(id) = id {
        value["id"] = json!(id);
    }
    value
}
