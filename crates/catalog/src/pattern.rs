//! Patterns that select cases and claims by name.

/// A pattern: part of a name (`scan`), or, where it has `*`, `?` or `[…]`, a shell pattern for the whole name (`scan/*`). A `*` also
/// stands for slashes.
#[derive(Clone, Debug)]
pub struct Pattern<'p> {
    text: &'p str,
    glob: Option<glob::Pattern>,
}

impl<'p> Pattern<'p> {
    /// Reads a pattern. Brackets that are no shell pattern are taken as they are.
    pub fn new(text: &'p str) -> Pattern<'p> {
        let glob = text
            .contains(['*', '?', '['])
            .then(|| glob::Pattern::new(text).ok());
        Pattern {
            text,
            glob: glob.flatten(),
        }
    }

    /// Whether it selects the name.
    pub fn matches(&self, name: &str) -> bool {
        match &self.glob {
            Some(glob) => glob.matches(name),
            None => name.contains(self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::part("warp", "scan/warp/plain", true)]
    #[case::other_part("block", "scan/warp/plain", false)]
    #[case::folder("scan/*", "scan/warp/plain", true)]
    #[case::folder_alone("scan/*", "prefix-scan/x", false)]
    #[case::end("*/plain", "scan/warp/plain", true)]
    #[case::one_character("scan/war?/plain", "scan/warp/plain", true)]
    #[case::set("scan/[a-w]*", "scan/warp/plain", true)]
    #[case::not_in_set("scan/[!w]*", "scan/warp/plain", false)]
    #[case::no_shell_pattern("a[", "xa[y", true)]
    fn patterns(#[case] pattern: &str, #[case] name: &str, #[case] selected: bool) {
        assert_eq!(Pattern::new(pattern).matches(name), selected);
    }
}
