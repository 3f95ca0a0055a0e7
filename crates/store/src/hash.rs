//! The one hash of the project.

use std::{
    fmt::Write,
    io::{self, Read},
};

use sha2::{Digest, Sha256};

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
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(hexadecimal(&hasher.finalize())),
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// As [`sha256_hex`], of the little-endian bytes of `values`, which are copied.
pub fn sha256_hex_of_values(values: &[f32]) -> String {
    sha256_hex(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a string cannot fail
        text
    })
}

#[cfg(test)]
mod tests {
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
