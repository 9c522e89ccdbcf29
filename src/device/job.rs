//! What the device process is asked to do, and what it answers.

use serde::{Deserialize, Serialize};

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// The driver's version, such as `580.65.06 (CUDA 13.0)`.
    pub driver: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
}

impl std::fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor) = self.compute_capability;
        write!(
            f,
            "{}, compute capability {major}.{minor}, driver {}",
            self.name, self.driver
        )
    }
}
