//! The pages of `racetrap grade`, of kernels and of programs, in a real browser: what strangers wrote is text, links lead from the class to
//! each submission and back, filters work, and nothing is loaded.

use crate::browser::Browser;
use crate::html::{browser, screenshots};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const EVIL: &str = "<img src=x onerror=alert(1)>";

/// Grades submissions, by name and source, and returns the folder of the pages.
fn pages(folder: &Path, assignment: &str, file: &str, all: &[(&str, String)]) -> PathBuf {
    let submissions = folder.join(assignment);
    for (name, source) in all {
        let at = submissions.join(name);
        fs::create_dir_all(&at).unwrap();
        fs::write(at.join(file), source).unwrap();
        fs::write(at.join(format!("{EVIL}.txt")), "not asked for").unwrap();
    }
    let pages = folder.join(format!("{assignment}-pages"));
    let yaml = testing::root().join(format!("examples/course/{assignment}/assignment.yaml"));
    let output = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .arg("grade")
        .arg(yaml)
        .arg(&submissions)
        .args(["--jobs", "2", "--format", "json", "--html"])
        .arg(&pages)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    pages
}

fn example(path: &str) -> String {
    fs::read_to_string(testing::root().join("examples/course").join(path)).unwrap()
}

/// Opens each page; `look` at each of a submission.
fn look_at_all(browser: &mut Browser, pages: &Path, rule: &str, submissions: usize) {
    let index = pages.join("index.html");
    browser.open(&index);
    let links = "[...new Set([...document.querySelectorAll('a[href^=submission], a[href*=\"submission-\"]')].map(a => a.href))]";
    let links = browser.value(links);
    let links = links.as_array().unwrap();
    assert_eq!(links.len(), submissions, "{links:?}");
    let filtered = |browser: &mut Browser, rule: &str| {
        browser.value(&format!("(() => {{ const s = document.querySelector('select[name=rule]'); s.value = {}; s.dispatchEvent(new Event('input', {{bubbles: true}})); }})()", json!(rule)));
        let shown = browser.value("[...document.querySelectorAll('.card[data-rule]')].filter(c => !c.hidden).map(c => c.dataset.rule)");
        shown.as_array().unwrap().clone()
    };
    let all = filtered(browser, "");
    let some = filtered(browser, rule);
    assert!(!some.is_empty() && some.len() <= all.len(), "{all:?}");
    assert!(some.iter().all(|r| r == rule), "{some:?}");
    filtered(browser, "");
    // Each link leads to a page that is there, whatever the submission's name.
    let paths = browser.value("[...new Set([...document.querySelectorAll('a[href^=submission]')].map(a => decodeURIComponent(new URL(a.href).pathname)))]");
    let mut files = vec![index];
    files.extend(
        paths
            .as_array()
            .unwrap()
            .iter()
            .map(|path| PathBuf::from(path.as_str().unwrap())),
    );
    assert_eq!(files.len(), submissions + 1, "{files:?}");
    for (number, file) in files.iter().enumerate() {
        assert!(file.is_file(), "{}", file.display());
        let text = fs::read_to_string(file).unwrap();
        assert!(!text.contains("<img"), "{}", file.display());
        let plain = pages.join(format!(
            "{}-{number}.html",
            pages.file_name().unwrap().display()
        ));
        fs::copy(file, &plain).unwrap();
        browser.open(&plain);
        assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
        let back = browser.value("document.querySelector('a[href=\"index.html\"]') !== null");
        assert_eq!(back, number > 0, "{}", file.display());
        screenshots(browser, &plain);
        assert_eq!(browser.complaints, [""; 0], "{}", file.display());
    }
}

#[test]
fn pages_of_a_class_of_kernels() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let solution = example("reduction/solution/reduction.cu");
    let first = solution.find("    __syncthreads();").unwrap();
    let (before, after) = solution.split_at(first);
    let racy = format!(
        "{}{}",
        before.replacen(";\n", &format!("; // </script>{EVIL}\n"), 1),
        after.replacen("    __syncthreads();", &format!("    // {EVIL}"), 1)
    );
    let all = [
        ("ada", solution.clone()),
        ("bob", format!("// Bob's.\n{racy}")),
        (
            "far",
            solution.replacen("i < n ? in[i] : 0.0f", "in[i + 4]", 1),
        ),
        ("<img src=x onerror=alert(2)>", racy),
        ("eve", format!("#error {EVIL}\n")),
        (
            "50% of #1?",
            solution.replacen("__syncthreads();", "__syncwarp();", 1),
        ),
        ("starter", example("reduction/starter/reduction.cu")),
    ];
    let pages = pages(folder.path(), "reduction", "reduction.cu", &all);
    let Some(mut browser) = browser() else {
        return;
    };
    look_at_all(&mut browser, &pages, "data-race", all.len());
}

#[test]
fn pages_of_a_class_of_programs() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let solution = example("row-sums/solution/rowsums.cu");
    let racy = solution.replacen(
        "    __syncthreads();",
        &format!("    // </script>{EVIL}"),
        1,
    );
    let open = "    return 0;\n}";
    let all = [
        ("ada", solution.clone()),
        (EVIL, racy.clone()),
        (
            "zoe",
            solution
                .replace(open, "    fflush(stdout);\n    _exit(0);\n}")
                .replace(
                    "#include <cstdio>",
                    "#include <cstdio>\n#include <unistd.h>",
                ),
        ),
        ("eve", format!("#error {EVIL}\n")),
        (
            "far",
            solution.replace("column < columns", "column <= columns"),
        ),
        (
            "crash",
            racy.replace(
                "    if (argc != 5)",
                &format!("    puts(\"{EVIL}\");\n    if (argc == 5)"),
            ),
        ),
    ];
    let pages = pages(folder.path(), "row-sums", "rowsums.cu", &all);
    let text = fs::read_dir(&pages).unwrap().flatten();
    let text: String = text
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .collect();
    let write = "racetrap grade assignment.yaml --write-input small . &amp;&amp; racetrap exec rowsums.cu -- matrix.bin 2 64 sums.bin";
    assert!(text.contains(write), "{text}");
    assert!(text.contains("--write-input small . --sizes "), "{text}");
    let Some(mut browser) = browser() else {
        return;
    };
    look_at_all(&mut browser, &pages, "data-race", all.len());
}
