//! The report: one line of JSON when the process ends.
//!
//! Promises: a program that drew nothing writes nothing; the line is one
//! O_APPEND write to a file, so lines of many processes do not mix; it works after the
//! program closed its standard streams, on the stack that is left (the text
//! lies in static memory), and without malloc or stdio. Must never follow a
//! symbolic link at the path, write to a descriptor 2 that is not what it was
//! at the start (it may have become a data file), or make a call that a program
//! which confined itself has not asked for.

use crate::diagnostics::{self, Outlet};
use crate::loaded_image::module;
use crate::stats::call_sites::{self, Site};
use crate::{config, generator, seccomp, sys};
use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ownpool_core::counts::Counts;
use ownpool_core::line_buffer::LineBuffer;
use ownpool_core::settings::{STATS_MAX, Settings, basename};

/// Where the report goes, and what it says of the program. Copied when the
/// library starts: programs overwrite their environment and arguments.
struct Plan {
    target: LineBuffer<{ STATS_MAX + 1 }>,
    program: LineBuffer<256>,
}

/// Memory that one writer at a time uses, by what its user promises.
struct Static<T>(UnsafeCell<T>);
// SAFETY: each user below says who else may be there.
unsafe impl<T> Sync for Static<T> {}

static PLAN: Static<Plan> = Static(UnsafeCell::new(Plan {
    target: LineBuffer::new(),
    program: LineBuffer::new(),
}));
static TEXT: Static<LineBuffer<{ 160 << 10 }>> = Static(UnsafeCell::new(LineBuffer::new()));
static PATH: Static<LineBuffer<2048>> = Static(UnsafeCell::new(LineBuffer::new()));
static OWN_PATH: Static<[u8; 1024]> = Static(UnsafeCell::new([0; 1024]));
static STDERR_DEVICE: AtomicU64 = AtomicU64::new(0);
static STDERR_INODE: AtomicU64 = AtomicU64::new(0);

/// Keeps where the report is to go. Once, from the constructor, before the first draw.
pub(crate) fn start(settings: &Settings<'_>, program: &[u8]) {
    if settings.stats.is_empty() {
        return;
    }
    // SAFETY: once, and the plan is not read before a report is wanted.
    let plan = unsafe { &mut *PLAN.0.get() };
    plan.target.push(settings.stats);
    plan.program
        .push(program.get(..program.len().min(255)).unwrap_or_default());
    if settings.stats == b"stderr" {
        let Ok(identity) = sys::identity(2) else {
            return;
        };
        STDERR_DEVICE.store(identity.device, Relaxed);
        STDERR_INODE.store(identity.inode, Relaxed);
    }
    call_sites::want();
}

/// Run by the loader when the process ends in the ordinary way.
extern "C" fn finish() {
    // A second one, from a signal handler that calls exit for example, finds it done.
    if !call_sites::claim() || seccomp::confined() {
        return;
    }
    generator::record_rest();
    let now = generator::counts();
    if !now.drew() {
        return;
    }
    // SAFETY: the claim above let one of us through, and the plan is complete.
    let (plan, text) = unsafe { (&*PLAN.0.get(), &mut *TEXT.0.get()) };
    let pid = sys::pid();
    describe(text, &now, plan.program.bytes(), pid);
    if text.fits() {
        send(plan, text.bytes(), pid);
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = finish;

/// Writes the line.
fn send(plan: &Plan, line: &[u8], pid: u64) {
    if plan.target.bytes() == b"stderr" {
        let Ok(identity) = sys::identity(2) else {
            return;
        };
        let same = identity.device == STDERR_DEVICE.load(Relaxed)
            && identity.inode == STDERR_INODE.load(Relaxed);
        if same {
            diagnostics::report(2, Outlet::of(&identity), line);
        }
        return;
    }
    // SAFETY: `finish` lets one of us through.
    let path = unsafe { &mut *PATH.0.get() };
    expand(path, plan.target.bytes(), plan.program.bytes(), pid);
    path.push(b"\0");
    let Ok(path) = CStr::from_bytes_with_nul(path.bytes()) else {
        return;
    };
    let flags = libc::O_WRONLY
        | libc::O_APPEND
        | libc::O_CREAT
        | libc::O_CLOEXEC
        | libc::O_NOFOLLOW
        | libc::O_NOCTTY
        | libc::O_NONBLOCK;
    if let Ok(fd) = sys::open(path, flags) {
        // O_NONBLOCK above: what stands at the path may be a FIFO.
        diagnostics::report(fd, Outlet::Any, line);
        sys::close(fd);
    }
}

/// `%p` becomes the pid, `%n` the program's name, `%%` a percent sign.
fn expand(path: &mut LineBuffer<2048>, target: &[u8], program: &[u8], pid: u64) {
    let mut rest = target.iter();
    while let Some(&byte) = rest.next() {
        match (
            byte,
            if byte == b'%' {
                rest.as_slice().first()
            } else {
                None
            },
        ) {
            (b'%', Some(b'p')) => path.push_number(pid),
            (b'%', Some(b'n')) => path.push(basename(program)),
            (b'%', Some(b'%')) => path.push(b"%"),
            _ => {
                path.push(&[byte]);
                continue;
            }
        };
        rest.next();
    }
}

/// The line itself.
fn describe<const N: usize>(text: &mut LineBuffer<N>, now: &Counts, program: &[u8], pid: u64) {
    text.push(b"{\"ownpool\":\"")
        .push(env!("CARGO_PKG_VERSION").as_bytes());
    text.push(b"\",\"backend\":\"")
        .push(generator::backend().name().as_bytes());
    text.push(b"\",\"pid\":").push_number(pid);
    text.push(b",\"program\":\"").push_json(program);
    text.push(b"\",\"mode\":\"")
        .push(config::mode().name().as_bytes());
    text.push(b"\"");
    now.push_json(text);
    list_callers(text);
    text.push(b"}\n");
}

/// Who asked, heaviest first; as many as there is room for.
fn list_callers<const N: usize>(text: &mut LineBuffer<N>) {
    // The program's own path. The loader does not know it; the kernel does.
    // SAFETY: `finish` lets one of us through.
    let own = unsafe { &mut *OWN_PATH.0.get() };
    let own_len = sys::executable(own).unwrap_or(0);
    let own = own.get(..own_len).unwrap_or_default();
    text.push(b",\"callers\":[");
    let first = text.len();
    let mut room = true;
    call_sites::each_heaviest_first(|site| {
        // Room is kept for the end of the line.
        let before = text.len();
        if before > first {
            text.push(b",");
        }
        describe_site(text, site, own);
        room &= text.fits() && text.len() + 16 < N;
        if !room {
            text.cut(before);
        }
    });
    text.push(b"]");
}

fn describe_site<const N: usize>(text: &mut LineBuffer<N>, site: &Site, own: &[u8]) {
    let module = module::of(site.caller);
    let (path, build_id, offset) = match &module {
        Some(module) if module.path.is_empty() => (own, module.build_id, module.offset),
        Some(module) => (module.path, module.build_id, module.offset),
        // Code that no file stands behind (a just-in-time compiler's), or the
        // row for all other sites.
        None => (
            if site.caller == 0 { &b"other"[..] } else { b"" },
            &b""[..],
            site.caller,
        ),
    };
    text.push(b"{\"module\":\"")
        .push_json(path)
        .push(b"\",\"build_id\":\"");
    for &byte in build_id {
        text.push(if byte < 16 { b"0" } else { b"" })
            .push_hex(u64::from(byte));
    }
    text.push(b"\",\"offset\":\"0x").push_hex(offset as u64);
    text.push(b"\",\"entry\":\"").push(site.entry.as_bytes());
    text.push(b"\",\"calls\":").push_number(site.calls);
    text.push(b",\"bytes\":").push_number(site.bytes);
    text.push(b",\"largest\":").push_number(site.largest);
    text.push(b",\"threads\":")
        .push_number(u64::from(site.threads));
    text.push(b",\"moved\":")
        .push(if site.moved { b"true}" } else { b"false}" });
}
