//! The points up to which a provider caches a request.

use serde_json::Value;
use test_support::http::Recorder;
use tool_agent::{
    Message,
    model::{
        CachePoint::{self, Instruction, Tools},
        Model as _, ModelEvent, Request,
    },
};
use tool_runtime::prelude::*;

use super::{events, finished, model, saying, server::Answer};

/// Adds.
#[tool(read_only, register = false)]
fn add(a: f64) -> f64 {
    a
}

/// The marks of the tools and of the instruction, the numbers of the marked messages, and the remarks.
type Marks = (bool, bool, Vec<usize>, Vec<String>);

/// The marks of a request of `count` messages with `points`, whose model caches by itself if `caches`.
async fn marks(points: &[CachePoint], count: usize, caches: bool) -> Marks {
    let tools = Registry::builder().tool::<add>().build().unwrap();
    let messages = (0..count).map(|at| Message::user(at.to_string()));
    let mut request = Request::new(messages).with_instruction("Answer.").with_tools(tools);
    request.cache = points.to_vec();
    let server = Recorder::scripted([Answer::json(&saying("anthropic", "100"))]).await;
    let all = events(model("anthropic", &server.url).with_cache(caches).respond(request)).await;
    let remarks = all.iter().filter_map(|event| match event {
        Ok(ModelEvent::Unsupported(text)) => Some(text.clone()),
        _ => None,
    });
    let remarks = remarks.collect();
    finished(all);
    let body = server.received().remove(0).json();
    let is_marked = |value: &Value| value.to_string().contains("cache_control");
    let sent = body["messages"].as_array().unwrap();
    assert_eq!(sent.len(), count);
    let marked = sent.iter().enumerate().filter(|(_, message)| is_marked(message)).map(|(at, _)| at);
    (is_marked(&body["tools"]), is_marked(&body["system"]), marked.collect(), remarks)
}

#[tokio::test]
async fn the_points_of_a_request_are_marked_as_far_as_the_provider_accepts_them() {
    let at = CachePoint::Message;
    let remark = |beyond: usize| {
        vec![format!("a request has at most 4 cache points: the first {beyond} of its messages have none")]
    };
    let none = Vec::new;
    for (points, count, expected) in [
        (&[][..], 2, (false, false, vec![], none())),
        (&[Tools], 2, (true, false, vec![], none())),
        (&[Instruction], 2, (false, true, vec![], none())),
        (&[at(0)], 2, (false, false, vec![0], none())),
        // In any order, and once each.
        (&[at(1), at(0), at(1)], 3, (false, false, vec![0, 1], none())),
        (&[at(0), at(1), at(1), at(1), at(1)], 2, (false, false, vec![0, 1], none())),
        // Beyond the last message is the last one.
        (&[at(9), at(2)], 3, (false, false, vec![2], none())),
        (&[at(0), at(1), at(2), at(3)], 5, (false, false, vec![0, 1, 2, 3], none())),
        (&[at(0), at(1), at(2), at(3), at(4)], 5, (false, false, vec![1, 2, 3, 4], remark(1))),
        (&[at(0), at(1), at(2), Tools], 5, (true, false, vec![0, 1, 2], none())),
        (&[at(0), at(1), at(2), Instruction], 5, (false, true, vec![0, 1, 2], none())),
        (&[at(0), at(1), at(2), Tools, Instruction], 5, (true, true, vec![1, 2], remark(1))),
        (&[at(0), at(1), at(2), at(3), Tools, Instruction], 5, (true, true, vec![2, 3], remark(2))),
        (&[at(0)], 0, (false, false, vec![], none())),
    ] {
        assert_eq!(marks(points, count, false).await, expected, "{points:?} of {count}");
    }
}

#[tokio::test]
async fn a_model_that_caches_marks_everything_unless_the_request_says_what() {
    assert_eq!(marks(&[], 3, true).await, (true, true, vec![2], Vec::new()));
    assert_eq!(marks(&[CachePoint::Message(0)], 3, true).await, (false, false, vec![0], Vec::new()));
}
