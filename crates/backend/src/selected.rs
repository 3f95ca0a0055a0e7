//! The backend that the features choose: `cuda` before `wgpu` before `ndarray` before `cpu`.

#[cfg(feature = "cuda")]
mod choice {
    pub(super) type Selected = burn::backend::Cuda;
    pub(super) const NAME: &str = "cuda";
}

#[cfg(all(feature = "wgpu", not(feature = "cuda")))]
mod choice {
    pub(super) type Selected = burn::backend::Wgpu;
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
