// The command's rooms, as its main.rs names them: a program has no library to link.
#[path = "../src/settings.rs"]
#[allow(dead_code)]
mod settings;
#[path = "../src/bin/ownpool/check/mod.rs"]
#[allow(dead_code)]
mod check;
#[path = "../src/bin/ownpool/elf/mod.rs"]
mod elf;
#[path = "../src/bin/ownpool/hostile.rs"]
#[allow(dead_code)]
mod hostile;
#[path = "../src/bin/ownpool/inherit.rs"]
#[allow(dead_code)]
mod inherit;
#[path = "../src/bin/ownpool/library.rs"]
#[allow(dead_code)]
mod library;
#[path = "../src/bin/ownpool/report/mod.rs"]
#[allow(dead_code)]
mod report;
#[path = "../src/bin/ownpool/run.rs"]
#[allow(dead_code)]
mod run;
#[path = "../src/bin/ownpool/say.rs"]
#[allow(dead_code)]
mod say;

#[allow(dead_code)]
pub(crate) const OUR_FAILURE: u8 = 125;
