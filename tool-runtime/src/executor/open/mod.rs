//! Calls that are answered later.
//!
//! A call is open under its address. Its id identifies it only if the executor has a store of its own, and no other
//! open call has the same id: models repeat ids, and an answer must not reach another call.

mod answers;
mod calls;
mod confirmed;
mod settings;

use self::calls::Found;
pub(super) use self::{
    calls::{OpenCalls, Opening},
    confirmed::Confirmed,
    settings::OpenCallSettings,
};
