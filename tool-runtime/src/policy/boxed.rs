//! What all boxes for a policy, approver or rule of any type have in common.

/// Implements the box `$name` of a `$trait`, whose form with futures of one type is `$dynamic`.
macro_rules! boxed {
    ($name:ident($value:ident: $trait:ident) as $dynamic:ident) => {
        impl $name {
            #[doc = concat!("Boxes `", stringify!($value), "`; one that is boxed already stays as it is.")]
            pub fn new($value: impl $trait + 'static) -> Self {
                match (&$value as &dyn ::std::any::Any).downcast_ref::<Self>() {
                    Some(boxed) => boxed.clone(),
                    None => Self($crate::panic_barrier::Kept::new(::std::sync::Arc::new($value))),
                }
            }

            pub(crate) fn dynamic(&self) -> &dyn $dynamic {
                &*self.0
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    };
}

/// A method of a builder by which an asynchronous closure decides: it is given to the method `$sets`, as a `$by`.
macro_rules! decider {
    ($(#[$doc:meta])+ $name:ident: $sets:ident($by:ident, $given:ty) -> $answer:ty) => {
        $(#[$doc])+
        pub fn $name<F, R>(self, decides: F) -> Self
        where
            F: Fn($given) -> R + Send + Sync + 'static,
            R: Future<Output = Result<$answer, ToolError>> + Send + 'static,
        {
            self.$sets($crate::policy::$by(decides))
        }
    };
}

pub(crate) use {boxed, decider};
