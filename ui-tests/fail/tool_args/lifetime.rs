use tool_runtime::tool_args;

#[tool_args]
struct Arguments<'a> {
    text: &'a str,
}

fn main() {
    let _ = Arguments { text: "" }.text;
}
