//! Every form of a tool is clean under clippy, too: this file exists so that clippy sees one.

#[path = "../../pass/every_form.rs"]
#[allow(unreachable_pub, reason = "a program of its own")]
pub mod every_form;

#[test]
fn functions_are_still_functions() {
    every_form::main();
}
