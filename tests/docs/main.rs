//! What the documents, the header, the manual pages, the examples and the installed files say.

mod documents;
mod examples;
mod header;
mod install;
mod man;
