//! Exports as lines of JSON.

use proptest::prelude::*;
use tool_session::{
    EntryContent, InMemoryStore, JsonText, LeaseRequest, SessionExport, SessionWrite, SharedSessionStore,
    jsonl,
};

use crate::contract::world::{key, message};

async fn export_of(bodies: &[String]) -> SessionExport {
    let sessions = SharedSessionStore::new(InMemoryStore::new());
    let lease = sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap().lease;
    let contents =
        bodies.iter().map(|body| EntryContent::new("one", "message", JsonText::new(&**body).unwrap()));
    sessions.write(&lease, &SessionWrite::new(0).entries(contents)).await.unwrap();
    sessions.export(&key("s")).await.unwrap()
}

fn error(text: &str) -> String {
    jsonl::from_jsonl(text).unwrap_err().to_string()
}

#[tokio::test]
async fn an_export_that_is_cut_off_anywhere_is_refused() {
    let text = jsonl::to_jsonl(&[export_of(&["\"a\"".into(), "\"é\"".into()]).await]).unwrap();
    assert_eq!(text.lines().count(), 5);
    let whole = text.trim_end().len();
    for end in (0..whole).filter(|end| text.is_char_boundary(*end)) {
        jsonl::from_jsonl(&text[..end]).unwrap_err();
    }
    jsonl::from_jsonl(&text[..whole]).unwrap();
    assert!(error(text.lines().take(4).collect::<Vec<_>>().join("\n").as_str()).contains("cut off"));
}

#[tokio::test]
async fn an_export_without_one_of_its_lines_is_refused() {
    let text = jsonl::to_jsonl(&[export_of(&["1".into(), "2".into()]).await]).unwrap();
    for index in 0..5 {
        let lines = text.lines().enumerate().filter(|(number, _)| *number != index).map(|(_, line)| line);
        jsonl::from_jsonl(&lines.collect::<Vec<_>>().join("\n")).unwrap_err();
    }
    assert!(error(&format!("{text}{text}")).contains("line 6 of the export follows its end"));
}

#[test]
fn another_format_or_a_newer_version_is_named() {
    assert!(error("").contains("first line"));
    assert!(error("{\"format\":\"other\",\"v\":1}\n").contains("first line"));
    let newer = error("{\"format\":\"tool-session\",\"v\":7}\n");
    assert!(newer.contains("version 7") && newer.contains("version 1"), "{newer}");
    let invalid = error("{\"format\":\"tool-session\",\"v\":1}\n{\"type\":\"no\"}\n");
    assert!(invalid.contains("line 2"), "{invalid}");
    let alone = "{\"format\":\"tool-session\",\"v\":1}\n{\"type\":\"entry\",\"number\":1,\"time\":0,\"run\":\"r\",\"kind\":\"k\",\"body\":\"1\"}\n";
    assert!(error(alone).contains("no session"));
}

#[tokio::test]
async fn an_entry_with_an_invalid_body_or_name_is_refused() {
    let text = jsonl::to_jsonl(&[export_of(&["{\"text\":\"hello\"}".into()]).await]).unwrap();
    assert!(error(&text.replace("hello", "hel\\\"lo")).contains("line 3"));
    assert!(error(&text.replace("\"kind\":\"message\"", "\"kind\":\"a\\u0000\"")).contains("NUL"));
    assert!(error(&text.replace("\"id\":\"s\"", "\"id\":\"\"")).contains("line 2"));
    let huge = format!("\"revision\":{}", u64::MAX);
    assert!(error(&text.replace("\"revision\":1", &huge)).contains("2^53"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_body_is_kept_byte_for_byte(texts in proptest::collection::vec("(?s).{0,60}", 1..5), blanks in "[ \t\r\n]{0,3}") {
        let bodies: Vec<_> =
            texts.iter().map(|text| format!("{blanks}{}{blanks}", JsonText::of(text).unwrap())).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let export = runtime.block_on(export_of(&bodies));
        let read = jsonl::from_jsonl(&jsonl::to_jsonl(std::slice::from_ref(&export)).unwrap()).unwrap();
        prop_assert!(read[0].entries.iter().map(|entry| entry.content.body.as_str()).eq(bodies.iter().map(|it| &**it)));
        prop_assert_eq!(&read[..], &[export]);
    }

    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        drop(jsonl::from_jsonl(&text));
        let header = "{\"format\":\"tool-session\",\"v\":1}\n";
        drop(jsonl::from_jsonl(&format!("{header}{text}")));
        drop(message("one", &text));
    }
}
