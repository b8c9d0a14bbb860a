use super::Slot;

/// The slots of a parameter list: a tuple of up to 16.
pub trait Slots: Send + 'static {
    /// Calls `visit` with the slots in the order of the parameters, and returns its result.
    fn visit<T>(&mut self, visit: impl FnOnce(&mut [&mut dyn Slot]) -> T) -> T;
}

macro_rules! tuples {
    ($($name:ident)*) => {
        #[allow(non_snake_case, reason = "a variable is named like its type")]
        impl<$($name: Slot + 'static),*> Slots for ($($name,)*) {
            #[inline]
            fn visit<T>(&mut self, visit: impl FnOnce(&mut [&mut dyn Slot]) -> T) -> T {
                let ($($name,)*) = self;
                visit(&mut [$($name as &mut dyn Slot),*])
            }
        }
    };
}

tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);
tuples!(A B C D E F G H I J K L M);
tuples!(A B C D E F G H I J K L M N);
tuples!(A B C D E F G H I J K L M N O);
tuples!(A B C D E F G H I J K L M N O P);
