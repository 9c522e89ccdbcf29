//! As much of JSON Schema (2020-12) as the schemas in `tests/services` use. A keyword that is not known here fails.

use serde_json::Value;

/// What of a document does not fit, with its place.
pub fn errors(schema: &Value, document: &Value) -> Vec<String> {
    let mut out = Vec::new();
    Checker { root: schema }.check(schema, document, "", &mut out);
    out
}

struct Checker<'a> {
    root: &'a Value,
}

impl Checker<'_> {
    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut out = Vec::new();
        self.check(schema, value, "", &mut out);
        out.is_empty()
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(true) => return,
            _ => return out.push(format!("{at}: may not be there")),
        };
        let all = |rule: &Value| rule.as_array().cloned().unwrap_or_default();
        let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
        for (keyword, rule) in keywords {
            let holds = match keyword.as_str() {
                "$schema" | "$comment" | "$defs" | "then" | "else" => true,
                // What is for people.
                "title" | "description" | "default" | "format" => true,
                "$ref" => {
                    let path = rule.as_str().unwrap().strip_prefix('#').unwrap();
                    self.check(self.root.pointer(path).unwrap(), value, at, out);
                    true
                }
                "type" => match rule {
                    Value::Array(types) => types.iter().any(|t| is(value, t)),
                    one => is(value, one),
                },
                "const" => value == rule,
                "enum" => all(rule).contains(value),
                "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()),
                "minLength" => value
                    .as_str()
                    .is_none_or(|s| s.len() as u64 >= rule.as_u64().unwrap()),
                "minItems" => value
                    .as_array()
                    .is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap()),
                "pattern" => value
                    .as_str()
                    .is_none_or(|text| matches(rule.as_str().unwrap(), text)),
                "required" => !value.is_object() || all(rule).iter().all(has),
                "dependentRequired" => {
                    rule.as_object().unwrap().iter().all(|(name, needed)| {
                        value.get(name).is_none() || all(needed).iter().all(has)
                    })
                }
                "properties" => {
                    for (name, rule) in rule.as_object().unwrap() {
                        if let Some(inner) = value.get(name) {
                            self.check(rule, inner, &format!("{at}/{name}"), out);
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    let known = keywords.get("properties").and_then(Value::as_object);
                    let patterns = keywords.get("patternProperties").and_then(Value::as_object);
                    let new = |name: &String| {
                        known.is_none_or(|known| !known.contains_key(name))
                            && !patterns.is_some_and(|p| p.keys().any(|p| matches(p, name)))
                    };
                    for (name, inner) in value.as_object().into_iter().flatten() {
                        if new(name) {
                            self.check(rule, inner, &format!("{at}/{name}"), out);
                        }
                    }
                    true
                }
                "items" => {
                    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, inner, &format!("{at}/{index}"), out);
                    }
                    true
                }
                "maxItems" => value
                    .as_array()
                    .is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap()),
                "prefixItems" => {
                    let items = value.as_array().into_iter().flatten();
                    for (index, (inner, rule)) in items.zip(&all(rule)).enumerate() {
                        self.check(rule, inner, &format!("{at}/{index}"), out);
                    }
                    true
                }
                "patternProperties" => {
                    for (pattern, rule) in rule.as_object().unwrap() {
                        let inside = value.as_object().into_iter().flatten();
                        for (name, inner) in inside.filter(|(name, _)| matches(pattern, name)) {
                            self.check(rule, inner, &format!("{at}/{name}"), out);
                        }
                    }
                    true
                }
                "oneOf" => all(rule).iter().filter(|one| self.fits(one, value)).count() == 1,
                "contains" => value
                    .as_array()
                    .is_none_or(|a| a.iter().any(|one| self.fits(rule, one))),
                "anyOf" => all(rule).iter().any(|one| self.fits(one, value)),
                "not" => !self.fits(rule, value),
                "if" => {
                    let branch = if self.fits(rule, value) {
                        "then"
                    } else {
                        "else"
                    };
                    if let Some(rule) = keywords.get(branch) {
                        self.check(rule, value, at, out);
                    }
                    true
                }
                other => panic!("the keyword `{other}` is not known here"),
            };
            if !holds {
                out.push(format!("{at}: {keyword} {rule}, but it is {value}"));
            }
        }
    }
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
        other => panic!("the type `{other}` is not known here"),
    }
}

/// The patterns that there are.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern {
        "^submit/" => text.starts_with("submit/"),
        r"^\d+$" => !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()),
        time if time.starts_with(r"^\d{4}-\d{2}-\d{2}T") => {
            let form: String = text
                .chars()
                .map(|c| if c.is_ascii_digit() { '0' } else { c })
                .collect();
            let number = |at: usize| text[at..at + 2].parse::<u32>().unwrap();
            form == "0000-00-00T00:00:00Z" && number(11) < 24 && number(14) < 60 && number(17) < 60
        }
        other => panic!("the pattern `{other}` is not known here"),
    }
}
