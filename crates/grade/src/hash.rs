//! Hashes of what grades are made from.

use sha2::{Digest, Sha256};

/// SHA-256 of several parts, each with its length before it, in hexadecimal digits.
pub fn sha256<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> String {
    digest(parts)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A seed that follows from some texts and tells nothing of them.
pub fn seed<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> u64 {
    let digest = digest(parts);
    u64::from_le_bytes(digest[..8].try_into().unwrap_or_default())
}

fn digest<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        let part = part.as_ref();
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
