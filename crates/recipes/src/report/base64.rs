//! Bytes as text, for pictures within a page (RFC 4648, section 4).

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Four letters for three bytes, padded with `=`.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|place| group.get(place).copied().unwrap_or(0));
        let word = u32::from_be_bytes([0, a, b, c]);
        for letter in 0..4 {
            let index = word >> (18 - 6 * letter) & 63;
            let padded = letter > group.len();
            text.push(if padded { '=' } else { char::from(LETTERS[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn the_standards_own_examples() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(encode(bytes), expected);
        check(b"", "");
        check(b"f", "Zg==");
        check(b"fo", "Zm8=");
        check(b"foo", "Zm9v");
        check(b"foobar", "Zm9vYmFy");
        check(&[0xfb, 0xff], "+/8=");
    }
}
