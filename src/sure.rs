//! Random bytes for callers that cannot be told "no".
//!
//! Promises: [`fill`] waits for the kernel's generator to be seeded, then always
//! succeeds, or ends the process with one line when getrandom and the device
//! are both refused, as glibc's arc4random does. Must never be reached for a
//! caller that has an error return. `api` uses it for integers, `real` for
//! arc4random on a libc that lacks it.

use crate::say;
use crate::sys::{self, Errno};

/// Fills `dest` from the kernel.
///
/// # Safety
/// `dest` is writable for `len`.
pub(crate) unsafe fn fill(dest: *mut u8, len: usize) {
    let mut done = 0;
    while done < len {
        // SAFETY: within `dest`.
        match unsafe { sys::getrandom(dest.add(done).cast(), len - done, 0) } {
            Ok(got) => done += got,
            Err(Errno(libc::EINTR)) => {}
            Err(_) => {
                // SAFETY: as above.
                unsafe { from_device(dest.add(done), len - done) };
                return;
            }
        }
    }
}

/// # Safety
/// As [`fill`].
#[cold]
unsafe fn from_device(dest: *mut u8, len: usize) {
    let mut done = 0;
    if let Ok(fd) = sys::open(
        c"/dev/urandom",
        libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW,
    ) {
        let device = sys::identity(fd).is_ok_and(|identity| identity.is_urandom());
        while device && done < len {
            let arguments = [fd as usize, dest as usize + done, len - done, 0, 0, 0];
            // SAFETY: within `dest`.
            match unsafe { sys::call(libc::SYS_read, arguments) } {
                Ok(0) => break,
                Ok(got) => done += got,
                Err(Errno(libc::EINTR)) => {}
                Err(_) => break,
            }
        }
        sys::close(fd);
    }
    if done < len {
        say::line(
            b"ownpool: neither getrandom nor /dev/urandom gives random bytes; ending the process\n",
        );
        sys::die();
    }
}

/// An unbiased number below `upper_bound`; 0 for bounds of 0 and 1.
///
/// Of 2^32 values, the 2^32 mod `upper_bound` lowest are drawn again, so that
/// every remainder is left equally often. Fewer than two draws on average.
pub(crate) fn uniform(upper_bound: u32, mut draw: impl FnMut() -> u32) -> u32 {
    if upper_bound < 2 {
        return 0;
    }
    // 2^32 mod upper_bound, in 32 bits.
    let lowest = upper_bound
        .wrapping_neg()
        .checked_rem(upper_bound)
        .unwrap_or(0);
    loop {
        let word = draw();
        if word >= lowest {
            return word.checked_rem(upper_bound).unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::uniform;

    #[test]
    fn bounds_of_0_and_1_draw_nothing() {
        for bound in [0, 1] {
            assert_eq!(uniform(bound, || unreachable!()), 0);
        }
    }

    #[test]
    fn every_remainder_is_left_equally_often() {
        for bound in (2..3000).chain([1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX]) {
            // The words below 2^32 mod bound are too many by one part of a period.
            let surplus = ((1u64 << 32) % u64::from(bound)) as u32;
            let accepted = |word: u32| {
                let mut words = [word, u32::MAX].into_iter();
                let _ = uniform(bound, || words.next().unwrap());
                words.len() == 1
            };
            assert!(accepted(surplus), "{bound}");
            assert!(
                surplus == 0 || (!accepted(surplus - 1) && !accepted(0)),
                "{bound}"
            );
        }
    }

    #[test]
    fn rejected_words_are_drawn_again() {
        // 2^32 mod (2^31 + 1) is 2^31 - 1: words below it are rejected.
        let mut words = [5, (1 << 31) - 2, (1 << 31) - 1].into_iter();
        assert_eq!(
            uniform((1 << 31) + 1, || words.next().unwrap()),
            (1 << 31) - 1
        );
        assert_eq!(words.next(), None);
    }
}
