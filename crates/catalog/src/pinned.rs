//! The pinned PTX beside each kernel: its name, its header, and whether it still matches its source.
//!
//! The name consists of the kernel's name, the case's defines and the target: `kernels/scan/warp.BUG_VOLATILE.sm_90.ptx`. The
//! first lines are comments with the compiler, the flags, a hash of the sources and flags, and a hash of the PTX. So an edit of
//! either file is detected without a compiler.

use super::case::Case;
use super::entry::{Catalog, Entry};
pub use super::target::{SIMULATED, Target};
use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// A PTX file that the catalogue needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The kernel's source: `kernels/scan/warp.cu`.
    pub source: String,
    /// The PTX: `kernels/scan/warp.BUG_VOLATILE.sm_90.ptx`.
    pub ptx: String,
    /// The compiler's `-D` arguments, without the `-D`.
    pub defines: Vec<String>,
    /// The target: `sm_90`.
    pub target: &'static str,
}

/// The language that kernels are written in.
pub const STANDARD: &str = "c++17";

impl Pin {
    /// What a case needs for a target.
    pub fn new(case: &Case, target: &'static str) -> Pin {
        Pin::of(&case.kernel, case.define_flags(), target)
    }

    /// What a kernel needs for a target, with these defines, sorted.
    pub fn of(kernel: &str, defines: Vec<String>, target: &'static str) -> Pin {
        let stem = kernel.trim_end_matches(".cu");
        let word = |define: &String| -> String {
            define
                .chars()
                .map(|c| {
                    if c.is_ascii_alphanumeric() || c == '_' {
                        c
                    } else {
                        '-'
                    }
                })
                .collect()
        };
        let key = defines.iter().map(word).collect::<Vec<_>>().join("+");
        let key = if key.is_empty() {
            key
        } else {
            format!(".{key}")
        };
        Pin {
            source: format!("kernels/{kernel}"),
            ptx: format!("kernels/{stem}{key}.{target}.ptx"),
            defines,
            target,
        }
    }

    /// The compiler's flags, as the header tells them.
    pub fn flags(&self) -> String {
        let mut flags = format!("-O3 -lineinfo -arch={} -std={STANDARD}", self.target);
        for define in &self.defines {
            flags.push_str(&format!(" -D{define}"));
        }
        flags
    }

    /// A hash of everything that the PTX is made from, the compiler's version apart.
    pub fn source_hash(&self, tree: &Tree) -> String {
        let mut hash = Fnv::new();
        hash.add(self.flags().as_bytes());
        for (name, text) in source_files(tree, &self.source) {
            hash.add(name.as_bytes());
            hash.add(text.as_bytes());
        }
        hash.text()
    }

    /// The file that pins `ptx`, as the compiler wrote it: header, and file names that no longer
    /// depend on the machine.
    pub fn file(&self, tree: &Tree, ptx: &str, root: &str) -> String {
        let body = with_relative_files(ptx, root);
        let mut hash = Fnv::new();
        hash.add(body.as_bytes());
        format!(
            "{FLAGS}{}\n{SOURCE}{}\n{BODY}{}\n{body}",
            self.flags(),
            self.source_hash(tree),
            hash.text(),
        )
    }

    /// What is wrong with the pinned file, if anything.
    pub fn stale(&self, tree: &Tree, text: &str) -> Option<String> {
        let mut lines = text.splitn(4, '\n');
        let mut header = |prefix| lines.next().and_then(|line| line.strip_prefix(prefix));
        let (flags, source, body) = (header(FLAGS), header(SOURCE), header(BODY));
        let (Some(flags), Some(source), Some(body)) = (flags, source, body) else {
            return Some("its header is missing".to_owned());
        };
        if flags != self.flags() {
            return Some(format!(
                "it was compiled with `{flags}`, not `{}`",
                self.flags()
            ));
        }
        if source != self.source_hash(tree) {
            return Some(format!(
                "`{}` has changed since it was compiled",
                self.source
            ));
        }
        let mut hash = Fnv::new();
        hash.add(lines.next().unwrap_or_default().as_bytes());
        (hash.text() != body).then(|| "it was edited by hand".to_owned())
    }
}

/// A hash of texts that is the same on every machine and in every version: 64-bit FNV-1a, in hexadecimal.
pub fn stable_hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Fnv::new();
    parts.into_iter().for_each(|part| hash.add(part.as_bytes()));
    hash.text()
}

/// The hash of the PTX that a pinned file's header tells.
pub fn body_hash(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(BODY))
}

const FLAGS: &str = "// nvcc ";
const SOURCE: &str = "// source ";
const BODY: &str = "// body ";

/// The compiler's version as its PTX names it: `release 13.0, V13.0.88`.
pub fn compiler_version(ptx: &str) -> Option<&str> {
    let line = ptx
        .lines()
        .take(20)
        .find(|line| line.contains("Cuda compilation tools"))?;
    line.split_once(", ").map(|(_, version)| version)
}

/// Every PTX file that the catalogue needs, by name, with a case that needs it.
pub fn pins(catalog: &Catalog) -> BTreeMap<String, (Pin, &Entry)> {
    let mut pins = BTreeMap::new();
    for entry in &catalog.cases {
        if entry.case.refusal().is_some() {
            continue; // there is none: see `super::refused`
        }
        for target in entry.case.target_names() {
            let pin = Pin::new(&entry.case, target);
            pins.entry(pin.ptx.clone()).or_insert((pin, entry));
        }
    }
    pins
}

/// Every file of the tree that something is pinned in.
pub fn pinned(tree: &Tree) -> impl Iterator<Item = &str> {
    let of = |extension| {
        tree.below("kernels/", extension)
            .map(|(file, _): (&str, &str)| file)
    };
    of(".ptx").chain(of(".diagnostics"))
}

/// A source and the files of the catalogue that it includes by `#include "…"`, directly or not.
pub fn source_files<'a>(tree: &'a Tree, source: &str) -> Vec<(String, &'a str)> {
    let (mut queue, mut seen, mut found) = (vec![source.to_owned()], BTreeSet::new(), Vec::new());
    while let Some(file) = queue.pop() {
        let Some(text) = tree.text(&file).filter(|_| seen.insert(file.clone())) else {
            continue;
        };
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        for line in text.lines() {
            let name = line
                .trim_start()
                .strip_prefix("#include")
                .and_then(|rest| rest.trim_start().strip_prefix('"'))
                .and_then(|rest| rest.split_once('"'));
            if let Some((name, _)) = name {
                queue.push(joined(folder, name));
            }
        }
        found.push((file, text));
    }
    found
}

/// `name` as seen from `folder`, `..` resolved.
fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in name.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Rewrites the names in `.file` directives: those below `root` relative to it, the toolkit's headers as
/// `cuda/include/…`.
pub fn with_relative_files(ptx: &str, root: &str) -> String {
    let root = format!("{}/", root.trim_end_matches('/'));
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        let parts = line
            .trim_start()
            .strip_prefix(".file")
            .and_then(|_| line.split_once('"'))
            .and_then(|(before, rest)| Some((before, rest.split_once('"')?)));
        let Some((before, (name, after))) = parts else {
            text.push_str(line);
            continue;
        };
        // The toolkit may lie below `root`, too: where nvcc says that its own headers are, or in a hidden folder.
        let inside = name.strip_prefix(&root);
        let inside = inside.filter(|inside| {
            !inside.contains("/bin/../") && !inside.split('/').any(|part| part.starts_with('.'))
        });
        let name = match (inside, name.rsplit_once("/include/")) {
            (Some(inside), _) => inside.to_owned(),
            (None, Some((_, header))) => format!("cuda/include/{header}"),
            (None, None) => name.rsplit('/').next().unwrap_or(name).to_owned(),
        };
        // After the name there may be its time and size, which differ from checkout to checkout.
        let end = if after.ends_with('\n') { "\n" } else { "" };
        text.push_str(&format!("{before}\"{name}\"{end}"));
    }
    text
}

/// The 64-bit FNV-1a hash (Fowler, Noll, Vo): enough to notice an edit.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a part; parts are told apart.
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin() -> Pin {
        let case = super::super::load::from_yaml(
            "c.yaml",
            "title: t\nkernel: scan/warp.cu\ndefines: {TYPE: unsigned long, B: , A: 4}\nlaunches: []\nexpect: {simulator: clean}",
        );
        Pin::new(&case.unwrap(), "sm_90")
    }

    fn tree() -> Tree {
        let mut tree = Tree::default();
        let mut add =
            |name: &str, text: &'static str| tree.files.insert(name.to_owned(), text.into());
        add("kernels/scan/warp.cu", "#include \"../common.cuh\"\n");
        add("kernels/common.cuh", "int x;\n");
        tree
    }

    #[test]
    fn names_and_flags() {
        let pin = pin();
        assert_eq!(
            pin.ptx,
            "kernels/scan/warp.A-4+B+TYPE-unsigned-long.sm_90.ptx"
        );
        assert_eq!(
            pin.flags(),
            "-O3 -lineinfo -arch=sm_90 -std=c++17 -DA=4 -DB -DTYPE=unsigned long"
        );
    }

    #[test]
    fn a_gpu_runs_the_newest_target_that_it_can() {
        let on = |targets: &str, capability| {
            let case = super::super::load::from_yaml(
                "c.yaml",
                &format!(
                    "title: t\nkernel: k.cu\n{targets}launches: []\nexpect: {{simulator: clean}}"
                ),
            );
            let case = case.unwrap();
            (case.simulated(), case.target_on(capability))
        };
        assert_eq!(on("", (8, 9)), ("sm_90", Some("sm_75")));
        assert_eq!(on("targets: [sm_80, sm_90]\n", (7, 5)), ("sm_90", None));
        assert_eq!(
            on("targets: [sm_90a, sm_80]\n", (9, 0)),
            ("sm_90a", Some("sm_90a"))
        );
        assert_eq!(
            on("targets: [sm_90a, sm_80]\n", (12, 0)),
            ("sm_90a", Some("sm_80"))
        );
    }

    #[test]
    fn notices_every_edit() {
        let (pin, mut tree) = (pin(), tree());
        let text = pin.file(&tree, "// made\n.version 9.0\n", "/home");
        assert_eq!(pin.stale(&tree, &text), None);
        let stale = |tree: &Tree, text: &str| pin.stale(tree, text).unwrap_or_default();
        assert!(stale(&tree, &text.replace("9.0", "9.1")).contains("by hand"));
        assert!(stale(&tree, &text.replace("-DB", "-DC")).contains("compiled with"));
        assert!(stale(&tree, ".version 9.0\n").contains("header is missing"));
        tree.files
            .insert("kernels/common.cuh".to_owned(), "int y;\n".into());
        assert!(stale(&tree, &text).contains("`kernels/scan/warp.cu` has changed"));
    }

    #[test]
    fn file_names_are_the_same_on_every_machine() {
        let ptx = "\t.file\t1 \"/root/repo/kernels/a.cu\", 17, 4\n\t.file 2 \"/opt/x/bin/..//include/cg/h.h\"\n\t.file 3 \"/tmp/odd.h\"\n\t.file 4 \"/root/repo/.tools/cuda/bin/..//include/a.hpp\"\n\t.file 5 \"/root/repo/.tools/cuda/include/cccl/b.h\"\n.loc 1 2 3";
        assert_eq!(
            with_relative_files(ptx, "/root/repo"),
            "\t.file\t1 \"kernels/a.cu\"\n\t.file 2 \"cuda/include/cg/h.h\"\n\t.file 3 \"odd.h\"\n\t.file 4 \"cuda/include/a.hpp\"\n\t.file 5 \"cuda/include/cccl/b.h\"\n.loc 1 2 3"
        );
    }
}
