//! All mistakes are reported, each once. The crate `ui-tests` tests their spans, and the errors of the compiler itself.

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
    every_mistake_of_an_item_is_reported: {
        #[tool(name = "a b", read_onyl, timeout = "soon", timeout = "1s", strict = 3)]
        unsafe fn f(self, x: &mut u8, (a, b): (u8, u8), y: impl Copy) -> impl Future<Output = u8> {}
    }
    "unknown key `read_onyl`; did you mean `read_only`?"
    "`timeout` takes a duration such as \"250ms\", \"30s\", \"5m\"; write `timeout = \"30s\"`"
    "duplicate key `timeout`; give each key once"
    "`strict` takes nothing, `true` or `false`; write `strict`"
    "a method requires `#[toolset]` on its `impl Type` block; a method of a trait cannot be a tool"
    "an `unsafe fn` cannot be a tool; wrap it in a safe function"
    "`impl Future` cannot be the result of a tool; write `async fn` and the type of its output"
    "a tool needs a description; write a doc comment (`/// ...`) or `description = \"...\"`"
    "concurrent calls cannot share a `&mut`; take `&T` with a lock inside, or an owned value"
    "only a struct pattern is supported here; replace the pattern by a name"
    "`impl Trait` cannot be a tool argument; write a concrete type"
    "a tool name cannot contain ` `, only letters, digits, `_` and `-`"
}

check! {
    invalid_description_is_not_reported_as_missing: {
        #[tool(description("text"))]
        fn f() {}
    }
    "`description` takes a string; write `description = \"..\"`"
}

check! {
    syntax_error_in_the_keys_hides_no_other_mistake: {
        #[tool(name "x")]
        fn f(a: &mut u8) {}
    }
    "expected `,`"
    "concurrent calls cannot share a `&mut`; take `&T` with a lock inside, or an owned value"
}

check! {
    every_mistake_of_a_toolset_is_reported: {
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
    "a toolset is shared by its calls; take `&self`"
    "`register` is for functions; remove it, since a toolset is added by `builder.toolset(..)`"
    "`handle` is for functions; remove it, since a toolset is added as a whole"
    "a tool needs a description; write a doc comment (`/// ...`) or `description = \"...\"`"
    "`flatten` requires a field; put the parameters into an argument struct"
}

check! {
    names_in_a_toolset_differ_unless_they_have_a_cfg: {
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
    "two tools of this toolset are named `a`; rename one"
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
    contradicting_constraints_are_reported: {
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
    "a value can have one pattern; keep one of `regex`, `pattern`, `contains`"
    "a value can have one format; keep `email` or `url`"
    "`equal` sets both bounds; keep it, or `min` and `max`"
    "the minimum 3 is greater than the maximum -3; swap the bounds"
    "duplicate default, also in `#[arg(default = ..)]`; keep one of the two"
    "a property with a default is not required; keep one of the two"
    "`skip` requires a field; put the parameters into an argument struct"
    "`rename` in `#[schemars(..)]` has no effect on decoding; write `#[serde(rename = ..)]`"
    "unknown key `nothing`; the documentation of the attribute lists the keys"
}

check! {
    instances_are_checked_against_the_type_parameters: {
        #[tool(instantiate(u8 as "f", (u8, u16) as "f", (u8, u16, u32) as "g h"))]
        /// F.
        fn f<A, B>(a: A, b: B) {}
    }
    "two instances are named `f`; rename one"
    "a tool name cannot contain ` `, only letters, digits, `_` and `-`"
    "the function has 2 type parameters, but this instance has 1; write `(A, B) as \"name\"`"
    "the function has 2 type parameters, but this instance has 3; write `(A, B) as \"name\"`"
}

check! {
    constant_is_not_a_tool: {
        #[tool]
        /// F.
        pub(crate) const unsafe_: fn() = f;
    }
    "a constant cannot be a tool; put `#[tool]` on a function, method or struct"
}

check! {
    variadic_function_is_one_mistake: {
        #[tool]
        /// F.
        unsafe extern "C" fn f(a: u8, ...) {}
    }
    "a tool cannot be variadic; take a `Vec` instead"
}

check! {
    every_mistake_of_a_prompt_is_reported: {
        #[prompt(
            name = "a b", title = "Short", modle = "x", tools = "a", system_prompt = "", thinking = "much",
            thinking_budget = "all", blocking, crate = 3,
        )]
        #[prompt]
        async unsafe fn f<T>(self, x: &mut u8, #[arg(secret)] y: T, z: impl Copy) -> ! {}
    }
    "unknown key `modle`; did you mean `model`?"
    "`tools` takes strings; write `tools(\"..\", \"..\")`"
    "`thinking` takes \"off\", \"on\", \"low\", \"medium\" or \"high\"; write `thinking = \"low\"`"
    "`thinking_budget` takes a number of tokens; write `thinking_budget = 1024`"
    "`crate` takes a path; write `crate = some::path`"
    "duplicate `#[prompt]`; merge the keys into one attribute"
    "a title has at least 10 characters, but this one has 5; say what the prompt is for"
    "`system_prompt` is empty; remove it or write a text"
    "a method cannot be a prompt; write a function, which takes the value of `self` as `&Type`"
    "an `unsafe fn` cannot be a prompt; wrap it in a safe function"
    "a prompt must return; replace `!` by the type of a result"
    "an `async fn` must not block; remove `blocking` or `async`"
    "a prompt needs a description; write a doc comment (`/// ...`) or `description = \"...\"`"
    "concurrent calls cannot share a `&mut`; take `&T` with a lock inside, or an owned value"
    "`secret` hides a value in the records of calls, which a prompt has not; remove it"
    "`impl Trait` cannot be a prompt argument; write a concrete type"
    "a generic function cannot be a prompt; write a function for each type"
}

check! {
    keys_of_a_prompt_that_contradict_each_other_are_reported: {
        #[prompt(thinking = false, thinking_budget = 10, register = false, handle = none, system_prompt = 3)]
        /// F.
        fn f() -> String {}
    }
    "`system_prompt` takes a string; write `system_prompt = \"..\"`"
    "`thinking_budget` contradicts `thinking = \"off\"`; keep one of the two"
    "a prompt without a handle cannot be registered by hand; remove one of the two"
}

check! {
    a_tool_is_no_prompt_as_well: {
        #[tool]
        #[prompt(name = "x")]
        /// F.
        fn f() {}
    }
    "a tool cannot be a prompt as well; put `#[prompt]` on a function that calls this one"
}

check! {
    a_struct_is_no_prompt: {
        #[prompt(name = "x")]
        struct Greet {}
    }
    "a type cannot be a prompt; put `#[prompt]` on a function"
}

check! {
    every_mistake_of_a_resource_is_reported: {
        #[resource(uri = "notes://{day}/{x}", mime_type = "markdown", title = "Notes", name = "1")]
        fn notes(#[arg(default)] day: String, Filter { a }: Filter) {}
    }
    "unknown key `title`; the keys are `blocking`, `crate`, `description`, `handle`, `mime_type`, `name`, `register`, `uri`"
    "`mime_type` takes a MIME type; write one such as `mime_type = \"text/markdown\"`"
    "a resource returns its content; add the type of its result, as in `-> String`"
    "a resource needs a description; write a doc comment (`/// ...`) or `description = \"...\"`"
    "an argument struct contains all arguments; make this parameter one of its fields"
    "a variable of a URI always has a value; remove the default"
    "a resource has no argument struct; take each variable of its URI as a parameter"
    "the URI has the variable `x`, but the function has no parameter of this name; add `x: String`"
    "a resource name starts with a letter or `_`"
}

check! {
    a_resource_needs_a_uri_of_one_reading: {
        #[resource(uri = "notes://{month}-{day}")]
        /// F.
        fn f(month: u8, day: u8) -> String {}
    }
    "`-` between `{month}` and `{day}` may be a part of a value; separate them by another character, as by `/`"
}

check! {
    a_resource_without_a_uri_is_one_mistake: {
        #[resource]
        /// F.
        fn f(day: u8) -> String {}
    }
    "a resource needs a URI; write `#[resource(uri = \"notes://today\")]`"
}

check! {
    an_invalid_uri_is_not_reported_as_missing: {
        #[resource(uri = 3)]
        /// F.
        fn f() -> String {}
    }
    "`uri` takes a string; write `uri = \"..\"`"
}
