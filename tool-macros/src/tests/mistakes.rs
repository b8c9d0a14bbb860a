//! Mistakes are all found, and each is told once. The places they are told at, and what the
//! compiler adds, are held by the workspace's `ui-tests`.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

use super::expand;

/// The texts of the `compile_error!`s in an expansion.
fn mistakes(item: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = expand(item).into_iter().collect();
    tokens
        .windows(3)
        .filter_map(|window| match window {
            [TokenTree::Ident(name), _, TokenTree::Group(text)] if name == "compile_error" => {
                syn::parse2::<syn::LitStr>(text.stream()).ok()
            }
            _ => None,
        })
        .map(|text| text.value())
        .collect()
}

macro_rules! check {
    ($name:ident: { $($item:tt)* } $($message:literal)*) => {
        #[test]
        fn $name() {
            let expected: &[&str] = &[$($message),*];
            assert_eq!(mistakes(quote!($($item)*)), expected);
        }
    };
}

check! {
    every_mistake_of_an_item_is_told: {
        #[tool(name = "a b", read_onyl, timeout = "soon", timeout = "1s", strict = 3)]
        unsafe fn f(self, x: &mut u8, (a, b): (u8, u8), y: impl Copy) -> impl Future<Output = u8> {}
    }
    "unknown key `read_onyl`; did you mean `read_only`?"
    "`timeout` takes a duration such as \"250ms\", \"30s\", \"5m\"; write `timeout = \"30s\"`"
    "duplicate key `timeout`; give each key once"
    "`strict` takes nothing, `true` or `false`; write `strict`"
    "a method is a tool of a set; put `#[toolset]` on the `impl` block"
    "a model cannot keep the promises of an `unsafe fn`; wrap it in a safe one"
    "write `async fn` and the output's type instead of `impl Future`"
    "a tool needs a description; write a doc comment (`/// ...`) or `description = \"...\"`"
    "calls run side by side; take `&T` and lock inside, or own the value"
    "only a struct can be taken apart here; name the parameter"
    "a model's argument needs one type; write it instead of `impl Trait`"
    "a tool's name has no ` `, only letters, digits, `_` and `-`"
}

check! {
    a_misspelt_description_is_not_missed_too: {
        #[tool(description("text"))]
        fn f() {}
    }
    "`description` takes text; write `description = \"..\"`"
}

check! {
    what_cannot_be_parsed_hides_no_other_mistake: {
        #[tool(name "x")]
        fn f(a: &mut u8) {}
    }
    "expected `,`"
    "calls run side by side; take `&T` and lock inside, or own the value"
}

check! {
    every_mistake_of_a_set_is_told: {
        #[toolset(nme = "x")]
        impl Files {
            #[tool(register = false)]
            /// A.
            fn a(self) {}
            #[tool(handle = B)]
            fn b(&self, #[serde(flatten)] x: u8) {}
        }
    }
    "unknown key `nme`; did you mean `name`?"
    "a set outlives its calls; take `&self`"
    "`register` is for functions; a set enters by `builder.toolset(..)`"
    "`handle` is for functions; a set is registered as a whole"
    "a tool needs a description; write a doc comment (`/// ...`) or `description = \"...\"`"
    "`flatten` needs a field; put the parameters into an argument struct"
}

check! {
    names_of_one_set_differ_unless_they_are_alternatives: {
        #[toolset]
        impl Files {
            #[tool(name = "a")]
            /// A.
            fn a(&self) {}
            #[tool(name = "a")]
            /// A.
            fn b(&self) {}
            #[tool(name = "a")]
            #[cfg(unix)]
            /// A.
            fn c(&self) {}
        }
    }
    "two tools of this set are named \"a\"; rename one"
}

check! {
    properties_are_compared_as_the_model_sees_them: {
        #[tool(rename_all = "camelCase")]
        /// F.
        fn f(a_b: u8, #[serde(rename = "aB")] x: u8, #[serde(alias = "x")] y: u8, x: &Db) {}
    }
    "another property is named `aB`; rename one"
}

check! {
    constraints_that_contradict_are_told: {
        #[tool]
        /// F.
        fn f(
            #[schemars(regex(pattern = "a"), contains("b"), email, url, length(equal = 1, min = 2))]
            a: String,
            #[schemars(range(min = 3, max = -3), required)]
            #[arg(default = 3)]
            #[serde(default)]
            b: i8,
            #[schemars(rename = "x", skip, inner(nothing))] c: i8,
        ) {}
    }
    "a value has one pattern; keep one of `regex`, `pattern`, `contains`"
    "a value has one format; keep `email` or `url`"
    "`equal` is both bounds; keep it, or `min` and `max`"
    "no value is from 3 to -3; swap the bounds"
    "the default stands in `#[arg(default = ..)]` already; keep one"
    "a property with a default is not required; keep one of them"
    "`skip` needs a field; put the parameters into an argument struct"
    "the decoder has to know it too; write `#[serde(rename = ..)]`"
    "unknown key `nothing`; the documentation of the attribute lists the keys"
}

check! {
    instances_are_held_against_the_parameters: {
        #[tool(instantiate(u8 as "f", (u8, u16) as "f", (u8, u16, u32) as "g h"))]
        /// F.
        fn f<A, B>(a: A, b: B) {}
    }
    "two instances are named \"f\"; rename one"
    "a tool's name has no ` `, only letters, digits, `_` and `-`"
    "the function has 2 parameters, and 1 stand here; write `(A, B) as \"name\"`"
    "the function has 2 parameters, and 3 stand here; write `(A, B) as \"name\"`"
}

check! {
    a_constant_is_no_tool: {
        #[tool]
        /// F.
        pub(crate) const unsafe_: fn() = f;
    }
    "a constant cannot be a tool; put `#[tool]` on a function, method or struct"
}

check! {
    a_variadic_function_is_one_mistake: {
        #[tool]
        /// F.
        unsafe extern "C" fn f(a: u8, ...) {}
    }
    "a tool cannot be variadic; take a `Vec` instead"
}
