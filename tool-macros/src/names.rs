//! Validation and conversion of names.

use syn::Ident;
use syn::ext::IdentExt as _;

use crate::kind::ItemKind;

/// The longest name that every provider accepts, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Returns the reason why `name` is not a valid name of an item, or `None`; the rule is `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
pub(crate) fn invalid_item_name_reason(kind: ItemKind, name: &str) -> Option<String> {
    let noun = kind.noun();
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    if let Some(other) = name.chars().find(|it| !is_allowed(*it)) {
        return Some(format!("a {noun} name cannot contain `{other}`, only letters, digits, `_` and `-`"));
    }
    if name.len() > MAX_NAME_BYTES {
        let length = name.len();
        return Some(format!(
            "a {noun} name has at most {MAX_NAME_BYTES} characters, but this one has {length}"
        ));
    }
    let starts_well = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
    (!starts_well).then(|| format!("a {noun} name starts with a letter or `_`"))
}

/// An identifier without its raw prefix: `r#type` is `type`.
pub(crate) fn unraw_name(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// `HttpGet` and `HTTPGet` are both `http_get`.
pub(crate) fn snake_case(ident: &Ident) -> String {
    let name: Vec<char> = unraw_name(ident).chars().collect();
    let mut snake = String::new();
    for (at, &letter) in name.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| name.get(at));
        let after = name.get(at + 1);
        let starts_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            });
        if starts_word {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// Returns `true` if `name` is the name of a primitive type.
pub(crate) fn is_primitive(name: &str) -> bool {
    matches!(
        name,
        "bool"
            | "char"
            | "str"
            | "f32"
            | "f64"
            | "i8"
            | "i16"
            | "i32"
            | "i64"
            | "i128"
            | "isize"
            | "u8"
            | "u16"
            | "u32"
            | "u64"
            | "u128"
            | "usize"
    )
}

/// The case of `rename_all`; the rules are those of `serde` for fields.
#[derive(Clone, Copy)]
pub(crate) enum RenameRule {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl RenameRule {
    /// All rules, with their names in `serde`.
    pub(crate) const BY_NAME: [(&'static str, Self); 8] = [
        ("lowercase", Self::Lower),
        ("UPPERCASE", Self::Upper),
        ("PascalCase", Self::Pascal),
        ("camelCase", Self::Camel),
        ("snake_case", Self::Snake),
        ("SCREAMING_SNAKE_CASE", Self::ScreamingSnake),
        ("kebab-case", Self::Kebab),
        ("SCREAMING-KEBAB-CASE", Self::ScreamingKebab),
    ];

    /// Converts the name of a parameter, which is in snake case.
    pub(crate) fn apply(self, name: &str) -> String {
        match self {
            Self::Lower | Self::Snake => name.to_owned(),
            Self::Upper | Self::ScreamingSnake => name.to_ascii_uppercase(),
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
            Self::Pascal => camel_case(name, true),
            Self::Camel => camel_case(name, false),
        }
    }
}

fn camel_case(name: &str, mut upper: bool) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter == '_' {
            upper |= !out.is_empty();
        } else if upper {
            out.push(letter.to_ascii_uppercase());
            upper = false;
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{ItemKind, RenameRule, invalid_item_name_reason, snake_case};
    use proc_macro2::Span;
    use syn::Ident;

    #[test]
    fn names_that_providers_refuse_are_refused() {
        for name in ["add", "_x", "a-b", "A9", &"x".repeat(64)] {
            assert_eq!(invalid_item_name_reason(ItemKind::Tool, name), None);
        }
        for name in ["", "a b", "9a", "-a", "ä", "a.b", &"x".repeat(65)] {
            assert!(invalid_item_name_reason(ItemKind::Tool, name).is_some(), "{name}");
        }
    }

    #[test]
    fn acronyms_are_one_word() {
        let snake = |name| snake_case(&Ident::new(name, Span::call_site()));
        assert_eq!(snake("HttpGet"), "http_get");
        assert_eq!(snake("HTTPGet"), "http_get");
        assert_eq!(snake("Base64Encode"), "base64_encode");
        assert_eq!(snake("already_snake"), "already_snake");
    }

    #[test]
    fn renaming_follows_serde() {
        let names: Vec<String> =
            RenameRule::BY_NAME.iter().map(|(_, rule)| rule.apply("page_size")).collect();
        assert_eq!(
            names,
            [
                "page_size",
                "PAGE_SIZE",
                "PageSize",
                "pageSize",
                "page_size",
                "PAGE_SIZE",
                "page-size",
                "PAGE-SIZE",
            ]
        );
    }
}
