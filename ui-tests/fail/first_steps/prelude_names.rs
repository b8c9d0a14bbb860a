//! The compiler writes the traits of the prelude by their names.

use tool_runtime::prelude::*;

struct Plain;

fn takes_a_tool(_: impl Tool) {}

fn main() {
    takes_a_tool(Plain);
    let _: Box<dyn Tool> = Box::new(Plain);
    Plain.definition();
}
