//! Types whose JSON is all of them.

use std::any::TypeId;

/// Returns `true` if a `T` that is written as JSON and read again is the same for sure: a number of up to 64
/// bits, a boolean, a text, or a list or an option of them. Other types may write less than they hold.
pub(super) fn is_faithful<T: 'static>() -> bool {
    let id = TypeId::of::<T>();
    macro_rules! is_one {
        ($($known:ty)*) => {
            [$(TypeId::of::<$known>(), TypeId::of::<Option<$known>>(), TypeId::of::<Vec<$known>>()),*].contains(&id)
        };
    }
    is_one!(bool char String i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64)
}
