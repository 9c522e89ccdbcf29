//! Scripts that use Numba, which compiles their kernels while they run and hands over PTX.

use super::clients::Ran;
use super::{findings, folder};
use rstest::rstest;
use std::collections::BTreeSet;

/// The line of the script that ends with these words.
fn line(script: &str, end: &str) -> usize {
    let at = script.lines().position(|line| line.ends_with(end));
    1 + at.expect("a line with these words")
}

/// A race has the lines of the script, its own words, the line that launched it and the function's plain name; so has a leak. Numba 0.60
/// calls by `ctypes`, numba-cuda by modules in C that let go of Python's lock.
#[rstest]
#[case("reverse.py", "right", "reversed", 0)]
#[case("reverse.py", "wrong", "not reversed", 1)]
#[case("reverse_cuda.py", "right", "reversed", 0)]
#[case("reverse_cuda.py", "wrong", "not reversed", 1)]
fn a_numba_script(
    #[case] script: &str,
    #[case] how: &str,
    #[case] prints: &str,
    #[case] status: i32,
) {
    let numba = match script {
        "reverse.py" => testing::needs_numba(),
        _ => testing::needs_numba_cuda(),
    };
    let Some(numba) = numba else {
        return;
    };
    let file = folder().join("clients").join(script);
    let text = std::fs::read_to_string(&file).unwrap();
    let arguments = [file.to_str().unwrap(), how];
    let ran = Ran::with(
        &numba.join("bin/python"),
        &arguments,
        &[("CUDA_HOME", &numba)],
    );
    let said = format!("{:?}", ran.output);
    let race = format!(
        "data-race@{},{}",
        line(&text, "# the write"),
        line(&text, "# the read")
    );
    let mut wanted: BTreeSet<String> = (how == "wrong").then_some(race).into_iter().collect();
    // Numba leaves its memory to the end of the process.
    if script == "reverse.py" {
        wanted.insert(format!("leak@{}", line(&text, "# the allocation")));
    }
    assert_eq!(findings(&ran.report), wanted, "{said}");
    assert_eq!(ran.output.status.code(), Some(status), "{said}");
    assert!(ran.printed().lines().any(|line| line == prints), "{said}");
    if how == "wrong" {
        let all = ran.report["checks"][0]["findings"].as_array().unwrap();
        let finding = all.iter().find(|f| f["rule"] == "data-race").unwrap();
        let help = finding["help"].as_str().unwrap();
        assert!(help.starts_with("put `cuda.syncthreads()`"), "{help}");
        let launch = format!("{script}:{}", line(&text, "# the launch"));
        let notes = finding["notes"].to_string();
        assert!(notes.contains("`__main__::reverse(Array<"), "{notes}");
        assert!(notes.contains(&launch), "{notes}");
    }
}

/// CuPy from version 13 on is such a module: its calls fail, and the report says why.
#[test]
fn a_module_that_contains_the_runtime_is_named() {
    let (Some(nvcc), Some(numba)) = (testing::needs_nvcc(), testing::needs_numba()) else {
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let (source, module) = (
        temporary.path().join("module.cu"),
        temporary.path().join("module.so"),
    );
    let text = "extern \"C\" int reset() { return cudaFree(0); }\n";
    std::fs::write(&source, text).unwrap();
    let built = std::process::Command::new(&nvcc.program.path)
        .args(["-cudart", "static", "-shared", "-Xcompiler", "-fPIC", "-o"])
        .args([&module, &source])
        .output()
        .unwrap();
    assert!(built.status.success(), "{built:?}");
    let program = format!(
        "import ctypes; print(ctypes.CDLL({:?}).reset())",
        module.display().to_string()
    );
    let ran = Ran::with(&numba.join("bin/python"), &["-c", &program], &[]);
    let check = &ran.report["checks"][0];
    assert_eq!(check["verdict"], "inconclusive", "{:?}", ran.output);
    let summary = check["summary"].as_str().unwrap();
    assert!(
        summary.contains("module.so` contains the CUDA runtime"),
        "{summary}"
    );
    // cudaErrorSymbolNotFound
    assert_eq!(ran.printed(), "500\n");
}
