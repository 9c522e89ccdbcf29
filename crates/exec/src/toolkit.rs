//! A folder that looks like a CUDA toolkit, for builds that name one: its compiler adds what racetrap needs and leaves out architectures
//! that it no longer has; its runtime and driver are the drop-in libraries, and all else is the real toolkit's.

use crate::{atomic_file, build};
use std::fs::DirEntry;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler of the folder, a script that calls the real one.
///
/// * It leaves out architectures below `LEAST`.
/// * Under `racetrap build` ([`crate::build`]) it adds what racetrap needs, as far as the other options allow (NVCC, "Command Option
///   Description"): PTX for the newest architecture that they name, but not to a command whose output can have one kind of code only.
///   Where they name none and device code is linked, machine code is made, too: without any, the linker asks for more of the runtime.
/// * What the real one says of its own place (`-v`, by which CMake finds a toolkit) is said of this folder.
const SCRIPT: &str = r#"#!/bin/sh
# Calls nvcc with what racetrap needs, and without the architectures that it no longer has.
newest= alone= named= lone= linked= debug= tells=
# Whether an architecture is none any more; otherwise it is noted.
is_old() {
    for part in $(printf %s "$1" | tr ',=[]' '    '); do
        case $part in
        sm_[0-9]* | compute_[0-9]*)
            number=${part#*_}
            suffix=${number##*[0-9]}
            number=${number%%[!0-9]*}
            [ "$number" -lt LEAST ] && return 0
            [ "$number" -gt "${newest:-0}" ] && newest=$number && alone=
            [ "$number" = "$newest" ] && [ "$suffix" = a ] && alone=a
            ;;
        esac
    done
    named=1
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
        continue
        ;;
    -arch=* | --gpu-architecture=* | -code=* | --gpu-code=* | -gencode=* | --generate-code=* | --gpu-name=*)
        if is_old "${option#*=}"; then say "$option"; else set -- "$@" "$option"; fi
        continue
        ;;
    -ptx | --ptx | -cubin | --cubin | -optix-ir | --optix-ir | -dlto | --dlink-time-opt | --dlink-time-opt=*) lone=1 ;;
    -dc | --device-c | -dw | --device-w | -dlink | --device-link | -rdc | --relocatable-device-code) linked=1 ;;
    -rdc=* | --relocatable-device-code=*) linked=1 ;;
    -G | --device-debug) debug=1 ;;
    -v | --verbose | -dryrun | --dryrun | __cmake_determine_cuda) tells=1 ;;
    esac
    set -- "$@" "$option"
done
if [ -n "${RACETRAP_BUILD:-}" ]; then
    NVCC_APPEND_FLAGS=${RACETRAP_APPENDED:-}
    export NVCC_APPEND_FLAGS
    set -- "$@" ALWAYS -L LIBRARIES
    [ -n "$debug" ] || set -- "$@" -lineinfo
    number=${RACETRAP_DEVICE:-${newest:-$RACETRAP_BUILD}}
    # Code for one architecture alone (`sm_90a`) compiles for no other.
    [ "$number" = "$newest" ] && number=$number$alone
    code=compute_$number
    [ -n "$linked" ] && [ -z "$named" ] && code=[compute_$number,sm_$number]
    [ -n "$lone" ] || set -- "$@" -gencode "arch=compute_$number,code=$code"
fi
[ -n "$tells" ] || exec NVCC "$@"
said=$(mktemp) || exit 1
NVCC "$@" 2>"$said"
status=$?
top=$(sed -n 's/^#\$ TOP=//p' "$said" | head -n 1)
if [ -n "$top" ]; then
    top=$(printf %s "$top" | sed 's/[][\.*^$|]/\\&/g')
    own=$(printf %s FOLDER | sed 's/[\&|]/\\&/g')
    sed "s|$top|$own|g" "$said" >&2
else
    cat "$said" >&2
fi
rm -f "$said"
exit "$status"
"#;

/// All such folders of the user: CMake writes the compiler's path and the libraries' into a build's files when it configures the build, so
/// they are where later commands find them again.
pub fn kept() -> Option<PathBuf> {
    Some(toolchain::cache_folder()?.join("racetrap/toolkits"))
}

/// The one of [`kept`] for a compiler and a library, with the runtime's name that its programs look for. Another racetrap may have another.
pub fn kept_for(nvcc: &Path, library: &Path, runtime: Option<&str>) -> Option<PathBuf> {
    let mut hash = DefaultHasher::new();
    (nvcc, library, runtime, SCRIPT).hash(&mut hash);
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
    let script = SCRIPT
        .replace("LEAST", &least(nvcc).to_string())
        .replace("ALWAYS", &build::ALWAYS.join(" "))
        .replace("LIBRARIES", &quoted(libraries))
        .replace("FOLDER", &quoted(folder))
        .replace("NVCC \"$@\"", &format!("{} \"$@\"", quoted(nvcc)));
    atomic_file::file(&bin.join("nvcc"), script.as_bytes(), true)?;
    let real = nvcc.parent().and_then(Path::parent);
    let lib = folder.join("lib64");
    link_all(libraries, &lib, |name| name != "stubs")?;
    link_all(&libraries.join("stubs"), &lib.join("stubs"), |_| true)?;
    atomic_file::link(&lib, &folder.join("lib"))?;
    if let Some(real) = real {
        for name in ["lib64", "lib"].map(|name| real.join(name)) {
            // The runtime and the driver are ours.
            let others =
                |name: &str| !name.starts_with("libcudart") && !name.starts_with("libcuda.");
            link_all(&name, &lib, |name| others(name) && name != "stubs")?;
            link_all(&name.join("stubs"), &lib.join("stubs"), others)?;
        }
        for name in ["include", "nvvm", "extras"] {
            if real.join(name).exists() {
                atomic_file::link(&real.join(name), &folder.join(name))?;
            }
        }
        for target in entries(&real.join("targets"))? {
            let own = folder.join("targets").join(target.file_name());
            link_all(&target.path(), &own, |name| name != "lib")?;
            atomic_file::link(&lib, &own.join("lib"))?;
        }
        link_all(&real.join("bin"), &bin, |name| name != "nvcc")?;
    }
    Ok(folder.to_owned())
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// What a folder has; nothing where there is none.
fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    match folder.is_dir() {
        true => std::fs::read_dir(folder)?.collect(),
        false => Ok(Vec::new()),
    }
}

/// Links to what a folder has under such names, in another one; folders that are there already stay.
fn link_all(from: &Path, to: &Path, wanted: impl Fn(&str) -> bool) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in entries(from)? {
        let name = entry.file_name();
        let at = to.join(&name);
        let is_folder = at.is_dir() && !at.is_symlink();
        if wanted(&name.to_string_lossy()) && !is_folder {
            atomic_file::link(&entry.path(), &at)?;
        }
    }
    Ok(())
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

    /// A toolkit whose compiler says what it was called with, and the folder that is made for it; all of it is below the first one.
    fn made() -> (tempfile::TempDir, PathBuf) {
        let temporary = tempfile::Builder::new()
            .prefix("racetrap's toolkit ")
            .tempdir()
            .unwrap();
        let real = temporary.path().join("real");
        for folder in ["bin", "include", "lib64/stubs", "targets/x86/include"] {
            std::fs::create_dir_all(real.join(folder)).unwrap();
        }
        let nvcc = real.join("bin/nvcc");
        let fake = "#!/bin/sh\n[ \"$1\" = --list-gpu-arch ] && echo compute_75 && exit\n\
            printf '<%s>' \"$@\"\necho \"[$NVCC_APPEND_FLAGS]\"\n\
            case $* in *determine*) printf '#$ TOP=%s\\n#$ LIBRARIES=-L\"%s/lib64\"\\n' \"${0%/*}/..\" \"${0%/*}/..\" >&2; exit 3 ;; esac\n";
        std::fs::write(&nvcc, fake).unwrap();
        std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).unwrap();
        let libraries = temporary.path().join("drop-in");
        std::fs::create_dir_all(libraries.join("stubs")).unwrap();
        for file in [
            "real/bin/ptxas",
            "real/lib64/libcudart_static.a",
            "real/lib64/libcudadevrt.a",
            "real/lib64/stubs/libcuda.so",
            "real/lib64/stubs/libnvml.so",
            "drop-in/libcudart_static.a",
            "drop-in/stubs/libcuda.so",
        ] {
            std::fs::write(temporary.path().join(file), file).unwrap();
        }
        let folder = temporary.path().join("made");
        let at = make(&folder, &nvcc, &libraries).unwrap();
        // Once more, as a second build does.
        assert_eq!(make(&at, &nvcc, &libraries).unwrap(), at);
        (temporary, at)
    }

    /// What the real compiler gets, and what is said besides.
    fn called(toolkit: &Path, words: &[&str], variables: &[(&str, &str)]) -> (String, String) {
        let output = Command::new(toolkit.join("bin/nvcc"))
            .args(words)
            .env_remove("NVCC_APPEND_FLAGS")
            .env_remove("RACETRAP_BUILD")
            .env_remove("RACETRAP_DEVICE")
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    }

    #[test]
    fn old_architectures_are_left_out_and_everything_else_is_handed_on() {
        let (_temporary, toolkit) = made();
        let words = [
            "-arch",
            "sm_20",
            "-arch=sm_90a",
            "--gpu-code=compute_20",
            "-DX=a b",
            "-gencode",
            "arch=compute_80,code=sm_80",
            "-gencode=arch=compute_35,code=sm_35",
            "k.cu",
        ];
        let (got, said) = called(&toolkit, &words, &[("NVCC_APPEND_FLAGS", "-O1")]);
        assert_eq!(said.matches("left out").count(), 3, "{said}");
        assert_eq!(
            got,
            "<-arch=sm_90a><-DX=a b><-gencode><arch=compute_80,code=sm_80><k.cu>[-O1]\n"
        );
    }

    #[test]
    fn a_build_adds_what_goes_with_the_other_options() {
        let (temporary, toolkit) = made();
        let library = temporary.path().join("drop-in");
        let added = |words: &[&str], device: &str| {
            let mut variables = vec![
                ("RACETRAP_BUILD", "75"),
                ("NVCC_APPEND_FLAGS", "ours"),
                ("RACETRAP_APPENDED", "-O1"),
            ];
            if !device.is_empty() {
                variables.push(("RACETRAP_DEVICE", device));
            }
            let (got, said) = called(&toolkit, words, &variables);
            assert_eq!(said, "");
            let given: String = words.iter().map(|word| format!("<{word}>")).collect();
            let always = build::ALWAYS.join("><");
            let always = format!("<{always}><-L><{}>", library.display());
            let rest = got.strip_prefix(&(given + &always));
            let rest = rest.unwrap_or_else(|| panic!("{got}")).to_owned();
            rest.strip_suffix("[-O1]\n").unwrap().to_owned()
        };
        let ptx = |number: u32| {
            format!("<-lineinfo><-gencode><arch=compute_{number},code=compute_{number}>")
        };
        assert_eq!(added(&["k.cu"], ""), ptx(75));
        assert_eq!(added(&["-arch=sm_80", "k.cu"], ""), ptx(80));
        assert_eq!(added(&["-arch=native", "k.cu"], ""), ptx(75));
        let alone = ptx(90).replace("90", "90a");
        assert_eq!(added(&["-arch=sm_90a", "k.cu"], ""), alone);
        assert_eq!(added(&["-arch=sm_90a", "k.cu"], "90"), alone);
        let older = [
            "-gencode=arch=compute_80,code=sm_80",
            "-gencode=arch=compute_90a,code=sm_90a",
        ];
        assert_eq!(added(&older, ""), alone);
        assert_eq!(added(&older, "80"), ptx(80));
        let several = [
            "--generate-code=arch=compute_80,code=[compute_80,sm_80]",
            "-gencode",
            "arch=compute_90,code=sm_90",
        ];
        assert_eq!(added(&several, ""), ptx(90));
        assert_eq!(added(&several, "80"), ptx(80));
        // Linking device code needs some, and no other option asks for any.
        let code = "<-lineinfo><-gencode><arch=compute_75,code=[compute_75,sm_75]>";
        for option in ["-dc", "-dlink", "-rdc=true", "--relocatable-device-code"] {
            assert_eq!(added(&[option], ""), code, "{option}");
            assert_eq!(added(&[option, "-arch=sm_80"], ""), ptx(80), "{option}");
        }
        // One kind of code, for one architecture.
        for option in ["-ptx", "--cubin", "-dlto"] {
            assert_eq!(added(&[option, "k.cu"], ""), "<-lineinfo>", "{option}");
        }
        assert_eq!(
            added(&["-G", "k.cu"], ""),
            "<-gencode><arch=compute_75,code=compute_75>"
        );
    }

    #[test]
    fn the_folder_is_told_for_the_toolkit_and_has_all_of_it() {
        let (temporary, toolkit) = made();
        let words = ["-v", "__cmake_determine_cuda"];
        let (got, said) = called(&toolkit, &words, &[]);
        assert_eq!(got, "<-v><__cmake_determine_cuda>[]\n");
        let own = toolkit.display();
        assert_eq!(
            said,
            format!("#$ TOP={own}\n#$ LIBRARIES=-L\"{own}/lib64\"\n")
        );
        let status = Command::new(toolkit.join("bin/nvcc")).args(words).output();
        assert_eq!(status.unwrap().status.code(), Some(3));

        for (file, from) in [
            ("bin/ptxas", "real/bin/ptxas"),
            ("lib64/libcudart_static.a", "drop-in/libcudart_static.a"),
            ("lib/libcudadevrt.a", "real/lib64/libcudadevrt.a"),
            ("lib64/stubs/libcuda.so", "drop-in/stubs/libcuda.so"),
            ("lib64/stubs/libnvml.so", "real/lib64/stubs/libnvml.so"),
            (
                "targets/x86/lib/libcudart_static.a",
                "drop-in/libcudart_static.a",
            ),
        ] {
            let there = std::fs::read_to_string(toolkit.join(file)).unwrap();
            assert_eq!(there, from, "{file}");
        }
        assert!(toolkit.join("targets/x86/include").is_dir());
        let untouched =
            std::fs::read_to_string(temporary.path().join("real/lib64/stubs/libcuda.so"));
        assert_eq!(untouched.unwrap(), "real/lib64/stubs/libcuda.so");
    }
}
