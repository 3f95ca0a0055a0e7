//! The adapter that WGPU would use.

use std::{
    collections::HashMap,
    panic,
    sync::{Mutex, PoisonError},
};

use burn::backend::wgpu::{RuntimeOptions, WgpuDevice, graphics::AutoGraphicsApi, init_setup};

/// Initialises the adapter, once, and returns its name.
pub(super) fn probe(device: &WgpuDevice) -> Result<String, String> {
    type Found = HashMap<WgpuDevice, Result<String, String>>;
    static FOUND: Mutex<Option<Found>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let found = found.get_or_insert_default();
    found.entry(device.clone()).or_insert_with(|| initialise(device)).clone()
}

fn initialise(device: &WgpuDevice) -> Result<String, String> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let setup =
        panic::catch_unwind(|| init_setup::<AutoGraphicsApi>(device, RuntimeOptions::default()));
    panic::set_hook(hook);
    match setup {
        Ok(setup) => {
            let adapter = setup.adapter.get_info();
            Ok(format!("{} ({:?}, {:?})", adapter.name, adapter.device_type, setup.backend))
        }
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            // The rest is wgpu's own debug text, a page of it.
            let sentence = text.and_then(|text| text.split(['.', ':', '(', '{', '\n']).next());
            let sentence = sentence.map(str::trim).filter(|text| !text.starts_with("No possible"));
            Err(format!(
                "looked for a graphics adapter (Vulkan or Metal): {}",
                sentence.unwrap_or("none was found")
            ))
        }
    }
}
