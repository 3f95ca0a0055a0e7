//! The one hash of the project.

use std::{
    fmt::Write,
    io::{self, Read},
};

use sha2::{Digest, Sha256};

/// Hashes parts without keeping them: the SHA-256 of their concatenation.
///
/// ```
/// let mut hasher = store::Hasher::default();
/// hasher.update(b"weight [1]\n");
/// hasher.update_values(&[0.5]);
/// assert_eq!(hasher.finish(), store::sha256_hex(b"weight [1]\n\0\0\0\x3f"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds the little-endian bytes of `values`.
    pub fn update_values(&mut self, values: &[f32]) {
        let mut buffer = [[0; 4]; 1024]; // values one by one would take twice as long
        for part in values.chunks(buffer.len()) {
            let bytes = &mut buffer[..part.len()];
            for (bytes, value) in bytes.iter_mut().zip(part) {
                *bytes = value.to_le_bytes();
            }
            self.update(bytes.as_flattened());
        }
    }

    /// The hash, in lower-case hexadecimal.
    pub fn finish(self) -> String {
        hexadecimal(&self.0.finalize())
    }
}

/// The SHA-256 of `bytes`, in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// As [`sha256_hex`], of everything that `reader` gives, without holding it in memory.
///
/// # Errors
///
/// Where reading fails.
pub fn sha256_hex_of(mut reader: impl Read) -> io::Result<String> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// As [`sha256_hex`], of the little-endian bytes of `values`.
pub fn sha256_hex_of_values(values: &[f32]) -> String {
    let mut hasher = Hasher::default();
    hasher.update_values(values);
    hasher.finish()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a string cannot fail
        text
    })
}

#[cfg(test)]
mod tests {
    use super::Hasher;

    #[test]
    fn parts_are_hashed_as_the_whole() {
        for count in [0, 1, 1023, 1024, 1025, 2500] {
            let values: Vec<f32> = (0..count).map(|value| value as f32 - 0.5).collect();
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let mut hasher = Hasher::default();
            hasher.update(b"a");
            hasher.update_values(&values);
            hasher.update(b"b");
            let whole = [b"a".as_slice(), &bytes, b"b"].concat();
            assert_eq!(hasher.finish(), super::sha256_hex(&whole), "{count}");
            assert_eq!(super::sha256_hex_of_values(&values), super::sha256_hex(&bytes), "{count}");
        }
    }

    #[test]
    fn agrees_with_the_standard() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::sha256_hex(b"abc"), expected);
        assert_eq!(super::sha256_hex_of(&b"abc"[..]).unwrap(), expected);
        let bytes = b"\x00\x00\x80\x3f\x00\x00\x20\xc0";
        assert_eq!(super::sha256_hex_of_values(&[1.0, -2.5]), super::sha256_hex(bytes));
    }
}
