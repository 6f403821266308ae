//! Lines of text in a fixed buffer: what the library prints and reports.
//!
//! Promises: no allocation, no formatting machinery, no panic; text that does
//! not fit is dropped whole push by push, and [`LineBuffer::fits`] tells. Must never
//! write anywhere: that is the caller's.

/// Text of at most `N` bytes.
pub struct LineBuffer<const N: usize> {
    bytes: [u8; N],
    len: usize,
    fits: bool,
}

impl<const N: usize> LineBuffer<N> {
    /// Empty text.
    pub const fn new() -> LineBuffer<N> {
        LineBuffer {
            bytes: [0; N],
            len: 0,
            fits: true,
        }
    }

    /// Appends bytes, all of them or none.
    pub fn push(&mut self, text: &[u8]) -> &mut LineBuffer<N> {
        let place = self
            .len
            .checked_add(text.len())
            .and_then(|end| self.bytes.get_mut(self.len..end));
        match place {
            Some(place) => {
                // Byte by byte: `copy_from_slice` would keep a panic for unequal lengths.
                for (to, from) in place.iter_mut().zip(text) {
                    *to = *from;
                }
                self.len = self.len.saturating_add(text.len());
            }
            None => self.fits = false,
        }
        self
    }

    /// Appends a number in decimal.
    pub fn push_number(&mut self, number: u64) -> &mut LineBuffer<N> {
        self.push_digits(number, 10)
    }

    /// Appends a number in hexadecimal, without a prefix.
    pub fn push_hex(&mut self, number: u64) -> &mut LineBuffer<N> {
        self.push_digits(number, 16)
    }

    fn push_digits(&mut self, mut number: u64, base: u64) -> &mut LineBuffer<N> {
        let mut digits = [b'0'; 20];
        let mut first = digits.len();
        for digit in digits.iter_mut().rev() {
            *digit = match (number % base) as u8 {
                small @ 0..=9 => b'0' + small,
                large => b'a' + (large - 10),
            };
            number /= base;
            first = first.saturating_sub(1);
            if number == 0 {
                break;
            }
        }
        self.push(digits.get(first..).unwrap_or_default())
    }

    /// Appends bytes as the inside of a JSON string (RFC 8259 section 7). Text that
    /// is UTF-8 stays as it is; otherwise bytes beyond ASCII become `\u00XX`, as
    /// control characters, quotes and backslashes do.
    pub fn push_json(&mut self, text: &[u8]) -> &mut LineBuffer<N> {
        let utf8 = core::str::from_utf8(text).is_ok();
        for &byte in text {
            match byte {
                0x80..=0xff if utf8 => {
                    self.push(&[byte]);
                }
                b'"' | b'\\' | 0..=0x1f | 0x7f..=0xff => {
                    self.push(if byte < 0x10 { b"\\u000" } else { b"\\u00" })
                        .push_hex(u64::from(byte));
                }
                _ => {
                    self.push(&[byte]);
                }
            }
        }
        self
    }

    /// Appends at most 40 bytes of a text from outside, anything unprintable as `?`.
    pub fn push_shown(&mut self, text: &[u8]) -> &mut LineBuffer<N> {
        for &byte in text.iter().take(40) {
            self.push(&[if byte.is_ascii_graphic() || byte == b' ' {
                byte
            } else {
                b'?'
            }]);
        }
        if text.len() > 40 {
            self.push(b"...")
        } else {
            self
        }
    }

    /// The text so far.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Whether everything that was pushed is there.
    pub fn fits(&self) -> bool {
        self.fits
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How long the text is.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Takes everything after the first `len` bytes back.
    pub fn cut(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.fits = true;
    }
}

impl<const N: usize> Default for LineBuffer<N> {
    fn default() -> LineBuffer<N> {
        LineBuffer::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_both_bases() {
        for (number, decimal, hexadecimal) in [
            (0, "0", "0"),
            (7, "7", "7"),
            (255, "255", "ff"),
            (u64::MAX, "18446744073709551615", "ffffffffffffffff"),
        ] {
            assert_eq!(
                LineBuffer::<32>::new().push_number(number).bytes(),
                decimal.as_bytes()
            );
            assert_eq!(
                LineBuffer::<32>::new().push_hex(number).bytes(),
                hexadecimal.as_bytes()
            );
        }
    }

    #[test]
    fn json_strings_are_escaped() {
        let mut line = LineBuffer::<64>::new();
        line.push_json(b"a\"b\\c\n\xff\x7f/");
        assert_eq!(line.bytes(), br"a\u0022b\u005cc\u000a\u00ff\u007f/");
        line.cut(0);
        assert_eq!(
            line.push_json("caf\u{e9}\n".as_bytes()).bytes(),
            b"caf\xc3\xa9\\u000a"
        );
    }

    #[test]
    fn too_much_is_dropped_and_told() {
        let mut line = LineBuffer::<4>::new();
        assert!(line.push(b"abc").fits());
        assert!(!line.push(b"de").fits());
        assert_eq!(line.bytes(), b"abc");
        line.cut(0);
        assert!(line.push(b"wxyz").fits());
    }

    #[test]
    fn shown_text_is_short_and_printable() {
        let mut line = LineBuffer::<64>::new();
        line.push_shown(&[b'x'; 50]);
        assert_eq!(line.bytes(), [&[b'x'; 40][..], b"..."].concat());
        line.cut(0);
        assert_eq!(line.push_shown(b"a\tb").bytes(), b"a?b");
    }
}
