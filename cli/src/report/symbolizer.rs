//! Which function a return address lies in.
//!
//! Promises: a name only from the very file that was loaded, which the build-id proves, or
//! from debug data of the same build-id (or the checksum that .gnu_debuglink gives); never a
//! guess from a file that was replaced since. Each module is read once.

use super::debug_files::{by_build_id, by_link};
use super::function_table::FunctionTable;
use super::record::Caller;
use crate::elf::Image;
use crate::regular_file;
use std::collections::HashMap;
use std::path::Path;

/// Modules that are remembered; more are forgotten together. A report names a dozen.
const MAX_MODULES: usize = 256;

/// All modules asked for so far, by path and build-id.
#[derive(Default)]
pub(crate) struct Symbolizer {
    modules: HashMap<(String, String), FunctionTable>,
}

impl Symbolizer {
    /// Names the functions of these callers, where that can be done.
    pub(crate) fn name(&mut self, callers: &mut [Caller]) {
        for caller in callers {
            // The return address may be the first byte of the next function, after a call
            // that never returns: the byte before it is in the caller for certain.
            let Some(call) = caller.address().and_then(|address| address.checked_sub(1)) else {
                continue;
            };
            let key = (caller.module.clone(), caller.build_id.clone());
            if self.modules.len() >= MAX_MODULES && !self.modules.contains_key(&key) {
                self.modules.clear();
            }
            let load = |(path, build_id): &(String, String)| load(Path::new(path), build_id);
            let module = self.modules.entry(key).or_insert_with_key(load);
            if let Some((name, start)) = module.function_at(call) {
                caller.function = Some(name);
                caller.function_offset = Some(call + 1 - start);
            }
        }
    }
}

/// Debug data beside a stripped module is better than the few names that it exports.
fn load(path: &Path, build_id: &str) -> FunctionTable {
    let bytes = Some(path).filter(|path| path.is_absolute());
    let bytes = bytes.and_then(|path| regular_file::read(path).ok());
    let image = bytes.as_deref().and_then(|bytes| Image::parse(bytes).ok());
    let same = image.filter(|image| build_id.is_empty() || image.build_id() == build_id);
    let own = |image: &Image<'_>| Some(FunctionTable::new(&image.full_symbols()?));
    let exported = |image: &Image<'_>| {
        let symbols = image.dynamic_symbols(&image.dynamic()?)?;
        Some(FunctionTable::new(&symbols))
    };
    let same = same.as_ref();
    same.and_then(own)
        .or_else(|| by_build_id(build_id))
        .or_else(|| by_link(path, same?, build_id))
        .or_else(|| exported(same?))
        .unwrap_or_default()
}
