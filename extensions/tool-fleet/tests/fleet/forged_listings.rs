//! Workers with the key of the pool that list other tools than they announce.

use futures_util::StreamExt as _;
use tool_fleet::{FleetToolSet, MemoryTransport, Payload, Transport as _};
use tool_runtime::{RunContext, ToolSet as _, definition::ContentHash, prelude::*};

use super::{
    broker::{Forger, Sent},
    program_key,
};

/// Returns the error of a listing whose worker answers each request by the next one of `answers`, and then by the last one.
async fn list(registry: ContentHash, answers: Vec<(&'static str, Value)>) -> String {
    let transport = MemoryTransport::new();
    let set = FleetToolSet::connect(transport.clone(), program_key().pool_key("trip")).await.unwrap();
    let subject = format!("tools.trip.definitions.{registry}");
    let mut requests = transport.listen(&subject, Some("workers")).await.unwrap();
    let forger = Forger::new(&transport, "trip");
    forger.announce(&registry.to_string()).await;
    let answering = async {
        for number in 0.. {
            let delivery = requests.next().await.unwrap();
            let reply = delivery.reply.clone().unwrap();
            let Payload::Body(body) = delivery.payload else { panic!("a message has no receiver") };
            // It is one of the pool.
            forger.read(&Sent { subject: delivery.subject, reply: delivery.reply, body });
            let (kind, body) = answers[usize::min(number, answers.len() - 1)].clone();
            forger.send(&reply, None, kind, body).await;
        }
    };
    let run = RunContext::new();
    let listing = set.tools(run.read_only());
    let listed = tokio::select! { listed = listing => listed, () = answering => unreachable!() };
    listed.err().unwrap().feedback()
}

fn index(total: usize, hashes: &[ContentHash]) -> (&'static str, Value) {
    ("index", json!({ "total": total, "hashes": hashes }))
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_lists_other_tools_than_it_announces_lists_none() {
    let hashes = [ContentHash::of("a"), ContentHash::of("b")];
    let registry = ContentHash::combine(hashes);
    let other_list = "the list of tools is not the one that the worker announced";
    for answers in [
        vec![index(2, &[hashes[1], hashes[0]])],
        vec![index(1, &hashes[..1])],
        vec![index(2, &hashes[..1]), index(2, &[])],
        vec![index(3, &[hashes[0], hashes[1], ContentHash::of("c")])],
        vec![index(0, &[])],
    ] {
        let text = format!("{answers:?}");
        assert!(list(registry, answers).await.contains(other_list), "{text}");
    }
    // As it announces them, in one page or two.
    let no_definitions = ("definitions", json!({ "definitions": [] }));
    let unread = "a worker does not return the definitions that it lists";
    for pages in [vec![index(2, &hashes)], vec![index(2, &hashes[..1]), index(2, &hashes[1..])]] {
        let answers = pages.into_iter().chain([no_definitions.clone()]).collect();
        let error = list(registry, answers).await;
        assert!(error.contains(unread), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_answers_with_another_message_lists_no_tools() {
    let registry = ContentHash::combine([ContentHash::of("a")]);
    let error = list(registry, vec![("leave", json!(null))]).await;
    assert!(error.contains("a worker answered with another message than a list of tools"), "{error}");
    let error = list(registry, vec![("unanswerable", json!({ "problem": "it is too large" }))]).await;
    assert!(error.contains("it is too large"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_lists_a_bounded_number_of_tools() {
    let hashes: Vec<_> = (0..10_000_u32).map(|number| ContentHash::of(&number)).collect();
    let registry = ContentHash::of("registry");
    let error = list(registry, vec![index(usize::MAX, &hashes)]).await;
    assert!(error.contains("a worker lists more than 100000 tools"), "{error}");
}
