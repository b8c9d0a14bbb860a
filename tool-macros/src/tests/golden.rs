//! Expansions as golden files, so that a reviewer sees the effect of a change.

use proc_macro2::TokenStream;
use quote::quote;

use super::expand;

fn pretty(item: TokenStream) -> String {
    let expansion = expand(item);
    match syn::parse2(expansion.clone()) {
        Ok(file) => prettyplease::unparse(&file),
        Err(error) => format!("{error}\n{expansion}"),
    }
}

macro_rules! golden {
    ($name:ident: $($item:tt)*) => {
        #[test]
        fn $name() {
            insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
                insta::assert_snapshot!(stringify!($name), pretty(quote!($($item)*)));
            });
        }
    };
}

golden! {
    parameter_list:
    #[tool(read_only, title = "Weather", tags("geo", "sky"), timeout = "30s")]
    /// Forecasts the weather.
    pub async fn forecast(
        stations: &Stations,
        cx: &ToolContext,
        /// City name, e.g. "Paris".
        city: String,
        /// Days ahead.
        #[schemars(range(min = 1, max = MAX_DAYS))]
        #[arg(default = 3, example = 5)]
        days: u8,
        #[serde(rename = "u", alias = "unit", default)] units: Units,
        note: Option<&str>,
    ) -> Result<Forecast, StationError> {
        stations.forecast(&city, days).await
    }
}

golden! {
    no_parameters:
    #[tool]
    /// Answers.
    fn ping() {}
}

golden! {
    argument_struct:
    #[tool]
    /// Searches.
    #[cfg(feature = "search")]
    async fn search(db: &Db, SearchArgs { query, limit }: SearchArgs) -> anyhow::Result<Vec<Hit>> {
        db.search(&query, limit).await
    }
}

golden! {
    struct_tool:
    #[tool(needs(Db, dyn Store))]
    /// Searches.
    pub struct Search {
        /// The text.
        query: String,
        /// At most so many.
        #[schemars(range(min = 1))]
        limit: u8,
    }
}

golden! {
    toolset:
    #[toolset(name = "docs")]
    impl<B: Backend> Files<B> {
        /// Reads a file.
        #[tool(read_only)]
        pub async fn read(&self, path: &Path) -> io::Result<String> {
            self.backend.read(path).await
        }

        #[cfg(unix)]
        /// Names the root.
        #[tool]
        fn root() -> &'static str {
            "/"
        }

        fn helper(&self) {}
    }
}

golden! {
    instantiated_generic:
    #[tool(instantiate((i64, 3) as "sum_int", (HashMap<String, f64>, { N }) as "sum_map"))]
    /// Sums.
    async fn sum<'a, T: Sum, const N: usize>(numbers: &'a [T; N]) -> T {
        numbers.iter().sum()
    }
}

golden! {
    stream:
    #[tool(merge)]
    /// Follows a file.
    fn tail(path: &Path) -> impl Stream<Item = Result<Line, io::Error>> + Send + use<'_> {
        lines(path)
    }
}

golden! {
    blocking:
    #[tool(blocking)]
    /// Hashes a file.
    fn hash(path: &Path, #[arg(secret)] salt: String) -> u64 {
        0
    }
}

golden! {
    every_key:
    #[tool(
        name = "send-mail", label = "Send mail", description = concat!("Sends", " mail."),
        examples(json!({ "to": "a@b.c" })), tags("mail"), meta(owner = "ops", "x-cost" = 3),
        toolset = "mail", group = "office", trust = "internal",
        read_only = false, destructive, idempotent = false, open_world, concurrency_safe = false,
        search_or_read = false, long_running,
        sequential, timeout = "5m", idle_timeout = "250ms", grace_period = "10s",
        retry(attempts = 3, initial = "200ms", max = "1h", multiplier = 1.5, jitter = false, when = worth_it),
        confirm = must_confirm, permission = may_send, needs(Outbox), on_request = instruct,
        rename_all = "camelCase", strict, unknown_fields = "ignore", prepare = prepare,
        input_schema = SCHEMA, output_schema = json!({ "type": "string" }),
        max_result_size = 64 * 1024, skip_summarization,
        register = false, handle = SendMail, crate = crate::deps::tools,
    )]
    #[deprecated]
    async fn r#send(
        #[schemars(
            title = "To", description = DOC, example = "a@b.c", deprecated, email,
            length(min = 3, max = "MAX"), regex(pattern = *RE), extend("x-a" = [1, 2]),
        )]
        mail_to: String,
        #[schemars(required, inner(length(equal = 2), contains("@"), url))]
        r#type: Option<Vec<String>>,
        #[schemars(range(min = 0.5, max = f64::MAX), extend("x-b" = null))]
        #[serde(default = "half")]
        #[deprecated]
        weight: f64,
        #[arg(default = "none")] note: String,
    ) -> Receipt {
        todo!()
    }
}

golden! {
    argument_types:
    #[tool_args(serialize, crate = tools)]
    #[serde(rename_all = "camelCase")]
    enum Query {
        ByName { #[schemars(length(min = 1))] name: String },
        ById(u64),
    }
}

golden! {
    function_after_a_mistake:
    #[tool(handle = Add, read_onyl)]
    /// Adds.
    #[cfg(unix)]
    pub fn add(
        /// First.
        #[arg(default = 1)]
        a: i64,
        #[allow(unused)] b: i64,
    ) -> i64 {
        a + b
    }
}

golden! {
    toolset_after_a_mistake:
    #[toolset]
    impl Files {
        /// Reads a file.
        #[tool]
        async fn read(&mut self, #[schemars(url)] url: String) -> String {
            String::new()
        }
    }
}

golden! {
    prompt:
    #[prompt(
        name = "review", title = "Reviews a change", description = concat!("Reviews", "."),
        model = "gpt-5", provider = "openai", system_prompt = include_str!("review.md"),
        output_schema = json!({ "type": "string" }), tools("read", "grep"),
        thinking = true, thinking_budget = 1024,
        rename_all = "camelCase", strict, unknown_fields = "ignore", handle = Review, crate = crate::deps::kit,
    )]
    #[cfg(unix)]
    async fn review_change(
        repository: &Repository,
        /// The commit.
        #[schemars(length(min = 7))]
        commit_id: &str,
        #[arg(default = 3)] lines: u8,
    ) -> Result<String, GitError> {
        repository.review(commit_id, lines).await
    }
}

golden! {
    blocking_prompt:
    #[prompt(blocking, register = false)]
    /// Reads a template.
    fn template(path: String) -> Vec<PromptMessage> {
        read(path)
    }
}

golden! {
    prompt_after_a_mistake:
    #[prompt(tilte = "x")]
    /// Greets.
    pub(crate) fn greet(#[arg(default = "x")] name: String) -> String {
        name
    }
}

golden! {
    resource:
    #[resource(uri = "notes://today", mime_type = "text/markdown", name = "notes", handle = Today)]
    /// The notes of today.
    pub async fn today(notes: &Notes) -> Result<String, NotesError> {
        notes.today().await
    }
}

golden! {
    resource_with_variables:
    #[resource(uri = "notes://{year}/{+path}", blocking, crate = kit)]
    /// A file of a year.
    fn notes(cx: &ToolContext, year: u16, #[serde(rename = "path")] file: &str) -> Vec<u8> {
        read(year, file)
    }
}

golden! {
    resource_after_a_mistake:
    #[resource(url = "notes://today")]
    /// The notes of today.
    fn today() -> String {
        String::new()
    }
}
