use tool_kit::prompt;

/// Shows a value.
#[prompt]
fn show<T: std::fmt::Debug>(value: T) -> String {
    format!("{value:?}")
}

fn main() {
    show(1);
}
