//! Types are recognised by their traits, not by their names (B05).

use tool_runtime::{ToolContext as Cx, tool};

type Text = str;
type Words = [String];
type Note<'a> = Option<&'a str>;
type Fallible<T> = Result<T, Failure>;

struct Failure;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed")
    }
}

mod own {
    pub struct ToolContext;
}

/// Two contexts, one of them the program's.
#[tool]
async fn f(
    text: &Text,
    cx: &Cx,
    words: &Words,
    note: Note<'_>,
    ctx: &own::ToolContext,
    again: &tool_runtime::ToolContext,
) -> Fallible<usize> {
    let _ = (cx, ctx, again);
    Ok(text.len() + words.len() + note.map_or(0, str::len))
}

macro_rules! tool_taking {
    ($name:ident, $ty:ty) => {
        /// Made by a macro.
        #[tool(description = concat!("takes ", stringify!($ty)))]
        fn $name(value: $ty) -> $ty {
            value
        }
    };
}

tool_taking!(takes_number, u8);
tool_taking!(takes_list, Vec<u8>);

fn main() {
    let _ = (takes_number(1), takes_list(Vec::new()));
}
