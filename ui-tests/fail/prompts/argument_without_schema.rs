use tool_kit::prompt;

struct Person(&'static str);

/// Greets.
#[prompt]
fn greet(person: Person) -> String {
    person.0.to_owned()
}

fn main() {
    greet(Person("Ada"));
}
