#![allow(clippy::unwrap_used, reason = "a test may")]

use genai::{ModelIden, adapter::AdapterKind, resolver};
use reqwest::StatusCode;
use serde_json::json;

use super::*;

fn iden() -> ModelIden {
    ModelIden::new(AdapterKind::OpenAI, "m")
}

/// The kind and the text of an error whose key is `hunter2`.
fn read(error: Error) -> (ModelErrorKind, String) {
    let error = model_error_of_genai(error, &Redactor(Some("hunter2".to_owned())));
    (error.kind(), error.to_string())
}

fn json_error() -> serde_json::Error {
    serde_json::from_str::<bool>("{").unwrap_err()
}

#[test]
fn an_error_of_the_crate_has_the_kind_of_its_cause() {
    use ModelErrorKind::{Authentication, InvalidRequest, Malformed, Other};
    let resolver_error = resolver::Error::Custom("no key".to_owned());
    for (error, expected) in [
        (Error::RequiresApiKey { model_iden: iden() }, Authentication),
        (Error::NoAuthResolver { model_iden: iden() }, Authentication),
        (Error::NoAuthData { model_iden: iden() }, Authentication),
        (Error::Resolver { model_iden: iden(), resolver_error }, Authentication),
        (Error::NoChatResponse { model_iden: iden() }, Malformed),
        (Error::InvalidJsonResponseElement { info: "hm" }, Malformed),
        (Error::StreamParse { model_iden: iden(), serde_error: json_error() }, Malformed),
        (Error::SerdeJson(json_error()), Malformed),
        (Error::ClientBuildFail { cause: "hm".to_owned() }, Other),
        (Error::Internal("hm".to_owned()), Other),
        (Error::JsonModeWithoutInstruction, InvalidRequest),
        (Error::ChatReqHasNoMessages { model_iden: iden() }, InvalidRequest),
    ] {
        let shown = error.to_string();
        assert_eq!(read(error).0, expected, "{shown}");
    }
    assert_eq!(read(Error::Internal("it is hunter2".to_owned())).1, "Internal error: it is [secret]");
}

#[test]
fn an_answer_of_the_server_is_read_wherever_the_crate_has_it() {
    let body = || r#"{"error":{"message":"slow hunter2"}}"#.to_owned();
    let status = StatusCode::TOO_MANY_REQUESTS;
    let failed = || webc::Error::ResponseFailedStatus { status, body: body(), headers: Box::default() };
    let expected = (ModelErrorKind::RateLimited, "the server answered 429: slow [secret]".to_owned());
    for error in [
        Error::HttpError { status, canonical_reason: String::new(), body: body(), headers: Box::default() },
        Error::WebModelCall { model_iden: iden(), webc_error: failed() },
        Error::WebAdapterCall { adapter_kind: AdapterKind::OpenAI, webc_error: failed() },
        Error::WebStream {
            model_iden: iden(),
            cause: String::new(),
            error: Box::new(Error::WebModelCall { model_iden: iden(), webc_error: failed() }),
        },
    ] {
        assert_eq!(read(error), expected);
    }
    let no_json =
        webc::Error::ResponseFailedInvalidJson { body: "hunter2".to_owned(), cause: "hm".to_owned() };
    let (kind, text) = read(Error::WebModelCall { model_iden: iden(), webc_error: no_json });
    assert_eq!(kind, ModelErrorKind::Malformed);
    assert!(text.starts_with("the response cannot be read: ") && !text.contains("hunter2"), "{text}");
}

#[test]
fn a_report_within_a_response_has_the_kind_that_it_names() {
    let of_body = |body| read(Error::ChatResponse { model_iden: iden(), body });
    let limited = of_body(json!({ "message": "slow hunter2", "type": "rate_limit_error" }));
    let expected = (ModelErrorKind::RateLimited, "the server reported an error: slow [secret]".to_owned());
    assert_eq!(limited, expected);
    // No report: there is nothing to read.
    let expected = (ModelErrorKind::Malformed, "the response cannot be read: null".to_owned());
    assert_eq!(of_body(json!(null)), expected);
    let generation = Error::ChatResponseGeneration {
        model_iden: iden(),
        request_payload: Box::new(json!("the whole request")),
        response_body: Box::default(),
        cause: "a member of hunter2 is missing".to_owned(),
    };
    let expected = "the response cannot be read: a member of [secret] is missing".to_owned();
    assert_eq!(read(generation), (ModelErrorKind::Malformed, expected));
}

#[test]
fn a_stream_that_breaks_is_an_error_of_the_connection() {
    let error = Error::WebStream { model_iden: iden(), cause: CUT.to_owned(), error: CUT.into() };
    let expected = "the stream broke: the stream of the response ended before the response did".to_owned();
    assert_eq!(read(error), (ModelErrorKind::Connection, expected));
}
