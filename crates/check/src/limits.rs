//! What a module may declare: budgets that keep a few bytes of hostile PTX from asking for all memory.
//!
//! They lie far above what compilers write. Shared memory and the size of launches have limits of their own, in the simulator.

use super::error::{Error, ErrorKind};
use super::input::Build;
use ptx::ast::{Function, Item, StateSpace, Stmt, Variable};

/// Registers of a function, of all types together. Compilers write some tens of thousands for the largest kernels.
const REGISTERS: u64 = 200_000;
/// Bytes of a kernel's parameters (PTX ISA, "Kernel Function Parameters": 32,764 from sm_70 on).
const PARAMETERS: u64 = 32_764;
/// Bytes of a function's local variables and of the parameters that it passes on (CUDA C++ Programming Guide, "Features and
/// Technical Specifications": 512 KiB of local memory for each thread).
const LOCAL: u64 = 512 << 10;
/// Bytes of a module's global and constant variables.
const GLOBAL: u64 = 1 << 30;
/// Bytes of a source file's name (Linux's `PATH_MAX`): findings repeat it.
const NAME: usize = 4096;

/// Refuses a module that declares more than its budgets allow.
///
/// # Errors
///
/// The declaration, with its line.
pub fn check(build: &Build) -> Result<(), Error> {
    let mut global = 0u64;
    for item in &build.module.items {
        match item {
            Item::Variable(v) => {
                global = global.saturating_add(bytes(v));
                if global > GLOBAL && v.space != StateSpace::Shared {
                    return Err(too_much(build, v, "global variables", GLOBAL, "bytes"));
                }
            }
            Item::Function(f) => function(build, f)?,
            Item::File(file) if file.name.len() > NAME => {
                let span = file.span.start as usize..file.span.end as usize;
                let shown = report::terminal::thousands(NAME as u64);
                let name = &build.ptx.path;
                let what = format!("`{name}` names a file by more than {shown} bytes");
                // The line itself would be as long.
                let span = span.start..span.start.saturating_add(5).min(span.end);
                return Err(Error::new(ErrorKind::Input, what).at(build.ptx.clone(), span, "here"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn function(build: &Build, function: &Function) -> Result<(), Error> {
    let mut passed = 0u64;
    for v in function.params.iter().chain(&function.returns) {
        passed = passed.saturating_add(bytes(v));
        if passed > PARAMETERS {
            return Err(too_much(build, v, "parameters", PARAMETERS, "bytes"));
        }
    }
    let mut declared = Vec::new();
    inside(function.body.as_deref().unwrap_or_default(), &mut declared);
    let (mut registers, mut local) = (0u64, 0u64);
    for v in declared {
        match v.space {
            StateSpace::Reg => {
                let lanes = u64::from(v.vector.unwrap_or(1));
                registers = registers.saturating_add(u64::from(v.count.unwrap_or(1)) * lanes);
                if registers > REGISTERS {
                    return Err(too_much(build, v, "registers", REGISTERS, "registers"));
                }
            }
            StateSpace::Shared => {}
            _ => {
                local = local.saturating_add(bytes(v));
                if local > LOCAL {
                    return Err(too_much(build, v, "local variables", LOCAL, "bytes"));
                }
            }
        }
    }
    Ok(())
}

fn inside<'a>(body: &'a [Stmt], out: &mut Vec<&'a Variable>) {
    for stmt in body {
        match stmt {
            Stmt::Variable(v) => out.push(v),
            Stmt::Block(inner) => inside(inner, out),
            _ => {}
        }
    }
}

fn bytes(v: &Variable) -> u64 {
    let element = u64::from(super::parameters::scalar_type_bytes(v.ty));
    let lanes = u64::from(v.vector.unwrap_or(1));
    let elements = v.dims.iter().map(|d| d.unwrap_or(0));
    elements.fold(element * lanes, u64::saturating_mul)
}

fn too_much(build: &Build, v: &Variable, what: &str, most: u64, unit: &str) -> Error {
    let shown = report::terminal::thousands(most);
    let span = v.span.start as usize..v.span.end as usize;
    Error::new(
        ErrorKind::Input,
        match what == unit {
            true => format!("`{}` declares more than {shown} {unit}", build.ptx.path),
            false => format!(
                "`{}` declares more than {shown} {unit} of {what}",
                build.ptx.path
            ),
        },
    )
    .at(build.ptx.clone(), span, "here it is too much")
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::SourceFile;
    use rstest::rstest;
    use std::sync::Arc;

    fn refused(item: &str, param: &str, body: &str) -> Option<String> {
        let text = format!(
            ".version 8.0\n.target sm_75\n.address_size 64\n{item}\n.visible .entry k({param})\n{{\n{body}\nret;\n}}\n"
        );
        let build = Build {
            name: None,
            module: ptx::parse(&text).unwrap(),
            ptx: Arc::new(SourceFile::new("k.ptx".into(), text)),
        };
        check(&build).err().map(|e| e.render(false))
    }

    #[rstest]
    #[case::registers("", "", ".reg .b32 %r<1000000>;", "200,000 registers")]
    #[case::many_registers(
        "",
        "",
        ".reg .b32 %r<150000>; .reg .b64 %rd<150000>;",
        "200,000 registers"
    )]
    #[case::parameter("", ".param .align 4 .b8 p[40000]", "", "32,764 bytes of parameters")]
    #[case::huge_parameter(
        "",
        ".param .align 4 .b8 p[1000000000]",
        "",
        "32,764 bytes of parameters"
    )]
    #[case::local(
        "",
        "",
        ".local .align 4 .b8 l[1000000];",
        "524,288 bytes of local variables"
    )]
    #[case::overflow("", "", ".local .b64 l[4611686018427387904][8];", "524,288 bytes")]
    #[case::global(
        ".global .align 4 .b8 g[2000000000];",
        "",
        "",
        "1,073,741,824 bytes of global"
    )]
    fn too_much_is_refused_with_its_line(
        #[case] item: &str,
        #[case] param: &str,
        #[case] body: &str,
        #[case] wanted: &str,
    ) {
        let said = refused(item, param, body).expect("refused");
        assert!(said.contains(wanted) && said.contains("k.ptx:"), "{said}");
    }

    #[test]
    fn what_compilers_write_is_not() {
        let body = ".reg .b32 %r<50000>; .reg .pred %p<5000>; .local .align 16 .b8 depot[65536];";
        assert_eq!(refused("", ".param .align 8 .b8 p[4096]", body), None);
    }
}
