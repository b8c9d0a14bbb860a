//! Macros for the shared handles of policies, approvers and rules, and for those that are made of closures.

/// Implements the shared handle `$name` of a `$trait`, whose object-safe form is `$erased`.
macro_rules! shared_handle {
    ($name:ident($value:ident: $trait:ident) as $erased:ident) => {
        impl $name {
            #[doc = concat!("Wraps `", stringify!($value), "` and erases its type; a wrapped one is returned unchanged.")]
            pub fn new($value: impl $trait + 'static) -> Self {
                match (&$value as &dyn ::std::any::Any).downcast_ref::<Self>() {
                    Some(shared) => shared.clone(),
                    None => Self($crate::guard::GuardedArc::new(::std::sync::Arc::new($value))),
                }
            }

            pub(crate) fn dynamic(&self) -> &dyn $erased {
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

pub(crate) use {decider, shared_handle};
