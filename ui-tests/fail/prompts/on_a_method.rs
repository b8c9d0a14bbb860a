use tool_kit::prompt;

struct Library(&'static str);

impl Library {
    /// Recommends a book.
    #[prompt]
    fn recommend(&self) -> String {
        format!("Recommend a book of {}.", self.0)
    }
}

fn main() {
    Library("Turku").recommend();
}
