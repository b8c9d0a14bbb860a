//! All mistakes of one set are reported at once, each at its place (B10).
use tool_runtime::toolset;

struct Set;

#[toolset(nme = "set")]
impl Set {
    #[tool]
    fn undescribed(&self) {}

    /// By value.
    #[tool]
    fn by_value(self, #[schemars(range(min = 2, max = 1))] a: u8) -> u8 {
        a
    }

    /// Right.
    #[tool]
    fn right(&self) {}
}

fn main() {
    Set.undescribed();
    Set.right();
    Set.by_value(1);
}
