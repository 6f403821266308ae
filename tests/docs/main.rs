//! The documents, the header, the manual pages, the examples and the installed files.

mod documents;
mod examples;
mod header;
mod install;
mod man;
