//! Symbols as their programmers wrote them: C++ and Rust names demangled.

use core::fmt::Write;

/// The longest symbol name that is shown. C++ has names of kilobytes.
pub(crate) const LONGEST_NAME: usize = 4096;

/// A symbol as its programmer wrote it.
pub(crate) fn demangled(symbol: &str) -> String {
    let mut written = Bounded(String::new());
    let done = if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        write!(written, "{rust:#}").is_ok()
    } else if symbol.starts_with("_Z")
        && let Ok(name) = cpp_demangle::Symbol::new(symbol)
    {
        name.structured_demangle(&mut written, &cpp_demangle::DemangleOptions::default())
            .is_ok()
    } else {
        false
    };
    if done { written.0 } else { symbol.to_string() }
}

/// A text that stops growing: back references let a short symbol stand for gigabytes.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, piece: &str) -> core::fmt::Result {
        if self.0.len() + piece.len() > LONGEST_NAME {
            return Err(core::fmt::Error);
        }
        self.0.push_str(piece);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_in_the_source() {
        assert_eq!(demangled("main"), "main");
        assert_eq!(demangled("_ZN3foo3barEv"), "foo::bar()");
        assert_eq!(
            demangled("_ZN4core3fmt5write17h0123456789abcdefE"),
            "core::fmt::write"
        );
    }
}
