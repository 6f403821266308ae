//! How a value is read from bytes, one function for each kind of setting. Constant functions:
//! the defaults of the table are read by them too, when the table is compiled.

use super::{Complaint, Mode, STATS_MAX, TestSwitches};

/// The value of a default in the table, which does parse.
pub(super) const fn expect<T: Copy>(value: Result<T, Complaint>) -> T {
    match value {
        Ok(value) => value,
        // Met by the compiler alone: defaults are constants.
        Err(_) => unreachable!(),
    }
}

pub(super) const fn same(a: &[u8], b: &[u8]) -> bool {
    match (a.split_first(), b.split_first()) {
        (None, None) => true,
        (Some((x, a)), Some((y, b))) => *x == *y && same(a, b),
        _ => false,
    }
}

/// One of the modes.
pub(super) const fn mode(value: &[u8], default: Option<Mode>) -> Result<Mode, Complaint> {
    match (Mode::parse(value), default) {
        (Some(mode), _) => Ok(mode),
        (None, Some(default)) if value.is_empty() => Ok(default),
        (None, _) => Err(Complaint::NotAMode),
    }
}

/// Decimal digits.
pub(super) const fn number(value: &[u8], default: Option<u64>) -> Result<u64, Complaint> {
    if value.is_empty() {
        return match default {
            Some(default) => Ok(default),
            None => Err(Complaint::NotANumber),
        };
    }
    let mut sum: u64 = 0;
    let mut digits = value;
    while let Some((&digit, rest)) = digits.split_first() {
        if !digit.is_ascii_digit() {
            return Err(Complaint::NotANumber);
        }
        digits = rest;
        sum = match sum.checked_mul(10) {
            Some(tens) if tens <= i64::MAX as u64 => tens + (digit - b'0') as u64,
            _ => return Err(Complaint::TooLarge),
        };
    }
    if sum > i64::MAX as u64 {
        return Err(Complaint::TooLarge);
    }
    Ok(sum)
}

/// Decimal digits and, if there, one of K, M and G (powers of 1024).
pub(super) const fn size(value: &[u8], default: Option<u64>) -> Result<u64, Complaint> {
    let (digits, unit) = match value.split_last() {
        Some((b'K' | b'k', digits)) => (digits, 1 << 10),
        Some((b'M' | b'm', digits)) => (digits, 1 << 20),
        Some((b'G' | b'g', digits)) => (digits, 1 << 30),
        _ => return number(value, default),
    };
    match number(digits, None) {
        Ok(number) => match number.checked_mul(unit) {
            Some(bytes) if bytes <= i64::MAX as u64 => Ok(bytes),
            _ => Err(Complaint::TooLarge),
        },
        Err(complaint) => Err(complaint),
    }
}

/// Any text; also none.
pub(super) const fn text<'a>(
    value: &'a [u8],
    _default: Option<&'a [u8]>,
) -> Result<&'a [u8], Complaint> {
    Ok(value)
}

/// A text of which the library keeps a copy.
pub(super) const fn path<'a>(
    value: &'a [u8],
    _default: Option<&'a [u8]>,
) -> Result<&'a [u8], Complaint> {
    if value.len() > STATS_MAX {
        return Err(Complaint::TooLong);
    }
    Ok(value)
}

/// Whether to ignore something.
pub(super) const fn ignore(value: &[u8], _default: Option<bool>) -> Result<bool, Complaint> {
    match value {
        b"" | b"honour" => Ok(false),
        b"ignore" => Ok(true),
        _ => Err(Complaint::NotAChoice),
    }
}

/// 0 or 1.
pub(super) const fn switch(value: &[u8], _default: Option<bool>) -> Result<bool, Complaint> {
    match value {
        b"" | b"0" => Ok(false),
        b"1" => Ok(true),
        _ => Err(Complaint::NotASwitch),
    }
}

/// Names of switches, comma-separated.
pub(super) const fn test_switches(
    value: &[u8],
    _default: Option<TestSwitches>,
) -> Result<TestSwitches, Complaint> {
    let mut switches = TestSwitches {
        wipe: false,
        no_vdso: false,
        odd_vdso: false,
        fail_known_answer: false,
    };
    let mut rest = value;
    while !rest.is_empty() {
        let (name, after) = until_comma(rest);
        rest = after;
        match name {
            b"" => {}
            b"wipe" => switches.wipe = true,
            b"novdso" => switches.no_vdso = true,
            b"oddvdso" => switches.odd_vdso = true,
            b"kat" => switches.fail_known_answer = true,
            _ => return Err(Complaint::NotATest),
        }
    }
    Ok(switches)
}

/// What stands before the first comma, and what after it.
pub(super) const fn until_comma(text: &[u8]) -> (&[u8], &[u8]) {
    let mut len = 0;
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b',' {
            // The other arm does not come about: `len` bytes were walked over.
            return match text.split_at_checked(len) {
                Some((first, _)) => (first, after),
                None => (text, &[]),
            };
        }
        len += 1;
        rest = after;
    }
    (text, &[])
}
