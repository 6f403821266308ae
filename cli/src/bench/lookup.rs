//! Everyone who can be asked for random bytes on this machine.
//!
//! The library's functions are looked up under the names that any program would
//! use, and must all be answered by one file; the peers are opened by name.
//! Promises: nothing is an error because it is not installed; it is named with
//! the reason. Must never: let a peer be answered by a hook, or by another peer:
//! glibc's own arc4random_buf is taken from libc's handle, libbsd's from
//! libbsd's, and the file that answers is checked. (A peer that seeds itself by
//! getentropy meets the hook there, once in some thousand calls.)

use super::contenders::{
    Fallible, Functions, GLIBC, Getrandom, Infallible, LIBBSD, OPENSSL, RandBytes, Read, VDSO,
};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::ManuallyDrop;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use ownpool_measure::vdso::Vdso;

type Text = unsafe extern "C" fn() -> *const c_char;

/// A contender that is not on this machine, and why.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Absent {
    pub(super) who: String,
    pub(super) why: String,
}

/// What was found in this process.
pub(super) struct Found {
    pub(super) functions: Functions,
    /// `ownpool_version()`
    pub(super) version: String,
    /// `ownpool_mode()`
    pub(super) mode: String,
    /// The file that answers to the hooked names.
    pub(super) library: String,
    /// What each peer is: name and description.
    pub(super) peers: Vec<(&'static str, String)>,
    pub(super) absent: Vec<Absent>,
}

/// A function's address under a name, as seen from a handle.
///
/// # Safety
/// `T` is the function pointer type of that name.
unsafe fn symbol<T: Copy>(library: &Library, name: &CStr) -> Option<T> {
    // SAFETY: the type is the caller's promise.
    unsafe { library.get::<T>(name.to_bytes_with_nul()) }
        .ok()
        .map(|symbol| *symbol)
}

/// The file that an address belongs to.
fn owner(address: *const c_void) -> String {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr writes to `info` only, which is writable and zeroed.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) };
    // SAFETY: all-zero is a valid Dl_info, whether or not dladdr filled it in.
    let info = unsafe { info.assume_init() };
    if found == 0 || info.dli_fname.is_null() {
        return String::from("an unknown file");
    }
    // SAFETY: dladdr's name is a C string that lives as long as its object.
    unsafe { CStr::from_ptr(info.dli_fname) }
        .to_string_lossy()
        .into_owned()
}

/// Looks up the library's names in front of everything else, and the peers.
///
/// # Errors
/// One line, when the library is not in front of this process.
pub(super) fn find() -> Result<Found, String> {
    let here = Library::this();
    // SAFETY: the type is that of the name, in ownpool.h.
    let version: Text =
        unsafe { symbol(&here, c"ownpool_version") }.ok_or("the library is not in this process")?;
    let library = owner(version as *const c_void);
    let missing = |name: &str| format!("{name} is not answered by {library}");
    macro_rules! hooked {
        ($name:literal, $type:ty) => {{
            // SAFETY: the type is that of the name, in the manual pages and in ownpool.h.
            let found: Option<$type> = unsafe { symbol(&here, $name) };
            let name = $name.to_string_lossy();
            found
                .filter(|&found| owner(found as *const c_void) == library)
                .ok_or_else(|| missing(&name))?
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
    let mut peers = Vec::new();
    let mut absent = Vec::new();
    let mut note = |who: &'static str, found: Result<String, String>| match found {
        Ok(what) => peers.push((who, what)),
        Err(why) => absent.push(Absent {
            who: who.into(),
            why,
        }),
    };
    note(
        VDSO,
        Vdso::find().map(|vdso| {
            functions.vdso = Some(vdso);
            String::from("__vdso_getrandom, called with a state a thread")
        }),
    );
    // SAFETY: the type is that of arc4random_buf(3bsd).
    let libbsd = unsafe { open::<Infallible>(&["libbsd.so.0"], c"arc4random_buf") };
    note(
        LIBBSD,
        libbsd.map(|(file, _, call)| {
            functions.libbsd = Some(call);
            format!("arc4random_buf of {file}")
        }),
    );
    // SAFETY: the type is that of RAND_bytes(3ssl).
    let openssl =
        unsafe { open::<RandBytes>(&["libcrypto.so.3", "libcrypto.so.1.1"], c"RAND_bytes") };
    note(
        OPENSSL,
        openssl.map(|(file, library, call)| {
            functions.openssl = Some(call);
            format!("RAND_bytes of {file}{}", openssl_version(&library))
        }),
    );
    // SAFETY: the type is that of arc4random_buf(3).
    let glibc = unsafe { open::<Infallible>(&["libc.so.6"], c"arc4random_buf") };
    note(
        GLIBC,
        glibc.map(|(file, _, call)| {
            functions.glibc = Some(call);
            format!("arc4random_buf of {file}")
        }),
    );
    let text = |call: Text| {
        // SAFETY: both give static C strings, by the contract of ownpool.h.
        let text = unsafe { CStr::from_ptr(call()) };
        text.to_string_lossy().into_owned()
    };
    let (version, mode) = (text(version), text(mode));
    Ok(Found {
        functions,
        version,
        mode,
        library,
        peers,
        absent,
    })
}

/// The first of these libraries that can be opened, and its function. It stays
/// open: what a library starts is not to be torn down under its own threads.
///
/// # Safety
/// `T` is the function pointer type of that name in each of them.
unsafe fn open<T: Copy>(
    files: &[&'static str],
    name: &CStr,
) -> Result<(&'static str, ManuallyDrop<Library>, T), String> {
    let mut why = String::new();
    for &file in files {
        // SAFETY: these are well-known libraries whose constructors may run anywhere.
        let library = match unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) } {
            Ok(library) => ManuallyDrop::new(library),
            Err(_) => {
                why = format!("no {}", files.join(" or "));
                continue;
            }
        };
        // SAFETY: an address is looked at here, and called as nothing.
        let address: Option<*const c_void> = unsafe { symbol(&library, name) };
        // SAFETY: the type is the caller's promise.
        let call: Option<T> = unsafe { symbol(&library, name) };
        // A handle also finds what its library depends on: newer libbsd leaves
        // arc4random_buf to glibc.
        match call.filter(|_| address.is_some_and(|address| owner(address).contains(file))) {
            Some(call) => return Ok((file, library, call)),
            None => why = format!("{file} has no {} of its own", name.to_string_lossy()),
        }
    }
    Err(why)
}

/// What OpenSSL calls itself.
fn openssl_version(library: &Library) -> String {
    type Version = unsafe extern "C" fn(c_int) -> *const c_char;
    // SAFETY: the type is that of OpenSSL_version(3).
    let version: Option<Version> = unsafe { symbol(library, c"OpenSSL_version") };
    let Some(version) = version else {
        return String::new();
    };
    // SAFETY: argument 0 (OPENSSL_VERSION) gives a static string.
    let text = unsafe { CStr::from_ptr(version(0)) };
    format!(" ({})", text.to_string_lossy())
}
