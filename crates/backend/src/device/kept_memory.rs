//! Keeps freed memory for the next training step.

#![allow(unsafe_code)]

/// Makes mimalloc keep what is freed.
///
/// By default it returns large blocks to the system after 10 ms. A training step then takes them
/// again page by page, each one cleared by the kernel: a tenth of a step of the residual network.
#[cfg(all(feature = "mimalloc", not(target_family = "wasm")))]
pub(super) fn keep() {
    use libmimalloc_sys::{mi_option_set, mi_option_t};

    /// `mi_option_purge_delay` in mimalloc's header, versions 2 and 3; the crate has no name for it.
    const PURGE_DELAY: mi_option_t = 15;
    const NEVER: std::ffi::c_long = -1;
    // SAFETY: this stores a number, which mimalloc reads whenever it might return memory.
    unsafe { mi_option_set(PURGE_DELAY, NEVER) }
}

#[cfg(not(all(feature = "mimalloc", not(target_family = "wasm"))))]
pub(super) fn keep() {}
