//! A folder that looks like a CUDA toolkit, for makefiles that name one: its compiler leaves out architectures that it no longer has, and
//! its libraries are the drop-in ones.

use crate::put;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler of the folder: it calls the real one without options that name an architecture below `LEAST`.
const SCRIPT: &str = r#"#!/bin/sh
# Calls nvcc without the architectures that it no longer has.
is_old() {
    for part in $(printf %s "$1" | tr ',=' '  '); do
        case $part in
        sm_[0-9]* | compute_[0-9]*)
            number=${part#*_}
            number=${number%%[!0-9]*}
            [ "$number" -lt LEAST ] && return 0
            ;;
        esac
    done
    return 1
}
say() { echo "racetrap: left out $1: this nvcc has no such architecture any more" >&2; }
left=$#
while [ "$left" -gt 0 ]; do
    option=$1
    shift
    left=$((left - 1))
    case $option in
    -arch | --gpu-architecture | -code | --gpu-code | -gencode | --generate-code | --gpu-name)
        value=$1
        shift
        left=$((left - 1))
        if is_old "$value"; then say "$option $value"; else set -- "$@" "$option" "$value"; fi
        ;;
    -arch=* | --gpu-architecture=* | -code=* | --gpu-code=* | -gencode=* | --generate-code=* | --gpu-name=*)
        if is_old "${option#*=}"; then say "$option"; else set -- "$@" "$option"; fi
        ;;
    *) set -- "$@" "$option" ;;
    esac
done
exec NVCC "$@"
"#;

/// All such folders of the user: CMake writes the compiler's path and the libraries' into a build's files when it configures the build, so
/// they are where later commands find them again.
pub fn kept() -> Option<PathBuf> {
    Some(toolchain::cache_folder()?.join("racetrap/toolkits"))
}

/// The one of [`kept`] for a compiler and a library, with the runtime's name that its programs look for.
pub fn kept_for(nvcc: &Path, library: &Path, runtime: Option<&str>) -> Option<PathBuf> {
    let mut hash = DefaultHasher::new();
    (nvcc, library, runtime).hash(&mut hash);
    Some(kept()?.join(format!("{:016x}", hash.finish())))
}

/// Makes the folder, or brings one that is there up to date.
///
/// # Errors
///
/// It can't be written.
pub fn make(folder: &Path, nvcc: &Path, libraries: &Path) -> io::Result<PathBuf> {
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin)?;
    let quoted = format!("'{}'", nvcc.display().to_string().replace('\'', r"'\''"));
    let script = SCRIPT
        .replace("LEAST", &least(nvcc).to_string())
        .replace("NVCC", &quoted);
    put::file(&bin.join("nvcc"), script.as_bytes(), true)?;
    for name in ["lib", "lib64"] {
        put::link(libraries, &folder.join(name))?;
    }
    let real = nvcc.parent().and_then(Path::parent);
    if let Some(real) = real {
        for name in ["include", "nvvm", "extras", "targets"] {
            if real.join(name).exists() {
                put::link(&real.join(name), &folder.join(name))?;
            }
        }
        for tool in std::fs::read_dir(real.join("bin"))?.flatten() {
            if tool.file_name() != "nvcc" {
                put::link(&tool.path(), &bin.join(tool.file_name()))?;
            }
        }
    }
    Ok(folder.to_owned())
}

/// The oldest architecture that a compiler has; 0 where it does not say.
fn least(nvcc: &Path) -> u32 {
    let output = Command::new(nvcc).arg("--list-gpu-arch").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let number = |line: &str| line.strip_prefix("compute_")?.parse().ok();
    text.unwrap_or_default()
        .lines()
        .filter_map(number)
        .min()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn old_architectures_are_left_out_and_everything_else_is_handed_on() {
        let folder =
            std::env::temp_dir().join(format!("racetrap toolkit's {}", std::process::id()));
        let real = folder.join("real/bin");
        std::fs::create_dir_all(&real).unwrap();
        let nvcc = real.join("nvcc");
        let fake = "#!/bin/sh\n[ \"$1\" = --list-gpu-arch ] && echo compute_75 && exit\nprintf '<%s>' \"$@\"\n";
        std::fs::write(&nvcc, fake).unwrap();
        std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).unwrap();
        let made = make(&folder.join("made"), &nvcc, &folder).unwrap();
        // Once more, as a second build does.
        assert_eq!(make(&made, &nvcc, &folder).unwrap(), made);
        let output = Command::new(made.join("bin/nvcc"))
            .args([
                "-arch",
                "sm_20",
                "-arch=sm_90a",
                "--gpu-code=compute_20",
                "-DX=a b",
                "-gencode",
            ])
            .args([
                "arch=compute_80,code=sm_80",
                "-gencode=arch=compute_35,code=sm_35",
                "k.cu",
            ])
            .output()
            .unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told.matches("left out").count(), 3, "{told}");
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "<-arch=sm_90a><-DX=a b><-gencode><arch=compute_80,code=sm_80><k.cu>"
        );
    }
}
