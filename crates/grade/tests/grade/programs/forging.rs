//! Submissions for `row-sums` that make up the library's records. They know all that can be known: the key, the number of the next line,
//! and what a right program's records look like.

use super::row_sums::{SOLUTION, kernel, racy};
use crate::judge::Label::*;
use crate::judge::Labelled;

const FORGING: &str = include_str!("forging.cu");

/// A program that takes over where it launches its kernel, and does this before it ends.
fn forging(source: &str, end: &str) -> String {
    let launch = "    row_sums<<<rows, THREADS>>>(device_matrix, device_sums, columns);\n";
    assert!(source.contains(launch));
    let source = source.replace(launch, &format!("    take_over();\n{launch}"));
    let source = source.replace("    return 0;\n", &format!("{end}    return 0;\n"));
    source.replace(
        "#include <cstdlib>\n",
        &format!("#include <cstdlib>\n{FORGING}\n"),
    )
}

/// A launch as the library would write it; `texts` and `layout` are JSON.
fn launch(texts: &str, layout: &str) -> String {
    let name = r#"{"kernel":"row_sums(int const*, int*, int)","number":1,"stream":"the default stream","grid":[1,1,1],"block":[64,1,1]}"#;
    let record = format!(
        r#"{{"launch":{{"name":{name},"entry":"_Z8row_sumsPKiPii","texts":{texts},"module":0,"shared":0,"params":"AAAAAAAAAAAAAAAAAAAAAAAAAAA=","cooperative":false,"call":{{"function":"f","kernel":null,"frames":[]}},"layout":{layout},"blocks":[],"pages":[]}}}}"#
    );
    format!("    forge({record:?});\n")
}

/// Its submissions.
pub fn forging_programs() -> Vec<Labelled> {
    let end = "    forge_the_end();\n";
    let on_host = "    for (int row = 0; row < rows; row++) {\n        sums[row] = 0;\n        for (int column = 0; column < columns; column++)\n            sums[row] += matrix[row * columns + column];\n    }\n    FILE *out =";
    let right_on_host = racy().replace("    FILE *out =", on_host);
    let again = |from: &str, to: &str| format!("    forge_launches({from:?}, {to:?});\n{end}");
    let block = r#""block":[64,1,1]"#;
    let stranger = launch(&format!(r#"["{}"]"#, "0".repeat(64)), "null");
    let nowhere = r#"{"allocations":[{"name":"a","offset":1099511627776,"bytes":4,"freed":false,"host":false}],"variables":[],"textures":[],"surfaces":[],"heap":null}"#;
    let no_text = launch("[]", nowhere);
    vec![
        ("forges-nothing", Review, forging(SOLUTION, "")),
        // Where this is right, those that make up launches have found the key.
        (
            "forges-what-was-right",
            Right,
            forging(SOLUTION, &again("", "")),
        ),
        (
            "forges-the-totals-of-a-racy-kernel",
            Nothing,
            forging(&right_on_host, end),
        ),
        (
            "forges-the-totals-of-a-kernel-for-show",
            Nothing,
            forging(
                &kernel("    sums[0] = 0;").replace("    FILE *out =", on_host),
                end,
            ),
        ),
        // The launch itself, unchanged, and with fewer threads than the kernel needs.
        (
            "forges-its-own-launch",
            Racy,
            forging(&right_on_host, &again("", "")),
        ),
        (
            "forges-a-launch-of-one-thread",
            Memory,
            forging(&right_on_host, &again(block, r#""block":[1,1,1]"#)),
        ),
        (
            "forges-a-launch-of-too-many-threads",
            Review,
            forging(&right_on_host, &again(block, r#""block":[4294967295,1,1]"#)),
        ),
        (
            "forges-other-parameters",
            Review,
            forging(&right_on_host, &again(r#""params":""#, r#""params":"//8="#)),
        ),
        (
            "forges-a-launch-of-a-stranger",
            Review,
            forging(&racy(), &format!("{stranger}{end}")),
        ),
        (
            "forges-a-launch-of-no-text",
            Review,
            forging(&racy(), &format!("{no_text}{end}")),
        ),
    ]
}
