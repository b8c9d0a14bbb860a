//! Tests that `pass/` compiles, and that `fail/` fails with the expected messages.
//!
//! `TRYBUILD=overwrite cargo test -p ui-tests` rewrites the messages; review each before it is
//! committed.

#[test]
fn compiler_messages_are_as_expected() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*/*.rs");
}
