//! Untrusted bytes, put through everything that reads them: for fuzz targets and tests.

use crate::check::{binary::Binary, env_command, find_program};
use crate::elf::Image;
use crate::report::function_table::FunctionTable;
use crate::report::{lines::each_line, record::Process, table::table};

/// An ELF file, as `check` reads programs and `report` reads modules. Whether `check` could.
pub fn elf(bytes: &[u8]) -> bool {
    let read = Binary::read(bytes);
    if let Ok(image) = Image::parse(bytes) {
        assert!(image.build_id().len() <= 128);
        image.section(".gnu_debuglink");
        let dynamic = image.dynamic();
        let dynamic = dynamic.and_then(|dynamic| image.dynamic_symbols(&dynamic));
        for symbols in [image.full_symbols(), dynamic].into_iter().flatten() {
            let table = FunctionTable::new(&symbols);
            for address in [0, 1, 0x1000, 0x1139, 0x2000, u64::MAX - 1, u64::MAX] {
                let function = table.function_at(address);
                assert!(function.is_none_or(|(_, start)| start <= address));
            }
        }
    }
    read.inspect_err(|error| assert!(!error.to_string().is_empty()))
        .is_ok()
}

/// A file of reports.
pub fn report(bytes: &[u8]) {
    let read = each_line(bytes, |number, line| {
        assert!(number > 0);
        match line.and_then(Process::parse) {
            Ok(process) => {
                let text = table(&process);
                let mut bytes = text.bytes();
                assert!(
                    !bytes.any(|byte| byte.is_ascii_control() && byte != b'\n'),
                    "{text:?}"
                );
                // What we write, we read again as the same.
                let json = process.json();
                let again = Process::parse(json.as_bytes());
                assert_eq!(again.map(|again| again.json()), Ok(json));
            }
            Err(why) => assert!(!why.is_empty() && !why.contains('\n')),
        }
        true
    });
    assert!(read.is_ok());
}

/// The beginning of a script, env's argument.
pub fn script(bytes: &[u8]) {
    if let Some((interpreter, argument)) = find_program::shebang(bytes) {
        assert!(!interpreter.is_empty());
        let _ = env_command::parse(argument);
    }
    let _ = env_command::parse(bytes);
}
