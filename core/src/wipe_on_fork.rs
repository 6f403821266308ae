//! Whether a kernel really wipes memory in forked children, told from its answers.
//!
//! Promises: a kernel that accepts any advice is not believed. Must never make a call
//! itself: what madvise(2) answers about one page is handed in.

/// An advice that no kernel knows. qemu-user 10.0 accepts it, as it accepts every other
/// one without doing anything (linux-user/mmap.c), and so do some sandboxes.
pub const NONSENSE: i32 = 0x6e6f;
/// EINVAL, the answer to an unknown advice (madvise(2)).
const EINVAL: i32 = 22;
/// MADV_WIPEONFORK, Linux 4.14.
pub const WIPEONFORK: i32 = 18;
/// MADV_DONTDUMP, Linux 3.4.
pub const DONTDUMP: i32 = 16;

/// Makes a page one that is wiped on fork and left out of core dumps. `advise` gives one
/// advice about it: the answer is nothing, or an errno. False: the page is not to be used.
pub fn make(mut advise: impl FnMut(i32) -> Result<(), i32>) -> bool {
    advise(NONSENSE) == Err(EINVAL) && advise(WIPEONFORK).is_ok() && advise(DONTDUMP).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_believed_that_refuses_nonsense_alone() {
        assert!(make(|advice| if advice == NONSENSE {
            Err(EINVAL)
        } else {
            Ok(())
        }));
        assert!(!make(|_| Ok(())));
        assert!(!make(|_| Err(EINVAL)));
        assert!(!make(|advice| if advice == NONSENSE {
            Err(38)
        } else {
            Ok(())
        }));
        for refused in [WIPEONFORK, DONTDUMP] {
            assert!(!make(|advice| match advice {
                NONSENSE => Err(EINVAL),
                advice if advice == refused => Err(EINVAL),
                _ => Ok(()),
            }));
        }
    }
}
