//! The messages of workers and callers. All of it is sealed (`channel`); numbers that a tool sees are texts.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use tool_runtime::{
    ToolError, ToolOutput,
    call::CallAddress,
    context::{BudgetItem, ConfirmationAnswer, LogLine, Progress},
    definition::ContentHash,
    event::ToolEvent,
    output::Resource,
};

use crate::{
    steps::{Additions, AdditionsRequest, Preparation, PrepareRequest, RedirectAnswer, RedirectRequest},
    values::ValueReference,
};

/// A message. Its kind is part of what is sealed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Message {
    /// A caller asks which workers there are.
    Discover,
    /// A worker is there.
    Announce(Announcement),
    /// A worker takes no more calls.
    Leave,
    /// An operator asks for the state of each worker.
    ReadStatus,
    /// An operator asks a worker to take itself out, and again until it has left.
    Drain,
    /// The state of a worker: the answer to both.
    Status(WorkerStatus),
    /// A worker that drained has left.
    Left {
        /// The number of calls that did not end in time.
        dropped: usize,
    },
    /// A caller asks for the tools of a registry, from a position on.
    ReadIndex {
        offset: usize,
    },
    /// The tools of a registry from a position on: hashes of definitions.
    Index {
        total: usize,
        hashes: Vec<ContentHash>,
    },
    /// A caller asks for definitions.
    ReadDefinitions {
        hashes: Vec<ContentHash>,
    },
    /// The first of the requested definitions: as many as fit. Read by `ProvenText::definitions_at` alone.
    Definitions {
        definitions: Vec<Value>,
    },
    /// A worker cannot answer a request.
    Unanswerable {
        problem: String,
    },
    /// A caller asks for the preparation of a call, and its answer.
    Prepare(Box<PrepareRequest>),
    Prepared(Box<Preparation>),
    /// A caller asks for the call for which another one stands, and its answer.
    Redirect(RedirectRequest),
    Redirected(RedirectAnswer),
    /// A caller asks what tools add to a request, and the answer.
    Additions(Box<AdditionsRequest>),
    Added(Additions),
    /// A step whose request is in the store of large values, and its answer there.
    StoredStep {
        request: ValueReference,
    },
    StoredAnswer {
        answer: ValueReference,
    },
    /// The error of a tool that was asked.
    StepFailed(Box<ToolError>),
    /// A call, once for each epoch.
    Call(Box<CallRequest>),
    /// A call whose request is in the store of large values, once for each epoch.
    StoredCall(Box<StoredCall>),
    /// A report of a worker about a call.
    Report(CallReport),
    /// A word of a caller about a call.
    Control(CallControl),
    /// A call was queued. A worker that does not hear it finds the call later.
    CallQueued,
    /// A queued call has ended. A caller that does not hear it finds the end later.
    CallEnded,
}

/// A worker, as it announces itself. Its name is the sender of the message.
#[derive(Serialize, Deserialize)]
pub(crate) struct Announcement {
    /// The hash over the definitions of its registry, and their number.
    pub(crate) registry: ContentHash,
    pub(crate) tools: usize,
}

/// The state of a worker, as it says. Its name is the sender of the message.
#[derive(Serialize, Deserialize)]
pub(crate) struct WorkerStatus {
    pub(crate) registry: ContentHash,
    pub(crate) tools: usize,
    /// The number of calls that it runs, and the limit of it.
    pub(crate) calls: usize,
    pub(crate) slots: usize,
    /// Milliseconds until it ends; `None` while it takes calls.
    pub(crate) drain_left: Option<u64>,
}

/// One call in one epoch.
#[derive(Serialize, Deserialize)]
pub(crate) struct CallRequest {
    pub(crate) call: CallEpoch,
    pub(crate) definition: ContentHash,
    /// The canonical text, as the caller judged it.
    pub(crate) arguments: String,
    pub(crate) address: CallAddress,
    /// Milliseconds until its deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time_left: Option<u64>,
    /// The answer that the caller's executor was given for exactly this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<ConfirmationAnswer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<Map<String, Value>>,
    /// The documents that were sent with the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<Resource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunParts>,
    /// The caller reads reports in the store of large values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) reads_values: bool,
}

/// One call in one epoch, whose other parts are in the store: the request of its first epoch.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredCall {
    pub(crate) call: CallEpoch,
    pub(crate) definition: ContentHash,
    /// Milliseconds until its deadline.
    pub(crate) time_left: Option<u64>,
    pub(crate) request: ValueReference,
}

/// The parts of a run that travel; provided values stay.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct RunParts {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) app: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The message of the user that started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user_content: Option<String>,
    /// The run has a budget, on which child runs draw.
    pub(crate) has_budget: bool,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) meta: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) state: Map<String, Value>,
}

/// A call and the number of times that it was sent. Written as a list of both.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CallEpoch {
    /// A name that no other call has.
    pub(crate) call: String,
    pub(crate) epoch: u32,
}

impl Serialize for CallEpoch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.call, self.epoch).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CallEpoch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(deserializer).map(|(call, epoch)| Self { call, epoch })
    }
}

/// A report about a call, by the worker that is the sender of the message.
#[derive(Serialize, Deserialize)]
pub(crate) struct CallReport {
    pub(crate) call: CallEpoch,
    /// Grows with each report: a repeated one is no sign of life.
    pub(crate) sequence: u64,
    /// The number of reports with contents, this one included: it gives their order, and shows how many are missing.
    pub(crate) contents: u64,
    /// The number of tokens that child runs of the call have used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) tokens: u64,
    pub(crate) report: Report,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of `serde`")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Report {
    /// The worker has no free slot; the call did not run.
    Busy,
    /// The worker has no such definition, or refuses the call; it did not run.
    Refused(String),
    /// The worker works on it.
    Beat,
    /// The worker asks for the start of a body with effects.
    Claim,
    /// A child run of the call needs a part of the caller's budget.
    Budget {
        number: u64,
        item: BudgetItem,
    },
    Update(ToolOutput),
    Progress(Progress),
    Log(LogLine),
    /// An event of a child run of the call.
    Child(Box<ToolEvent>),
    /// The body asks a person. A caller without the answer ends the call with the question, and calls again.
    Question {
        hint: String,
        payload: Value,
    },
    /// The worker lives, and stores the report with contents of this number.
    Storing,
    /// A report with contents that is in the store of large values.
    Stored {
        report: ValueReference,
        /// It ends the call.
        ends: bool,
    },
    /// The end, after which there are no reports.
    Output(Box<ToolOutput>),
    /// The end with an error.
    Error(Box<ToolError>),
}

impl Report {
    /// Returns `true` for a report that is shown, or ends the call.
    pub(crate) fn has_contents(&self) -> bool {
        match self {
            Self::Busy | Self::Refused(_) | Self::Beat | Self::Claim | Self::Budget { .. } => false,
            Self::Storing => false,
            Self::Update(_) | Self::Progress(_) | Self::Log(_) | Self::Child(_) | Self::Question { .. } => {
                true
            }
            Self::Output(_) | Self::Error(_) | Self::Stored { .. } => true,
        }
    }

    /// Returns `true` if the worker has the call after this report.
    pub(crate) fn goes_on(&self) -> bool {
        match self {
            Self::Busy | Self::Refused(_) | Self::Output(_) | Self::Error(_) => false,
            Self::Beat | Self::Claim | Self::Budget { .. } | Self::Question { .. } => true,
            Self::Update(_) | Self::Progress(_) | Self::Log(_) | Self::Child(_) => true,
            Self::Storing => true,
            Self::Stored { ends, .. } => !ends,
        }
    }

    /// Returns the error with which the call ends.
    pub(crate) fn error(&self) -> Option<&ToolError> {
        match self {
            Self::Error(error) => Some(error),
            _ => None,
        }
    }

    /// Returns `true` for a report that ends the call.
    pub(crate) fn ends_call(&self) -> bool {
        matches!(self, Self::Output(_) | Self::Error(_) | Self::Stored { ends: true, .. })
    }
}

/// The reports with contents that a worker sends beyond those that its caller has read.
pub(crate) const REPORT_WINDOW: u64 = 128;

/// A control of a call.
#[derive(Serialize, Deserialize)]
pub(crate) struct CallControl {
    pub(crate) call: CallEpoch,
    pub(crate) control: Control,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Control {
    /// The start, which is given once.
    Start,
    /// No start; the caller waits for the end.
    Cancel,
    /// As `Cancel`, and further reports have no reader.
    Abandon,
    /// There was no report for a while. An end that was sent, and may be lost, is sent again.
    RepeatEnd,
    /// The number of reports with contents that were read: there is room for more.
    Read(u64),
    /// The answer to a question of the body.
    Answer(BodyAnswer),
    /// The answer to the request `number` for a part of the budget.
    Budget { number: u64, denied: Option<Box<ToolError>> },
}

/// A person's answer to the question of a body with this hint and payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BodyAnswer {
    pub(crate) hint: String,
    pub(crate) payload: Value,
    pub(crate) answer: ConfirmationAnswer,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_report_has_contents_goes_on_or_ends_its_call() {
        let stored = |ends| {
            let report = json!({ "name": "trip.a", "bytes": 1, "hash": ContentHash::of("value") });
            Report::Stored { report: serde_json::from_value(report).unwrap(), ends }
        };
        let question = Report::Question { hint: "sure?".to_owned(), payload: Value::Null };
        // With contents, goes on, ends the call.
        for (report, expected) in [
            (Report::Busy, [false, false, false]),
            (Report::Refused("no".to_owned()), [false, false, false]),
            (Report::Beat, [false, true, false]),
            (Report::Claim, [false, true, false]),
            (Report::Budget { number: 1, item: BudgetItem::Call }, [false, true, false]),
            (Report::Storing, [false, true, false]),
            (Report::Update(ToolOutput::from("half")), [true, true, false]),
            (Report::Progress(Progress::new(1.0)), [true, true, false]),
            (Report::Log(LogLine::new(tool_runtime::context::LogLevel::Info, "line")), [true, true, false]),
            (question, [true, true, false]),
            (stored(false), [true, true, false]),
            (stored(true), [true, false, true]),
            (Report::Output(Box::new(ToolOutput::from("done"))), [true, false, true]),
            (Report::Error(Box::new(ToolError::failed("no"))), [true, false, true]),
        ] {
            let properties = [report.has_contents(), report.goes_on(), report.ends_call()];
            let text = serde_json::to_string(&report).unwrap();
            assert_eq!(properties, expected, "{text}");
            assert_eq!(report.error().is_some(), matches!(report, Report::Error(_)), "{text}");
        }
    }

    #[test]
    fn parts_that_are_empty_are_not_written() {
        let call = CallEpoch { call: "a".to_owned(), epoch: 2 };
        let mut report = CallReport { call, sequence: 3, contents: 4, tokens: 0, report: Report::Beat };
        let mut expected = json!({ "call": ["a", 2], "sequence": 3, "contents": 4, "report": "beat" });
        assert_eq!(serde_json::to_value(&report).unwrap(), expected);
        report.tokens = 5;
        expected["tokens"] = 5.into();
        assert_eq!(serde_json::to_value(&report).unwrap(), expected);
        let read: CallReport = serde_json::from_value(expected).unwrap();
        assert_eq!((read.call, read.sequence, read.contents, read.tokens), (report.call, 3, 4, 5));
    }
}
