//! Doc comments as descriptions.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta};

/// The text of the doc comments among `attrs`, as a constant expression; `None` if there is none.
///
/// Lines are joined with `\n`; the space after `///` and blank lines around the text are removed. A
/// `#[doc = include_str!(..)]` makes a `concat!`, since its text is not known to the macro.
pub(crate) fn description(attrs: &[Attribute]) -> Option<TokenStream> {
    let lines: Vec<&Expr> = attrs.iter().filter_map(doc_line).collect();
    let texts: Option<Vec<LitStr>> = lines.iter().map(|line| string_literal(line)).collect();
    match texts {
        Some(texts) => {
            let text = joined_lines(&texts);
            let span = texts.first().map_or_else(Span::call_site, LitStr::span);
            (!text.is_empty()).then(|| LitStr::new(&text, span).into_token_stream())
        }
        None => {
            let parts = lines.iter().map(|line| match string_literal(line) {
                Some(text) => without_doc_margin(&text.value()).into_token_stream(),
                None => line.into_token_stream(),
            });
            let mut joined = TokenStream::new();
            for (at, part) in parts.enumerate() {
                joined.extend(if at == 0 { quote!(#part) } else { quote!(, "\n", #part) });
            }
            Some(quote!(::core::concat!(#joined)))
        }
    }
}

/// Returns `true` if an attribute is a doc comment.
pub(crate) fn is_doc(attr: &Attribute) -> bool {
    doc_line(attr).is_some()
}

fn doc_line(attr: &Attribute) -> Option<&Expr> {
    match &attr.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => Some(&meta.value),
        _ => None,
    }
}

fn string_literal(expr: &Expr) -> Option<LitStr> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    }
}

fn joined_lines(lines: &[LitStr]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| without_doc_margin(&line.value())).collect();
    let joined = lines.join("\n");
    let first = joined.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
    joined[first..].trim_end().to_owned()
}

/// Removes the indentation of the text: one space, or the margin of a `/** .. */` block.
fn without_doc_margin(text: &str) -> String {
    let line = |line: &str| line.strip_prefix(' ').unwrap_or(line).to_owned();
    if !text.contains('\n') {
        return line(text);
    }
    let starred =
        text.lines().skip(1).all(|line| line.trim().is_empty() || line.trim_start().starts_with('*'));
    let margin = text
        .lines()
        .skip(1)
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(at, text)| match (at, starred) {
            (0, _) => line(text),
            (_, true) => line(text.trim_start().strip_prefix('*').unwrap_or("")),
            (_, false) => text.get(margin..).unwrap_or("").to_owned(),
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::description;
    use syn::{ItemFn, parse_quote};

    fn check(item: ItemFn, expected: Option<&str>) {
        let found = description(&item.attrs)
            .map(|tokens| syn::parse2::<syn::LitStr>(tokens).map(|text| text.value()));
        assert_eq!(found.and_then(Result::ok).as_deref(), expected);
    }

    #[test]
    fn lines_are_joined_and_the_margin_is_not_text() {
        check(
            parse_quote! {
                /// One, "two" = 3.
                ///
                ///   Indented.
                ///
                fn f() {}
            },
            Some("One, \"two\" = 3.\n\n  Indented."),
        );
    }

    #[test]
    fn blocks_lose_their_stars() {
        check(
            parse_quote! {
                /**
                 * One.
                 *  - two
                 */
                fn f() {}
            },
            Some("One.\n - two"),
        );
        check(
            parse_quote! {
                /** One.
                    Two. */
                fn f() {}
            },
            Some("One.\nTwo."),
        );
    }

    #[test]
    fn blank_or_absent_docs_are_no_description() {
        check(
            parse_quote!(
                fn f() {}
            ),
            None,
        );
        check(
            parse_quote! {
                ///
                #[doc(hidden)]
                fn f() {}
            },
            None,
        );
    }
}
