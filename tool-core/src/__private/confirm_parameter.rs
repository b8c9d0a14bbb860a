//! The parameters of a function of `confirm` or `permission`.
//!
//! The function receives references. A direct call of a function that takes its parameters by value would be an error about
//! the argument, with a conversion of it as the suggestion; the coercion into a function pointer is an error about the
//! function, which shows both signatures.

use std::marker::PhantomData;

use super::Tag;

/// The type of a parameter, which selects the type of the function pointer.
pub struct ConfirmParameter<P>(PhantomData<fn() -> P>);

impl<'a, T: ?Sized> Tag<&'a T> {
    /// A reference to any type, since the compiler may dereference the argument: `&String` as `&str`.
    #[must_use]
    pub fn confirm_parameter<U: ?Sized>(self) -> ConfirmParameter<&'a U> {
        ConfirmParameter(PhantomData)
    }
}

/// The traits that select the type of a parameter that is no reference itself, such as `Option<&str>`.
pub(super) mod traits {
    use super::{ConfirmParameter, PhantomData, Tag};

    pub trait CheckedValue<T> {
        fn confirm_parameter(self) -> ConfirmParameter<T>;
    }

    impl<T> CheckedValue<T> for &Tag<T> {
        fn confirm_parameter(self) -> ConfirmParameter<T> {
            ConfirmParameter(PhantomData)
        }
    }
}

/// Calls the function of `confirm` or `permission`. The compiler shows the name of the macro in the error for a function that
/// takes a parameter by value.
#[doc(hidden)]
#[macro_export]
macro_rules! takes_its_parameters_by_reference {
    ($check:path, $($argument:ident),*) => {{
        #[allow(non_camel_case_types, reason = "the parameters of the function are also those of its type")]
        fn function_with_references<$($argument,)* Answer>(
            _: ($($crate::__private::ConfirmParameter<$argument>,)*),
            check: fn($($argument),*) -> Answer, // write its parameters as references: `fn check(city: &str, days: &u8)`
        ) -> fn($($argument),*) -> Answer {
            check
        }
        #[allow(unused_imports, reason = "each type needs some of them")]
        use $crate::__private::probe::*;
        let parameters = ($($crate::__private::Tag::of(&$argument).confirm_parameter(),)*);
        function_with_references(parameters, $check)($($argument),*)
    }};
}
