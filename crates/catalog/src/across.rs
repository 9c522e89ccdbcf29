//! Checks the `ptx` keys of cases over compiler releases and targets.

mod outcome;

use super::compiled::{NoPtx, PtxCheck, checks_with, other};
use super::entry::{Catalog, Entry};
use super::pinned::{Pin, compiler_version, source_files, stable_hash, with_relative_files};
use ptxdiff::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use toolchain::{CompileError, CompileOptions, Compiler, Optimisation, Release};

/// Which claims hold where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Across {
    /// Of this format.
    pub version: u32,
    /// The compilers, oldest first.
    pub compilers: Vec<CompilerUsed>,
    /// The targets, in the order asked for.
    pub targets: Vec<String>,
    /// The claims, by case.
    pub claims: Vec<Claim>,
}

/// A compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompilerUsed {
    /// The CUDA release: `12.0`.
    pub release: String,
    /// `nvcc` or `NVRTC`.
    pub compiler: String,
    /// Its version as its PTX tells it: `12.0.140`.
    pub version: String,
}

/// One claim of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The case.
    pub case: String,
    /// What is claimed: `counts st.shared`.
    pub claim: String,
    /// What is expected.
    pub expected: String,
    /// What was found, by release and target.
    #[serde(with = "outcome")]
    #[schemars(with = "Vec<outcome::Outcome>")]
    pub found: Vec<Found>,
}

/// What one compiler made for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The CUDA release.
    pub release: String,
    /// The target.
    pub target: String,
    /// Whether the claim holds; nothing where it could not be told.
    pub holds: Option<bool>,
    /// What was counted.
    pub counted: Option<usize>,
    /// Why it could not be told, or what is missing of an order.
    pub problem: Option<String>,
}

/// One PTX that is needed: kernel, defines, release, target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Need {
    release: Release,
    target: String,
    kernel: String,
    defines: Vec<String>,
}

/// Compilers by release.
pub type Compilers = BTreeMap<Release, Compiler>;

/// What is compiled and evaluated.
pub struct Comparison<'c> {
    /// The catalogue.
    pub catalog: &'c Catalog,
    /// Its cases that are looked at; those without claims are passed over.
    pub cases: Vec<&'c Entry>,
    /// The compilers.
    pub compilers: &'c Compilers,
    /// The targets; a release that does not know one leaves it out.
    pub targets: &'c [String],
    /// A folder with the catalogue's `kernels/`.
    pub root: &'c Path,
    /// Where PTX is kept that was made before.
    pub kept: Option<PathBuf>,
}

impl Comparison<'_> {
    /// Compiles what is needed on `jobs` threads and evaluates all claims. `progress` is told how many compilations are done, and
    /// of how many.
    pub fn run(&self, jobs: usize, progress: &(dyn Fn(usize, usize, &str) + Sync)) -> Across {
        let needs: Vec<Need> = self.needs().into_iter().collect();
        let made = self.compile_all(&needs, jobs, progress);
        let mut claims: BTreeMap<(String, String), Claim> = BTreeMap::new();
        let mut order: Vec<(String, String)> = Vec::new();
        let mut versions: BTreeMap<Release, String> = BTreeMap::new();
        for (need, text) in &made {
            if let Ok(text) = text
                && let Some(version) = compiler_version(text)
            {
                let version = version.rsplit_once('V').map_or(version, |(_, v)| v);
                versions
                    .entry(need.release)
                    .or_insert_with(|| version.to_owned());
            }
        }
        for entry in self.claiming() {
            for release in self.compilers.keys() {
                for target in self.targets.iter().filter(|t| release.supports(t)) {
                    let found = self.evaluate(entry, *release, target, &made);
                    for (claim, expected, found) in found {
                        let key = (entry.id.clone(), claim.clone());
                        claims
                            .entry(key.clone())
                            .or_insert_with(|| {
                                order.push(key);
                                Claim {
                                    case: entry.id.clone(),
                                    claim,
                                    expected,
                                    found: Vec::new(),
                                }
                            })
                            .found
                            .push(found);
                    }
                }
            }
        }
        let used = self
            .compilers
            .iter()
            .map(|(release, compiler)| CompilerUsed {
                release: release.to_string(),
                compiler: compiler.name().to_owned(),
                version: versions.get(release).cloned().unwrap_or_default(),
            });
        Across {
            version: 2,
            compilers: used.collect(),
            targets: self.targets.to_vec(),
            claims: order.iter().filter_map(|key| claims.remove(key)).collect(),
        }
    }

    fn claiming(&self) -> impl Iterator<Item = &Entry> {
        self.cases
            .iter()
            .copied()
            .filter(|entry| entry.case.ptx.is_some())
    }

    /// The claims of one case with one compiler. Where a PTX is not to be had, no claim can be told.
    fn evaluate(
        &self,
        entry: &Entry,
        release: Release,
        target: &str,
        made: &BTreeMap<Need, Result<String, NoPtx>>,
    ) -> Vec<(String, String, Found)> {
        let mut parsed: BTreeMap<String, Rc<Unit>> = BTreeMap::new();
        let checks = checks_with(self.catalog, entry, target, &mut |entry| {
            if let Some(unit) = parsed.get(&entry.id) {
                return Ok(unit.clone());
            }
            let text = match made.get(&need(entry, release, target)) {
                Some(Ok(text)) => text.clone(),
                Some(Err(problem)) => return Err(problem.clone()),
                None => return Err(NoPtx(format!("`{}` was not compiled", entry.case.kernel))),
            };
            let unit = Rc::new(Unit::parse(text).map_err(|e| NoPtx(e.to_string()))?);
            parsed.insert(entry.id.clone(), unit.clone());
            Ok(unit)
        });
        let found = |holds, counted, problem| Found {
            release: release.to_string(),
            target: target.to_owned(),
            holds,
            counted,
            problem,
        };
        match checks {
            Ok(checks) => checks
                .into_iter()
                .map(
                    |PtxCheck {
                         claim,
                         expected,
                         counted,
                         holds,
                         problem,
                         ..
                     }| {
                        (claim, expected, found(Some(holds), Some(counted), problem))
                    },
                )
                .collect(),
            Err(NoPtx(problem)) => {
                // The claims' names come from the pinned PTX, which is always there.
                let names = super::compiled::checks(self.catalog, entry, entry.case.simulated())
                    .unwrap_or_default();
                names
                    .into_iter()
                    .map(|check| {
                        (
                            check.claim,
                            check.expected,
                            found(None, None, Some(problem.clone())),
                        )
                    })
                    .collect()
            }
        }
    }

    fn needs(&self) -> BTreeSet<Need> {
        let mut needs = BTreeSet::new();
        for entry in self.claiming() {
            let claims = entry
                .case
                .ptx
                .iter()
                .flat_map(|claims| claims.effects.keys());
            let others = claims.filter_map(|name| other(self.catalog, entry, name));
            for entry in others.chain([entry]) {
                for release in self.compilers.keys() {
                    for target in self.targets.iter().filter(|t| release.supports(t)) {
                        needs.insert(need(entry, *release, target));
                    }
                }
            }
        }
        needs
    }

    fn compile_all(
        &self,
        needs: &[Need],
        jobs: usize,
        progress: &(dyn Fn(usize, usize, &str) + Sync),
    ) -> BTreeMap<Need, Result<String, NoPtx>> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let made = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..jobs.clamp(1, needs.len().max(1)) {
                scope.spawn(|| {
                    while let Some(need) = needs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let what =
                            format!("CUDA {}, {}: {}", need.release, need.target, need.kernel);
                        progress(done.load(Ordering::Relaxed), needs.len(), &what);
                        let text = self.compile(need);
                        made.lock()
                            .unwrap_or_else(|e| e.into_inner())
                            .insert(need.clone(), text);
                        progress(done.fetch_add(1, Ordering::Relaxed) + 1, needs.len(), &what);
                    }
                });
            }
        });
        made.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    /// The PTX, or in one line why there is none.
    fn compile(&self, need: &Need) -> Result<String, NoPtx> {
        let source = format!("kernels/{}", need.kernel);
        let compiler = &self.compilers[&need.release];
        let mut parts = vec![
            env!("CARGO_PKG_VERSION").to_owned(),
            compiler.name().to_owned(),
            need.release.to_string(),
            need.target.clone(),
        ];
        parts.extend(need.defines.iter().cloned());
        for (name, text) in source_files(&self.catalog.tree, &source) {
            parts.extend([name, text.to_owned()]);
        }
        let kept = self.kept.as_ref().map(|folder| {
            folder.join(format!(
                "{}.ptx",
                stable_hash(parts.iter().map(String::as_str))
            ))
        });
        if let Some(text) = kept
            .as_ref()
            .and_then(|path| std::fs::read_to_string(path).ok())
        {
            return Ok(text);
        }
        let options = CompileOptions {
            defines: need.defines.clone(),
            includes: Vec::new(),
            std: Some(super::pinned::STANDARD.to_owned()),
            arch: Some(need.target.clone()),
            ..CompileOptions::default()
        };
        let text = compiler
            .compile(&self.root.join(&source), Optimisation::Optimised, &options)
            .map_err(|error| {
                let messages = match &error {
                    CompileError::Refused { messages, .. } => messages.clone(),
                    other => other.to_string(),
                };
                let telling = messages
                    .lines()
                    .find(|line| line.contains("error"))
                    .or(messages.lines().next());
                let root = format!("{}/", self.root.display());
                NoPtx(format!(
                    "does not compile: {}",
                    telling.unwrap_or_default().replace(&root, "")
                ))
            })?;
        let text = with_relative_files(&text, &self.root.to_string_lossy());
        if let Some(path) = kept
            && let Some(folder) = path.parent()
            && std::fs::create_dir_all(folder).is_ok()
        {
            // Written beside and renamed: another run may read it.
            let scratch = path.with_extension(format!("{}.tmp", std::process::id()));
            let written =
                std::fs::write(&scratch, &text).and_then(|()| std::fs::rename(&scratch, &path));
            // Keeping it is a convenience: where that fails, it is compiled again.
            drop(written);
        }
        Ok(text)
    }
}

fn need(entry: &Entry, release: Release, target: &str) -> Need {
    let pin = Pin::new(&entry.case, entry.case.simulated());
    Need {
        release,
        target: target.to_owned(),
        kernel: entry.case.kernel.clone(),
        defines: pin.defines,
    }
}

impl Across {
    /// Whether every claim holds wherever it could be told.
    pub fn holds(&self) -> bool {
        self.claims
            .iter()
            .flat_map(|c| &c.found)
            .all(|f| f.holds != Some(false))
    }

    /// As JSON, with one compiler and one claim a line.
    ///
    /// # Errors
    /// None that is known: all of it can be written as JSON.
    pub fn json(&self) -> serde_json::Result<String> {
        fn lines<T: Serialize>(all: &[T]) -> serde_json::Result<String> {
            let lines: serde_json::Result<Vec<_>> = all.iter().map(serde_json::to_string).collect();
            Ok(lines?.join(",\n    "))
        }
        Ok(format!(
            "{{\n  \"version\": {},\n  \"compilers\": [\n    {}\n  ],\n  \"targets\": {},\n  \"claims\": [\n    {}\n  ]\n}}\n",
            self.version,
            lines(&self.compilers)?,
            serde_json::to_string(&self.targets)?,
            lines(&self.claims)?,
        ))
    }

    /// A table for a document: a row for each claim, a column for each release.
    pub fn markdown(&self, command: &str) -> String {
        let mut out = String::from("# PTX expectations across compilers\n\n");
        let _ = writeln!(
            out,
            "Generated by `{command}`, which also writes `docs/across.json`. Each case states what the compiler must make of its kernel (key \
             `ptx`). This table shows with which CUDA releases the statements hold, on the targets {}. ✓: on all targets; otherwise the \
             counts by target; `?`: could not be checked. For the 12.x releases PyPI has NVRTC but not nvcc; kernels that include \
             `cuda/atomic` need headers that some of its packages lack.\n",
            self.targets
                .iter()
                .map(|t| format!("`{t}`"))
                .collect::<Vec<_>>()
                .join(", ")
        );
        for used in &self.compilers {
            let _ = writeln!(
                out,
                "- CUDA {}: {} {}",
                used.release, used.compiler, used.version
            );
        }
        let (told, held) = self.sums();
        let _ = writeln!(out, "\n{held} of {told} answers agree with their claim.\n");
        let _ = write!(out, "| case | claim | expected |");
        for used in &self.compilers {
            let _ = write!(out, " {} |", used.release);
        }
        out += "\n|---|---|---|";
        self.compilers.iter().for_each(|_| out += "---|");
        out.push('\n');
        let mut last = "";
        for claim in &self.claims {
            let case = if claim.case == last {
                String::new()
            } else {
                format!("`{}`", claim.case)
            };
            last = &claim.case;
            let _ = write!(
                out,
                "| {case} | {} | {} |",
                claim.claim.replace('|', "\\|"),
                claim.expected
            );
            for used in &self.compilers {
                let _ = write!(out, " {} |", claim.cell(&used.release));
            }
            out.push('\n');
        }
        let problems: BTreeSet<String> = self
            .claims
            .iter()
            .flat_map(|c| {
                c.found.iter().filter(|f| f.holds.is_none()).map(|f| {
                    format!(
                        "CUDA {}: `{}`: {}",
                        f.release,
                        c.case,
                        f.problem.as_deref().unwrap_or_default()
                    )
                })
            })
            .collect();
        if !problems.is_empty() {
            out += "\nWhat could not be checked, and why:\n\n";
            for problem in &problems {
                let _ = writeln!(out, "- {problem}");
            }
        }
        out
    }

    /// For a terminal: the claims that do not hold everywhere, or all of them, then the sums.
    pub fn terminal(&self, all: bool) -> String {
        let mut out = String::new();
        for used in &self.compilers {
            let _ = writeln!(
                out,
                "CUDA {:<5} {} {}",
                used.release, used.compiler, used.version
            );
        }
        let _ = writeln!(out, "targets    {}\n", self.targets.join(", "));
        let everywhere = |claim: &&Claim| claim.found.iter().all(|f| f.holds == Some(true));
        let mut last = "";
        for claim in self.claims.iter().filter(|c| all || !everywhere(c)) {
            if claim.case != last {
                let _ = writeln!(out, "{}", claim.case);
                last = &claim.case;
            }
            let _ = writeln!(out, "  {}: {}", claim.claim, claim.expected);
            for used in &self.compilers {
                let cell = claim.cell(&used.release);
                if all || cell != "✓" {
                    let _ = writeln!(out, "    {:<5} {cell}", used.release);
                }
            }
        }
        let whole = self.claims.iter().filter(everywhere).count();
        let (told, held) = self.sums();
        let _ = writeln!(
            out,
            "{}{whole} of {} claims hold with every compiler and target; {held} of {told} answers agree",
            if last.is_empty() { "" } else { "\n" },
            self.claims.len()
        );
        out
    }

    /// Answers, and those that agree.
    fn sums(&self) -> (usize, usize) {
        let told = self
            .claims
            .iter()
            .flat_map(|c| &c.found)
            .filter_map(|f| f.holds);
        told.fold((0, 0), |(told, held), holds| {
            (told + 1, held + usize::from(holds))
        })
    }
}

impl Claim {
    /// What one release makes of it.
    fn cell(&self, release: &str) -> String {
        let own: Vec<&Found> = self.found.iter().filter(|f| f.release == release).collect();
        if own.is_empty() {
            return "–".to_owned();
        }
        if own.iter().all(|f| f.holds == Some(true)) {
            return "✓".to_owned();
        }
        let mut words: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for found in &own {
            let word = match (found.holds, found.counted) {
                (Some(true), _) => "✓".to_owned(),
                (Some(false), Some(counted)) => counted.to_string(),
                _ => "?".to_owned(),
            };
            words.entry(word).or_default().push(&found.target);
        }
        if let (1, Some(word)) = (words.len(), words.keys().next()) {
            return word.clone();
        }
        let parts: Vec<String> = words
            .iter()
            .map(|(word, targets)| format!("{} {word}", targets.join(" ")))
            .collect();
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests;
