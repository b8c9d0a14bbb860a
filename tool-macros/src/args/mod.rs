//! The grammar of the attributes.
//!
//! Each attribute is a struct whose fields are its keys; the type of a field defines the values of its key. A mistake
//! in one key does not hide others: valid keys are kept, and [`crate::validate`] checks them.

mod forms;
mod helpers;
mod schema;
mod value;

use std::collections::HashSet;

use darling::FromMeta;
use darling::ast::NestedMeta;
use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned as _;
use syn::{Expr, LitStr, Path, Type};

use crate::errors::Errors;
use crate::kind::ItemKind;
use crate::krate::Krate;
use crate::names::RenameRule;

pub(crate) use forms::{Confirm, Grace, Handle, Instance, Meta, Millis, OutputSchema, Retry, Unknown};
pub(crate) use helpers::{HelperAttributes, ParameterDefault, field_attribute_of_key, is_helper};
pub(crate) use items::{PromptKeys, ResourceKeys};
pub(crate) use schema::checks_for_schemars_limits;
pub(crate) use value::{Key, integer_literal_value};

/// The keys of an attribute by name.
pub(crate) trait AttributeKeys: FromMeta + Default {
    /// All keys, for the error of an unknown one.
    const NAMES: &'static [&'static str];
}

/// Declares the struct of an attribute, and lists the names of its keys; `krate` is the key `crate`.
macro_rules! attribute_keys {
    (@names $(#[$attr:meta])* $vis:vis struct $name:ident {
        $($(#[$field_attr:meta])* $field_vis:vis $field:ident: $ty:ty,)*
    }) => {
        impl AttributeKeys for $name {
            const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];
        }
    };
    // The tokens are passed on as they are: the derive requires their spans.
    ($($item:tt)*) => {
        $($item)*
        attribute_keys! { @names $($item)* }
    };
}

// Below the macro that it uses.
mod items;

attribute_keys! {
    /// `#[tool(..)]`.
    #[derive(FromMeta, Default)]
    #[darling(default)]
    pub(crate) struct ToolKeys {
        // Texts for the model and the user.
        pub(crate) name: Option<Key<LitStr>>,
        pub(crate) title: Option<Key<LitStr>>,
        pub(crate) label: Option<Key<LitStr>>,
        pub(crate) description: Option<Key<Expr>>,
        pub(crate) examples: Option<Key<Vec<Expr>>>,
        pub(crate) tags: Option<Key<Vec<LitStr>>>,
        pub(crate) meta: Option<Key<Vec<Meta>>>,
        pub(crate) toolset: Option<Key<LitStr>>,
        pub(crate) group: Option<Key<LitStr>>,
        pub(crate) trust: Option<Key<LitStr>>,

        // Hints about the effects of a call.
        pub(crate) read_only: Option<Key<bool>>,
        pub(crate) destructive: Option<Key<bool>>,
        pub(crate) idempotent: Option<Key<bool>>,
        pub(crate) open_world: Option<Key<bool>>,
        pub(crate) concurrency_safe: Option<Key<bool>>,
        pub(crate) search_or_read: Option<Key<bool>>,
        pub(crate) long_running: Option<Key<bool>>,

        // Execution of a call.
        pub(crate) sequential: Option<Key<bool>>,
        pub(crate) blocking: Option<Key<bool>>,
        pub(crate) timeout: Option<Key<Millis>>,
        pub(crate) idle_timeout: Option<Key<Millis>>,
        pub(crate) grace_period: Option<Key<Grace>>,
        pub(crate) retry: Option<Key<Retry>>,
        pub(crate) confirm: Option<Key<Confirm>>,
        pub(crate) permission: Option<Key<Path>>,
        pub(crate) needs: Option<Key<Vec<Type>>>,
        pub(crate) on_request: Option<Key<Path>>,

        // Arguments and result.
        pub(crate) rename_all: Option<Key<RenameRule>>,
        pub(crate) strict: Option<Key<bool>>,
        pub(crate) unknown_fields: Option<Key<Unknown>>,
        pub(crate) prepare: Option<Key<Path>>,
        pub(crate) input_schema: Option<Key<Expr>>,
        pub(crate) output_schema: Option<Key<OutputSchema>>,
        pub(crate) max_result_size: Option<Key<Expr>>,
        pub(crate) merge: Option<Key<bool>>,
        pub(crate) skip_summarization: Option<Key<bool>>,

        // Generated items.
        pub(crate) register: Option<Key<bool>>,
        pub(crate) handle: Option<Key<Handle>>,
        pub(crate) instantiate: Option<Key<Vec<Instance>>>,
        #[darling(rename = "crate")]
        pub(crate) krate: Option<Key<Path>>,
    }
}

attribute_keys! {
    /// `#[toolset(..)]`.
    #[derive(FromMeta, Default)]
    #[darling(default)]
    pub(crate) struct ToolsetKeys {
        pub(crate) name: Option<Key<LitStr>>,
        #[darling(rename = "crate")]
        pub(crate) krate: Option<Key<Path>>,
    }
}

attribute_keys! {
    /// `#[tool_args(..)]`.
    #[derive(FromMeta, Default)]
    #[darling(default)]
    pub(crate) struct ToolArgsKeys {
        pub(crate) serialize: Option<Key<bool>>,
        #[darling(rename = "crate")]
        pub(crate) krate: Option<Key<Path>>,
    }
}

/// The crate that `crate = path` names; default: the owner of the attribute.
pub(crate) fn named_crate(key: Option<&Key<Path>>, kind: ItemKind) -> Krate {
    Krate::new(key.map(|key| key.value.clone()), kind)
}

/// The keys that were written, valid or not: a rule about a missing key does not apply to a key that could not be read.
#[derive(Default)]
pub(crate) struct WrittenKeys {
    names: HashSet<String>,
    unreadable: bool,
}

impl WrittenKeys {
    pub(crate) fn has_key(&self, key: &str) -> bool {
        self.unreadable || self.names.contains(key)
    }
}

/// Reads the keys of an attribute. Mistakes are added to `errors`; valid keys are returned.
pub(crate) fn read_keys<T: AttributeKeys>(tokens: TokenStream, errors: &Errors) -> (T, WrittenKeys) {
    let mut written = WrittenKeys::default();
    let items = match NestedMeta::parse_meta_list(tokens) {
        Ok(items) => items,
        Err(error) => {
            errors.add(error);
            written.unreadable = true;
            return (T::default(), written);
        }
    };
    let items: Vec<NestedMeta> = items.into_iter().filter(|item| is_key_or_report(item, errors)).collect();
    written.names = items.iter().map(key_name).collect();
    (read_keys_of_items(items, T::NAMES, errors), written)
}

/// Reads the keys of parsed items; `names` are the valid ones, as far as `darling` does not list them in its errors.
fn read_keys_of_items<T: FromMeta + Default>(
    mut items: Vec<NestedMeta>,
    names: &[&str],
    errors: &Errors,
) -> T {
    let error = match T::from_list(&items) {
        Ok(keys) => return keys,
        Err(error) => error,
    };
    errors.report_key_errors(error, names);
    // Items that cannot be read on their own, and duplicates, were reported above; the remaining items are the keys.
    let mut seen = HashSet::new();
    items.retain(|item| T::from_list(std::slice::from_ref(item)).is_ok() && seen.insert(key_name(item)));
    T::from_list(&items).unwrap_or_default()
}

fn is_key_or_report(item: &NestedMeta, errors: &Errors) -> bool {
    let literal = matches!(item, NestedMeta::Lit(_));
    if literal {
        errors.report_at(item, "expected a key, as in `name = \"..\"`");
    }
    !literal
}

pub(crate) fn key_name(item: &NestedMeta) -> String {
    let path = match item {
        NestedMeta::Meta(meta) => meta.path(),
        NestedMeta::NameValueInvalidExpr(meta) => &meta.path,
        NestedMeta::Lit(_) => return String::new(),
    };
    darling::util::path_to_string(path)
}

/// The place of a key, or of the attribute if the key is absent.
pub(crate) fn key_span<T>(key: Option<&Key<T>>) -> Span {
    key.map_or_else(Span::call_site, |key| key.path.span())
}
