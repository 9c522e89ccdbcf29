//! `racetrap doctor`: what of the tools that racetrap can use is there.

use anstyle::{AnsiColor, Style};
use catalog::native::probe;
use device::client::Client;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use toolchain::{Nvcc, find_program};

/// A tool: whether it is there, what it is for, how to get it.
struct Tool {
    name: &'static str,
    found: Option<String>,
    purpose: &'static str,
    remedy: &'static str,
}

/// The report of what was found.
pub fn doctor(color: bool) -> String {
    let mut out = format!("racetrap {}\n\n", env!("CARGO_PKG_VERSION"));
    let tools = tools();
    let paint = |hue: AnsiColor| match color {
        true => Style::new().bold().fg_color(Some(hue.into())),
        false => Style::new(),
    };
    for tool in &tools {
        let (style, word) = match tool.found {
            Some(_) => (paint(AnsiColor::Green), "found  "),
            None => (paint(AnsiColor::Yellow), "missing"),
        };
        let what = tool.found.as_deref().unwrap_or("");
        let line = format!("{:<18} {what}", tool.name);
        let _ = writeln!(out, "{style}{word}{style:#} {}", line.trim_end());
        let _ = writeln!(out, "        for: {}", tool.purpose);
        if tool.found.is_none() {
            let _ = writeln!(out, "        get: {}", tool.remedy);
        }
    }
    out.push_str(
        "\nNone of these is needed for `racetrap run` or for `racetrap check FILE.ptx`.\n",
    );
    out
}

fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "CUDA compiler",
            found: compiler(),
            purpose: "`racetrap check FILE.cu`, renewing the catalogue's PTX",
            remedy: "`ci/cuda-toolkit.sh` (PyPI, no GPU, no root), or install the CUDA toolkit, or set CUDA_PATH",
        },
        Tool {
            name: "ptxas",
            found: program("ptxas"),
            purpose: "tests that printed PTX assembles, `racetrap diff --sass`",
            remedy: "it comes with the CUDA compiler; `racetrap diff --sass` fetches its own where there is none",
        },
        Tool {
            name: "nvdisasm",
            found: program("nvdisasm"),
            purpose: "`racetrap diff --sass`",
            remedy: "`racetrap diff --sass` fetches its own where there is none",
        },
        Tool {
            name: "python3",
            found: output("python3", &["--version"]).map(|text| text.trim().to_owned()),
            purpose: "`racetrap diff --cuda` and `--across`: compilers of other releases from PyPI",
            remedy: "install python3 with pip or venv",
        },
        Tool {
            name: "NVIDIA driver",
            found: driver(),
            purpose: "running on a GPU; the simulator needs none",
            remedy: "a machine with an NVIDIA GPU and its driver",
        },
        Tool {
            name: "GPU",
            found: gpu(),
            purpose: "`cargo nextest run --profile gpu`, and with compute-sanitizer `--profile racecheck`",
            remedy: "`echo '{}' | racetrap-device` says what is missing",
        },
        Tool {
            name: "compute-sanitizer",
            found: program("compute-sanitizer"),
            purpose: "comparing with NVIDIA's racecheck and synccheck on a GPU",
            remedy: "it comes with the CUDA toolkit (package cuda-sanitizer)",
        },
        Tool {
            name: "ncu",
            found: program("ncu"),
            purpose: "comparing performance notes with hardware counters",
            remedy: "it comes with Nsight Compute (package cuda-nsight-compute)",
        },
        Tool {
            name: "cargo-nextest",
            found: output("cargo", &["nextest", "--version"])
                .and_then(|text| Some(text.lines().next()?.to_string())),
            purpose: "running racetrap's own tests",
            remedy: "`./ci/test.sh` installs it; or `cargo install cargo-nextest --locked`",
        },
    ]
}

fn compiler() -> Option<String> {
    let nvcc = Nvcc::find().ok()?;
    let version = nvcc
        .version()
        .unwrap_or_else(|| "of unknown version".into());
    Some(format!(
        "nvcc {version} at {} (through {})",
        nvcc.program.path.display(),
        nvcc.program.through
    ))
}

/// The GPU, as the device process sees it.
fn gpu() -> Option<String> {
    let mut client = Client::new().ok()?;
    let device = probe(&mut client, Duration::from_secs(20)).ok()?;
    Some(device.to_string())
}

fn program(name: &str) -> Option<String> {
    let found = find_program(name).ok()?;
    Some(format!(
        "{} (through {})",
        found.path.display(),
        found.through
    ))
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// The driver's version, or that a device file of it is there.
fn driver() -> Option<String> {
    let version = std::fs::read_to_string("/proc/driver/nvidia/version").ok();
    let number = version.as_deref().and_then(|text| {
        text.split_whitespace()
            .find(|w| w.contains('.') && w.chars().all(|c| c.is_ascii_digit() || c == '.'))
    });
    match number {
        Some(number) => Some(format!("driver {number}")),
        None => Path::new("/dev/nvidiactl")
            .exists()
            .then(|| "/dev/nvidiactl".to_string()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_tells_what_each_tool_is_for() {
        let text = super::doctor(false);
        for word in [
            "CUDA compiler",
            "compute-sanitizer",
            "cargo-nextest",
            "NVIDIA driver",
            "GPU",
            "ncu",
        ] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(text.matches("for: ").count(), 9);
        assert_eq!(
            text.matches("missing ").count(),
            text.matches("get: ").count()
        );
    }
}
