//! The page of a report in a real browser: what it shows, that filters and keys work, and that it loads nothing.

use crate::browser::Browser;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli");

/// Writes the page of a check, and returns its path.
fn page(folder: &Path, arguments: &[&str]) -> PathBuf {
    let output = Command::new(env!("CARGO_BIN_EXE_racetrap"))
        .arg("check")
        .args(arguments)
        .args(["--format", "html", "--jobs", "1"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let file = folder.join("report.html");
    assert!(
        !output.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    fs::write(&file, output.stdout).unwrap();
    file
}

/// A folder with a hostile name and the kernels of these tests in files with hostile names and comments.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let ptx = fs::read_to_string(format!("{HERE}/kernels.ptx")).unwrap();
    let source = fs::read_to_string(format!("{HERE}/kernels.cu")).unwrap();
    let evil = source.replace(
        "tile[t] = data[i];",
        "tile[t] = data[i]; // </script><img src=x onerror=alert(1)>",
    );
    assert_ne!(evil, source);
    fs::write(folder.path().join("kernels.cu"), evil).unwrap();
    fs::write(folder.path().join("<img src=x onerror=alert(2)>.ptx"), ptx).unwrap();
    folder
}

/// A browser; none where the test is to be skipped. With `RACETRAP_REQUIRE_TOOLS=1` it must be there.
pub fn browser() -> Option<Browser> {
    let browser = Browser::start();
    if browser.is_none() {
        let reason = "there is no Chromium (Debian's package `chromium`)";
        let required = std::env::var("RACETRAP_REQUIRE_TOOLS").is_ok_and(|v| v == "1");
        assert!(!required, "RACETRAP_REQUIRE_TOOLS=1, but {reason}");
        testing::skip(reason);
    }
    browser
}

/// What the page has without any browser.
#[test]
fn a_page_has_the_accesses_with_their_values() {
    let folder = folder();
    let file = page(
        folder.path(),
        &[
            "<img src=x onerror=alert(2)>.ptx",
            "--entry",
            "reverse",
            "--inputs",
            "1",
        ],
    );
    let text = fs::read_to_string(file).unwrap();
    assert!(!text.contains("<img"), "{text}");
    for part in [
        "data-race",
        "<svg",
        "thread 32",
        "thread 31",
        "is missing here",
        "All accesses of the location",
        "Repeat it",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn the_trace_is_in_the_json() {
    let shown = crate::common::racetrap(
        Path::new(HERE),
        &[
            "check",
            "kernels.ptx",
            "--entry",
            "reverse",
            "--inputs",
            "1",
            "--format",
            "json",
            "--trace",
        ],
    );
    let from = shown.find('{').unwrap();
    let to = shown.rfind('}').unwrap();
    let json: serde_json::Value = serde_json::from_str(&shown[from..=to]).unwrap();
    let findings = json["checks"][0]["findings"].as_array().unwrap();
    let race = findings.iter().find(|f| f["rule"] == "data-race").unwrap();
    let steps = race["trace"]["steps"].as_array().unwrap();
    let end = |n: u64| steps.iter().position(|s| s["end"] == n);
    let (later, earlier) = (end(0).unwrap(), end(1).unwrap());
    assert!(earlier < later, "{race:#}");
    // Both ends are the threads that the finding names.
    for (n, at) in [(0, later), (1, earlier)] {
        assert_eq!(
            steps[at]["thread"], race["places"][n]["who"]["thread"],
            "{race:#}"
        );
        assert_eq!(
            steps[at]["place"]["line"], race["places"][n]["line"],
            "{race:#}"
        );
    }
}

#[test]
fn a_page_in_a_browser() {
    let Some(mut browser) = browser() else {
        return;
    };
    let folder = folder();
    let file = page(
        folder.path(),
        &[
            "<img src=x onerror=alert(2)>.ptx",
            "--all",
            "--perf",
            "--max-steps",
            "200000",
            "--timeout",
            "60",
        ],
    );
    browser.open(&file);
    let count = |browser: &mut Browser| {
        browser
            .value("[...document.querySelectorAll('.card')].filter(c => !c.hidden).length")
            .as_u64()
            .unwrap()
    };
    let all = count(&mut browser);
    assert!(all > 3, "{all}");
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);

    // A filter leaves the cards of its rule, and no others.
    browser.value("(() => { const s = document.querySelector('select[name=rule]'); s.value = 'data-race'; s.dispatchEvent(new Event('input', {bubbles: true})); })()");
    let races = count(&mut browser);
    assert!(races > 0 && races < all, "{races} of {all}");
    assert_eq!(browser.value("[...document.querySelectorAll('.card')].every(c => c.hidden === (c.dataset.rule !== 'data-race'))"), true);
    assert_eq!(
        browser.value("document.getElementById('shown').value"),
        format!("{races} of {all}")
    );
    browser.value("(() => { const s = document.querySelector('select[name=rule]'); s.value = ''; s.dispatchEvent(new Event('input', {bubbles: true})); })()");
    assert_eq!(count(&mut browser), all);

    // Keys: the next finding, and the filter by text.
    browser.key("j");
    browser.key("j");
    assert_eq!(
        browser.value("[...document.querySelectorAll('.card')].indexOf(document.activeElement)"),
        1
    );
    browser.key("/");
    assert_eq!(browser.value("document.activeElement.name"), "text");
    browser.value("document.activeElement.blur(), scrollTo(0, 0)");

    // Dark and light.
    let colour = "getComputedStyle(document.body).backgroundColor";
    let before = browser.value(colour);
    if let Some(to) = std::env::var_os("RACETRAP_SCREENSHOTS") {
        browser.picture(&Path::new(&to).join("first.png"));
    }
    browser.click("#theme");
    assert_ne!(browser.value(colour), before);
    if let Some(to) = std::env::var_os("RACETRAP_SCREENSHOTS") {
        browser.picture(&Path::new(&to).join("second.png"));
    }

    // A narrow window scrolls inside its cards, not as a whole.
    screenshots(&mut browser, &file);
    assert_eq!(browser.complaints, [""; 0]);
}

/// The pages of `racetrap run` and of the matrix: each loads nothing, and its filters work.
#[test]
fn pages_of_the_catalogue_in_a_browser() {
    let Some(mut browser) = browser() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let pages: [(&str, &[&str], &str, &str); 2] = [
        ("run.html", &["run", "histogram"], "rule", "data-race"),
        (
            "matrix.html",
            &["dev", "matrix", "histogram", "--all"],
            "native",
            "caught",
        ),
    ];
    for (name, arguments, filter, value) in pages {
        let output = Command::new(env!("CARGO_BIN_EXE_racetrap"))
            .args(arguments)
            .args(["--format", "html"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}");
        let file = folder.path().join(name);
        fs::write(&file, output.stdout).unwrap();
        browser.open(&file);
        let cards = "[...document.querySelectorAll('.card')]";
        let all = browser.value(&format!("{cards}.length"));
        assert!(all.as_u64().unwrap() > 3, "{name}: {all}");
        browser.value(&format!("(() => {{ const s = document.querySelector('select[name={filter}]'); s.value = '{value}'; s.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"));
        let wrong =
            format!("{cards}.filter(c => c.hidden === (c.dataset.{filter} === '{value}')).length");
        assert_eq!(browser.value(&wrong), 0, "{name}");
        let left = browser.value(&format!("{cards}.filter(c => !c.hidden).length"));
        assert!(left.as_u64().unwrap() > 0 && left != all, "{name}: {left}");
        screenshots(&mut browser, &file);
        assert_eq!(browser.complaints, [""; 0], "{name}");
    }
}

/// Pages of whole programs: a race in a kernel, and one between streams.
#[test]
fn pages_of_programs() {
    if testing::needs_nvcc().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");
    let pages: [(&str, &str, &[&str]); 3] = [
        (
            "reverse",
            "bug",
            &[
                "data-race",
                ">thread 32<",
                "__syncthreads() is missing here",
                ", the first value there",
                "Launch 1 of the program",
                "on the default stream",
                "launched here",
                "reverse&lt;false&gt;",
                "Repeat it",
                "/reverse.cu -- bug<",
            ],
        ),
        (
            "streams",
            "no-event",
            &[
                ">launch 1 on stream 1<",
                ">launch 2 on stream 2<",
                "no event and no synchronisation orders the two",
                "Launch 2 of the program",
                "consume&lt;&lt;&lt;4, 256, 0, second&gt;&gt;&gt;",
            ],
        ),
        (
            "streams",
            "copy-no-wait",
            &[">cudaMemcpyAsync<", ">on stream 2<", "reads, line 45"],
        ),
    ];
    let mut files = Vec::new();
    for (program, argument, parts) in pages {
        let file = folder.path().join(format!("{program}-{argument}.html"));
        let output = Command::new(env!("CARGO_BIN_EXE_racetrap"))
            .args(["exec", "--format", "html", "--report"])
            .arg(&file)
            .arg(format!("{programs}/{program}.cu"))
            .args(["--", argument])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let text = fs::read_to_string(&file).unwrap();
        for part in parts {
            assert!(text.contains(part), "{program} {argument}: {part}\n{text}");
        }
        files.push(file);
    }
    let Some(mut browser) = browser() else {
        return;
    };
    for file in &files {
        browser.open(file);
        assert_eq!(
            browser.value("document.querySelectorAll('.card svg').length > 0"),
            true
        );
        // What is written in a picture lies in it, and none of it over another.
        let outside = "[...document.querySelectorAll('svg')].filter(s => [...s.querySelectorAll('text')].some(t => t.getBBox().x + t.getBBox().width > s.viewBox.baseVal.width)).length";
        assert_eq!(browser.value(outside), 0, "{}", file.display());
        let heads = "[...document.querySelectorAll('svg')].filter(s => { const all = [...s.querySelectorAll('text.head')].map(t => t.getBBox()); return all.some((b, i) => i > 0 && all[i - 1].x + all[i - 1].width > b.x); }).length";
        assert_eq!(browser.value(heads), 0, "{}", file.display());
        browser.key("j");
        assert_eq!(
            browser.value("document.activeElement.className.includes('card')"),
            true
        );
        screenshots(&mut browser, file);
        assert_eq!(browser.complaints, [""; 0], "{}", file.display());
    }
}

/// Keeps pictures of a page, light, dark and narrow, in the folder that RACETRAP_SCREENSHOTS names; it must not be wider than its window.
pub fn screenshots(browser: &mut Browser, file: &Path) {
    let to = std::env::var_os("RACETRAP_SCREENSHOTS").map(PathBuf::from);
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    for (way, width, scheme) in [
        ("light", 1280, "light"),
        ("dark", 1280, "dark"),
        ("narrow", 400, "light"),
    ] {
        browser.call(
            "Emulation.setEmulatedMedia",
            serde_json::json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}),
        );
        browser.call(
            "Emulation.setDeviceMetricsOverride",
            serde_json::json!({"width": width, "height": 1400, "deviceScaleFactor": 1, "mobile": false}),
        );
        assert_eq!(
            browser.value("document.documentElement.scrollWidth <= innerWidth"),
            true,
            "{way} {}",
            file.display()
        );
        if let Some(to) = &to {
            browser.picture(&to.join(format!("{name}-{way}.png")));
        }
    }
    browser.call(
        "Emulation.clearDeviceMetricsOverride",
        serde_json::json!({}),
    );
}

/// Without JavaScript all findings are there, and no filter that does nothing.
#[test]
fn a_page_without_javascript() {
    let Some(mut browser) = browser() else {
        return;
    };
    let folder = folder();
    let file = page(
        folder.path(),
        &["<img src=x onerror=alert(2)>.ptx", "--entry", "reverse"],
    );
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        serde_json::json!({"value": true}),
    );
    browser.open(&file);
    // What the debugger evaluates is no script of the page.
    assert!(
        browser
            .value("document.querySelectorAll('.card').length")
            .as_u64()
            .unwrap()
            > 0
    );
    assert_eq!(browser.value("[...document.querySelectorAll('.card')].some(c => c.hidden || !c.getBoundingClientRect().height)"), false);
    assert_eq!(
        browser.value("document.getElementById('filter').getBoundingClientRect().height"),
        0
    );
    assert_eq!(browser.complaints, [""; 0]);
}
