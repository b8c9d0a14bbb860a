//! Hostile names: refused with the limit, or stored exactly.

use proptest::{
    prelude::{ProptestConfig, Strategy},
    strategy::ValueTree,
    test_runner::TestRunner,
};
use tool_runtime::call::CallAddress;
use tool_session::{
    EntryQuery, JsonText, LeaseRequest, Retention, SessionError, SessionFilter, SessionKey, SessionWrite,
};

use super::world::{StoreFactory, World, key, message};

pub(crate) const HOSTILE: [&str; 12] = [
    "'; DROP TABLE sessions; --",
    "\"\"'`\\",
    "../../etc/passwd",
    "%_*?[a-z]",
    "\u{202e}gnp.exe",
    "用户 ユーザー משתמש",
    "e\u{301}",
    "é",
    " leading and trailing ",
    "\n\r\t\u{7f}\u{1}",
    "\u{feff}",
    "NULL",
];

pub(crate) async fn hostile_names_are_kept_exactly<F: StoreFactory>() {
    let world = World::new::<F>().await;
    for name in HOSTILE {
        let key = SessionKey::new(name, name, name).unwrap();
        let request = LeaseRequest::new(name, name);
        let grant = world.sessions.acquire(&key, &request).await.unwrap();
        let content =
            message(name, name).with_agent(name).with_branch(name).with_view(name).with_parent_run(name);
        let write = SessionWrite::new(0).entry(content.clone()).title(name);
        world.sessions.write(&grant.lease, &write).await.unwrap();

        let query = EntryQuery::forward().of_run(name).of_branch(name).of_view(name);
        let entries = world.entries(&key, query).await;
        assert_eq!(entries.iter().map(|it| &it.content).collect::<Vec<_>>(), [&content]);
        let listed = world.sessions.list(&SessionFilter::new(name).of_user(name)).await.unwrap();
        assert_eq!(listed.len(), 1, "{name:?}");
        assert_eq!((&listed[0].key, listed[0].title.as_deref()), (&key, Some(name)));
    }
    for name in HOSTILE {
        assert_eq!(world.sessions.delete_user(name, name).await.unwrap(), 1);
    }
}

pub(crate) async fn names_beyond_the_limit_are_refused<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let largest = "x".repeat(SessionKey::MAX_NAME_BYTES);
    for name in ["x".repeat(10_000), "\0".to_owned(), "a\0b".to_owned(), format!("{largest}x")] {
        let refused = |error: SessionError| {
            let text = error.to_string();
            assert!(matches!(error, SessionError::Invalid(_)), "{text}");
            assert!(text.contains("at most 768 bytes") || text.contains("NUL"), "{text}");
            assert!(text.len() < 200, "{text}");
        };
        refused(SessionKey::new(&*name, "", "s").unwrap_err());
        refused(SessionKey::new("", &*name, "s").unwrap_err());
        refused(SessionKey::new("", "", &*name).unwrap_err());
        refused(world.sessions.acquire(&key("s"), &LeaseRequest::new(&*name, "one")).await.unwrap_err());
        refused(world.sessions.acquire(&key("s"), &LeaseRequest::new("one", &*name)).await.unwrap_err());
        refused(world.sessions.fork(&key("s"), 0, &name).await.unwrap_err());
        refused(world.sessions.delete_user("shop", &name).await.unwrap_err());
        refused(world.sessions.unfinished(&name).await.unwrap_err());
        refused(world.sessions.prune(&Retention::new(&*name)).await.unwrap_err());
        refused(world.sessions.list(&SessionFilter::new(&*name)).await.unwrap_err());
        refused(world.sessions.list(&SessionFilter::new("shop").of_user(&*name)).await.unwrap_err());
        let all = EntryQuery::forward;
        for query in
            [all().of_run(&*name), all().of_kind(&*name), all().of_branch(&*name), all().of_view(&*name)]
        {
            refused(world.sessions.entries(&key("s"), &query).await.unwrap_err());
        }
        let contents = [
            message(&name, "x"),
            message("one", "x").with_agent(&*name),
            message("one", "x").with_branch(&*name),
            message("one", "x").with_view(&*name),
            message("one", "x").with_parent_run(&*name),
            super::world::entry("one", &name, "x"),
        ];
        for content in contents {
            refused(world.sessions.write(&lease, &SessionWrite::new(0).entry(content)).await.unwrap_err());
        }
        refused(world.sessions.write(&lease, &SessionWrite::new(0).title(&*name)).await.unwrap_err());
    }
    let key = SessionKey::new(&*largest, &*largest, &*largest).unwrap();
    world.session(&key, &["x"]).await;
    assert_eq!(world.texts(&key).await, ["x"]);
}

/// A model chooses the ids of calls: none may end a run.
pub(crate) async fn a_hostile_call_id_is_kept_exactly<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let ids = ["\0".to_owned(), "x".repeat(100_000), "'\"\\\u{2028}".to_owned(), String::new()];
    let contents = ids.map(|id| {
        let address = CallAddress { run: Some("one".into()), call_id: id.into(), serial: 3 };
        message("one", "x").with_outer_call(address)
    });
    world.sessions.write(&lease, &SessionWrite::new(0).entries(contents.clone())).await.unwrap();
    let entries = world.entries(&key("s"), EntryQuery::forward()).await;
    assert!(entries.iter().map(|it| &it.content).eq(&contents));
}

pub(crate) async fn users_do_not_see_each_other<F: StoreFactory>() {
    let world = World::new::<F>().await;
    // Keys whose parts would be equal if they were joined, or compared without regard to case or composition.
    let keys = [
        ("a", "b", "c"),
        ("ab", "", "c"),
        ("a", "bc", "c"),
        ("", "ab", "c"),
        ("a", "B", "c"),
        ("a", "b", "C"),
    ];
    let keys = keys.map(|(app, user, id)| SessionKey::new(app, user, id).unwrap());
    for key in &keys {
        world.session(key, &[&key.to_string()]).await;
    }
    for key in &keys {
        assert_eq!(world.texts(key).await, [key.to_string()]);
    }
}

pub(crate) async fn any_text_is_kept_in_every_column<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let names = proptest::collection::vec("[^\u{0}]{1,40}", 8);
    for number in 0..60 {
        let names = names.new_tree(&mut runner).unwrap().current();
        let body = "(?s).{0,80}".new_tree(&mut runner).unwrap().current();
        let [app, user, id, run, agent, branch, view, kind] = &names[..] else { panic!("8 names") };
        let key = SessionKey::new(&**app, &**user, format!("{number}{id}")).unwrap();
        let grant = world.sessions.acquire(&key, &LeaseRequest::new(&**run, &**agent)).await.unwrap();
        let mut content = message(run, &body).with_agent(&**agent).with_branch(&**branch).with_view(&**view);
        content.kind = (&**kind).into();
        content.body = JsonText::new(format!(" {} ", JsonText::of(&body).unwrap())).unwrap();
        let write = SessionWrite::new(0).entry(content.clone()).title(&**view);
        world.sessions.write(&grant.lease, &write).await.unwrap();
        let query =
            EntryQuery::backward().of_kind(&**kind).of_view(&**view).of_branch(&**branch).of_run(&**run);
        let entries = world.entries(&key, query).await;
        assert_eq!(entries.iter().map(|it| &it.content).collect::<Vec<_>>(), [&content]);
        let session = world.sessions.load(&key).await.unwrap().unwrap().session;
        assert_eq!((&session.key, session.title.as_deref()), (&key, Some(&**view)));
    }
}
