//! How the library writes: short lines to descriptor 2, and the report.
//!
//! Promises: the program did not ask for these texts, so one that cannot be written is lost.
//! It neither ends the program (SIGPIPE, SIGXFSZ) nor keeps it waiting for a reader: a
//! short line not at all, a report for [`LONGEST_WAIT_MS`] in all. A text to a regular
//! file is one write, so lines of many processes do not mix. Must never make another
//! system call than poll, write, rt_sigprocmask and rt_sigtimedwait: filters count them.
//!
//! What is written depends on what poll(2) promises when it says POLLOUT, and that is
//! little: [`Outlet`]. To ask for room by FIONREAD or to set O_NONBLOCK for a moment would
//! take system calls that the program did not make, and O_NONBLOCK is shared with every
//! process that has the same pipe. A hole is left: another writer may take the room between
//! poll and write.

use crate::sys::{self, Errno, Signals};
use core::ffi::c_int;

/// How long a report waits for its reader, all its pieces together. Chosen, not measured:
/// a reader that runs needs some milliseconds, and a program may be late by this much.
const LONGEST_WAIT_MS: u32 = 100;

/// One wait. They are counted, since reading a clock would be one more system call
/// where there is no vDSO; one that ends early counts as whole.
const WAIT_MS: c_int = 1;

/// How much a write may hold that follows a POLLOUT and must not block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlet {
    /// Anything: a regular file, which poll always calls ready, or a descriptor that
    /// was opened with O_NONBLOCK.
    Any,
    /// PIPE_BUF: pipe(7) has that much room or no POLLOUT. Stream sockets have more
    /// (a quarter of the buffer or less is used, unix_writable in net/unix/af_unix.c).
    Pipe,
    /// 256 bytes. A pseudo terminal counts its room in such (TTYB_ALIGN_MASK in
    /// drivers/tty/tty_buffer.c), and asks anew for the two bytes that a newline
    /// becomes, which are therefore written by themselves.
    Terminal,
}

impl Outlet {
    /// What a blocking descriptor is to be taken for.
    pub(crate) fn of(identity: &sys::Identity) -> Outlet {
        match identity.kind() {
            libc::S_IFREG | libc::S_IFBLK => Outlet::Any,
            libc::S_IFCHR => Outlet::Terminal,
            _ => Outlet::Pipe,
        }
    }

    /// How much of a text the next write takes.
    fn piece(self, text: &[u8]) -> usize {
        match self {
            Outlet::Any => text.len(),
            Outlet::Pipe => text.len().min(libc::PIPE_BUF),
            Outlet::Terminal => {
                let newline = usize::from(text.len() > 1 && text.ends_with(b"\n"));
                text.len().saturating_sub(newline).min(256)
            }
        }
    }
}

/// Writes a line to descriptor 2, at once or not at all. Not longer than PIPE_BUF. What
/// descriptor 2 is costs a system call to ask: a terminal that is full but for a few
/// hundred bytes, and that is not read, is left out of the promise.
pub(crate) fn line(text: &[u8]) {
    send(2, Outlet::Pipe, text, 0);
}

/// Writes a report. To a pipe a long one goes in pieces: whole if it is read or
/// there is room, else torn, which `ownpool report` tells and skips. Whether a text longer than
/// a piece fits cannot be known in advance.
pub(crate) fn report(fd: c_int, outlet: Outlet, text: &[u8]) {
    send(fd, outlet, text, LONGEST_WAIT_MS / WAIT_MS as u32);
}

fn send(fd: c_int, mut outlet: Outlet, mut text: &[u8], mut waits: u32) {
    match room(fd, &mut waits) {
        Room::Ready => {}
        // Where poll is refused, one short write is risked.
        Room::Unknown if text.len() <= libc::PIPE_BUF => outlet = Outlet::Any,
        Room::Unknown if outlet == Outlet::Any => {}
        _ => return,
    }
    without_signals(|| {
        loop {
            let piece = text.get(..outlet.piece(text)).unwrap_or_default();
            match sys::write(fd, piece) {
                // Short writes go on with the rest: a full disk gives its error then.
                Ok(len @ 1..) => text = text.get(len..).unwrap_or_default(),
                Err(Errno(libc::EINTR | libc::EAGAIN)) if waits > 0 => waits -= 1,
                Ok(0) => return Ok(()),
                Err(error) => return Err(error),
            }
            if text.is_empty() || room(fd, &mut waits) != Room::Ready {
                return Ok(());
            }
        }
    });
}

/// Whether there is room for a piece.
#[derive(PartialEq, Eq)]
enum Room {
    Ready,
    None,
    Unknown,
}

/// Asks for room, at once and then for as long as there are waits left.
fn room(fd: c_int, waits: &mut u32) -> Room {
    let mut wait_ms = 0;
    loop {
        match sys::poll_for_room(fd, wait_ms) {
            // A signal ends a poll only where there is no room yet.
            Ok(0) | Err(Errno(libc::EINTR)) if *waits > 0 => {
                *waits -= 1;
                wait_ms = WAIT_MS;
            }
            Ok(0) | Err(Errno(libc::EINTR)) => return Room::None,
            Ok(said) if said & libc::POLLOUT != 0 => return Room::Ready,
            // An error and no room: the reader is gone.
            Ok(_) => return Room::None,
            Err(_) => return Room::Unknown,
        }
    }
}

/// Runs a write that may raise SIGPIPE (the reader is gone) or SIGXFSZ (files may not
/// grow): both are blocked meanwhile, and what was raised is taken back. Where the program
/// blocks one itself it stays pending, unseen.
fn without_signals(write: impl FnOnce() -> Result<(), Errno>) {
    const SIGNALS: Signals = 1 << (libc::SIGPIPE - 1) | 1 << (libc::SIGXFSZ - 1);
    let before = sys::block(SIGNALS);
    let written = write();
    let Ok(before) = before else {
        return;
    };
    if let Err(Errno(libc::EPIPE | libc::EFBIG)) = written {
        sys::take_back(SIGNALS & !before);
    }
    sys::set_blocked(before);
}
