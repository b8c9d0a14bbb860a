//! Includes `pass/every_form.rs`, so that clippy checks every form of a tool.

#[path = "../../pass/every_form.rs"]
#[allow(unreachable_pub, reason = "a program of its own")]
pub mod every_form;

#[test]
fn annotated_functions_can_be_called() {
    every_form::main();
}
