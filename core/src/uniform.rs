//! An unbiased number below a bound, from a source of 32-bit words.
//!
//! Promises: every number below the bound is equally likely if every word is.
//! Must never know where words come from.

/// An unbiased number below `upper_bound`; 0 for bounds of 0 and 1.
///
/// Of 2^32 values, the 2^32 mod `upper_bound` lowest are drawn again, so that
/// every remainder is left equally often. Fewer than two draws on average.
pub fn uniform(upper_bound: u32, mut draw: impl FnMut() -> u32) -> u32 {
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
