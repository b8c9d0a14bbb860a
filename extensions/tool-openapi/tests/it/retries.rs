//! Retries by the policy of an executor.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use test_support::http::{Answer, Recorder};
use tool_runtime::{Executor, ToolCall, definition::Retry, policy::RetryPolicy};

use crate::{built, registry, responses::api};

#[tokio::test]
async fn a_failure_that_may_pass_is_repeated_by_the_policy_of_the_executor_only() {
    let attempts = async |method: &str, answer: Answer, policy: Option<RetryPolicy>| {
        let count = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&count);
        let server = Recorder::answering(move |_| match counting.fetch_add(1, Ordering::Relaxed) {
            0 => answer.clone(),
            _ => Answer::of(503, "text/plain", "still busy").with_header("retry-after", "0"),
        })
        .await;
        let builder = Executor::builder(registry(&built(api(method, None).base_url(&server.url))));
        let builder = match policy {
            Some(policy) => builder.retry(policy),
            None => builder,
        };
        let outcomes = builder.build().unwrap().run(vec![ToolCall::new("op", "{}")]).await;
        let result = outcomes[0].result().unwrap();
        assert!(!result.is_error()); // P10
        (count.load(Ordering::Relaxed), result.text().into_owned())
    };
    let busy = |after: &str| Answer::of(429, "text/plain", "busy").with_header("retry-after", after);
    let policy =
        || Some(RetryPolicy::new(Retry { attempts: 3, initial_ms: 1, jitter: false, ..Retry::DEFAULT }));
    // Off by default.
    let (count, text) = attempts("get", busy("0"), None).await;
    assert_eq!(count, 1);
    assert!(text.contains("429 Too Many Requests\nretry-after: 0\n\nbusy"), "{text}");
    // The last response is the result.
    for method in ["get", "put", "delete"] {
        let (count, text) = attempts(method, busy("0"), policy()).await;
        assert_eq!(count, 3, "{method}");
        assert!(text.contains("503 Service Unavailable") && text.ends_with("still busy"), "{text}");
    }
    // Effects may occur twice.
    assert_eq!(attempts("post", busy("0"), policy()).await.0, 1);
    assert_eq!(attempts("post", busy("0"), policy().map(RetryPolicy::any_tool)).await.0, 3);
    // The server asks for a longer pause than the policy permits.
    assert_eq!(attempts("get", busy("3600"), policy()).await.0, 1);
    for status in [200, 400, 404, 500] {
        assert_eq!(attempts("get", Answer::of(status, "text/plain", ""), policy()).await.0, 1, "{status}");
    }
}
