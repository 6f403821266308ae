//! When a caller is heavy: a leaky bucket per thread.
//!
//! Each request adds its size, at least 32 bytes, to a level that drains at a
//! fixed rate. A level over the burst, or one request over the bulk limit, puts
//! the caller over its allowance.
//!
//! Promises: never over earlier than the exact bucket would say, and not later
//! than an exact bucket of twice the burst; the usual light call needs no clock.
//! Time is a number handed in, and [`Charge::AskClock`] says when it is wanted: the
//! level is kept undrained until it passes the burst, and only then is it worth
//! asking how much has leaked since. Must never read a clock or know a thread.
//! All-zero memory is a valid, empty bucket.
//!
//! Not an exponential average, which has no sharp edge to explain to an
//! operator, and not a fixed pause that forgives: a disk write can stall a bulk
//! reader for longer than any pause.

/// The least that a request costs: one key's worth. A caller of many tiny
/// requests pays for its system calls, not for its bytes.
pub const LEAST_COST: u64 = 32;

/// The limits that hold for every thread.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes a second that drain.
    pub rate_per_s: u64,
    /// The level that may not be passed.
    pub burst: u64,
    /// The largest single request that is not heavy by itself.
    pub bulk: u64,
}

/// Within or over the allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The kernel may answer.
    Within,
    /// The caller is heavy.
    Over,
}

/// What charging a request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Decided without a clock.
    Decided(Verdict),
    /// Call [`Bucket::settle`] with the time.
    AskClock,
}

/// One thread's bucket.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Bucket {
    /// Bytes charged since `last_ms`, and what had not drained by then.
    pub level: u64,
    /// When the level was last drained; 0: never.
    pub last_ms: u64,
}

impl Bucket {
    /// Adds a request of `len` bytes.
    #[inline]
    pub fn charge(&mut self, limits: &Limits, len: u64) -> Charge {
        self.level = self.level.saturating_add(cost(len));
        if len > limits.bulk || limits.rate_per_s == 0 || limits.burst == 0 {
            return Charge::Decided(Verdict::Over);
        }
        // The first request sets the time, or the first burst would be drained
        // by all the time since the machine started.
        if self.level > limits.burst || self.last_ms == 0 {
            return Charge::AskClock;
        }
        Charge::Decided(Verdict::Within)
    }

    /// Drains what has leaked by `now_ms` and decides. Time that went backwards
    /// counts as no time.
    pub fn settle(&mut self, limits: &Limits, now_ms: u64) -> Verdict {
        if self.last_ms != 0 {
            let elapsed_ms = now_ms.saturating_sub(self.last_ms);
            // Rounded up: a fraction of a byte must never make a caller heavy early.
            let leaked = elapsed_ms.saturating_mul(limits.rate_per_s).div_ceil(1000);
            self.level = self.level.saturating_sub(leaked);
        }
        self.last_ms = now_ms.max(self.last_ms).max(1);
        if self.level > limits.burst {
            Verdict::Over
        } else {
            Verdict::Within
        }
    }

    /// Takes back a charge that turned out not to be for randomness at all.
    #[inline]
    pub fn refund(&mut self, len: u64) {
        self.level = self.level.saturating_sub(cost(len));
    }
}

/// How long a moved thread has behaved lightly, judged when it refills.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Conduct {
    bucket: Bucket,
    /// When it was last over its allowance; 0: not judged yet.
    heavy_ms: u64,
}

impl Conduct {
    /// Takes in that `len` bytes were drawn up to `now_ms`, and tells for how many
    /// milliseconds the thread has been within its allowance.
    pub fn judge(&mut self, limits: &Limits, len: u64, now_ms: u64) -> u64 {
        self.bucket.level = self.bucket.level.saturating_add(len);
        let verdict = self.bucket.settle(limits, now_ms);
        if verdict == Verdict::Over || self.heavy_ms == 0 {
            self.heavy_ms = now_ms.max(1);
            // An overfull bucket would count old sins against new quiet.
            self.bucket.level = self.bucket.level.min(limits.burst);
        }
        now_ms.saturating_sub(self.heavy_ms)
    }
}

fn cost(len: u64) -> u64 {
    len.max(LEAST_COST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        rate_per_s: 320,
        burst: 4096,
        bulk: 4096,
    };

    /// What the library does with a bucket.
    fn admit(bucket: &mut Bucket, limits: &Limits, len: u64, now_ms: u64) -> Verdict {
        match bucket.charge(limits, len) {
            Charge::Decided(verdict) => verdict,
            Charge::AskClock => bucket.settle(limits, now_ms),
        }
    }

    #[test]
    fn a_loop_of_small_requests_is_heavy_after_128() {
        let mut bucket = Bucket::default();
        for call in 1..=128 {
            assert_eq!(
                admit(&mut bucket, &LIMITS, 16, 5_000_000),
                Verdict::Within,
                "{call}"
            );
        }
        assert_eq!(admit(&mut bucket, &LIMITS, 16, 5_000_000), Verdict::Over);
    }

    #[test]
    fn one_large_request_is_heavy_on_its_first_byte() {
        assert_eq!(
            Bucket::default().charge(&LIMITS, 4097),
            Charge::Decided(Verdict::Over)
        );
        assert_eq!(
            admit(&mut Bucket::default(), &LIMITS, 4096, 1),
            Verdict::Within
        );
    }

    #[test]
    fn zero_limits_mean_heavy_at_once() {
        for limits in [
            Limits {
                rate_per_s: 0,
                ..LIMITS
            },
            Limits { burst: 0, ..LIMITS },
            Limits { bulk: 0, ..LIMITS },
        ] {
            assert_eq!(
                Bucket::default().charge(&limits, 1),
                Charge::Decided(Verdict::Over)
            );
        }
    }

    #[test]
    fn the_allowed_rate_is_allowed_for_ever() {
        // Ten 32-byte keys a second for a day.
        let mut bucket = Bucket::default();
        for call in 0..864_000u64 {
            assert_eq!(
                admit(&mut bucket, &LIMITS, 32, 1 + call * 100),
                Verdict::Within
            );
        }
        // Twice the rate is over it after about 4096 / 320 seconds of surplus.
        let mut bucket = Bucket::default();
        let over = (0..864_000u64)
            .find(|&call| admit(&mut bucket, &LIMITS, 32, 1 + call * 50) == Verdict::Over);
        assert!(
            over.is_some_and(|call| (255..=512).contains(&call)),
            "{over:?}"
        );
    }

    #[test]
    fn never_earlier_than_the_exact_bucket_and_at_most_one_burst_later() {
        // Gaps and sizes from a small generator, compared with a bucket that
        // drains at every call in exact arithmetic (thousandths of a byte).
        let mut random = 1u64;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        for _ in 0..2000 {
            let (mut bucket, mut exact, mut now) = (Bucket::default(), 0u64, 1u64);
            let mut exact_over = false;
            for _ in 0..2000 {
                let gap = [0, 0, 0, 1, 10, 100, 1000][next(7) as usize];
                let len = 1 + next(200);
                now += gap;
                exact = exact.saturating_sub(gap * 320) + 1000 * len.max(32);
                exact_over |= exact > 4096 * 1000;
                let over = admit(&mut bucket, &LIMITS, len, now) == Verdict::Over;
                assert!(!over || exact_over, "heavy before the exact bucket");
                if over {
                    break;
                }
                // What drained before the requests of one undrained stretch was
                // credited to them: one burst at the most.
                assert!(exact <= 2 * 4096 * 1000, "more than one burst late");
            }
        }
    }

    #[test]
    fn a_refund_undoes_a_charge() {
        let mut bucket = Bucket::default();
        let _ = admit(&mut bucket, &LIMITS, 100, 1);
        let before = bucket.level;
        let _ = admit(&mut bucket, &LIMITS, 5, 1);
        bucket.refund(5);
        assert_eq!(bucket.level, before);
    }

    #[test]
    fn extremes_do_not_overflow_and_time_may_go_backwards() {
        let mut bucket = Bucket {
            level: u64::MAX,
            last_ms: 10,
        };
        assert_eq!(
            bucket.charge(&LIMITS, u64::MAX),
            Charge::Decided(Verdict::Over)
        );
        assert_eq!(
            bucket.settle(
                &Limits {
                    rate_per_s: u64::MAX,
                    ..LIMITS
                },
                u64::MAX
            ),
            Verdict::Over
        );
        let mut bucket = Bucket {
            level: 5000,
            last_ms: 1000,
        };
        assert_eq!(bucket.settle(&LIMITS, 10), Verdict::Over);
        assert_eq!((bucket.level, bucket.last_ms), (5000, 1000));
    }

    #[test]
    fn sustained_light_conduct_adds_up_and_one_heavy_spell_starts_it_anew() {
        let mut conduct = Conduct::default();
        assert_eq!(conduct.judge(&LIMITS, 3040, 1000), 0);
        // One refill every 20 seconds is 152 bytes a second: light.
        assert_eq!(conduct.judge(&LIMITS, 3040, 21_000), 20_000);
        assert_eq!(conduct.judge(&LIMITS, 3040, 41_000), 40_000);
        assert_eq!(conduct.judge(&LIMITS, 30_400, 41_004), 0);
        assert_eq!(conduct.judge(&LIMITS, 3040, 61_000), 19_996);
    }
}
