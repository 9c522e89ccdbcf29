//! Which kernels somebody means by patterns such as `scan*`.

use crate::names::{matches_entry, spellings};

/// The kernels that a command looks at: those that one of `only` matches, or all if there is none, without those that one of `skip`
/// matches.
///
/// ```
/// # use racetrap_ptx::KernelFilter;
/// let filter = KernelFilter { only: vec!["scan*".into()], skip: vec!["*_slow".into()] };
/// assert!(filter.wants("_Z9scan_fastPii"));
/// assert!(!filter.wants("_Z9scan_slowPii"));
/// assert!(!filter.wants("reduce"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFilter {
    /// Patterns of the wanted kernels; all are wanted if there is none.
    pub only: Vec<String>,
    /// Patterns of kernels that are left out.
    pub skip: Vec<String>,
}

impl KernelFilter {
    /// Whether every kernel is wanted.
    pub fn is_empty(&self) -> bool {
        self.only.is_empty() && self.skip.is_empty()
    }

    /// Whether the kernel with this mangled name is wanted.
    pub fn wants(&self, mangled: &str) -> bool {
        let is = |pattern: &String| matches_kernel(mangled, pattern);
        (self.only.is_empty() || self.only.iter().any(is)) && !self.skip.iter().any(is)
    }

    /// The first pattern of `only` that none of these kernels (by their mangled names) matches.
    pub fn without_kernel<'a>(&'a self, all: &[&str]) -> Option<&'a str> {
        let none = |pattern: &&String| !all.iter().any(|name| matches_kernel(name, pattern));
        self.only.iter().find(none).map(String::as_str)
    }
}

/// Whether a kernel is what a pattern means: its name as [`matches_entry`] understands it, with `*` for any text and `?` for any one
/// character. Brackets stand for themselves, since C++ names have them.
///
/// ```
/// # use racetrap_ptx::matches_kernel;
/// assert!(matches_kernel("_ZN2ns4scanIiEEvPT_i", "scan"));
/// assert!(matches_kernel("_ZN2ns4scanIiEEvPT_i", "ns::*"));
/// assert!(matches_kernel("_ZN2ns4scanIiEEvPT_i", "sca?<int>"));
/// assert!(!matches_kernel("_Z7prescanPii", "scan*"));
/// ```
pub fn matches_kernel(mangled: &str, pattern: &str) -> bool {
    if matches_entry(mangled, pattern) {
        return true;
    }
    if !pattern.contains(['*', '?']) {
        return false;
    }
    let mut text: String = pattern.split_whitespace().collect();
    text = text.replace('[', "[[]");
    while text.contains("**") {
        text = text.replace("**", "*");
    }
    let Ok(glob) = glob::Pattern::new(&text) else {
        return false;
    };
    let all = spellings(mangled);
    all.iter().any(|name| {
        let inner = name.match_indices("::").map(|(at, _)| &name[at + 2..]);
        std::iter::once(name.as_str())
            .chain(inner)
            .any(|part| glob.matches(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::whole("reverse", "reverse", true)]
    #[case::begins("_Z9scan_fastPii", "scan_*", true)]
    #[case::parameters("_Z4scanPii", "scan(int**", true)]
    #[case::array("_Z1kRA4_i", "k(int*[4]*", true)]
    #[case::every("_Z4scanPii", "*", true)]
    #[case::not_a_part("_Z7prescanPii", "scan", false)]
    #[case::ends("_Z7prescanPii", "*scan", true)]
    #[case::one("kernel1", "kernel?", true)]
    #[case::one_only("kernel12", "kernel?", false)]
    #[case::empty("kernel", "", false)]
    fn patterns(#[case] kernel: &str, #[case] pattern: &str, #[case] matches: bool) {
        assert_eq!(matches_kernel(kernel, pattern), matches);
    }

    #[test]
    fn a_pattern_without_a_kernel_is_known() {
        let filter = KernelFilter {
            only: vec!["a*".into(), "z*".into()],
            skip: vec!["ab".into()],
        };
        assert_eq!(filter.without_kernel(&["ab", "ac"]), Some("z*"));
        assert!(filter.wants("ac") && !filter.wants("ab") && !filter.wants("b"));
    }
}
