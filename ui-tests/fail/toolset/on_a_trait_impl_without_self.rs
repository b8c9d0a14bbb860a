use tool_runtime::toolset;

struct Set;

trait Adds {
    fn add(a: u8) -> u8;
    fn next(&self, a: u8) -> u8;
}

#[toolset]
impl Adds for Set {
    /// Adds.
    #[tool]
    fn add(a: u8) -> u8 {
        a
    }

    /// Adds one.
    #[tool]
    fn next(&self, a: u8) -> u8 {
        a + 1
    }
}

fn main() {
    Set.next(Set::add(1));
}
