//! Functions of loaded libraries: found by name, and traced to the file that holds them.

use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use libloading::os::unix::Library;

/// The function of this name, as seen from a handle.
///
/// # Safety
/// `T` is the function pointer type of that name.
pub unsafe fn find<T: Copy>(library: &Library, name: &CStr) -> Option<T> {
    // SAFETY: the type is the caller's promise.
    let found = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    found.ok().map(|symbol| *symbol)
}

/// The file that an address belongs to.
pub fn file_of(address: usize) -> Option<String> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    let address = core::ptr::without_provenance::<c_void>(address);
    // SAFETY: dladdr only compares the address, and writes to `info` alone.
    let found = unsafe { libc::dladdr(address, info.as_mut_ptr()) };
    // SAFETY: all-zero is a valid Dl_info, whether or not dladdr filled it in.
    let info = unsafe { info.assume_init() };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr's name is a C string that lives as long as its object.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_libc_is_in_libc() {
        let here = Library::this();
        // SAFETY: an address is looked at, and called as nothing.
        let strlen: Option<*const c_void> = unsafe { find(&here, c"strlen") };
        let file = file_of(strlen.unwrap().addr()).unwrap();
        assert!(file.contains("libc"), "{file}");
        // SAFETY: as above.
        let missing: Option<*const c_void> = unsafe { find(&here, c"no such function") };
        assert!(missing.is_none() && file_of(0).is_none());
    }
}
