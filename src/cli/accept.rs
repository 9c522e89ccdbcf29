//! Options that accept known findings: a baseline, and comments in the source.

use clap::Args;
use report::accept::{self, Acceptance, Baseline};
use report::{Failure, Report, SourceFile};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options that accept known findings.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Known findings")]
pub struct AcceptArgs {
    /// Accept the findings that this file lists; what is new still fails
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the findings of this run to the baseline. Entries of kernels that did not run stay
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
    /// Do not obey comments such as `// racetrap: allow(data-race): reason`, as for code of somebody you don't trust
    #[arg(long)]
    ignore_allow: bool,
}

/// The largest baseline that is read, bytes.
const LARGEST: u64 = 64 << 20;

/// What is accepted, before anything has run.
#[derive(Debug)]
pub struct Known<'a> {
    args: &'a AcceptArgs,
    baseline: Option<Baseline>,
}

impl AcceptArgs {
    /// Whether there is a list of known findings.
    pub fn has_baseline(&self) -> bool {
        self.baseline.is_some()
    }

    /// Reads the baseline, before anything runs.
    ///
    /// # Errors
    ///
    /// It can't be read, or is no baseline.
    pub fn load(&self) -> Result<Known<'_>, Failure> {
        let baseline = match &self.baseline {
            Some(path) => Some(read(path, self.update_baseline)?),
            None => None,
        };
        Ok(Known {
            args: self,
            baseline,
        })
    }
}

fn read(path: &Path, update: bool) -> Result<Baseline, Failure> {
    let shown = path.display();
    let unreadable = |why: String| Failure::usage(format!("can't read `{shown}`: {why}"));
    if !path.exists() {
        return match update {
            true => Ok(Baseline::default()),
            false => Err(unreadable("no such file".into())
                .help("`--update-baseline` makes it, with the findings that there are now")),
        };
    }
    let data = std::fs::metadata(path).map_err(|e| unreadable(e.to_string()))?;
    if !data.is_file() || data.len() > LARGEST {
        return Err(unreadable("it is no file of a reasonable size".into()));
    }
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(e.to_string()))?;
    Baseline::parse(&text).map_err(|why| {
        Failure::usage(format!("`{shown}` is not a baseline: {why}"))
            .help("remove the file and make it again with `--update-baseline`")
    })
}

impl Known<'_> {
    /// Marks what is accepted, tells on stderr what accepts nothing, and updates the baseline. `complete`: whether every kernel of
    /// `texts` has run.
    ///
    /// # Errors
    ///
    /// The baseline can't be written.
    pub fn apply(
        &self,
        report: &mut Report,
        texts: &[Arc<SourceFile>],
        complete: bool,
        color: bool,
    ) -> Result<(), Failure> {
        let mut acceptance = Acceptance {
            baseline: self.baseline.as_ref(),
            comments: !self.args.ignore_allow,
            texts,
            complete,
        };
        let (Some(old), Some(path), true) = (
            &self.baseline,
            &self.args.baseline,
            self.args.update_baseline,
        ) else {
            tell(&accept::accept(report, &acceptance), color);
            return Ok(());
        };
        // Comments come first: what they accept needs no entry.
        let mut commented = report.clone();
        let without = Acceptance {
            baseline: None,
            ..acceptance.clone()
        };
        accept::accept(&mut commented, &without);
        let (new, changes) = old.updated(&commented);
        write(path, &new.render())
            .map_err(|e| Failure::usage(format!("can't write `{}`: {e}", path.display())))?;
        eprintln!("wrote {} ({changes})", path.display());
        acceptance.baseline = Some(&new);
        tell(&accept::accept(report, &acceptance), color);
        Ok(())
    }
}

fn tell(complaints: &[accept::Complaint], color: bool) {
    let mut err = std::io::stderr().lock();
    for complaint in complaints {
        let _ = err.write_all(complaint.render(color).as_bytes());
    }
}

/// Replaces a file as a whole, so that nobody reads half of it.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    #[cfg(unix)]
    {
        // A temporary file is for its owner alone; this one is for the repository.
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map_or(0o644, |data| data.permissions().mode());
        let permissions = std::fs::Permissions::from_mode(mode);
        file.as_file().set_permissions(permissions)?;
    }
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}
