//! Records that were modified in their store.

use std::{fs, time::Duration};

use tool_runtime::{
    Executor, RunContext, ToolCall,
    call::CallAddress,
    context::ConfirmationAnswer,
    open_calls::{
        CallRef, OpenCallError, OpenCallStore, OpenFilter, OpenRecord, ProgramKey, SharedOpenCallStore,
    },
    prelude::*,
};

use super::{super::building, Folder, PAY, executor, paying, payments};

const YES: ConfirmationAnswer = ConfirmationAnswer { confirmed: true, payload: Value::Null };

/// Reads the only record of a folder.
fn stored(folder: &Folder) -> Value {
    let [file] = &folder.files(None).unwrap()[..] else { panic!("one file") };
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Replaces the only record by `record`, under the file name of its address.
fn replace(folder: &Folder, record: &Value) {
    let [file] = &folder.files(None).unwrap()[..] else { panic!("one file") };
    fs::remove_file(file).unwrap();
    let address: CallAddress = serde_json::from_value(record["address"].clone()).unwrap();
    let tag = serde_json::from_value(record["tag"].clone()).unwrap();
    fs::write(folder.path(&address, &tag), record.to_string()).unwrap();
}

/// Returns an executor with one pending call, and its address.
async fn pending_call(folder: &Folder) -> (Executor, CallAddress) {
    let executor = executor(folder);
    let calls = vec![ToolCall::new("pay", PAY).with_id("0")];
    let run = RunContext::new().with_app("shop").with_user("u-7").with_session("s-1");
    let outcomes = executor.batch(calls).with_run(run).run().await;
    (executor, outcomes[0].address().unwrap().clone())
}

/// Returns JSON pointers to all values within `value`.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(k, v)| places(v, &format!("{at}/{k}"), all)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(k, v)| places(v, &format!("{at}/{k}"), all));
        }
        _ => all.push(at.to_owned()),
    }
}

/// Returns another value of the same type, if there is one.
fn other(value: &Value) -> Value {
    match value {
        Value::String(text) if text == "confirmation" => json!("external"),
        Value::String(text) if text.len() == 64 => json!(text.chars().rev().collect::<String>()),
        Value::String(text) => json!(format!("{text} ")),
        Value::Number(number) => json!(number.as_u64().unwrap() + 1),
        Value::Bool(truth) => json!(!truth),
        other => panic!("{other}"),
    }
}

// I20: of the records that a store selects for one user.
#[test]
fn a_record_of_a_store_is_read_as_its_call_until_it_expires() {
    crate::run(async {
        for (expiry, is_open) in
            [(Some(Duration::from_secs(600)), true), (None, true), (Some(Duration::ZERO), false)]
        {
            let folder = Folder::new();
            let executor = paying(&folder).open_calls_expire(expiry).build().unwrap();
            for user in ["u-7", "u-8"] {
                let run = RunContext::new().with_app("shop").with_user(user);
                executor.batch(vec![ToolCall::new("pay", PAY).with_id("0")]).with_run(run).run().await;
            }
            let mut filter = OpenFilter::default();
            filter.user = Some("u-8".to_owned());
            let records = SharedOpenCallStore::new(folder.clone()).list(&filter).await.unwrap();
            let [record] = &records[..] else { panic!("{records:?}") };
            assert_eq!((record.app.as_deref(), record.user.as_deref()), (Some("shop"), Some("u-8")));
            match executor.open_call(record) {
                Ok(open) => {
                    assert!(is_open && open.address() == &record.address);
                    assert!(!format!("{open:?}").contains("hunter2"), "{open:?}");
                }
                Err(error) => {
                    let at = record.expires_at.unwrap();
                    assert!(!is_open);
                    assert_eq!(error, OpenCallError::Expired { call: CallRef::from(&record.address), at });
                }
            }
        }
    });
}

// I17, I20: each field of the record, and each value within its body.
#[test]
fn a_record_with_any_modification_is_refused() {
    crate::run(async {
        let folder = Folder::new();
        let (executor, address) = pending_call(&folder).await;
        let original = stored(&folder);
        let body: Value = serde_json::from_str(original["body"].as_str().unwrap()).unwrap();
        let (mut of_record, mut of_body) = (Vec::new(), Vec::new());
        places(&original, "", &mut of_record);
        places(&body, "", &mut of_body);
        assert!(of_record.len() >= 8 && of_body.len() >= 10, "{of_record:?} {of_body:?}");
        let mut altered = Vec::new();
        // A version beyond those that are known is another error.
        for place in of_record.into_iter().filter(|place| place != "/v") {
            let mut record = original.clone();
            let value = record.pointer_mut(&place).unwrap();
            *value = other(value);
            altered.push((place, record));
        }
        for place in of_body {
            let (mut record, mut body) = (original.clone(), body.clone());
            let value = body.pointer_mut(&place).unwrap();
            *value = other(value);
            record["body"] = json!(body.to_string());
            altered.push((format!("/body{place}"), record));
        }
        for member in ["expiresAtMs", "app", "user", "session"] {
            let mut record = original.clone();
            record.as_object_mut().unwrap().remove(member).unwrap();
            altered.push((format!("no {member}"), record));
        }

        for (place, record) in altered {
            replace(&folder, &record);
            let at: CallAddress = serde_json::from_value(record["address"].clone()).unwrap();
            let refused = OpenCallError::Altered(CallRef::Address(at.clone()));
            assert_eq!(executor.resume([(&at, YES)]).await.unwrap_err(), refused, "{place}");
            assert_eq!(executor.submit_result(&at, Ok("x".into())).await.unwrap_err(), refused, "{place}");
            assert_eq!(executor.open_arguments(&at).await.unwrap_err(), refused, "{place}");
            assert!(executor.open_calls().await.unwrap().is_empty(), "{place}");
            let record: OpenRecord = serde_json::from_value(record).unwrap();
            assert_eq!(executor.open_call(&record).unwrap_err(), refused, "{place}");
        }
        assert_eq!(payments(&folder), 0);
        // The original record.
        replace(&folder, &original);
        let outcomes = executor.resume([(&address, YES)]).await.unwrap().run().await;
        assert!(!outcomes[0].result().unwrap().is_error());
        assert_eq!(payments(&folder), 1);
    });
}

#[test]
fn a_modified_record_can_be_removed_and_does_not_affect_others() {
    crate::run(async {
        let folder = Folder::new();
        let (executor, address) = pending_call(&folder).await;
        let mut record = stored(&folder);
        record["expiresAtMs"] = json!(u64::from(u32::MAX) * 1000);
        replace(&folder, &record);
        let call = ToolCall::new("pay", PAY).with_id("0");
        let outcomes = executor.run(vec![call]).await;
        let open = executor.open_calls().await.unwrap();
        assert_eq!(open.len(), 1);
        assert_eq!(Some(open[0].address()), outcomes[0].address());
        assert!(executor.resume([(open[0].address(), YES)]).await.is_ok());
        executor.discard(&address).await.unwrap();
        assert_eq!(folder.files(None).unwrap().len(), 1);
    });
}

#[test]
fn a_record_of_a_later_format_version_is_refused() {
    crate::run(async {
        let folder = Folder::new();
        let (executor, address) = pending_call(&folder).await;
        let mut record = stored(&folder);
        assert_eq!(record["v"], 2);
        for version in [0, 3] {
            record["v"] = json!(version);
            replace(&folder, &record);
            let error = executor.resume([(&address, YES)]).await.unwrap_err();
            let expected = format!("the format version {version} is not known");
            assert!(error.to_string().contains(&expected), "{error}");
        }
    });
}

// X05: its tag was computed apart from this crate, as `HMAC(HMAC(key, "tool-runtime open-call record 1"), fields)`.
#[test]
fn a_record_of_version_1_is_read() {
    let record = json!({
        "address": { "run": "r-1", "callId": "c-1", "serial": 7 },
        "kind": "external",
        "openedAtMs": 1_700_000_000_000_u64,
        "body": r#"{"call":{"id":"c-1","name":"echo","arguments":{"text":"a"}}}"#,
        "tag": "fcd7571a9df4a355877dca667d3fbc248d7c25a55b5201b405416b5df7afddf1",
    });
    crate::run(async {
        let read: OpenRecord = serde_json::from_value(record.clone()).unwrap();
        assert_eq!((read.app.clone(), read.user.clone(), read.session.clone()), (None, None, None));
        assert_eq!(json!(read), record);
        let store = Folder::new();
        store.put(read).await.unwrap();
        let executor = building(Registry::builder()).open_calls(store).program_key(ProgramKey::new([9; 32]));
        let executor = executor.build().unwrap();
        let open = executor.open_calls().await.unwrap();
        let [call] = &open[..] else { panic!("{open:?}") };
        assert_eq!(executor.open_arguments(call.address()).await.unwrap().as_str(), r#"{"text":"a"}"#);
    });
}

// X05, I20: the answer may come in a run of another user, such as a clerk.
#[test]
fn a_call_that_asks_again_stays_with_its_user_and_session() {
    /// Asks for confirmation, and asks again.
    #[tool(register = false, confirm)]
    fn twice(cx: &ToolContext) -> Result<&'static str, ToolError> {
        match cx.confirmation() {
            Some(_) => Ok("done"),
            None => Err(cx.request_confirmation("Sure?", json!({}))),
        }
    }
    crate::run(async {
        let store = Folder::new();
        let executor = building(Registry::builder().tool::<twice>()).open_calls(store.clone());
        let executor = executor.program_key(ProgramKey::new([9; 32])).build().unwrap();
        let run = |user: &str| RunContext::new().with_app("shop").with_user(user).with_session("s-1");
        let outcomes = executor.batch(vec![ToolCall::new("twice", "{}")]).with_run(run("u-7")).run().await;
        let address = outcomes[0].address().unwrap().clone();
        let outcomes = executor.resume([(&address, YES)]).await.unwrap().with_run(run("clerk")).run().await;
        assert_eq!(outcomes[0].address(), Some(&address), "{outcomes:?}");
        let record = store.get(&address).await.unwrap().unwrap();
        assert_eq!([record.app, record.user, record.session].map(Option::unwrap), ["shop", "u-7", "s-1"]);
    });
}
