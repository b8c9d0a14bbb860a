//! Macros for the boxes of policies, approvers and rules.

/// Implements the box `$name` of a `$trait`, whose object-safe form is `$dynamic`.
macro_rules! boxed {
    ($name:ident($value:ident: $trait:ident) as $dynamic:ident) => {
        impl $name {
            #[doc = concat!("Boxes `", stringify!($value), "`; a boxed one is returned unchanged.")]
            pub fn new($value: impl $trait + 'static) -> Self {
                match (&$value as &dyn ::std::any::Any).downcast_ref::<Self>() {
                    Some(boxed) => boxed.clone(),
                    None => Self($crate::guard::GuardedArc::new(::std::sync::Arc::new($value))),
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

/// Defines a builder method that accepts an asynchronous closure: it wraps the closure in `$by` and calls `$sets`.
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
