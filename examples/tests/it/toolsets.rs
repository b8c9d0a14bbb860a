//! What `cargo run --bin toolsets` prints.

use std::process::Command;

// L13
#[test]
fn the_set_of_a_request_is_closed_with_it_and_the_other_at_the_end() {
    let output = Command::new(env!("CARGO_BIN_EXE_toolsets")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{}: {errors}", output.status);
    let expected = "\
catalogue: opened
Ada asks
  basket of Ada: opened
  has basket__add, an additional tool of the run
  has basket__list, an additional tool of the run
  has catalogue__find, a tool of the set `catalogue`
  has opening_hours, a direct tool
  catalogue__find: Emma: shelf 7
  basket__add: 1 in the basket
  basket__list: [\"Emma\"]
  catalogue__order: Tool not found: catalogue__order
  basket of Ada: closed
Bob asks
  basket of Bob: opened
  has basket__add, an additional tool of the run
  has basket__list, an additional tool of the run
  has catalogue__find, a tool of the set `catalogue`
  has catalogue__order, a tool of the set `catalogue`
  catalogue__order: Persuasion: ordered
  basket__list: []
  basket of Bob: closed
catalogue: closed
";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
