//! Tools that a `macro_rules!` generates, with any part of them as an argument.

#![deny(warnings)]

use tool_runtime::{definition::Permission, tool, toolset};

macro_rules! tools {
    ($name:ident, $set:ident, $ty:ty, $asks:path, $default:expr, $text:literal) => {
        #[doc = $text]
        #[tool(confirm = $asks, timeout = "1s", examples($default))]
        fn $name(
            #[doc = $text]
            #[arg(default = $default, example = $default)]
            a: $ty,
            b: Option<$ty>,
            text: &str,
        ) -> $ty {
            b.unwrap_or(a) + text.len() as $ty
        }

        struct $set;

        #[toolset]
        impl $set {
            #[tool(description = $text, permission = allow)]
            async fn $name(&self, a: $ty) -> Result<$ty, String> {
                Ok(a)
            }

            /// Inside.
            #[tool(blocking)]
            fn inside(&self, #[schemars(range(min = $default))] a: $ty) -> $ty {
                a
            }
        }
    };
}

fn asks(_: &u8, _: &Option<u8>, _: &str) -> bool {
    true
}

fn allow(_: &u8) -> Permission {
    Permission::Allow
}

tools!(made, Made, u8, asks, 3, "Made by a macro.");

fn main() {
    let _ = (made(1, None, ""), Made.made(1), Made.inside(1));
}
