//! The arguments of a launch as the kernel's parameters take them: the same for every backend.

use super::plan::{PlannedLaunch, Value};
use super::simulate::error::SimulateError;
use ptx::ast::ScalarType;
use simt::program::ParamInfo;
use simt::tensor_map;

/// An argument as it lies in its parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoded {
    /// The address of a buffer, by its index.
    Address(usize),
    /// A tensor map, by its index.
    Tensor(usize),
    /// A value, as wide as the parameter.
    Bytes(Vec<u8>),
}

/// The arguments of a launch, one for each parameter.
pub fn encode(
    planned: &PlannedLaunch,
    params: &[ParamInfo],
) -> Result<Vec<Encoded>, SimulateError> {
    if planned.args.len() != params.len() {
        return Err(SimulateError::ArgumentCount {
            entry: planned.entry.clone(),
            wanted: params.len(),
            given: planned.args.len(),
        });
    }
    let values = planned.args.iter().zip(params).enumerate();
    values
        .map(|(index, (value, param))| {
            encoded(*value, param).ok_or_else(|| SimulateError::ArgumentType {
                entry: planned.entry.clone(),
                index: index + 1,
                given: match value {
                    Value::Buffer(_) => "a buffer".to_owned(),
                    Value::Tensor(_) => "a tensor map".to_owned(),
                    Value::Integer(n) => n.to_string(),
                    Value::Float(x) => format!("{x:?}"),
                },
                wanted: format!("{:?}", param.ty).to_lowercase(),
            })
        })
        .collect()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "an argument's conversion"
)]
fn encoded(value: Value, param: &ParamInfo) -> Option<Encoded> {
    let width = param.bytes as usize;
    if let Value::Tensor(index) = value {
        return (width == tensor_map::BYTES).then_some(Encoded::Tensor(index));
    }
    if param.count != 1 {
        return None;
    }
    let bytes = match (value, param.ty) {
        (Value::Buffer(index), _) => return (width == 8).then_some(Encoded::Address(index)),
        (Value::Float(x), ScalarType::F32) => (x as f32).to_le_bytes().to_vec(),
        (Value::Float(x), ScalarType::F64) => x.to_le_bytes().to_vec(),
        (Value::Integer(n), ScalarType::F32) => (n as f32).to_le_bytes().to_vec(),
        (Value::Integer(n), ScalarType::F64) => (n as f64).to_le_bytes().to_vec(),
        (Value::Integer(n), _) if width <= 8 => {
            let bits = width as u32 * 8;
            let fits = bits == 64 || (-(1i64 << (bits - 1))..1i64 << bits).contains(&n);
            if !fits {
                return None;
            }
            n.to_le_bytes()[..width].to_vec()
        }
        _ => return None,
    };
    Some(Encoded::Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::Dim3;

    fn param(ty: ScalarType, bytes: u32) -> ParamInfo {
        ParamInfo {
            name: "p".to_owned(),
            ty,
            count: 1,
            offset: 0,
            bytes,
            align: bytes,
            declared_pointer: false,
        }
    }

    fn launch(args: Vec<Value>) -> PlannedLaunch {
        PlannedLaunch {
            entry: "k".to_owned(),
            grid: Dim3::ONE,
            block: Dim3::ONE,
            shared: 0,
            args,
            cooperative: false,
            cluster: None,
            dependent: false,
            stream: 0,
        }
    }

    #[test]
    fn arguments_take_their_parameters_form() {
        let params = [
            param(ScalarType::U64, 8),
            param(ScalarType::U32, 4),
            param(ScalarType::F32, 4),
            param(ScalarType::F64, 8),
            param(ScalarType::U8, 1),
        ];
        let args = vec![
            Value::Buffer(2),
            Value::Integer(-1),
            Value::Integer(3),
            Value::Float(0.5),
            Value::Integer(255),
        ];
        assert_eq!(
            encode(&launch(args), &params).unwrap(),
            [
                Encoded::Address(2),
                Encoded::Bytes(vec![255; 4]),
                Encoded::Bytes(3f32.to_le_bytes().to_vec()),
                Encoded::Bytes(0.5f64.to_le_bytes().to_vec()),
                Encoded::Bytes(vec![255]),
            ]
        );
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let error = |args, ty, bytes| {
            encode(&launch(args), &[param(ty, bytes)])
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error(vec![], ScalarType::U32, 4),
            "`k` takes 1 argument(s), but gets 0"
        );
        for (value, ty, bytes) in [
            (Value::Integer(256), ScalarType::U8, 1),
            (Value::Float(1.5), ScalarType::S32, 4),
            (Value::Buffer(0), ScalarType::U32, 4),
        ] {
            let error = error(vec![value], ty, bytes);
            assert!(error.starts_with("argument 1 of `k` is "), "{error}");
        }
    }
}
