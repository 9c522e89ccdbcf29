//! Files and links in folders that other processes may be reading: whoever looks finds the old one or the new one, whole, and one that is
//! as it should be is left alone.

use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// A file with this content, which may be executed if `program`.
///
/// # Errors
///
/// It can't be written.
pub fn file(path: &Path, content: &[u8], program: bool) -> io::Result<()> {
    if !path.is_symlink() && std::fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let mut new = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    new.write_all(content)?;
    let mode = if program { 0o755 } else { 0o644 };
    std::fs::set_permissions(new.path(), std::fs::Permissions::from_mode(mode))?;
    new.persist(path).map(drop).map_err(|e| e.error)
}

/// A symbolic link to `target`.
///
/// # Errors
///
/// It can't be made.
pub fn link(target: &Path, path: &Path) -> io::Result<()> {
    if std::fs::read_link(path).is_ok_and(|there| there == target) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let new = tempfile::Builder::new().make_in(folder, |at| symlink(target, at))?;
    new.persist(path).map(drop).map_err(|e| e.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_replaced_and_what_is_right_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("tool");
        let node = || {
            use std::os::unix::fs::MetadataExt as _;
            at.symlink_metadata().unwrap().ino()
        };
        file(&at, b"one", true).unwrap();
        let first = node();
        file(&at, b"one", true).unwrap();
        assert_eq!(node(), first);
        assert_eq!(at.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        file(&at, b"two", false).unwrap();
        assert_eq!(std::fs::read(&at).unwrap(), b"two");

        link(Path::new("/a"), &at).unwrap();
        let first = node();
        link(Path::new("/a"), &at).unwrap();
        assert_eq!(node(), first);
        link(Path::new("/b"), &at).unwrap();
        assert_eq!(at.read_link().unwrap(), Path::new("/b"));
        // A link is not written through.
        let other = folder.path().join("other");
        std::fs::write(&other, b"three").unwrap();
        link(&other, &at).unwrap();
        file(&at, b"three", false).unwrap();
        assert!(!at.is_symlink());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
