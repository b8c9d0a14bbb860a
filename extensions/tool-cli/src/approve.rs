//! Who decides about calls that want to be approved.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use clap::{Arg, builder::PossibleValue};
use tool_runtime::{
    Approval, ApprovalHandle, ApprovalRequest, Approver, Executor, ExecutorBuilder, Permission,
    PermissionRequest, Registry, Rule, Rules, ToolError,
};

use crate::{page::Page, question::Question, stage::Stage, terminal::Terminal};

/// What `--approve` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approve {
    Ask,
    Always,
    Never,
    ReadOnly,
}

/// The option by which it is said.
pub(crate) fn option() -> Arg {
    let values = [
        PossibleValue::new("ask").help("Ask at the terminal; without one, nothing is approved"),
        PossibleValue::new("never").help("Approve nothing: what wants an approval is refused"),
        PossibleValue::new("read-only")
            .help("Run tools that say they only read, without asking, and no others"),
        PossibleValue::new("always").help("Approve everything, without asking"),
    ];
    Arg::new("approve")
        .long("approve")
        .value_name("HOW")
        .value_parser(values)
        .default_value("ask")
        .help("What becomes of calls that want to be approved")
}

impl Approve {
    /// What the value of the option says.
    pub(crate) fn named(name: Option<&str>) -> Self {
        match name {
            Some("always") => Self::Always,
            Some("never") => Self::Never,
            Some("read-only") => Self::ReadOnly,
            _ => Self::Ask,
        }
    }

    /// Starts an executor of `tools` that decides like this. `wary`: a person is also asked about tools that may destroy
    /// something and do not ask by themselves.
    pub(crate) fn executor(
        self,
        tools: Registry,
        wary: bool,
        screen: Option<Screen>,
    ) -> (ExecutorBuilder, Unasked) {
        // A rule, and not a policy: that is not asked about what the tool itself asks a person.
        let writing =
            tools.definitions().iter().filter(|it| self == Self::ReadOnly && !it.metadata().is_read_only());
        let why = "only tools that say they read may run (`--approve read-only`)";
        let rules: Vec<_> = writing.map(|it| Rule::deny(it.name().as_str()).because(why)).collect();
        let permission = move |request: &PermissionRequest<'_>| {
            let metadata = request.metadata();
            match self {
                Self::Ask | Self::Never if wary && metadata.destructive == Some(true) => {
                    Permission::ask(format!("{} may destroy something.", request.tool()))
                }
                _ => Permission::Allow,
            }
        };
        let unasked = Unasked::default();
        let person = Person { how: self, screen, unasked: unasked.clone() };
        let builder = Executor::builder(tools).rules(Rules::new(rules));
        (builder.permission(permission).approver(person), unasked)
    }
}

/// The terminal at which a question is asked.
pub(crate) struct Screen {
    /// An empty page of it.
    pub(crate) page: Page,
    pub(crate) stage: Arc<Stage>,
}

/// Remembers that a question could not be asked.
#[derive(Clone, Default)]
pub(crate) struct Unasked(Arc<AtomicBool>);

impl Unasked {
    /// Tells the person, and no model, what can be done about it.
    pub(crate) fn remark(&self, terminal: &Terminal) {
        if self.0.load(Ordering::Relaxed) {
            terminal.note("there is no terminal to ask at; `--approve always` approves beforehand");
        }
    }
}

/// Answers for the person, or asks them.
struct Person {
    how: Approve,
    screen: Option<Screen>,
    unasked: Unasked,
}

impl Approver for Person {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        let rejected = |why: &str| Ok(Approval::Rejected(why.to_owned()));
        match (self.how, &self.screen) {
            (Approve::Always | Approve::ReadOnly, _) => Ok(Approval::Approved),
            (Approve::Never, _) => rejected("nothing is approved (`--approve never`)"),
            (Approve::Ask, Some(screen)) => asked(request, screen).await,
            (Approve::Ask, None) => {
                self.unasked.0.store(true, Ordering::Relaxed);
                rejected("it requires approval, and there is no terminal to ask at")
            }
        }
    }
}

async fn asked(request: &ApprovalRequest, screen: &Screen) -> Result<Approval, ToolError> {
    let question = Question::new(request, &screen.page);
    // Closed when the call is cancelled, too.
    let _open = screen.stage.open();
    // A person takes a while: no thread waits that others wait for, and nothing is locked that Ctrl-C is told on.
    let answer = tokio::task::spawn_blocking(move || question.ask());
    let answer = answer.await.map_err(ToolError::from_source)?.map_err(ToolError::from)?;
    Ok(if answer { Approval::Approved } else { Approval::Rejected("you said no".to_owned()) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::{Metadata, Permission, Registry, ToolBuilder, ToolCall, tool, tool_args};

    use super::{Approve, Ordering};

    #[tool_args]
    struct Nothing {}

    /// What a call of a tool is answered that may destroy something and does not ask.
    fn answer(how: Approve, wary: bool) -> String {
        let metadata = Metadata { destructive: Some(true), ..Metadata::default() };
        let wipe = ToolBuilder::new("wipe").description("Wipes.").metadata(metadata);
        let wipe = wipe.handler(|_: Nothing, _| async { Ok::<_, tool_runtime::ToolError>("wiped") }).unwrap();
        let tools = Registry::builder().add(wipe).build().unwrap();
        let executor = how.executor(tools, wary, None).0.build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcomes = runtime.block_on(executor.run(vec![ToolCall::new("wipe", "{}")]));
        outcomes[0].result().unwrap().text().into_owned()
    }

    fn closed() -> Permission {
        Permission::deny("closed")
    }

    /// Says when the shop is open.
    #[tool(register = false, permission = closed)]
    fn shop() {}

    /// Shuts the shop.
    #[tool(register = false, confirm)]
    fn shut() {}

    #[test]
    fn what_could_be_approved_is_told_from_what_is_not_permitted() {
        let tools = Registry::builder().tool::<shop>().tool::<shut>().build().unwrap();
        let (builder, unasked) = Approve::Ask.executor(tools, false, None);
        let executor = builder.build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcomes = runtime.block_on(executor.run(vec![ToolCall::new("shop", "{}")]));
        assert_eq!(outcomes[0].result().unwrap().text(), "Denied: closed");
        assert!(!unasked.0.load(Ordering::Relaxed));
        runtime.block_on(executor.run(vec![ToolCall::new("shut", "{}")]));
        assert!(unasked.0.load(Ordering::Relaxed));
    }

    // A model's wish to destroy something is a person's to grant, whether or not the tool asks.
    #[test]
    fn who_is_wary_asks_about_what_may_destroy_something() {
        assert_eq!(answer(Approve::Ask, false), "wiped");
        assert!(
            answer(Approve::Ask, true).ends_with("it requires approval, and there is no terminal to ask at")
        );
        assert!(answer(Approve::Never, true).ends_with("nothing is approved (`--approve never`)"));
        assert!(
            answer(Approve::ReadOnly, false).starts_with("Denied: only tools that say they read may run")
        );
        assert_eq!(answer(Approve::Always, true), "wiped");
    }

    fn careful() -> Permission {
        Permission::ask("is it closing time?")
    }

    /// Locks the shop.
    #[tool(register = false, permission = careful)]
    fn lock() -> &'static str {
        "locked"
    }

    /// Looks into the till.
    #[tool(register = false, read_only, permission = careful)]
    fn look() -> &'static str {
        "looked"
    }

    // What a tool asks by itself makes no reader of it.
    #[test]
    fn read_only_runs_no_tool_that_asks_by_itself_and_writes() {
        let tools = Registry::builder().tool::<lock>().tool::<look>().build().unwrap();
        let executor = Approve::ReadOnly.executor(tools, true, None).0.build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let calls = vec![ToolCall::new("lock", "{}"), ToolCall::new("look", "{}")];
        let outcomes = runtime.block_on(executor.run(calls));
        let text = |at: usize| outcomes[at].result().unwrap().text().into_owned();
        assert_eq!(text(0), "Denied: only tools that say they read may run (`--approve read-only`)");
        assert_eq!(text(1), "looked");
    }
}
