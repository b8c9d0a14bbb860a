//! Leases: one run at a time writes a session.

use std::time::Duration;

use tool_session::{EntryContent, JsonText, LeaseRequest, SessionError, SessionWrite};

use super::world::{StoreFactory, World, key, message};

pub(crate) async fn one_of_two_holders_gets_the_lease<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let busy = world.acquire(&key("s"), "two").await.unwrap_err();
    assert_eq!(busy, SessionError::Busy { run: "one".into(), expires_at: lease.expires_at });
    assert!(busy.is_transient());
    world.acquire(&key("another"), "two").await.unwrap();
}

pub(crate) async fn a_released_lease_is_free<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    world.sessions.release(&lease).await.unwrap();
    world.sessions.release(&lease).await.unwrap();
    let second = world.sessions.acquire(&key("s"), &LeaseRequest::new("two", "two")).await.unwrap();
    assert!(second.lease.epoch > lease.epoch);
    assert_eq!(second.interrupted, None);
    let late = world.sessions.release(&lease).await.unwrap_err();
    assert_eq!(late, SessionError::Superseded { run: "two".into() });
}

pub(crate) async fn an_expired_lease_is_taken_over<F: StoreFactory>() {
    let world = World::new::<F>().await;
    world.acquire(&key("s"), "one").await.unwrap();
    world.time.pass(29);
    world.acquire(&key("s"), "two").await.unwrap_err();
    world.time.pass(1);
    let grant = world.sessions.acquire(&key("s"), &LeaseRequest::new("two", "two")).await.unwrap();
    assert_eq!(grant.interrupted, Some("one".into()));
}

pub(crate) async fn a_holder_takes_over_its_own_lease<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let first = world.acquire(&key("s"), "one").await.unwrap();
    let request = LeaseRequest::new("run of a dropped stream", "one");
    let second = world.sessions.acquire(&key("s"), &request).await.unwrap().lease;
    assert!(second.epoch > first.epoch);
    world.write(&first, &["late"]).await.unwrap_err();
}

pub(crate) async fn an_older_epoch_writes_nothing<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let stopped = world.acquire(&key("s"), "stopped").await.unwrap();
    world.write(&stopped, &["one"]).await.unwrap();
    world.time.pass(31);
    let other = world.acquire(&key("s"), "other").await.unwrap();
    // The process goes on, and its clock says that the lease has not expired.
    world.time.jump_back(31);
    let superseded = SessionError::Superseded { run: "other".into() };
    assert_eq!(world.write(&stopped, &["late"]).await.unwrap_err(), superseded);
    assert_eq!(world.sessions.renew(&stopped).await.unwrap_err(), superseded);
    let repeated = SessionWrite::new(0).entry(message("stopped", "one"));
    assert_eq!(world.sessions.write(&stopped, &repeated).await.unwrap_err(), superseded);
    world.write(&other, &["two"]).await.unwrap();
    assert_eq!(world.texts(&key("s")).await, ["one", "two"]);
}

pub(crate) async fn an_expired_lease_goes_on_if_no_run_took_it<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    world.time.pass(3600);
    let renewed = world.sessions.renew(&lease).await.unwrap();
    assert_eq!(renewed.epoch, lease.epoch);
    assert_eq!(renewed.expires_at, lease.expires_at + Duration::from_secs(3600));
    world.time.pass(3600);
    world.write(&lease, &["one"]).await.unwrap();
}

pub(crate) async fn a_lease_is_taken_again_at_an_unchanged_revision_only<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let first = world.acquire(&key("s"), "one").await.unwrap();
    world.write(&first, &["one"]).await.unwrap();
    world.time.pass(31);
    // Another run took over, wrote nothing, and ended.
    let second = world.acquire(&key("s"), "two").await.unwrap();
    world.sessions.release(&second).await.unwrap();
    let again = |revision| LeaseRequest::new("one", "one").at_revision(revision);
    let third = world.sessions.acquire(&key("s"), &again(1)).await.unwrap().lease;
    world.sessions.release(&third).await.unwrap();
    let fourth = world.acquire(&key("s"), "four").await.unwrap();
    world.write(&fourth, &["four"]).await.unwrap();
    world.sessions.release(&fourth).await.unwrap();
    let superseded = world.sessions.acquire(&key("s"), &again(1)).await.unwrap_err();
    assert_eq!(superseded, SessionError::Superseded { run: "four".into() });
    let missing = world.sessions.acquire(&key("no"), &again(0)).await.unwrap_err();
    assert!(matches!(missing, SessionError::NotFound(_)));
    assert_eq!(world.sessions.load(&key("no")).await.unwrap(), None);
}

pub(crate) async fn a_write_renews_the_lease<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    for text in ["one", "two", "three"] {
        world.time.pass(29);
        world.write(&lease, &[text]).await.unwrap();
    }
    world.time.pass(29);
    world.acquire(&key("s"), "two").await.unwrap_err();
}

pub(crate) async fn unfinished_runs_are_those_that_expired_without_an_end<F: StoreFactory>() {
    let world = World::new::<F>().await;
    world.session(&key("ended"), &["one"]).await;
    let first = world.acquire(&key("first"), "one").await.unwrap();
    world.write(&first, &["one"]).await.unwrap();
    world.time.pass(1);
    world.acquire(&key("second"), "two").await.unwrap();
    assert_eq!(world.sessions.unfinished("shop").await.unwrap(), []);
    world.time.pass(30);
    world.acquire(&key("alive"), "three").await.unwrap();
    let runs = world.sessions.unfinished("shop").await.unwrap();
    let found: Vec<_> = runs.iter().map(|it| (it.key.id(), it.run.to_string(), it.revision)).collect();
    assert_eq!(found, [("first", "one".to_owned(), 1), ("second", "two".to_owned(), 0)]);
    assert!(runs[0].expired_at < runs[1].expired_at);
    assert_eq!(world.sessions.unfinished("another").await.unwrap(), []);
    // A run that was taken over is not unfinished any more.
    let later = world.acquire(&key("first"), "four").await.unwrap();
    world.sessions.release(&later).await.unwrap();
    assert_eq!(world.sessions.unfinished("shop").await.unwrap().len(), 1);
}

pub(crate) async fn a_continued_run_reads_its_usage<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let usage = JsonText::new(r#"{"rounds": 3}"#).unwrap();
    world.sessions.write(&lease, &SessionWrite::new(0).usage(usage.clone())).await.unwrap();
    world.sessions.write(&lease, &SessionWrite::new(1)).await.unwrap();
    world.time.pass(31);
    let continued = world.sessions.acquire(&key("s"), &LeaseRequest::new("one", "elsewhere")).await.unwrap();
    assert_eq!((continued.usage, continued.interrupted), (Some(usage.clone()), Some("one".into())));
    // A run that continues the interrupted one has its usage, also if it is interrupted itself before it stores its own.
    for (run, interrupted) in [("two", "one"), ("three", "two")] {
        world.time.pass(31);
        let other = world.sessions.acquire(&key("s"), &LeaseRequest::new(run, run)).await.unwrap();
        assert_eq!((other.usage, other.interrupted), (Some(usage.clone()), Some(interrupted.into())));
        if run == "three" {
            world.sessions.release(&other.lease).await.unwrap();
        }
    }
    let next = world.sessions.acquire(&key("s"), &LeaseRequest::new("four", "four")).await.unwrap();
    assert_eq!((next.usage, next.interrupted), (None, None));
}

pub(crate) async fn an_abandoned_lease_is_free_and_its_run_unfinished<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    world.write(&lease, &["one"]).await.unwrap();
    world.sessions.abandon(&lease).await.unwrap();
    world.sessions.abandon(&lease).await.unwrap();
    let runs = world.sessions.unfinished("shop").await.unwrap();
    assert_eq!((runs.len(), &runs[0].run, runs[0].revision), (1, &"one".into(), 1));
    let second = world.sessions.acquire(&key("s"), &LeaseRequest::new("two", "two")).await.unwrap();
    assert_eq!(second.interrupted, Some("one".into()));
    // The run whose stream was dropped writes nothing, and does not end the lease of the next one.
    let superseded = SessionError::Superseded { run: "two".into() };
    assert_eq!(world.write(&lease, &["late"]).await.unwrap_err(), superseded);
    assert_eq!(world.sessions.abandon(&lease).await.unwrap_err(), superseded);
    world.acquire(&key("s"), "three").await.unwrap_err();
    // A lease that was released has ended.
    world.sessions.release(&second.lease).await.unwrap();
    world.sessions.abandon(&second.lease).await.unwrap();
    assert_eq!(world.sessions.unfinished("shop").await.unwrap(), []);
}

pub(crate) async fn a_clock_that_jumps_back_gives_no_second_writer<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let first = world.acquire(&key("s"), "one").await.unwrap();
    world.time.jump_back(100_000);
    world.acquire(&key("s"), "two").await.unwrap_err();
    world.write(&first, &["one"]).await.unwrap();
    world.time.pass(200_000);
    let second = world.acquire(&key("s"), "two").await.unwrap();
    world.write(&first, &["late"]).await.unwrap_err();
    world.write(&second, &["two"]).await.unwrap();
    assert_eq!(world.texts(&key("s")).await, ["one", "two"]);
}

pub(crate) async fn of_many_requests_one_is_granted<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let tasks = (0..20).map(|number| {
        let sessions = world.sessions.clone();
        tokio::spawn(async move {
            let name = format!("run {number}");
            let grant = sessions.acquire(&key("s"), &LeaseRequest::new(&*name, &*name)).await?;
            let entry = EntryContent::new(&*name, EntryContent::MESSAGE, JsonText::of(&name)?);
            sessions.write(&grant.lease, &SessionWrite::new(grant.session.revision).entry(entry)).await
        })
    });
    let mut granted = 0;
    for task in tasks.collect::<Vec<_>>() {
        match task.await.unwrap() {
            Ok(_) => granted += 1,
            Err(error) => assert!(matches!(error, SessionError::Busy { .. }), "{error}"),
        }
    }
    assert_eq!((granted, world.texts(&key("s")).await.len()), (1, 1));
}
