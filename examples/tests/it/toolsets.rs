//! Tests of the output of `toolsets`.

use std::process::Command;

// L13
#[test]
fn a_request_closes_its_set_and_the_program_closes_the_other() {
    let output = Command::new(env!("CARGO_BIN_EXE_toolsets")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{}: {errors}", output.status);
    let expected = "\
opened the catalogue
request of Ada
  opened the basket of Ada
  tool basket__add: an additional tool of the run
  tool basket__list: an additional tool of the run
  tool catalogue__find: a tool of the set `catalogue`
  tool opening_hours: a direct tool
  catalogue__find: Emma: shelf 7
  basket__add: 1 in the basket
  basket__list: [\"Emma\"]
  catalogue__order: Tool not found: catalogue__order
  closed the basket of Ada
request of Bob
  opened the basket of Bob
  tool basket__add: an additional tool of the run
  tool basket__list: an additional tool of the run
  tool catalogue__find: a tool of the set `catalogue`
  tool catalogue__order: a tool of the set `catalogue`
  catalogue__order: Persuasion: ordered
  basket__list: []
  closed the basket of Bob
closed the catalogue
";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
