//! The library's functions and its peers, found in this process.
//!
//! The library's functions are looked up under the names that any program would
//! use, and must all be answered by one file; the peers are opened by name.
//! Promises: nothing is an error because it is not installed; it is named with
//! the reason. Must never: let a peer be answered by a hook, or by another peer:
//! glibc's own arc4random_buf is taken from libc's handle, libbsd's from
//! libbsd's, and the file that answers is checked. (A peer that seeds itself by
//! getentropy meets the hook there, once in some thousand calls.)

use super::contenders::{
    Fallible, Functions, GLIBC, Getrandom, Infallible, LIBBSD, OPENSSL, OWNPOOL, Read, VDSO,
};
use super::report::{Absent, Peer};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::ManuallyDrop;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use ownpool_measure::symbols;
use ownpool_measure::vdso::Vdso;

type Text = unsafe extern "C" fn() -> *const c_char;

/// What was found in this process.
pub(super) struct Found {
    pub(super) functions: Functions,
    /// `ownpool_version()`
    pub(super) version: String,
    /// `ownpool_mode()`
    pub(super) mode: String,
    /// The file that answers to the hooked names.
    pub(super) library: String,
    pub(super) peers: Vec<Peer>,
    pub(super) absent: Vec<Absent>,
}

fn file_of(address: usize) -> String {
    symbols::file_of(address).unwrap_or_else(|| String::from("an unknown file"))
}

/// Looks up the library's names in front of everything else, and the peers.
///
/// # Errors
/// One line, when the library is not in front of this process.
pub(super) fn find() -> Result<Found, String> {
    let here = Library::this();
    // SAFETY: the type is that of the name, in ownpool.h.
    let version: Option<Text> = unsafe { symbols::find(&here, c"ownpool_version") };
    let version = version.ok_or("the library is not in this process")?;
    let library = file_of(version as usize);
    macro_rules! hooked {
        ($name:literal, $type:ty) => {{
            // SAFETY: the type is that of the name, in the manual pages and in ownpool.h.
            let found: Option<$type> = unsafe { symbols::find(&here, $name) };
            found
                .filter(|&found| file_of(found as usize) == library)
                .ok_or_else(|| {
                    format!("{} is not answered by {library}", $name.to_string_lossy())
                })?
        }};
    }
    let mut functions = Functions {
        getrandom: hooked!(c"getrandom", Getrandom),
        read: hooked!(c"read", Read),
        getentropy: hooked!(c"getentropy", Fallible),
        arc4random_buf: hooked!(c"arc4random_buf", Infallible),
        fill: hooked!(c"ownpool_fill", Fallible),
        vdso: None,
        libbsd: None,
        openssl: None,
        glibc: None,
    };
    let mode = hooked!(c"ownpool_mode", Text);
    let mut found = Found {
        functions,
        version: text(version),
        mode: text(mode),
        library,
        peers: Vec::new(),
        absent: Vec::new(),
    };
    found.add(
        OWNPOOL,
        Ok((
            (),
            "the hooked names, called as any program calls them".into(),
        )),
    );
    let vdso = Vdso::find().map(|vdso| {
        (
            vdso,
            "__vdso_getrandom, called with a state a thread".into(),
        )
    });
    functions.vdso = found.add(VDSO, vdso);
    // SAFETY: the types are those of arc4random_buf(3bsd), RAND_bytes(3ssl) and arc4random_buf(3).
    let (libbsd, openssl, glibc) = unsafe {
        (
            open(&["libbsd.so.0"], c"arc4random_buf"),
            open(&["libcrypto.so.3", "libcrypto.so.1.1"], c"RAND_bytes"),
            open(&["libc.so.6"], c"arc4random_buf"),
        )
    };
    functions.libbsd = found.add(LIBBSD, libbsd);
    functions.openssl = found.add(OPENSSL, openssl);
    functions.glibc = found.add(GLIBC, glibc);
    found.functions = functions;
    Ok(found)
}

impl Found {
    /// Names a peer, with what it is or why there is none.
    fn add<T>(&mut self, who: &str, found: Result<(T, String), String>) -> Option<T> {
        let who = who.to_owned();
        match found {
            Ok((function, what)) => {
                self.peers.push(Peer { who, what });
                Some(function)
            }
            Err(why) => {
                self.absent.push(Absent { who, why });
                None
            }
        }
    }
}

fn text(function: Text) -> String {
    // SAFETY: these give static C strings, by the contract of ownpool.h.
    let text = unsafe { CStr::from_ptr(function()) };
    text.to_string_lossy().into_owned()
}

/// The function of the first of these libraries that can be opened, and what it is. The
/// library stays open: what it starts is not to be torn down under its own threads.
///
/// # Safety
/// `T` is the function pointer type of that name in each of them.
unsafe fn open<T: Copy>(files: &[&str], name: &CStr) -> Result<(T, String), String> {
    let mut why = format!("no {}", files.join(" or "));
    for &file in files {
        // SAFETY: these are well-known libraries whose constructors may run anywhere.
        let Ok(library) = (unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }) else {
            continue;
        };
        let library = ManuallyDrop::new(library);
        // SAFETY: an address is looked at here, and called as nothing.
        let address: Option<*const c_void> = unsafe { symbols::find(&library, name) };
        // SAFETY: the type is the caller's promise.
        let function: Option<T> = unsafe { symbols::find(&library, name) };
        let name = name.to_string_lossy();
        // A handle also finds what its library depends on: newer libbsd leaves
        // arc4random_buf to glibc.
        match function
            .filter(|_| address.is_some_and(|address| file_of(address.addr()).contains(file)))
        {
            Some(function) => {
                return Ok((
                    function,
                    format!("{name} of {file}{}", openssl_version(&library)),
                ));
            }
            None => why = format!("{file} has no {name} of its own"),
        }
    }
    Err(why)
}

/// What OpenSSL calls itself; nothing of another library.
fn openssl_version(library: &Library) -> String {
    type Version = unsafe extern "C" fn(c_int) -> *const c_char;
    // SAFETY: the type is that of OpenSSL_version(3).
    let version: Option<Version> = unsafe { symbols::find(library, c"OpenSSL_version") };
    let Some(version) = version else {
        return String::new();
    };
    // SAFETY: argument 0 (OPENSSL_VERSION) gives a static string.
    let text = unsafe { CStr::from_ptr(version(0)) };
    format!(" ({})", text.to_string_lossy())
}
