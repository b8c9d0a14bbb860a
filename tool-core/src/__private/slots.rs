use serde::de::{Error as _, MapAccess};

use super::Slot;

/// The slots of a parameter list: a tuple of up to 16.
pub trait Slots: Send + 'static {
    /// Shows the slots, in the order of the parameters.
    fn visit(&mut self, visit: &mut dyn FnMut(&mut [&mut dyn Slot]));

    /// Fills the slot at `at` with the next value of `map`, which is read from `text`.
    fn take<'t, M: MapAccess<'t>>(&mut self, at: usize, map: &mut M, text: &'t str) -> Result<(), M::Error>;
}

macro_rules! tuples {
    ($($name:ident $at:literal)*) => {
        #[allow(non_snake_case, unused_variables, reason = "a variable is named like its type; there may be none")]
        impl<$($name: Slot + 'static),*> Slots for ($($name,)*) {
            fn visit(&mut self, visit: &mut dyn FnMut(&mut [&mut dyn Slot])) {
                let ($($name,)*) = self;
                visit(&mut [$($name as &mut dyn Slot),*]);
            }

            fn take<'t, Map: MapAccess<'t>>(
                &mut self,
                at: usize,
                map: &mut Map,
                text: &'t str,
            ) -> Result<(), Map::Error> {
                let ($($name,)*) = self;
                match at {
                    $($at => $name.take(map, text),)*
                    _ => Err(Map::Error::custom("there is no such parameter")),
                }
            }
        }
    };
}

tuples!();
tuples!(A 0);
tuples!(A 0 B 1);
tuples!(A 0 B 1 C 2);
tuples!(A 0 B 1 C 2 D 3);
tuples!(A 0 B 1 C 2 D 3 E 4);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 O 14);
tuples!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 O 14 P 15);
