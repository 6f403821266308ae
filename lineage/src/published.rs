//! The figures that the threads published, for the columns beside ours.
//!
//! Promises: as they were posted: thousands of 64-byte calls a second on a machine of four sockets and
//! 144 logical CPUs (2015), and cycles for a thousand calls (December 2016; February 2020 where it says
//! so). None of those machines is here: compare shapes, not values.

/// What was said of a pool's speed on more and more CPUs.
pub(crate) fn pool(label: &str) -> &'static str {
    match label {
        "C1" => "200 K below 20 CPUs, then 100 K; nodes x1 x0.75 x0.55 x0.42",
        "C2" => "200 K to 20 CPUs, 400 K to 40, 600 K near 60, 520 K at 144; nodes x1 x2 x2.4 x3",
        "C3" => "350 K at 4 CPUs, 50 K above 20, 80 K at 144",
        "C4" => "140 K at 2 CPUs, 120 K to 20, then 50 K, 80 K",
        "C5" => "never measured",
        "C6" => "rejected unmeasured",
        _ => "",
    }
}

/// Cycles for a thousand calls of 4 and of 8 bytes.
pub(crate) fn ints(label: &str) -> [&'static str; 2] {
    match label {
        "C7" => ["305,640 to 343,323", "349,771 to 415,983"],
        "C8" => ["86,384 to 94,265", "94,255 to 137,130"],
        "P9" => ["80,726 to 170,767", "242,047 to 359,660; 2020: 107,000"],
        "C9" => ["", "2020: 352,000"],
        "C10" => ["1,315,873 to 2,653,388", "1,315,873 to 2,653,388"],
        "C11" => ["by connections/s: 559 K, 556 K before", ""],
        _ => ["", ""],
    }
}
