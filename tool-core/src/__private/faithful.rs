//! Types that their JSON represents completely.

use std::any::TypeId;

/// Returns `true` if a `T` certainly survives a round trip through JSON: a number of up to 64 bits, a boolean, a
/// string, or a list or an option of them. Other types may lose information.
pub(super) fn is_faithful<T: 'static>() -> bool {
    let id = TypeId::of::<T>();
    macro_rules! is_one {
        ($($known:ty)*) => {
            [$(TypeId::of::<$known>(), TypeId::of::<Option<$known>>(), TypeId::of::<Vec<$known>>()),*].contains(&id)
        };
    }
    is_one!(bool char String i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64)
}
