//! Names: of a session, or of a user; refused with the limit, or stored exactly.

use proptest::{
    prelude::{ProptestConfig, Strategy},
    strategy::ValueTree,
    test_runner::TestRunner,
};
use tool_session::{SessionError, UserKey};

use super::world::{ArtifactFactory, TEXT, World, read};
use crate::contract::{names::HOSTILE, world::key};

pub(crate) async fn hostile_names_are_kept_exactly_and_never_in_a_path<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    for name in HOSTILE {
        let session = UserKey::new(name, name).unwrap().session_key(name).unwrap();
        world.make_session(&session).await;
        let artifacts = world.artifacts.for_session(&session);
        let of_user = format!("user:{name}");
        let saved = artifacts.save(name, name, format!("of {name}")).await.unwrap();
        artifacts.save(&of_user, name, "of the user").await.unwrap();
        assert_eq!((saved.name.as_ref(), saved.media_type.as_ref()), (name, name));
        assert_eq!(read(&artifacts, name, None).await, format!("of {name}").as_bytes());
        let names: Vec<_> = artifacts.list().await.unwrap().iter().map(|it| it.name.to_string()).collect();
        assert_eq!(names, [name, &of_user]);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_".contains(c);
    assert!(world.paths().await.iter().all(|path| path.starts_with("bodies/") && path.chars().all(is_plain)));
    for name in HOSTILE {
        let user = UserKey::new(name, name).unwrap();
        assert_eq!(world.artifacts.delete_user(&user).await.unwrap(), 2);
    }
    assert!(world.paths().await.is_empty());
}

pub(crate) async fn any_name_is_kept<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.of_session();
    let mut runner = TestRunner::new(ProptestConfig::default());
    for _ in 0..50 {
        let name = "[^\0]{1,40}".new_tree(&mut runner).unwrap().current();
        if name == "user:" {
            continue;
        }
        let saved = artifacts.save(&name, TEXT, name.clone()).await.unwrap();
        assert_eq!(read(&artifacts, &name, Some(saved.version)).await, name.as_bytes());
    }
}

pub(crate) async fn names_beyond_the_limits_are_refused<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let artifacts = world.of_session();
    let long = "x".repeat(10_000);
    let refused = |error: SessionError, problem: &str| {
        assert!(matches!(error, SessionError::Invalid(_)), "{error}");
        assert!(error.to_string().contains(problem) && error.to_string().len() < 200, "{error}");
    };
    for (name, problem) in [("", "empty"), ("user:", "empty"), ("a\0", "NUL"), (&*long, "at most 768 bytes")]
    {
        refused(artifacts.save(name, TEXT, "x").await.unwrap_err(), problem);
        refused(artifacts.load(name, None).await.unwrap_err(), problem);
        refused(artifacts.versions(name).await.unwrap_err(), problem);
        refused(artifacts.delete(name).await.unwrap_err(), problem);
    }
    refused(artifacts.save("a", &long, "x").await.unwrap_err(), "at most 768 bytes");
    assert!(world.paths().await.is_empty());
    assert!(artifacts.load("a", Some(u64::MAX)).await.unwrap().is_none());
}

pub(crate) async fn names_with_the_prefix_of_users_belong_to_the_user<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let (one, other) = (world.of_session(), world.artifacts.for_session(&key("t")));
    let alone = world.artifacts.for_user(&key("s").user_key());
    one.save("user:a", TEXT, "from s").await.unwrap();
    one.save("a", TEXT, "of s").await.unwrap();
    assert_eq!(other.save("user:a", TEXT, "from t").await.unwrap().version, 2);
    assert_eq!(alone.save("user:a", TEXT, "from no session").await.unwrap().version, 3);
    assert_eq!(read(&one, "user:a", None).await, b"from no session");
    assert!(other.load("a", None).await.unwrap().is_none());
    assert_eq!(alone.list().await.unwrap().len(), 1);
    let error = alone.save("a", TEXT, "x").await.unwrap_err();
    assert!(error.to_string().contains("no session; use a name that begins with `user:`"), "{error}");
}

pub(crate) async fn users_do_not_load_the_artifacts_of_each_other<F: ArtifactFactory>() {
    let world = World::<F>::new().await;
    let users =
        [("shop", "u-8"), ("other", "u-7"), ("", "")].map(|(app, user)| UserKey::new(app, user).unwrap());
    let artifacts = world.of_session();
    artifacts.save("user:a", TEXT, "of u-7").await.unwrap();
    artifacts.save("a", TEXT, "of the session s").await.unwrap();
    for user in users {
        let session = user.session_key("s").unwrap();
        world.make_session(&session).await;
        let stranger = world.artifacts.for_session(&session);
        assert!(stranger.list().await.unwrap().is_empty());
        assert!(stranger.load("a", None).await.unwrap().is_none());
        assert!(stranger.load("user:a", None).await.unwrap().is_none());
        assert_eq!(stranger.save("user:a", TEXT, "own").await.unwrap().version, 1);
        assert!(!stranger.delete("a").await.unwrap());
    }
    assert_eq!(read(&artifacts, "user:a", None).await, b"of u-7");
}
