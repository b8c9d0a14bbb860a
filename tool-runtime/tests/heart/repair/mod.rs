//! Repair of arguments that are almost JSON: the tools that run on them, and the path of a call.

mod policy;
mod wired;
