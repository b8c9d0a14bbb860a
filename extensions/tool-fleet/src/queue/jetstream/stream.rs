//! One stream of JetStream, by its requests in JSON: those that a server of version 2.9 answers.

use std::time::Duration;

use async_nats::{Client, HeaderMap, Message, RequestErrorKind, StatusCode};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::FleetError;

/// The header of a message that is stored only if the last one of its subject has this sequence; 0 for none.
const EXPECTED_SEQUENCE: &str = "Nats-Expected-Last-Subject-Sequence";

/// The error of a stream for a message whose expected sequence is not the last one.
const WRONG_SEQUENCE: u64 = 10071;

/// The error of a stream that exists with other settings.
const STREAM_EXISTS: u64 = 10058;

/// The error of a subject without a message.
const NO_MESSAGE: u64 = 10037;

/// The errors of a server or account without JetStream.
const JETSTREAM_OFF: [u64; 2] = [10039, 10076];

/// The interval in which the server shows that a watch goes on.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(2);

/// A stream in which each subject has its last message alone.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) client: Client,
    pub(super) name: String,
    /// The subjects of its messages, and their greatest age.
    pub(super) subjects: String,
    pub(super) max_age: Duration,
    /// A stream that exists with a lower age is given this one.
    pub(super) extends_age: bool,
}

#[derive(Deserialize)]
struct ApiError {
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct Answer {
    error: Option<ApiError>,
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    created: String,
    #[serde(default)]
    num_pending: u64,
    #[serde(default)]
    config: Value,
    message: Option<AnswerMessage>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    seq: u64,
    /// Base64.
    #[serde(default)]
    data: String,
}

/// A consumer that the server keeps for a process.
pub(super) struct Watch {
    consumer: String,
    /// The number of messages that it sends at first.
    pub(super) pending: u64,
}

/// A stored message.
pub(super) struct StoredMessage {
    pub(super) sequence: u64,
    pub(super) body: Bytes,
}

impl Stream {
    /// Makes the stream unless it exists, and returns the time at which it was made.
    pub(super) async fn open(&self) -> Result<String, FleetError> {
        let settings = json!({
            "name": self.name, "subjects": [self.subjects], "retention": "limits", "storage": "file", "discard": "new",
            "max_msgs_per_subject": 1, "max_age": nanoseconds(self.max_age), "allow_direct": true, "num_replicas": 1,
        });
        let answer = self.request_api("STREAM.CREATE", &settings).await?;
        match answer.error {
            None => Ok(answer.created),
            Some(error) if error.err_code == STREAM_EXISTS => self.adapt().await,
            Some(error) => Err(api_error(&error)),
        }
    }

    /// Keeps the messages of a stream that was made with other settings for as long as this process needs.
    async fn adapt(&self) -> Result<String, FleetError> {
        let answer = self.request_api("STREAM.INFO", &json!({})).await?;
        if let Some(error) = answer.error {
            return Err(api_error(&error));
        }
        let created = answer.created;
        let mut config = answer.config;
        if config["max_msgs_per_subject"] != 1 || config["allow_direct"] != true {
            let name = &self.name;
            return Err(FleetError::Invalid(format!(
                "the stream `{name}` was made by another program; remove it, or give it `max_msgs_per_subject` 1 and `allow_direct`"
            )));
        }
        // Zero is no limit.
        let max_age = config["max_age"].as_u64().unwrap_or(0);
        let needed = nanoseconds(self.max_age);
        if max_age == 0 || max_age >= needed || !self.extends_age {
            return Ok(created);
        }
        config["max_age"] = needed.into();
        let answer = self.request_api("STREAM.UPDATE", &config).await?;
        answer.error.map_or(Ok(created), |error| Err(api_error(&error)))
    }

    /// Stores a message if the last one of its subject has the sequence `expected`; returns its sequence, or `None` if another one is the last.
    pub(super) async fn store(
        &self,
        subject: &str,
        expected: u64,
        body: Bytes,
    ) -> Result<Option<u64>, FleetError> {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED_SEQUENCE, expected.to_string());
        let sent = self.client.request_with_headers(subject.to_owned(), headers, body).await;
        let answer = read_answer(&sent.map_err(|error| request_error(&error))?)?;
        match answer.error {
            Some(error) if error.err_code == WRONG_SEQUENCE => Ok(None),
            Some(error) => Err(api_error(&error)),
            None => Ok(Some(answer.seq)),
        }
    }

    /// Returns the last message of a subject, from the leader of the stream: a replica may not have it yet.
    pub(super) async fn read(&self, subject: &str) -> Result<Option<StoredMessage>, FleetError> {
        let answer = self.request_api("STREAM.MSG.GET", &json!({ "last_by_subj": subject })).await?;
        match (answer.error, answer.message) {
            (Some(error), _) if error.err_code == NO_MESSAGE => Ok(None),
            (Some(error), _) => Err(api_error(&error)),
            (None, Some(message)) => match BASE64_STANDARD.decode(message.data) {
                Ok(body) => Ok(Some(StoredMessage { sequence: message.seq, body: body.into() })),
                Err(error) => {
                    Err(FleetError::Transport(format!("JetStream returned invalid base64: {error}")))
                }
            },
            (None, None) => Err(FleetError::Transport("JetStream returned no message".to_owned())),
        }
    }

    /// Returns the bytes of the last message of a subject, which is not stored again: any replica that has them returns them as they are.
    pub(super) async fn read_bytes(&self, subject: &str) -> Result<Option<Bytes>, FleetError> {
        let request = json!({ "last_by_subj": subject }).to_string();
        let api = format!("$JS.API.DIRECT.GET.{}", self.name);
        let message =
            self.client.request(api, request.into()).await.map_err(|error| request_error(&error))?;
        match message.status {
            None => Ok(Some(message.payload)),
            Some(StatusCode::NOT_FOUND) => Ok(self.read(subject).await?.map(|message| message.body)),
            Some(status) => {
                Err(FleetError::Transport(format!("JetStream did not read a message: status {status}")))
            }
        }
    }

    /// Removes the messages of a subject.
    pub(super) async fn purge(&self, subject: &str) -> Result<(), FleetError> {
        self.request_purge(&json!({ "filter": subject })).await
    }

    /// Removes the messages of a subject up to a sequence: one that was stored later stays.
    pub(super) async fn purge_until(&self, subject: &str, sequence: u64) -> Result<(), FleetError> {
        let first_kept = sequence.saturating_add(1);
        self.request_purge(&json!({ "filter": subject, "seq": first_kept })).await
    }

    async fn request_purge(&self, request: &Value) -> Result<(), FleetError> {
        let answer = self.request_api("STREAM.PURGE", request).await?;
        answer.error.map_or(Ok(()), |error| Err(api_error(&error)))
    }

    /// Sends the last message of each subject of `filter`, and all later ones, to `deliver`.
    pub(super) async fn watch(&self, filter: &str, deliver: &str) -> Result<Watch, FleetError> {
        let request = json!({ "stream_name": self.name, "config": {
            "deliver_subject": deliver, "deliver_policy": "last_per_subject", "filter_subject": filter, "ack_policy": "none",
            "replay_policy": "instant", "idle_heartbeat": nanoseconds(HEARTBEAT), "inactive_threshold": nanoseconds(HEARTBEAT * 5),
            "mem_storage": true, "num_replicas": 1,
        } });
        let answer = self.request_api("CONSUMER.CREATE", &request).await?;
        match answer.error {
            Some(error) => Err(api_error(&error)),
            None => Ok(Watch { consumer: answer.name, pending: answer.num_pending }),
        }
    }

    pub(super) async fn end_watch(&self, Watch { consumer, .. }: &Watch) -> Result<(), FleetError> {
        let api = format!("$JS.API.CONSUMER.DELETE.{}.{consumer}", self.name);
        self.client.request(api, Bytes::new()).await.map(drop).map_err(|error| request_error(&error))
    }

    async fn request_api(&self, operation: &str, request: &Value) -> Result<Answer, FleetError> {
        let api = format!("$JS.API.{operation}.{}", self.name);
        let answered = self.client.request(api, request.to_string().into()).await;
        read_answer(&answered.map_err(|error| request_error(&error))?)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn read_answer(message: &Message) -> Result<Answer, FleetError> {
    serde_json::from_slice(&message.payload)
        .map_err(|error| FleetError::Transport(format!("JetStream answered with invalid JSON: {error}")))
}

fn off_error() -> FleetError {
    FleetError::Transport(
        "JetStream is off, or the stream was removed, and durable calls need it; start the server with the flag `-js` (`nats-server -js -sd FOLDER`), and give the account JetStream".to_owned(),
    )
}

fn api_error(error: &ApiError) -> FleetError {
    match JETSTREAM_OFF.contains(&error.err_code) {
        true => off_error(),
        false => {
            FleetError::Transport(format!("JetStream refused: {} ({})", error.description, error.err_code))
        }
    }
}

fn request_error(error: &async_nats::RequestError) -> FleetError {
    match error.kind() {
        RequestErrorKind::NoResponders => off_error(),
        _ => FleetError::Transport(format!("JetStream did not answer: {error}")),
    }
}
