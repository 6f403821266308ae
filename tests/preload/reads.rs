//! Reads and opens answer as the kernel does: results, errno, modes, flags, errors.
//!
//! `tests/c/twins.c` makes each request twice, by the hooked name and by a system call of
//! its own, and insists on equal answers; it runs bare as well, which shows that it judges
//! plain Linux rightly. Random bytes are told from others with odds below 2^-64 in all.
use ownpool_tests::support::{Place, bare, number_after, preloaded_with, says};
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
    let said = says(bare(&twins).current_dir(place.path()));
    assert!(said.contains("hook absent"), "{said}");
    let requests = said.split(' ').next().expect("the count").to_owned();
    let (must, may) = (number_after(&said, "must"), number_after(&said, "may"));
    assert!(must > 1500, "{said}");

    for mode in MODES {
        let settings = [("OWNPOOL_MODE", mode)];
        let said = says(preloaded_with(&twins, &settings).current_dir(place.path()));
        assert!(
            said.starts_with(&requests) && said.contains("hook present"),
            "{mode}: {said}"
        );
        let (served, would) = (number_after(&said, "served"), number_after(&said, "would"));
        match mode {
            "always" | "vdso" => assert!((must..=must + may).contains(&served), "{said}"),
            // Within the burst of 4,096 bytes the kernel answers: at most 128 requests.
            "auto" => assert!((must - 128..=must + may).contains(&served), "{said}"),
            "observe" => assert!(
                served == 0 && (must - 128..=must + may).contains(&would),
                "{said}"
            ),
            _ => assert_eq!((served, would), (0, 0), "{said}"),
        }
    }
    let said = says(preloaded_with(&twins, &ALL_LIGHT).current_dir(place.path()));
    assert!(said.contains("hook present"), "{said}");
    assert_eq!(number_after(&said, "served"), 0, "{said}");
}

#[test]
fn a_thread_that_only_reads_can_be_cancelled() {
    let place = Place::new();
    let cancel = place.compile("cancel", &["-ldl"]);
    assert_eq!(says(&mut bare(&cancel)), "36 cancelled, hook absent\n");
    for mode in ["auto", "always", "vdso"] {
        let said = says(&mut preloaded_with(&cancel, &[("OWNPOOL_MODE", mode)]));
        assert_eq!(said, "36 cancelled, hook present\n", "{mode}");
    }
}
