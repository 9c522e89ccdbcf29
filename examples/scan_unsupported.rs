use racetrap::ptx::parser::parse;
use racetrap::simt::*;
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let module = match parse(&text) {
            Ok(m) => m,
            Err(e) => {
                println!("{path}: {e}");
                continue;
            }
        };
        for e in entries(&module) {
            match Program::lower(&module, &text, e) {
                Ok(p) => {
                    for i in &p.code {
                        if matches!(i.op, op::Op::Unsupported) {
                            println!(
                                "{path}: {e}: {}",
                                format!("{} -- {:?}", p.site(i.site).text, p.site(i.site).missing)
                            );
                        }
                    }
                    println!("{path}: {e}: {:?}", p.facts);
                }
                Err(err) => println!("{path}: {e}: {err}"),
            }
        }
    }
}
