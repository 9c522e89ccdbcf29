//! `racetrap doctor`: reports which optional tools are installed.

use anstyle::{AnsiColor, Style};
use catalog::native::probe;
use device::client::Client;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use toolchain::{Nvcc, find_program};

/// A tool: whether it is installed, what it is for and how to install it.
struct Tool {
    name: &'static str,
    found: Option<String>,
    purpose: &'static str,
    remedy: &'static str,
}

/// Renders the report.
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
    out.push_str("\n`racetrap run` and `racetrap check FILE.ptx` need none of these.\n");
    out
}

fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "CUDA compiler",
            found: compiler(),
            purpose: "compiling CUDA source for `racetrap check FILE.cu` and for the catalogue",
            remedy: "run `racetrap setup` (from PyPI, without GPU or root), install the CUDA toolkit, or set CUDA_PATH",
        },
        Tool {
            name: "sandbox",
            found: Some(Nvcc::confined())
                .filter(|how| *how != toolchain::sandbox::Confined::LimitsOnly)
                .map(|how| how.describe().to_owned()),
            purpose: "keeping the CUDA compiler to the files that it needs, for sources from strangers",
            remedy: "use a Linux kernel with Landlock (5.13 or later)",
        },
        Tool {
            name: "ptxas",
            found: program("ptxas"),
            purpose: "assembling PTX for `racetrap diff --sass` and for tests",
            remedy: "part of the CUDA compiler; `racetrap diff --sass` downloads it if it is missing",
        },
        Tool {
            name: "nvdisasm",
            found: program("nvdisasm"),
            purpose: "disassembling machine code for `racetrap diff --sass`",
            remedy: "`racetrap diff --sass` downloads it if it is missing",
        },
        Tool {
            name: "python3",
            found: output("python3", &["--version"]).map(|text| text.trim().to_owned()),
            purpose: "installing compilers of other releases for `racetrap diff --cuda` and `--across`",
            remedy: "install python3 with pip or venv",
        },
        Tool {
            name: "NVIDIA driver",
            found: driver(),
            purpose: "running kernels on a GPU",
            remedy: "use a machine with an NVIDIA GPU and its driver",
        },
        Tool {
            name: "racetrap-device",
            found: device::client::program()
                .ok()
                .map(|path| path.display().to_string()),
            purpose: "running the cases of a catalogue on a GPU, from racetrap",
            remedy: "run `CUDA_LIBRARY_PATH=/ cargo install --path . --features device` in a checkout of racetrap (without the variable where the CUDA toolkit is installed)",
        },
        Tool {
            name: "GPU",
            found: gpu(),
            purpose: "`cargo nextest run --profile gpu`, and `--profile racecheck` under compute-sanitizer",
            remedy: "`echo '{}' | racetrap-device` reports what is missing",
        },
        Tool {
            name: "compute-sanitizer",
            found: program("compute-sanitizer"),
            purpose: "comparing with NVIDIA's racecheck and other tools on a GPU",
            remedy: "part of the CUDA toolkit (package cuda-sanitizer)",
        },
        Tool {
            name: "ncu",
            found: program("ncu"),
            purpose: "comparing performance notes with hardware counters",
            remedy: "part of Nsight Compute (package cuda-nsight-compute)",
        },
        Tool {
            name: "cargo-nextest",
            found: output("cargo", &["nextest", "--version"])
                .and_then(|text| Some(text.lines().next()?.to_string())),
            purpose: "running racetrap's own tests",
            remedy: "run `cargo install cargo-nextest --locked`",
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

/// The GPU as reported by the device process.
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

/// The driver's version, or that its device file exists.
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
            "Landlock",
        ] {
            assert!(text.contains(word), "{text}");
        }
        assert_eq!(text.matches("for: ").count(), 11);
        assert_eq!(
            text.matches("missing ").count(),
            text.matches("get: ").count()
        );
    }
}
