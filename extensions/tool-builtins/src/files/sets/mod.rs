//! Ready sets: the file tools under names and shapes that models know.

mod coding;
mod default;

#[cfg(all(feature = "shell", feature = "web"))]
pub(crate) use self::coding::toolset_of_registry;
pub use self::{coding::CodingFileTools, default::DefaultFileTools};
