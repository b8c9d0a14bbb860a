//! Ready sets: the file tools under names and shapes that models know.

mod coding;
mod default;

#[cfg(all(feature = "shell", feature = "web"))]
pub(crate) use self::coding::named_tools;
pub use self::{coding::CodingFileTools, default::DefaultFileTools};
