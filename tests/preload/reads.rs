//! Reads and opens answer as the kernel does: results, errno, modes, flags, errors.
//!
//! `tests/c/twins.c` makes each request twice, by the hooked name and by a system call of
//! its own, and insists on equal answers; it runs bare as well, which shows that it judges
//! plain Linux rightly. Random bytes are told from others with odds below 2^-64 in all.
use ownpool_tests::support::{Place, bare, number_after, preloaded_with, prints};

const MODES: [&str; 5] = ["auto", "always", "vdso", "observe", "off"];

/// A light caller's requests stay the kernel's, whatever they are.
const ALL_LIGHT: [(&str, &str); 4] = [
    ("OWNPOOL_MODE", "auto"),
    ("OWNPOOL_RATE", "100G"),
    ("OWNPOOL_BURST", "100G"),
    ("OWNPOOL_BULK", "100G"),
];

#[test]
fn every_name_answers_as_the_kernel_does() {
    let place = Place::new();
    let twins = place.compile("read_twins", &["-ldl"]);
    let printed = prints(bare(&twins).current_dir(place.path()));
    assert!(printed.contains("hook absent"), "{printed}");
    let requests = printed.split(' ').next().expect("the count").to_owned();
    let (must, may) = (
        number_after(&printed, "must"),
        number_after(&printed, "may"),
    );
    assert!(must > 1500, "{printed}");

    for mode in MODES {
        let settings = [("OWNPOOL_MODE", mode)];
        let printed = prints(preloaded_with(&twins, &settings).current_dir(place.path()));
        assert!(
            printed.starts_with(&requests) && printed.contains("hook present"),
            "{mode}: {printed}"
        );
        let (served, would) = (
            number_after(&printed, "served"),
            number_after(&printed, "would"),
        );
        match mode {
            "always" | "vdso" => assert!((must..=must + may).contains(&served), "{printed}"),
            // Within the burst of 4,096 bytes the kernel answers: at most 128 requests.
            "auto" => assert!((must - 128..=must + may).contains(&served), "{printed}"),
            "observe" => assert!(
                served == 0 && (must - 128..=must + may).contains(&would),
                "{printed}"
            ),
            _ => assert_eq!((served, would), (0, 0), "{printed}"),
        }
    }
    let printed = prints(preloaded_with(&twins, &ALL_LIGHT).current_dir(place.path()));
    assert!(printed.contains("hook present"), "{printed}");
    assert_eq!(number_after(&printed, "served"), 0, "{printed}");
}

#[test]
fn a_thread_that_only_reads_can_be_cancelled() {
    let place = Place::new();
    let cancel = place.compile("cancel", &["-ldl"]);
    assert_eq!(prints(&mut bare(&cancel)), "36 cancelled, hook absent\n");
    for mode in ["auto", "always", "vdso"] {
        let printed = prints(&mut preloaded_with(&cancel, &[("OWNPOOL_MODE", mode)]));
        assert_eq!(printed, "36 cancelled, hook present\n", "{mode}");
    }
}
