//! Lists of sessions.

use tool_session::{Session, SessionFilter, SessionKey};

use super::world::{StoreFactory, World, key};

fn ids(sessions: &[Session]) -> Vec<&str> {
    sessions.iter().map(|session| session.key.id()).collect()
}

pub(crate) async fn sessions_are_listed_by_their_last_change<F: StoreFactory>() {
    let world = World::new::<F>().await;
    for id in ["a", "b", "c"] {
        world.session(&key(id), &["x"]).await;
        world.time.pass(1);
    }
    world.session(&key("a"), &["y"]).await;
    world.session(&SessionKey::new("shop", "u-8", "d").unwrap(), &[]).await;
    world.session(&SessionKey::new("other", "u-7", "e").unwrap(), &[]).await;
    let own = world.sessions.list(&SessionFilter::new("shop").of_user("u-7")).await.unwrap();
    assert_eq!(ids(&own), ["a", "c", "b"]);
    assert_eq!((own[0].revision, own[0].entries), (2, 2));
    let all = world.sessions.list(&SessionFilter::new("shop")).await.unwrap();
    assert_eq!(ids(&all), ["d", "a", "c", "b"]);
    assert_eq!(world.sessions.list(&SessionFilter::new("SHOP")).await.unwrap(), []);
}

pub(crate) async fn a_list_is_read_in_pages<F: StoreFactory>() {
    let world = World::new::<F>().await;
    // Of one time, but for one.
    for id in ["a", "b", "c", "d", "é"] {
        world.session(&key(id), &["x"]).await;
    }
    world.time.pass(1);
    world.session(&key("e"), &[]).await;
    let mut filter = SessionFilter::new("shop").limit(2);
    let mut found = Vec::new();
    loop {
        let page = world.sessions.list(&filter).await.unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        filter = filter.after(last);
        found.extend(ids(&page).into_iter().map(str::to_owned));
    }
    assert_eq!(found, ["e", "é", "d", "c", "b", "a"]);
}
