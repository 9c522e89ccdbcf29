//! `racetrap setup`: gets the CUDA compiler.

use clap::Args;
use report::{Failure, exit};
use std::path::PathBuf;
use toolchain::setup::{self, Done};
use toolchain::{InstallError, Nvcc};

/// What `--help` says.
pub const ABOUT: &str = "\
Get the CUDA compiler from PyPI, about 300 MB, into your data folder. It needs python3 with pip or venv, and neither root nor a GPU. \
Every file is compared with a hash that racetrap knows. To get rid of it, delete the folder.";

/// Options of `racetrap setup`.
#[derive(Args, Clone, Debug)]
pub struct SetupArgs {
    /// Install into this folder [default: $XDG_DATA_HOME/racetrap/cuda, where racetrap finds it]
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
///
/// The compiler can't be fetched or written.
pub fn setup(args: &SetupArgs) -> Result<(String, u8), Failure> {
    let folder = args.to.clone().or_else(setup::default_folder);
    let folder = folder.ok_or_else(|| {
        Failure::usage("no data folder is known: set XDG_DATA_HOME or HOME")
            .help("`--to FOLDER` names another one")
    })?;
    let shown = folder.display().to_string();
    let say = |what: &str| eprintln!("{what}");
    let done = setup::setup(&folder, &say).map_err(failure)?;
    let mut out = match done {
        Done::AlreadyThere => format!("the CUDA compiler is already in {shown}\n"),
        Done::Installed => format!("installed the CUDA compiler into {shown}\n"),
    };
    match Nvcc::find() {
        Ok(nvcc) if nvcc.program.path.starts_with(&folder) => {
            out += "racetrap finds it there: `racetrap check kernel.cu`\n";
        }
        Ok(nvcc) => {
            out += &format!(
                "racetrap uses another one, which it finds before: {}\n",
                nvcc.program.path.display()
            );
        }
        Err(_) => out += &format!("racetrap does not look there: set CUDA_PATH={shown}\n"),
    }
    Ok((out, exit::OK))
}

fn failure(error: InstallError) -> Failure {
    let help = match &error {
        InstallError::NoPython | InstallError::NoPip => {
            "or install the CUDA toolkit in another way, and set CUDA_PATH"
        }
        InstallError::Occupied(_) => {
            "give an empty folder, or one that does not exist: `--to FOLDER`"
        }
        _ => {
            "the messages of pip are above; try again, or install the CUDA toolkit in another way and set CUDA_PATH"
        }
    };
    let message = error.to_string();
    Failure::inconclusive(message).help(help)
}
