//! The backend that the features choose: `cuda` before `wgpu` before `ndarray` before `cpu`.
//!
//! Those for GPUs are without Burn's fusion, which starts fewer kernels, but spends more of the host's time
//! on each than the GPU takes to run it: here most of what would be fused is a kernel of `cube` already.

#[cfg(feature = "cuda")]
mod choice {
    use burn_cubecl::{CubeBackend, cubecl::cuda::CudaRuntime};

    pub(super) type Selected = CubeBackend<CudaRuntime, f32, i32, u8>;
    pub(super) const NAME: &str = "cuda";
}

#[cfg(all(feature = "wgpu", not(feature = "cuda")))]
mod choice {
    use burn_cubecl::{CubeBackend, cubecl::wgpu::WgpuRuntime};

    pub(super) type Selected = CubeBackend<WgpuRuntime, f32, i32, u32>;
    pub(super) const NAME: &str = "wgpu";
}

#[cfg(all(feature = "ndarray", not(any(feature = "cuda", feature = "wgpu"))))]
mod choice {
    pub(super) type Selected = burn::backend::NdArray;
    pub(super) const NAME: &str = "ndarray";
}

#[cfg(all(feature = "cpu", not(any(feature = "cuda", feature = "wgpu", feature = "ndarray"))))]
mod choice {
    pub(super) type Selected = burn::backend::Flex;
    pub(super) const NAME: &str = "cpu";
}

#[cfg(not(any(feature = "cpu", feature = "ndarray", feature = "wgpu", feature = "cuda")))]
compile_error!("choose a backend: one of the features `cpu`, `ndarray`, `wgpu`, `cuda`");

/// The backend of this build.
pub type Selected = choice::Selected;

/// The name of the feature that chose [`Selected`].
pub const NAME: &str = choice::NAME;
