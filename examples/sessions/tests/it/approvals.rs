//! The service with approvals.

use serde_json::{Value, json};

use crate::process::{ADA, BOB, Folder, Service, answer, id};

const YES: &str = r#"{"confirmed":true}"#;
const NO: &str = r#"{"confirmed":false,"payload":"too much"}"#;

#[tokio::test]
async fn calls_of_a_killed_process_are_listed_and_answered_once_in_other_processes() {
    let folder = Folder::new();
    let first = Service::start(&folder).await;
    let order = "pay the baker 12, sign the lease, pay the bank 4000";
    let (status, reply) = first.send(ADA, "s-1", order).await;
    assert_eq!((status, reply["calls"].as_array().unwrap().len()), (200, 3), "{reply}"); // I15
    assert_eq!(folder.payments(), [""; 0]); // I16
    first.kill().await;

    let second = Service::start(&folder).await;
    let calls = second.calls(ADA).await;
    assert_eq!(json!(calls), reply["calls"]);
    let tools: Vec<_> = calls.iter().map(|call| (&call["session"], &call["tool"])).collect();
    assert_eq!(json!(tools), json!([["s-1", "pay"], ["s-1", "sign"], ["s-1", "pay"]]));
    assert_eq!(calls[0]["arguments"], r#"{"to":"the baker","amount":12}"#);
    assert_eq!(calls[0]["question"], "May the tool pay be called?");
    let (status, reply) = second.answer(ADA, id(&calls[0]), YES).await;
    assert_eq!((status, reply["calls"].as_array().unwrap().len()), (200, 2), "{reply}"); // I17 I19
    assert_eq!(folder.payments(), [r#"12 EUR to "the baker""#]);
    let (status, _) = second.answer(ADA, id(&calls[2]), NO).await;
    assert_eq!(status, 200);
    second.kill().await;

    let third = Service::start(&folder).await;
    assert_eq!(json!(third.calls(ADA).await), json!([calls[1]]));
    let (status, reply) = third.answer(ADA, id(&calls[1]), r#"{"result":"signed by Ada"}"#).await;
    assert_eq!(status, 200, "{reply}"); // X05 X06
    let text = reply["text"].as_str().unwrap();
    assert!(text.starts_with("Done: paid 12 EUR to the baker; signed by Ada; "), "{text}");
    assert!(text.contains("call is rejected: too much"), "{text}"); // I17
    for (call, body) in [(&calls[0], YES), (&calls[1], r#"{"result":"again"}"#), (&calls[2], YES)] {
        let (status, reply) = third.answer(ADA, id(call), body).await;
        assert_eq!(
            (status, &reply["error"]),
            (409, &json!("the call was answered before; list the calls that wait"))
        );
    }
    assert_eq!(folder.payments().len(), 1); // I19
    // The conversation goes on.
    let (status, reply) = third.send(ADA, "s-1", "Thanks.").await;
    assert_eq!((status, &reply["text"]), (200, &json!("What is to be paid or signed?")));
}

#[tokio::test]
async fn of_answers_at_once_in_two_processes_one_succeeds() {
    let folder = Folder::new();
    let (first, second) = (Service::start(&folder).await, Service::start(&folder).await);
    first.send(ADA, "s-1", "pay the baker 12, pay the bank 40, sign the lease").await;
    let calls = second.calls(ADA).await;
    for (index, body) in [(0, YES), (2, r#"{"result":"signed"}"#), (1, YES)] {
        let id = id(&calls[index]);
        let answers = tokio::join!(
            first.answer(ADA, id, body),
            second.answer(ADA, id, body),
            first.answer(ADA, id, body)
        );
        let mut statuses = [answers.0.0, answers.1.0, answers.2.0];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409, 409], "{answers:?}"); // I20
    }
    assert_eq!(folder.payments(), [r#"12 EUR to "the baker""#, r#"40 EUR to "the bank""#]);
    assert_eq!(first.calls(ADA).await, [Value::Null; 0]);
}

#[tokio::test]
async fn no_user_sees_or_answers_a_call_of_another_one_and_no_forged_id_is_found() {
    let folder = Folder::new();
    let service = Service::start(&folder).await;
    service.send(ADA, "s-1", "pay the baker 12").await;
    service.send(BOB, "s-1", "pay the bank 40").await;
    let (of_ada, of_bob) = (service.calls(ADA).await, service.calls(BOB).await);
    assert_eq!((of_ada.len(), of_bob.len()), (1, 1));
    assert_eq!(of_bob[0]["arguments"], r#"{"to":"the bank","amount":40}"#);
    let real = id(&of_ada[0]);
    assert_eq!(service.answer(BOB, real, YES).await.0, 404);
    // Nor in another session of the same user.
    assert_eq!(service.post(ADA, &format!("/sessions/s-2/calls/{real}"), YES).await.0, 404);
    let flipped = |at: usize| {
        let digit = if real[at..].starts_with('0') { "1" } else { "0" };
        format!("{}{digit}{}", &real[..at], &real[at + 1..])
    };
    let longer = format!("{real}0");
    let forged = [
        &flipped(0),
        &flipped(40),
        &flipped(95),
        &real[1..],
        &longer,
        &real.to_uppercase(),
        "0",
        "%00",
        "..%2f..",
        "é",
    ];
    for id in forged {
        assert_eq!(service.answer(ADA, id, YES).await.0, 404, "{id}"); // I20
    }
    assert_eq!((service.calls(ADA).await, service.calls(BOB).await), (of_ada, of_bob));
    assert_eq!(folder.payments(), [""; 0]);
    assert_eq!(service.get(ADA, "/sessions/s-2/calls").await.1["calls"], json!([]));
}

#[tokio::test]
async fn a_request_without_a_valid_token_is_refused() {
    let folder = Folder::new();
    let service = Service::start(&folder).await;
    let request = || service.request("/calls");
    let wrong = [
        request(),
        request().bearer_auth("token of eve"),
        request().bearer_auth(""),
        request().header("authorization", ADA),
        request().basic_auth("ada", Some(ADA)),
    ];
    for request in wrong {
        assert_eq!(answer(request).await.0, 401);
    }
    let response = request().send().await.unwrap();
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    assert_eq!(service.send("token of eve", "s-1", "pay eve 12").await.0, 401);
    assert_eq!(service.answer("", "0", YES).await.0, 401);
    assert_eq!(service.calls(ADA).await, [Value::Null; 0]);
}

#[tokio::test]
async fn a_bad_request_is_refused_and_changes_nothing() {
    let folder = Folder::new();
    let service = Service::start(&folder).await;
    service.send(ADA, "s-1", "pay the baker 12, sign the lease").await;
    let calls = service.calls(ADA).await;
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(16 << 10));
    for (body, expected) in
        [("", 400), ("{}", 400), (r#"{"text":1}"#, 400), (r#"{"text":"a","user":"bob"}"#, 400), (&large, 413)]
    {
        assert_eq!(service.post(ADA, "/sessions/s-1/messages", body).await.0, expected, "{body:.20}");
    }
    for session in ["%00", &"x".repeat(1_000)] {
        assert_eq!(service.send(ADA, session, "pay the baker 12").await.0, 400);
    }
    let large = format!(r#"{{"result":"{}"}}"#, "x".repeat(16 << 10));
    for body in ["", "true", "{}", r#"{"response":"yes"}"#, r#"{"confirmed":"true"}"#] {
        assert_eq!(service.answer(ADA, id(&calls[0]), body).await.0, 400, "{body}"); // I18
    }
    assert_eq!(service.answer(ADA, id(&calls[0]), r#"{"result":"paid"}"#).await.0, 422);
    assert_eq!(service.answer(ADA, id(&calls[1]), YES).await.0, 422);
    assert_eq!(service.answer(ADA, id(&calls[1]), &large).await.0, 413);
    assert_eq!((service.calls(ADA).await, folder.payments()), (calls.clone(), vec![]));
    // The other form of an answer.
    let text = json!({ "response": YES }).to_string();
    assert_eq!(service.answer(ADA, id(&calls[0]), &text).await.0, 200); // I18
    assert_eq!(folder.payments().len(), 1);
}

#[tokio::test]
async fn arguments_are_shown_without_characters_that_show_something_else() {
    let folder = Folder::new();
    let service = Service::start(&folder).await;
    service.send(ADA, "s-1", "pay the \u{202e}knab\u{1b}[2K\nbaker 12").await;
    let calls = service.calls(ADA).await;
    let arguments = calls[0]["arguments"].as_str().unwrap();
    assert!(arguments.contains("knab") && arguments.chars().all(|it| matches!(it, ' '..='~')), "{arguments}");
}
