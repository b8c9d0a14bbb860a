//! Ready sets: the file tools under names and shapes that models know.

mod coding;
mod default;

pub use self::{coding::CodingFileTools, default::DefaultFileTools};
