//! Event streams of a server: messages only, and pauses before a stream is opened again.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::{Stream, stream::BoxStream};
use rmcp::{
    model::{JsonRpcMessage, RequestId},
    transport::streamable_http_client::SseError,
};
use sse_stream::Sse;
use tokio::time::Instant;

use super::{awaited::PostedRequest, reception::Reception};
use crate::client::limits::ServerLimits;

/// The maximum number of streams whose pauses are remembered; others have the lowest pause.
const MAX_STREAMS: usize = 1_024;

/// The pauses before streams are opened again, by the id of the last event of a stream.
pub(in crate::client) struct ReconnectPauses {
    min: Duration,
    max: Duration,
    stable_after: Duration,
    next: Mutex<HashMap<Option<String>, ReconnectPause>>,
}

/// The pause before the next connection of a stream.
#[derive(Clone, Copy, Default)]
pub(super) struct ReconnectPause {
    /// The pause by the number of reconnections, which doubles.
    backoff: Duration,
    /// The pause that the server asks for.
    retry: Duration,
}

impl ReconnectPauses {
    pub(in crate::client) fn new(limits: &ServerLimits) -> Self {
        let (min, stable_after) = (limits.min_reconnect_pause, limits.stable_after);
        Self { min, max: limits.max_reconnect_pause.max(min), stable_after, next: Mutex::default() }
    }

    /// Waits until a stream may be opened, and returns its pause; `last_event_id` is the id of its last event. The first stream
    /// is opened at once.
    pub(super) async fn wait_before_opening(&self, last_event_id: Option<&str>) -> ReconnectPause {
        let key = last_event_id.map(str::to_owned);
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        let pause = match next {
            Some(pause) => pause,
            None if last_event_id.is_none() => ReconnectPause::default(),
            None => ReconnectPause { backoff: self.min, retry: Duration::ZERO },
        };
        tokio::time::sleep(pause.backoff.max(pause.retry.min(self.max))).await;
        pause
    }

    /// Takes note of the end of a stream that was opened after `pause`, and was open for `open_duration`.
    pub(super) fn schedule_next_pause(
        &self,
        last_event_id: Option<&str>,
        pause: ReconnectPause,
        open_duration: Duration,
        retry: Option<Duration>,
    ) {
        let backoff = match open_duration >= self.stable_after {
            true => self.min,
            false => pause.backoff.saturating_mul(2).clamp(self.min, self.max),
        };
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.len() >= MAX_STREAMS {
            next.retain(|last_event_id, _| last_event_id.is_none());
        }
        next.insert(
            last_event_id.map(str::to_owned),
            ReconnectPause { backoff, retry: retry.unwrap_or(pause.retry) },
        );
    }
}

/// The events of one connection.
pub(super) struct MessageEvents {
    events: BoxStream<'static, Result<Sse, SseError>>,
    reception: Arc<Reception>,
    pauses: Arc<ReconnectPauses>,
    pause: ReconnectPause,
    opened: Instant,
    /// The request whose response this is.
    post: Option<RequestId>,
    last: Option<String>,
    retry: Option<Duration>,
    /// The request has its answer: the stream is not opened again.
    is_answered: bool,
    waiting: VecDeque<Sse>,
}

impl MessageEvents {
    /// Wraps the stream that answers the request `post`.
    pub(super) fn of_post(
        events: BoxStream<'static, Result<Sse, SseError>>,
        reception: Arc<Reception>,
        pauses: Arc<ReconnectPauses>,
        post: Option<RequestId>,
    ) -> Self {
        let (opened, waiting) = (Instant::now(), VecDeque::new());
        let (last, retry, pause, is_answered) = (None, None, ReconnectPause::default(), false);
        Self { events, reception, pauses, pause, opened, post, last, retry, is_answered, waiting }
    }

    /// Wraps a stream that was opened after `pause`, and goes on after the event `last`.
    pub(super) fn reopened_after(self, pause: ReconnectPause, last: Option<String>) -> Self {
        Self { pause, last, ..self }
    }

    /// Reads an event. What is no message has no data, since the SDK reads data of any event during the handshake.
    fn receive_event(&mut self, mut event: Sse) -> Sse {
        if let Some(millis) = event.retry.take() {
            self.retry = Some(Duration::from_millis(millis));
        }
        if event.id.is_some() {
            self.last.clone_from(&event.id);
        }
        let is_message = matches!(event.event.take().as_deref(), None | Some("" | "message"));
        let Some(data) = event.data.take().filter(|data| is_message && !data.trim().is_empty()) else {
            return event;
        };
        let post = self.post.as_ref().map_or(PostedRequest::None, PostedRequest::Event);
        let received = self.reception.read_messages(data.as_bytes(), post);
        self.is_answered |= self.post.is_some()
            && received
                .messages
                .iter()
                .any(|it| matches!(it, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)));
        if received.is_verbatim {
            event.data = Some(data.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(data));
            return event;
        }
        for message in received.messages {
            let data = serde_json::to_string(&message).ok();
            self.waiting.push_back(Sse { event: None, data, id: None, retry: None });
        }
        event
    }

    fn schedule_reopening_unless_answered(&mut self) {
        // A response without an id of an event is not opened again.
        if !self.is_answered && (self.post.is_none() || self.last.is_some()) {
            self.pauses.schedule_next_pause(
                self.last.as_deref(),
                self.pause,
                self.opened.elapsed(),
                self.retry,
            );
        }
    }
}

impl Stream for MessageEvents {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(event) = self.waiting.pop_front() {
            return Poll::Ready(Some(Ok(event)));
        }
        Poll::Ready(match ready!(self.events.as_mut().poll_next(task)) {
            Some(Ok(event)) => Some(Ok(self.receive_event(event))),
            end => {
                self.schedule_reopening_unless_answered();
                end
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits as a reconnection does, and returns the pause in whole seconds.
    async fn reconnect(pauses: &ReconnectPauses, last: Option<&str>) -> (ReconnectPause, u64) {
        let started = Instant::now();
        let pause = pauses.wait_before_opening(last).await;
        (pause, started.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_the_highest_and_start_again_after_a_stream_that_held() {
        let pauses = ReconnectPauses::new(&ServerLimits::default());
        let (mut pause, first) = reconnect(&pauses, None).await;
        assert_eq!(first, 0);
        let mut waited = Vec::new();
        for number in 0..8 {
            // The server asks for no pause, and names each event anew.
            let last = number.to_string();
            pauses.schedule_next_pause(Some(&last), pause, Duration::from_secs(59), Some(Duration::ZERO));
            let (next, seconds) = reconnect(&pauses, Some(&last)).await;
            (pause, waited) = (next, [waited, vec![seconds]].concat());
        }
        assert_eq!(waited, [1, 2, 4, 8, 16, 32, 60, 60]);
        pauses.schedule_next_pause(None, pause, Duration::from_secs(60), None);
        assert_eq!(reconnect(&pauses, None).await.1, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_pause_of_a_server_applies_between_the_lowest_and_the_highest() {
        let pauses = ReconnectPauses::new(&ServerLimits::default());
        for (retry, expected) in [(0, 1), (500, 1), (30_000, 30), (u64::MAX, 60)] {
            let retry = Some(Duration::from_millis(retry));
            pauses.schedule_next_pause(None, ReconnectPause::default(), Duration::ZERO, retry);
            assert_eq!(reconnect(&pauses, None).await.1, expected);
        }
        // The pause of a stream that is not known is the lowest.
        assert_eq!(reconnect(&pauses, Some("unknown")).await.1, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_remembered_once_and_for_a_number_of_streams() {
        let pauses = ReconnectPauses::new(&ServerLimits::default());
        let long = ReconnectPause { backoff: Duration::from_secs(4), retry: Duration::ZERO };
        let remember = |count: usize| {
            for number in 0..count {
                pauses.schedule_next_pause(Some(&number.to_string()), long, Duration::ZERO, None);
            }
        };
        pauses.schedule_next_pause(None, long, Duration::ZERO, None);
        remember(MAX_STREAMS - 1);
        assert_eq!(reconnect(&pauses, Some("0")).await.1, 8);
        // It was taken.
        assert_eq!(reconnect(&pauses, Some("0")).await.1, 1);
        remember(1);
        // One more, and those with an id are forgotten.
        pauses.schedule_next_pause(Some("new"), long, Duration::ZERO, None);
        assert_eq!(reconnect(&pauses, Some("1")).await.1, 1);
        assert_eq!(reconnect(&pauses, Some("new")).await.1, 8);
        assert_eq!(reconnect(&pauses, None).await.1, 8);
        assert_eq!(reconnect(&pauses, None).await.1, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_lowest_pause_is_never_above_the_highest() {
        let limits = |min: u64, max: u64| ServerLimits {
            min_reconnect_pause: Duration::from_secs(min),
            max_reconnect_pause: Duration::from_secs(max),
            ..ServerLimits::default()
        };
        let pauses = ReconnectPauses::new(&limits(9, 3));
        assert_eq!(reconnect(&pauses, Some("unknown")).await.1, 9);
        pauses.schedule_next_pause(
            None,
            ReconnectPause::default(),
            Duration::ZERO,
            Some(Duration::from_secs(100)),
        );
        assert_eq!(reconnect(&pauses, None).await.1, 9);
        // The pause that a server asked for holds until it asks for another one.
        let asked = ReconnectPause { backoff: Duration::ZERO, retry: Duration::from_secs(5) };
        let pauses = ReconnectPauses::new(&limits(1, 60));
        for (retry, expected) in [(None, 5), (Some(Duration::from_secs(7)), 7)] {
            pauses.schedule_next_pause(None, asked, Duration::ZERO, retry);
            assert_eq!(reconnect(&pauses, None).await.1, expected);
        }
    }

    fn event(name: Option<&str>, id: Option<&str>, data: Option<&str>) -> Result<Sse, SseError> {
        let own = |text: Option<&str>| text.map(str::to_owned);
        Ok(Sse { event: own(name), data: own(data), id: own(id), retry: None })
    }

    /// Reads the events of a stream that answers the request 7, if it answers one; returns the data of each event, and
    /// whether the stream is opened again after a pause.
    async fn read(
        post: Option<i64>,
        events: Vec<Result<Sse, SseError>>,
    ) -> (Vec<(Option<String>, Option<String>)>, bool) {
        use futures_util::StreamExt as _;

        let notices = Arc::new(crate::client::notices::Notices::new("s".into()));
        let reception = Arc::new(Reception::new(notices));
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one"}}"#;
        if let Ok(call) = serde_json::from_str(call) {
            reception.note_sent_message(&call);
        }
        let pauses = Arc::new(ReconnectPauses::new(&ServerLimits::default()));
        let stream = futures_util::stream::iter(events).boxed();
        let read =
            MessageEvents::of_post(stream, reception, Arc::clone(&pauses), post.map(RequestId::Number));
        let read: Vec<_> = read.filter_map(|event| async move { event.ok() }).collect().await;
        let waits = pauses.next.lock().unwrap_or_else(PoisonError::into_inner).len() == 1;
        (read.into_iter().map(|event| (event.id, event.data)).collect(), waits)
    }

    #[tokio::test]
    async fn only_messages_keep_their_data() {
        let ping = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let marked = format!("\u{feff}{ping}");
        let (read, waits) = read(
            None,
            vec![
                event(None, Some("1"), Some(ping)),
                event(Some("message"), None, Some(&marked)),
                event(Some(""), None, Some(ping)),
                event(Some("ping"), Some("2"), Some(ping)),
                event(None, None, Some(" ")),
                event(None, None, None),
                event(None, None, Some("no JSON")),
            ],
        )
        .await;
        let data: Vec<_> = read.iter().map(|(_, data)| data.as_deref()).collect();
        assert_eq!(data, [Some(ping), Some(ping), Some(ping), None, None, None, None]);
        let ids: Vec<_> = read.iter().filter_map(|(id, _)| id.as_deref()).collect();
        assert_eq!((ids, waits), (vec!["1", "2"], true));
    }

    #[tokio::test]
    async fn the_messages_of_a_batch_are_events_behind_theirs() {
        let batch = r#"[{"jsonrpc":"2.0","id":7,"result":{"content":[]}},{"jsonrpc":"2.0","id":"q","method":"ping"}]"#;
        let (read, waits) =
            read(Some(7), vec![event(None, Some("1"), Some(batch)), event(None, None, None)]).await;
        let has: Vec<_> = read.iter().map(|(id, data)| (id.is_some(), data.is_some())).collect();
        assert_eq!(has, [(true, false), (false, true), (false, true), (false, false)]);
        assert!(read[1].1.as_ref().is_some_and(|data| data.contains("content")));
        // The request has its answer.
        assert!(!waits);
    }

    #[tokio::test]
    async fn a_response_is_opened_again_if_it_has_an_id_and_no_answer_yet() {
        let answer = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;
        let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}"#;
        for (post, id, data, expected) in [
            (Some(7), Some("1"), None, true),
            (Some(7), None, None, false),
            (Some(7), Some("1"), Some(answer), false),
            (Some(7), Some("1"), Some(error), false),
            (None, None, None, true),
            (None, Some("1"), Some(answer), true),
        ] {
            assert_eq!(read(post, vec![event(None, id, data)]).await.1, expected, "{post:?} {id:?} {data:?}");
        }
    }
}
