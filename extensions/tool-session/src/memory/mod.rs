//! Notes of users, which outlive a conversation and are found by their words.
//!
//! All stores find the same notes in the same order: one tokenizer (`tokens.rs`) makes the words of notes and of queries, and one
//! ranking (`rank.rs`) orders the candidates. A query is text: it has no syntax.

mod handle;
mod note;
pub(crate) mod rank;
mod shared;
mod store;
pub(crate) mod tokens;

pub use self::{
    handle::SessionMemory,
    note::{EntryNotes, Note, NoteContent, NoteMatch},
    shared::SharedMemory,
    store::Memory,
};
