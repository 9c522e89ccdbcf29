//! `racetrap new`: a project for kernels with tests.

use clap::Args;
use include_dir::{Dir, include_dir};
use report::{Failure, exit};
use std::path::{Path, PathBuf};

/// What `--help` says.
pub const ABOUT: &str = "\
Make a project for kernels with tests: an example kernel, a case for it and one for a past bug, and the configuration that runs them on \
the simulator, on a GPU, and under the tools of compute-sanitizer.

It is an ordinary cargo package: `cargo test` and `cargo nextest run` test each case on the simulator, `cargo nextest run --profile gpu` \
(racecheck, synccheck, memcheck, initcheck) on a GPU. Scripts in `ci` build an archive for GPU machines without Rust.";

const TEMPLATE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/new/template");
/// racetrap's own, which work in a project, too.
const SCRIPTS: [(&str, &str); 2] = [
    ("ci/gpu-archive.sh", include_str!("../../ci/gpu-archive.sh")),
    ("ci/gpu-run.sh", include_str!("../../ci/gpu-run.sh")),
];
/// Files whose names would mean something in racetrap's own folder.
const NAMES: [(&str, &str); 4] = [
    ("Cargo.toml.in", "Cargo.toml"),
    ("gitignore", ".gitignore"),
    ("config/nextest.toml", ".config/nextest.toml"),
    ("github/kernels.yml", ".github/workflows/kernels.yml"),
];

/// Options of `racetrap new`.
#[derive(Args, Clone, Debug)]
pub struct NewArgs {
    /// The folder; it must not exist, or be empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Depend on racetrap in a folder [default: the checkout in which this program was built, if it is still there, else the registry]
    #[arg(long, value_name = "FOLDER", conflicts_with = "git")]
    path: Option<PathBuf>,
    /// Depend on racetrap in a git repository, as others and CI services need it
    #[arg(long, value_name = "URL")]
    git: Option<String>,
    /// Depend on the registry's racetrap
    #[arg(long, conflicts_with_all = ["path", "git"])]
    registry: bool,
}

/// Makes the project.
///
/// # Errors
///
/// The folder has something in it, or can't be written.
pub fn new(args: &NewArgs) -> Result<(String, u8), Failure> {
    let folder = &args.folder;
    let shown = folder.display();
    let failed = |error: std::io::Error| Failure::usage(format!("can't write `{shown}`: {error}"));
    if std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some()) || folder.is_file() {
        return Err(Failure::usage(format!("`{shown}` is not empty"))
            .help("give a folder that does not exist"));
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    let whole = folder.canonicalize().map_err(failed)?;
    let name = package_name(&whole);
    let (dependency, of) = dependency(args, checkout())?;
    let files = files(&name, &dependency);
    for (file, text) in &files {
        let path = whole.join(file);
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, text))
            .and_then(|()| runnable(&path))
            .map_err(|e| Failure::usage(format!("can't write `{}`: {e}", path.display())))?;
    }
    let mut text: String = files.iter().map(|(file, _)| format!("{file}\n")).collect();
    text += &format!(
        "\nmade the package `{name}`; in {shown}:\n  cargo test                              \
         test each case on the simulator; also cargo nextest run\n  \
         cargo nextest run --profile races       test each case on a GPU, with race checks in its kernels\n  \
         cargo nextest run --profile racecheck   test each case on a GPU, under a tool\n  \
         racetrap test --catalog .               without cargo\n\n\
         it depends on {of}\n"
    );
    Ok((text, exit::OK))
}

/// What a project needs of racetrap: the library and [`crate::catalog_tests!`], not the command line.
const FEATURES: &str = r#"default-features = false, features = ["catalog"]"#;

/// How the project refers to racetrap, for cargo and in words.
fn dependency(args: &NewArgs, checkout: Option<PathBuf>) -> Result<(String, String), Failure> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    if let Some(folder) = &args.path {
        let whole = folder
            .canonicalize()
            .map_err(|e| Failure::usage(format!("`{}`: {e}", folder.display())))?;
        let path = quoted(&whole.display().to_string());
        return Ok((
            format!("{{ path = {path}, {FEATURES} }}"),
            format!("racetrap in {path}"),
        ));
    }
    let version = env!("CARGO_PKG_VERSION");
    Ok(match (&args.git, checkout.filter(|_| !args.registry)) {
        (Some(url), _) => (
            format!("{{ git = {}, {FEATURES} }}", quoted(url)),
            format!("racetrap in the repository {url}"),
        ),
        (None, Some(folder)) => {
            let path = quoted(&folder.display().to_string());
            let of = format!(
                "racetrap in {path}, where this program was built: for other machines give `--git URL`"
            );
            (format!("{{ path = {path}, {FEATURES} }}"), of)
        }
        (None, None) => (
            format!("{{ version = \"{version}\", {FEATURES} }}"),
            // An archive or a wheel knows no sources, and the registry may have none.
            format!(
                "racetrap {version} of cargo's registry. If it is not published there, give `--git URL` or `--path FOLDER`; \
                 `racetrap test --catalog .` needs no cargo"
            ),
        ),
    })
}

/// The checkout in which this program was built: what its user has, while a registry may have another version, or none.
fn checkout() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    // What a registry has is one package.
    let is_there = folder.join("Cargo.toml").is_file() && folder.join("crates").is_dir();
    is_there.then(|| folder.to_owned())
}

/// The folder's name as a package may be called.
fn package_name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => c,
            _ => '-',
        })
        .collect();
    match name.chars().next() {
        // A package that is called as its dependency can't be built.
        Some('a'..='z' | 'A'..='Z') if name != "racetrap" && name != "test" => name,
        _ => format!("kernels-{name}").trim_end_matches('-').to_owned(),
    }
}

/// All files, by their names.
fn files(name: &str, dependency: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    collect(&TEMPLATE, &mut files);
    for (file, text) in &mut files {
        if let Some((_, renamed)) = NAMES.iter().find(|(from, _)| from == file) {
            *file = (*renamed).to_owned();
        }
        if matches!(file.as_str(), "Cargo.toml" | "README.md") {
            *text = text.replace("RACETRAP", dependency).replace("NAME", name);
        }
    }
    files.extend(SCRIPTS.map(|(file, text)| (file.to_owned(), text.to_owned())));
    files.push(("cases/schema.json".to_owned(), catalog::case::schema()));
    files.sort();
    files
}

fn collect(folder: &Dir<'_>, files: &mut Vec<(String, String)>) {
    for file in folder.files() {
        let name = file.path().to_string_lossy().replace('\\', "/");
        let text = file.contents_utf8().unwrap_or_default();
        files.push((name, text.to_owned()));
    }
    for inner in folder.dirs() {
        collect(inner, files);
    }
}

/// Lets scripts be run.
#[cfg(unix)]
fn runnable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    match path.extension().is_some_and(|e| e == "sh") {
        true => std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)),
        false => Ok(()),
    }
}

#[cfg(not(unix))]
fn runnable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::load::Catalog;

    #[test]
    fn the_template_is_a_catalogue_with_current_ptx() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/new/template");
        let catalog = Catalog::read(&folder).expect("`racetrap dev renew src/new/template`");
        assert_eq!(catalog.cases.len(), 2);
    }

    #[test]
    fn names_of_packages() {
        for (folder, name) in [
            ("/a/my kernels", "my-kernels"),
            ("/a/3d", "kernels-3d"),
            ("/a/racetrap", "kernels-racetrap"),
            ("/", "kernels"),
        ] {
            assert_eq!(package_name(Path::new(folder)), name);
        }
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        let files = files("mine", "\"1\"");
        let text = |name: &str| &files.iter().find(|(file, _)| file == name).unwrap().1;
        assert!(text("Cargo.toml").contains("name = \"mine\""));
        assert!(text("Cargo.toml").contains("racetrap = \"1\""));
        assert!(text("README.md").starts_with("# mine\n"));
        assert!(files.iter().any(|(file, _)| file == ".config/nextest.toml"));
    }

    #[test]
    fn a_program_without_its_checkout_says_where_cargo_finds_racetrap() {
        let args = NewArgs {
            folder: "mine".into(),
            path: None,
            git: None,
            registry: false,
        };
        let (dependency, of) = dependency(&args, None).unwrap();
        assert!(dependency.starts_with("{ version = "), "{dependency}");
        for way in ["--git URL", "--path FOLDER", "racetrap test --catalog ."] {
            assert!(of.contains(way), "{of}");
        }
    }
}
