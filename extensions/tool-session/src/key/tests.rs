#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

#[test]
fn a_name_has_a_length_limit_and_no_nul() {
    let longest = "x".repeat(SessionKey::MAX_NAME_BYTES);
    let long = format!("{longest}x");
    for (names, problem) in [
        ([&*longest, &longest, &longest], None),
        (["", "", "s"], None),
        (["", "", ""], Some("the session id is empty; give each session an id")),
        ([&long, "u", "s"], Some("the app has 769 bytes; at most 768 bytes are stored")),
        (["a", &long, "s"], Some("the user has 769 bytes; at most 768 bytes are stored")),
        (["a", "u", &long], Some("the session id has 769 bytes; at most 768 bytes are stored")),
        (["a\0", "u", "s"], Some("the app contains a NUL; use an id without it")),
        (["a", "u", "\0s"], Some("the session id contains a NUL; use an id without it")),
    ] {
        let [app, user, id] = names;
        let key = SessionKey::new(app, user, id);
        assert_eq!(key.as_ref().err().cloned(), problem.map(|it| SessionError::Invalid(it.to_owned())));
        if let Ok(key) = key {
            assert_eq!([key.app(), key.user(), key.id()], names);
        }
    }
}

#[test]
fn a_run_with_a_session_has_its_key() {
    assert_eq!(SessionKey::of_run(&RunContext::new()), None);
    let run = RunContext::new().with_session("s");
    assert_eq!(SessionKey::of_run(&run), Some(SessionKey::new("", "", "s")));
    let run = RunContext::new().with_app("a").with_user("u").with_session("s");
    let key = SessionKey::of_run(&run).unwrap().unwrap();
    assert_eq!(key.to_string(), r#"session "s" of user "u" in app "a""#);
    assert_eq!(key.with_id("t"), SessionKey::new("a", "u", "t"));
    assert!(matches!(SessionKey::of_run(&RunContext::new().with_session("")), Some(Err(_))));
}
