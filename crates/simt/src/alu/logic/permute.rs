//! `prmt`: bytes of a register pair (PTX ISA, "Data Movement and Conversion
//! Instructions: prmt").

use crate::alu::AluOp;
use crate::alu::rows::row;
use crate::alu::words::*;

/// Byte `selector` (0 to 7) of the pair, `b` above `a`; with bit 3 of the
/// selector set, the byte's sign instead, eight times.
fn byte(a: u32, b: u32, selector: u32) -> u32 {
    let byte = ((b as u64) << 32 | a as u64) >> (8 * (selector & 7)) & 0xff;
    let sign = (byte >> 7) * 0xff;
    (if selector & 8 != 0 { sign } else { byte }) as u32
}

fn permute(a: u32, b: u32, selectors: u32) -> u32 {
    byte(a, b, selectors)
        | byte(a, b, selectors >> 4) << 8
        | byte(a, b, selectors >> 8) << 16
        | byte(a, b, selectors >> 12) << 24
}

/// The modes choose by the two lowest bits of `c`; their rows in the manual's
/// table, read as hexadecimal digits, are selectors of the generic form.
fn by_mode(table: [u16; 4], a: u32, b: u32, c: u32) -> u32 {
    permute(a, b, table[c as usize & 3] as u32)
}

/// "Data Movement and Conversion Instructions: prmt".
pub(super) fn prmt(m: &[Modifier]) -> Option<AluOp> {
    macro_rules! mode {
        ($($row:literal),*) => {
            row!(WWW_W, |a: u32, b: u32, c: u32| by_mode([$($row),*], a, b, c))
        };
    }
    Some(match m {
        [B32] => row!(WWW_W, permute),
        [F4e, B32] => mode!(0x3210, 0x4321, 0x5432, 0x6543),
        [B4e, B32] => mode!(0x5670, 0x6701, 0x7012, 0x0123),
        [Rc8, B32] => mode!(0x0000, 0x1111, 0x2222, 0x3333),
        [Ecl, B32] => mode!(0x3210, 0x3211, 0x3222, 0x3333),
        [Ecr, B32] => mode!(0x0000, 0x1110, 0x2210, 0x3210),
        [Rc16, B32] => mode!(0x1010, 0x3232, 0x1010, 0x3232),
        _ => return None,
    })
}
