//! Why the library would load and then leave a program alone.

use super::find_program::FoundProgram;
use super::host::Host;
use crate::output::printable;
use ownpool_core::settings::{Mode, Settings, basename};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// The reasons in this environment and on this machine; none if it would act.
pub(crate) fn reasons(found: &FoundProgram, host: &Host) -> Vec<String> {
    let environment: Vec<_> = std::env::vars_os().collect();
    let settings = in_force(&environment);
    let mut reasons = Vec::new();
    let argv0 = basename(found.argv0.as_bytes());
    let executable = basename(found.executed.as_os_str().as_bytes());
    if !settings.acts_in(&[argv0, executable]) {
        let names = match argv0 == executable {
            true => printable(argv0),
            false => format!("{} ({})", printable(argv0), printable(executable)),
        };
        let skip = printable(settings.skip);
        reasons.push(match settings.acts_in(&[]) {
            true => format!("OWNPOOL_SKIP ({skip}) keeps the library out of {names}"),
            false => format!("OWNPOOL_ONLY or OWNPOOL_SKIP keeps the library out of {names}"),
        });
    }
    if matches!(settings.mode, Mode::Off) {
        reasons.push("OWNPOOL_MODE is off in this environment".into());
    }
    if host.fips {
        reasons.push("this machine is in FIPS mode: the library stays off".into());
    }
    if !host.wipe_on_fork && !host.map_droppable {
        reasons.push("this kernel wipes no page on fork: no thread is moved".into());
    }
    reasons
}

/// The settings of this environment; the library complains about bad ones, so this need not.
fn in_force(environment: &[(OsString, OsString)]) -> Settings<'_> {
    let mut in_force = Settings::DEFAULT;
    for (name, value) in environment {
        if name.as_bytes().starts_with(b"OWNPOOL_") {
            let _ = in_force.set(name.as_bytes(), value.as_bytes());
        }
    }
    in_force
}
