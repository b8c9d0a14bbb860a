//! Queries: text in any script, without a syntax.

use proptest::{
    prelude::{ProptestConfig, Strategy},
    strategy::ValueTree,
    test_runner::TestRunner,
};
use tool_session::{NoteContent, SessionError, UserKey};

use super::world::{MemoryFactory, World, user};
use crate::contract::{names::HOSTILE, world::key};

pub(crate) async fn a_query_is_text_and_never_syntax<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    for text in ["a or near", "only a", "rowid terms", "nothing of these"] {
        world.add(text).await;
    }
    let mut found = world.find("\"a\" OR NEAR(").await;
    found.sort();
    assert_eq!(found, ["a or near", "only a"]);
    assert_eq!(world.find("NOT a").await.len(), 2);
    assert_eq!(world.find("terms: rowid").await, ["rowid terms"]);
    let queries =
        ["\"", "\"\"", "(", "*", "a*", "^a", "-a", "a AND", "{a b}:", "+", "1_a", "';--", "a & !b <-> c:*"];
    for query in queries {
        assert!(world.find(query).await.len() <= 2, "{query}");
    }
    assert_eq!(world.find("onl*").await.len(), 0, "a prefix is no word");
}

pub(crate) async fn a_query_of_100_kb_is_searched<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    world.add("the first word").await;
    for query in
        ["first ".repeat(17_000), format!("first {}", "x".repeat(100_000)), "first \"".repeat(15_000)]
    {
        assert!(query.len() >= 100_000);
        assert_eq!(world.find(&query).await, ["the first word"]);
    }
    let words: String = (0..20_000).map(|number| format!("w{number} ")).collect();
    assert_eq!(world.find(&words).await.len(), 0);
    // 64 different words count.
    assert_eq!(world.find(&format!("{} first", words.get(..220).unwrap())).await, ["the first word"]);
    assert_eq!(world.find(&format!("{words} first")).await.len(), 0);
    assert_eq!(world.find(&"犬猫".repeat(20_000)).await.len(), 0);
}

pub(crate) async fn an_empty_query_finds_nothing<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    for query in ["", "a"] {
        assert_eq!(world.find(query).await.len(), 0, "without notes");
    }
    world.add("a note, and more").await;
    for query in ["", " \n", "?!", "\0", "\u{301}", "\u{200b}", "🙂"] {
        assert_eq!(world.find(query).await.len(), 0, "{query:?}");
    }
    assert_eq!(world.memory.search(&user(), "note", 0).await.unwrap(), []);
}

pub(crate) async fn one_character_is_found<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    for text in ["我喜欢鱻鱼", "我的狗叫小白", "ꙮ", "x = 7"] {
        world.add(text).await;
    }
    assert_eq!(world.find("鱻").await, ["我喜欢鱻鱼"]);
    assert_eq!(world.find("狗").await, ["我的狗叫小白"]);
    assert_eq!(world.find("ꙮ").await, ["ꙮ"]);
    assert_eq!(world.find("7").await, ["x = 7"]);
}

pub(crate) async fn words_are_found_in_any_case_and_script<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    let pairs = [
        ("Der Hund heißt STRASSE", "straße"),
        ("Ο ΟΔΟΣ", "οδος"),
        ("Une voiture ÉLÉGANTE", "e\u{301}le\u{301}gante"),
        ("the ﬁrst ｗｏｒｄ", "FIRST word"),
        ("मेरी हिन्दी किताब", "हिन्दी"),
        ("می\u{200c}خواهم", "میخواهم"),
        ("الكتاب الجديد", "الكتاب"),
        ("東京タワーへ行きました", "東京タワー"),
        ("ฉันชอบแมวสีดำ", "แมว"),
        ("나는 고양이를 좋아해", "고양이를"),
        ("foo_bar-baz.rs", "BAR"),
        ("it’s John's", "john"),
    ];
    for (text, _) in pairs {
        world.add(text).await;
    }
    for (text, query) in pairs {
        assert_eq!(world.find(query).await.first().map(String::as_str), Some(text), "{query}");
    }
}

pub(crate) async fn hostile_texts_and_names_are_kept_exactly<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    for name in HOSTILE {
        let owner = UserKey::new(name, name).unwrap();
        let session = owner.session_key(name).unwrap();
        world.write_session(&session, &[]).await;
        let note = NoteContent::new(format!("dog {name}")).with_author(name).of_session(name);
        world.memory.add(&owner, &note).await.unwrap();
        let found = world.memory.search(&owner, "dog", 10).await.unwrap();
        assert_eq!(found.iter().map(|it| &it.note.content).collect::<Vec<_>>(), [&note]);
        world.memory.search(&owner, name, 10).await.unwrap();
    }
    for name in HOSTILE {
        assert_eq!(world.sessions.delete_user(name, name).await.unwrap(), 1);
        assert_eq!(world.find_of(&UserKey::new(name, name).unwrap(), "dog").await.len(), 0);
    }
}

pub(crate) async fn notes_beyond_the_limits_are_refused<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    let largest = "x ".repeat(NoteContent::MAX_TEXT_BYTES / 2);
    let long_name = "x".repeat(10_000);
    let notes = [
        (NoteContent::new(""), "empty"),
        (NoteContent::new(" \n"), "empty"),
        (NoteContent::new("a\0b"), "NUL"),
        (NoteContent::new(format!("{largest}x")), "65536 bytes"),
        (NoteContent::new("x").with_author(&*long_name), "768 bytes"),
        (NoteContent::new("x").of_session(&*long_name), "768 bytes"),
        (NoteContent::new("x").of_session(""), "session id is empty"),
    ];
    for (note, problem) in notes {
        let error = world.memory.add(&user(), &note).await.unwrap_err();
        assert!(matches!(error, SessionError::Invalid(_)), "{error}");
        assert!(error.to_string().contains(problem) && error.to_string().len() < 200, "{error}");
    }
    let missing = NoteContent::new("x").of_session("missing");
    let error = world.memory.add(&user(), &missing).await.unwrap_err();
    assert_eq!(error, SessionError::NotFound(Box::new(key("missing"))));
    world.add(&largest).await;
    assert_eq!(world.find("x").await.len(), 1);
}

pub(crate) async fn users_do_not_find_the_notes_of_each_other<F: MemoryFactory>() {
    let world = World::new::<F>().await;
    let names = [("shop", "1"), ("shop", "11"), ("shop", "1 1"), ("1", "shop"), ("", "1")];
    let users = names.map(|(app, user)| UserKey::new(app, user).unwrap());
    for user in &users {
        world.memory.add(user, &NoteContent::new(format!("dog 1 of {user}"))).await.unwrap();
    }
    for user in &users {
        assert_eq!(world.find_of(user, "dog 1").await, [format!("dog 1 of {user}")]);
        assert_eq!(world.find_of(user, "1_dog 11_dog \"1 dog\"").await.len(), 1);
    }
    assert_eq!(world.find("dog").await.len(), 0);
}

pub(crate) async fn any_note_is_found_by_its_own_text<F: MemoryFactory>() {
    let mut runner = TestRunner::new(ProptestConfig::default());
    let world = World::new::<F>().await;
    for _ in 0..100 {
        let text = "\\PC{1,40}".new_tree(&mut runner).unwrap().current();
        let text = format!("{text} n{text}");
        let number = world.add(&text).await;
        let found = world.memory.search(&user(), &text, 100).await.unwrap();
        // Texts of punctuation alone share the word `n`.
        assert!(found.iter().any(|found| found.note.number == number), "{text:?}");
        assert!(world.memory.delete(&user(), number).await.unwrap());
    }
}
