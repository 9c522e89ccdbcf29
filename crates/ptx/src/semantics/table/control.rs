//! "Control Flow Instructions", "Miscellaneous Instructions".

use super::super::Opcode::*;
use super::{Control, Row, row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        // "bra"
        row(Bra, "bra", "target:l").control(Control::Branch),
        // "brx.idx"
        row(Brx, "brx", "index:32, targets:l").control(Control::IndexedBranch),
        // "call": its operands are lists, see `call` of this module's parent
        row(Call, "call", "").control(Control::Call),
        // "ret", "exit"
        row(Ret, "ret", "").control(Control::Return),
        row(Exit, "exit", "").control(Control::Exit),
        // "brkpt", "nanosleep"
        row(Brkpt, "brkpt", "").control(Control::Pause),
        row(Nanosleep, "nanosleep", "t:32").control(Control::Pause),
        // "pmevent"
        row(Pmevent, "pmevent", "a:i").control(Control::Pause),
        // "trap"
        row(Trap, "trap", "").control(Control::Trap),
        // "setmaxnreg"
        row(Setmaxnreg, "setmaxnreg", "n:i"),
    ]
}
