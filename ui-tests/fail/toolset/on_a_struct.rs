use tool_runtime::toolset;

#[toolset]
struct Set;

fn main() {
    let _ = Set;
}
