//! Variables of the environment, in a process of its own.

use std::process::Command;

use tool_agent::{
    HttpModel, Message,
    model::{Model as _, Request},
};

/// The variable with the kind of the error that the model has.
const EXPECTED: &str = "TOOL_AGENT_TEST_KIND";

#[tokio::test]
#[ignore = "a program for other tests"]
async fn a_model_is_asked() {
    let model = HttpModel::from_text("openai:a").unwrap().with_retries(0);
    let error = model.respond(Request::new([Message::user("Hi.")])).response().await.unwrap_err();
    assert_eq!(format!("{:?}", error.kind()), std::env::var(EXPECTED).unwrap(), "{error}");
}

#[test]
fn a_blank_variable_is_none() {
    let [key, url] = ["OPENAI_API_KEY", "OPENAI_BASE_URL"];
    // Nothing listens there.
    let nowhere = "http://127.0.0.1:1/v1";
    for (variables, expected) in [
        (&[][..], "Authentication"),
        (&[(key, " ")], "Authentication"),
        (&[(key, ""), (url, "\t")], "Authentication"),
        (&[(key, "sk-test"), (url, nowhere)], "Connection"),
        (&[(url, nowhere)], "Connection"),
    ] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["http::environment::a_model_is_asked", "--exact", "--ignored"]);
        command.env_remove(key).env_remove(url).env(EXPECTED, expected).envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{variables:?}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
