use super::*;

fn resource(namespace: Option<&str>, uri: usize) -> CatalogueEvent {
    CatalogueEvent::new(namespace, CatalogueChange::Resource { uri: format!("a:{uri}") })
}

fn state(namespace: Option<&str>, key: &str, state: ConnectorState) -> CatalogueEvent {
    CatalogueEvent::new(namespace, CatalogueChange::Connector { key: key.to_owned(), state })
}

fn lists(namespace: Option<&str>) -> CatalogueEvent {
    CatalogueEvent::new(namespace, CatalogueChange::Prompts)
}

fn pending_of(events: impl IntoIterator<Item = CatalogueEvent>) -> PendingEvents {
    let mut pending = PendingEvents::default();
    events.into_iter().for_each(|event| pending.push(event));
    pending
}

fn pop_all(pending: &mut PendingEvents) -> Vec<Result<CatalogueEvent, u64>> {
    let next = || pending.pop().map(|event| event.map_err(|lagged| lagged.missed));
    std::iter::from_fn(next).collect()
}

#[test]
fn equal_events_count_once_until_they_are_received() {
    let events = [lists(None), resource(None, 1), lists(Some("a")), lists(None), resource(None, 1)];
    let mut pending = pending_of(events.clone());
    assert_eq!(pop_all(&mut pending), events[..3].iter().cloned().map(Ok).collect::<Vec<_>>());
    pending.push(lists(None));
    assert_eq!(pop_all(&mut pending), [Ok(lists(None))]);
    assert!(pending.places.is_empty() && pending.resources.is_empty());
}

#[test]
fn the_last_state_of_a_connector_counts_after_what_came_before_it() {
    let (connecting, active) = (ConnectorState::Connecting, ConnectorState::Active);
    let mut pending = pending_of([
        state(None, "a", connecting),
        state(None, "b", connecting),
        lists(Some("a")),
        state(Some("a"), "a", active),
    ]);
    let expected = [state(None, "b", connecting), lists(Some("a")), state(Some("a"), "a", active)];
    assert_eq!(pop_all(&mut pending), expected.map(Ok));
    pending.push(state(Some("a"), "a", active));
    assert_eq!(pop_all(&mut pending), [Ok(state(Some("a"), "a", active))]);
}

#[test]
fn changes_of_256_resources_of_each_namespace_are_buffered() {
    let mut pending = pending_of((0..258).map(|uri| resource(Some("a"), uri)));
    // One that is buffered already, other changes and other namespaces have room.
    for event in [resource(Some("a"), 0), lists(Some("a")), resource(None, 0), resource(Some("b"), 0)] {
        pending.push(event);
    }
    let received = pop_all(&mut pending);
    let expected = (0..256).map(|uri| resource(Some("a"), uri));
    let others = [lists(Some("a")), resource(None, 0), resource(Some("b"), 0)];
    let expected = std::iter::once(Err(2)).chain(expected.chain(others).map(Ok)).collect::<Vec<_>>();
    assert!(received == expected, "{:?}", received.first());
    assert!(pending.resources.is_empty());
    // One that was received makes room for one.
    let mut pending = pending_of((0..256).map(|uri| resource(Some("a"), uri)));
    assert_eq!(pending.pop().map(|event| event.is_ok()), Some(true));
    (256..258).for_each(|uri| pending.push(resource(Some("a"), uri)));
    assert_eq!((pending.missed, pending.events.len()), (1, 256));
}

#[test]
fn changes_of_tools_have_the_namespace_of_their_toolset() {
    let hub = EventHub::default();
    let toolbox = tool_runtime::Toolbox::new();
    let mut listener = hub.subscribe(toolbox.subscribe());
    hub.send(lists(None));
    assert_eq!(listener.try_next().and_then(Result::ok), Some(lists(None)));
    assert!(listener.try_next().is_none());
    drop(listener);
    let _listener = hub.subscribe(toolbox.subscribe());
    let queues = hub.queues.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(queues.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_waits_receives_an_event_and_then_the_end() {
    let hub = EventHub::default();
    let toolbox = tool_runtime::Toolbox::new();
    let mut listener = hub.subscribe(toolbox.subscribe());
    for has_toolbox in [true, false] {
        if !has_toolbox {
            listener.tools = None;
        }
        let sending = async {
            tokio::task::yield_now().await;
            hub.send(lists(None));
        };
        let (received, ()) = tokio::join!(listener.next(), sending);
        assert_eq!(received.and_then(Result::ok), Some(lists(None)), "{has_toolbox}");
    }
    drop(hub);
    assert!(listener.next().await.is_none());
}
