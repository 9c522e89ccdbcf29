//! `racetrap catalog renew`: for those who change the catalogue or the command line.

use super::failure::Failure;
use super::progress::Progress;
use crate::catalog::renew::{RenewError, renew};
use crate::exit;
use crate::report::json;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

/// Options of `racetrap catalog`.
#[derive(Args, Clone, Debug)]
pub struct CatalogArgs {
    #[command(subcommand)]
    command: CatalogCommand,
}

#[derive(Subcommand, Clone, Debug)]
enum CatalogCommand {
    /// Write everything that is generated: JSON schemas, the command line's reference, pinned PTX
    Renew {
        /// The project's folder
        #[arg(value_name = "FOLDER", default_value = ".")]
        root: PathBuf,
        /// Compile all PTX, the current too
        #[arg(long)]
        all: bool,
    },
}

/// Files that are generated from the program itself, and their text.
pub fn generated() -> [(&'static str, String); 2] {
    [
        ("docs/report.schema.json", json::schema()),
        ("docs/cli.md", super::reference()),
    ]
}

/// Runs the command.
///
/// # Errors
///
/// A catalogue with mistakes, no compiler where one is needed, files that can't be written.
pub fn catalog(args: &CatalogArgs) -> Result<(String, u8), Failure> {
    let CatalogCommand::Renew { root, all } = &args.command;
    let mut written = documents(root)?;
    let progress = Progress::spinner(true);
    let renewed = renew(root, *all, super::check::jobs(None), &|file| {
        progress.say(&format!("compiling {file}"));
    })
    .map_err(|error| match error {
        RenewError::Catalog(errors) => {
            Failure::usage("the catalogue has mistakes").text(errors.to_string())
        }
        RenewError::Compile(error) => super::check::refused(error),
        RenewError::Write { .. } => Failure::usage(error.to_string()),
    })?;
    progress.end();
    written.extend(renewed.written);
    let mut out = String::new();
    for (what, files) in [("wrote", &written), ("removed", &renewed.removed)] {
        for file in files {
            out += &format!("{what} {file}\n");
        }
    }
    out += &format!(
        "{} written, {} removed, {} current\n",
        written.len(),
        renewed.removed.len(),
        renewed.current
    );
    Ok((out, exit::OK))
}

fn documents(root: &Path) -> Result<Vec<String>, Failure> {
    let mut written = Vec::new();
    for (name, text) in generated() {
        let path = root.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        std::fs::write(&path, text).map_err(|error| {
            Failure::usage(format!("can't write `{}`: {error}", path.display()))
        })?;
        written.push(name.to_string());
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::generated;
    use std::path::Path;

    #[test]
    fn generated_documents_are_current() {
        for (name, text) in generated() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            let committed = std::fs::read_to_string(path).unwrap_or_default();
            assert!(
                committed == text,
                "{name} is stale; renew it with `cargo run -- catalog renew`"
            );
        }
    }
}
