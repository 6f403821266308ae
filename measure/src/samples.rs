//! Quantiles of a few samples.

/// The value at a fraction of the way through sorted samples (0.5: the median).
pub fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    // The samples are few: the nearest one is taken, as the ninth of nine is.
    let at = (last as f64 * fraction).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// The middle one; not a number of none.
pub fn median(samples: &[f64]) -> f64 {
    quantile(&sorted(samples.to_vec()), 0.5)
}

/// The lowest and the highest; infinite, the wrong way round, of none.
pub fn extremes(samples: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let wider = |(low, high): (f64, f64), sample: f64| (low.min(sample), high.max(sample));
    samples.into_iter().fold(none, wider)
}

/// Sorted, as [`quantile`] wants them.
pub fn sorted(mut samples: Vec<f64>) -> Vec<f64> {
    samples.sort_by(f64::total_cmp);
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_nine_is_the_fifth() {
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(quantile(&nine, 0.5), 5.0);
        assert_eq!((quantile(&nine, 0.25), quantile(&nine, 0.75)), (3.0, 7.0));
        assert_eq!((quantile(&nine, 0.0), quantile(&nine, 1.0)), (1.0, 9.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(extremes([3.0, 1.0, 2.0]), (1.0, 3.0));
        assert!(quantile(&[], 0.5).is_nan() && median(&[]).is_nan());
    }
}
