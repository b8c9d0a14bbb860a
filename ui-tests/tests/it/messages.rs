//! What must compile does, and what must not says why.
//!
//! `TRYBUILD=overwrite cargo test -p ui-tests` writes the messages anew; read each as a stranger
//! before it is committed.

#[test]
fn the_compiler_says_what_to_do() {
    let cases = trybuild::TestCases::new();
    cases.pass("pass/*.rs");
    cases.compile_fail("fail/*/*.rs");
}
