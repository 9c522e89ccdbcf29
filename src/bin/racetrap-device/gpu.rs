//! The GPU: the first one that the driver shows (`CUDA_VISIBLE_DEVICES` chooses another).

use crate::driver;
use cust::context::Context;
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaError;
use device::error::{At, DeviceError};
use device::job::DeviceInfo;

/// The GPU, ready for jobs.
pub struct Gpu {
    /// What it is.
    pub info: DeviceInfo,
    /// How far the driver's compiler optimises, 0 to 4.
    pub jit_level: usize,
    _context: Context,
}

impl Gpu {
    /// Takes the GPU.
    pub fn start(jit_level: usize) -> Result<Gpu, DeviceError> {
        cust::init(cust::CudaFlags::empty()).map_err(no_device)?;
        let device = Device::get_device(0).map_err(no_device)?;
        let attribute = |which| {
            let value = device.get_attribute(which);
            value.map_err(failed("cuDeviceGetAttribute"))
        };
        let major = attribute(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = attribute(DeviceAttribute::ComputeCapabilityMinor)?;
        let info = DeviceInfo {
            name: device.name().map_err(failed("cuDeviceGetName"))?,
            driver: version(),
            compute_capability: (major.cast_unsigned(), minor.cast_unsigned()),
        };
        let context = Context::new(device).map_err(failed("cuDevicePrimaryCtxRetain"))?;
        Ok(Gpu {
            info,
            jit_level,
            _context: context,
        })
    }
}

fn no_device(error: CudaError) -> DeviceError {
    DeviceError::NoDevice {
        name: driver::name(error as u32),
    }
}

fn failed(call: &str) -> impl Fn(CudaError) -> DeviceError {
    move |error| DeviceError::Call {
        name: driver::name(error as u32),
        call: call.to_owned(),
        at: At::Start,
        // The next process may succeed.
        sticky: true,
    }
}

/// The kernel module's version, and the CUDA version that the driver's library is of.
fn version() -> String {
    let mut number = 0;
    // SAFETY: writes one integer.
    let code = unsafe { driver::cuDriverGetVersion(&raw mut number) };
    let cuda = match code {
        0 => format!("CUDA {}.{}", number / 1000, number % 1000 / 10),
        _ => "an unknown CUDA version".to_owned(),
    };
    match std::fs::read_to_string("/sys/module/nvidia/version") {
        Ok(module) => format!("{} ({cuda})", module.trim()),
        Err(_) => cuda,
    }
}
