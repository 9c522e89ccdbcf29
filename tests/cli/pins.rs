//! PTX that is pinned of tests' sources, so that no compiler is needed; `tests/pin.sh` renews it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tempfile::TempDir;

/// Stands for `nvcc`: hands out what nvcc made of the source before. The copy that it is given says on its first line where the source is.
const COMPILER: &str = r##"#!/bin/sh
for copy; do :; done
case " $* " in
*' -G '*) build=unoptimised ;;
*) build=optimised ;;
esac
source=$(sed -n '1s/^#line 1 "\(.*\)"$/\1/p' "$copy")
exec sed "/\.file/s|\"tests/.*\.cu\"|\"$source\"|" "${0%/bin/nvcc}/lib/$build.ptx" >out.ptx
"##;

/// A toolkit whose compiler has the two builds of a source, which are pinned in the folder `pinned` beside it.
pub fn toolkit(source: &Path) -> TempDir {
    let name = source.file_stem().unwrap().to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    // A compiler reads the known parts of its toolkit, which its profile marks as one.
    for part in ["bin", "lib"] {
        fs::create_dir(folder.path().join(part)).unwrap();
    }
    fs::write(folder.path().join("bin/nvcc.profile"), "").unwrap();
    for build in ["optimised", "unoptimised"] {
        let pin = source.with_file_name(format!("pinned/{name}.{build}.ptx"));
        belongs(&pin, source);
        fs::copy(&pin, folder.path().join(format!("lib/{build}.ptx"))).unwrap();
    }
    let compiler = folder.path().join("bin/nvcc");
    fs::write(&compiler, COMPILER).unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// `PATH` with the programs of a toolkit before all others, a machine's own compiler among them.
pub fn path(toolkit: &TempDir) -> std::ffi::OsString {
    let given = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&given);
    std::env::join_paths([toolkit.path().join("bin")].into_iter().chain(folders)).unwrap()
}

/// Asserts that a pin was made of its source as it is now.
pub fn belongs(pin: &Path, source: &Path) {
    let ptx = fs::read_to_string(pin);
    let ptx = ptx.unwrap_or_else(|_| panic!("no PTX yet: run tests/pin.sh"));
    let (sum, bytes) = cksum(&fs::read(source).unwrap());
    let now = format!("// source {sum} {bytes}");
    assert_eq!(
        ptx.lines().nth(1),
        Some(now.as_str()),
        "{}: the source has changed: run tests/pin.sh",
        pin.display()
    );
}

/// POSIX `cksum`: a CRC of the bytes and, behind them, of their number.
fn cksum(bytes: &[u8]) -> (u32, usize) {
    let mut length = bytes.len();
    let mut tail = Vec::new();
    while length > 0 {
        tail.push(length as u8);
        length >>= 8;
    }
    let crc = bytes.iter().chain(&tail).fold(0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 24, |crc, _| {
            crc << 1 ^ if crc >> 31 == 1 { 0x04c1_1db7 } else { 0 }
        })
    });
    (!crc, bytes.len())
}
