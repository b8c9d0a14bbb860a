//! The quality and the cost of the search for tools: `cargo bench -p tool-builtins --features tool-search --bench tool_search`.
//!
//! The tools are the operations of the public documents of `tool-openapi` (`.ci/openapi/fetch` downloads them and prints their
//! folder, which `TOOL_OPENAPI_DOCUMENTS` names; without it, the few documents of the repository are used). A request is the
//! summary of an operation, which is left out of the index; the last rows have it within sentences of a person. Each second document is
//! held out: nothing was tuned on it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program")]

use std::{
    collections::BTreeMap,
    env, fs,
    hint::black_box,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::Value;
use tool_builtins::tool_search::{Ranking, ToolIndex};
use tool_openapi::{Document, OpenApiToolSet};
use tool_runtime::{Tool, ToolDefinition, ToolName, Toolbox, builder::ExternalTool};

const COMMITTED: &str = "../tool-openapi/tests/documents";
const RANKS: [usize; 3] = [1, 5, 10];
const TIMED_TOOLS: usize = 5_000;
const ROUNDS: usize = 20;
/// Indexes that are held at once, twice, so that the memory of one is seen.
const HELD_INDEXES: usize = 40;
const MAX_INDEX_TIME: Duration = Duration::from_millis(100);
const MAX_SEARCH_TIME: Duration = Duration::from_millis(1);
const MAX_INDEX_MEGABYTES: f64 = 30.0;

/// Sentences around a request, which starts at `{}`.
const SENTENCES: [&str; 5] = [
    "Hi! I'm working on something for my team and could use your help: can you {} for me, please?",
    "I would like to {}. Let me know when it is done.",
    "My boss asked me about this on Monday, so I need to {} before the meeting. Thanks a lot!",
    "Is there a way to {}? I have tried it myself and did not get anywhere.",
    "Please {}, and tell me what you found.",
];

/// The tools of some documents, and the requests for them: a summary, and the index of its tool.
#[derive(Default)]
struct Part {
    tools: Vec<ToolDefinition>,
    requests: Vec<(String, usize)>,
}

fn main() {
    let mut parts = [Part::default(), Part::default()];
    for (number, (name, path, folder)) in documents().into_iter().enumerate() {
        parts[number % 2].add_document(&name, &path, folder.as_deref());
    }
    println!("{:<34}{:>7}{:>9}{:>8}{:>8}{:>8}", "", "tools", "requests", "@1", "@5", "@10");
    for (part, name) in parts.iter().zip(["tuned", "held out"]) {
        part.print_recall(&format!("{name}: plain BM25"), &Ranking::plain());
        part.print_recall(&format!("{name}: this index"), &Ranking::default());
    }
    for (part, name) in parts.iter().zip(["tuned", "held out"]) {
        let part = part.in_sentences();
        part.print_recall(&format!("{name}, sentences: plain BM25"), &Ranking::plain());
        part.print_recall(&format!("{name}, sentences: this index"), &Ranking::default());
    }
    print_costs(&parts);
}

/// Returns name, path and folder of each document, sorted by name.
fn documents() -> Vec<(String, PathBuf, Option<PathBuf>)> {
    let Some(folder) = env::var_os("TOOL_OPENAPI_DOCUMENTS") else {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(COMMITTED);
        let names = ["galaxy-3.1.yaml", "library-3.2.yaml", "petstore-3.0.json", "uspto-3.0.yaml"];
        return names.map(|name| (name.replace(['.', '-'], "_"), folder.join(name), None)).into();
    };
    let folder = Path::new(&folder);
    let index: Vec<Value> = serde_json::from_slice(&fs::read(folder.join("index.json")).unwrap()).unwrap();
    let document = |it: &Value| {
        let name = it["name"].as_str().unwrap().to_owned();
        let several = it.get("folders").map(|_| folder.join(&name));
        (name, folder.join(it["file"].as_str().unwrap()), several)
    };
    let mut documents: Vec<_> = index.iter().map(document).collect();
    documents.sort();
    documents
}

impl Part {
    fn add_document(&mut self, name: &str, path: &Path, folder: Option<&Path>) {
        let mut document = Document::from_file(path).unwrap();
        if let Some(folder) = folder {
            document = document.with_folder(folder);
        }
        let set = OpenApiToolSet::builder(document).base_url("http://127.0.0.1:1").build().unwrap();
        for tool in set.tools() {
            let imported = tool.definition();
            let summary = imported.title().trim();
            // Without a summary, the title is the id of the operation.
            let is_request = summary.contains(' ');
            let description = match imported.description().trim().strip_prefix(summary).map(str::trim) {
                Some("") => format!("{} {}", tool.method(), tool.path()),
                Some(rest) => rest.to_owned(),
                None => imported.description().to_owned(),
            };
            let full_name = format!("{name}__{}", imported.name());
            let full_name = ToolName::new(full_name).unwrap_or_else(|_| imported.name().clone());
            if is_request {
                self.requests.push((summary.to_owned(), self.tools.len()));
            }
            self.tools.push(ToolDefinition::new(full_name, description, imported.input_schema().clone()));
        }
    }

    /// Returns the same tools, with requests as a person may write them.
    fn in_sentences(&self) -> Self {
        let sentence = |(at, (request, tool)): (usize, &(String, usize))| {
            let (first, rest) = request.split_at(request.chars().next().map_or(0, char::len_utf8));
            let request = format!("{}{rest}", first.to_lowercase());
            (SENTENCES[at % SENTENCES.len()].replace("{}", request.trim_end_matches('.')), *tool)
        };
        let requests = self.requests.iter().enumerate().map(sentence).collect();
        Self { tools: self.tools.clone(), requests }
    }

    fn index(&self, ranking: &Ranking) -> ToolIndex {
        let mut index = ToolIndex::with_ranking(ranking.clone());
        index.add_changed(&self.tools);
        index
    }

    /// Returns the share of requests whose tool is among the best matches, for each rank.
    fn recall(&self, ranking: &Ranking) -> [f64; RANKS.len()] {
        let index = self.index(ranking);
        let mut found = [0_usize; RANKS.len()];
        for (request, tool) in &self.requests {
            let matches = index.search(request, RANKS[RANKS.len() - 1]);
            let place = matches.iter().position(|it| it.definition.name() == self.tools[*tool].name());
            for (count, rank) in found.iter_mut().zip(RANKS) {
                *count += usize::from(place.is_some_and(|place| place < rank));
            }
        }
        found.map(|count| count as f64 / self.requests.len().max(1) as f64)
    }

    fn print_recall(&self, name: &str, ranking: &Ranking) {
        let [first, fifth, tenth] = self.recall(ranking);
        let (tools, requests) = (self.tools.len(), self.requests.len());
        println!("{name:<34}{tools:>7}{requests:>9}{first:>8.3}{fifth:>8.3}{tenth:>8.3}");
    }
}

fn index_of(tools: &[ToolDefinition]) -> ToolIndex {
    let mut index = ToolIndex::new();
    index.add_changed(tools);
    index
}

fn print_costs(parts: &[Part]) {
    let by_name: BTreeMap<_, _> =
        parts.iter().flat_map(|part| &part.tools).map(|tool| (tool.name().to_string(), tool)).collect();
    let tools: Vec<_> = by_name.into_values().take(TIMED_TOOLS).cloned().collect();
    // The schemas of imported tools are made when they are first read.
    tools.iter().for_each(|tool| drop(black_box(tool.input_schema().to_value())));
    let start = Instant::now();
    let mut index = index_of(&tools);
    print_time(&format!("index of {} tools", tools.len()), start.elapsed(), MAX_INDEX_TIME);
    // The first ones take memory that the documents left.
    let first: Vec<_> = (0..HELD_INDEXES).map(|_| index_of(&tools)).collect();
    let before = resident_megabytes();
    let later: Vec<_> = (0..HELD_INDEXES).map(|_| index_of(&tools)).collect();
    let megabytes = (resident_megabytes() - before) / HELD_INDEXES as f64;
    drop((first, later));
    let verdict = verdict(megabytes <= MAX_INDEX_MEGABYTES);
    println!(
        "{:<34}{megabytes:>9.1} MB  (at most {MAX_INDEX_MEGABYTES:.0}: {verdict})",
        "memory of the index"
    );
    let requests: Vec<_> = parts.iter().flat_map(|part| &part.requests).take(500).collect();
    let searches = requests.iter().map(|(request, _)| {
        let start = Instant::now();
        black_box(index.search(request, 10));
        start.elapsed()
    });
    let mut times: Vec<_> = searches.collect();
    print_time("search, median", median(&mut times), MAX_SEARCH_TIME);
    print_time("search, slowest of a hundred", times[times.len() * 99 / 100], MAX_SEARCH_TIME);
    let mut changes: Vec<_> = (0..ROUNDS)
        .map(|round| {
            let start = Instant::now();
            index.insert(&tools[round * tools.len() / ROUNDS]);
            start.elapsed()
        })
        .collect();
    print_time("one changed tool", median(&mut changes), MAX_SEARCH_TIME);
    // The deferred tools first: the schemas are not compiled before.
    for (name, is_deferred) in [("deferred", true), ("compiled at once", false)] {
        let toolbox = Toolbox::new();
        if is_deferred {
            toolbox.defer_all_except(["search_tools"]);
        }
        let added = tools.iter().map(|it| Arc::new(ExternalTool::new(it.clone())) as Arc<dyn Tool>);
        let added: Vec<_> = added.collect();
        let start = Instant::now();
        toolbox.set_tools(added).unwrap();
        println!("{:<34}{:>9.3} ms", format!("toolbox of the tools, {name}"), millis(start.elapsed()));
    }
}

fn print_time(name: &str, time: Duration, most: Duration) {
    let verdict = verdict(time <= most);
    println!("{name:<34}{:>9.3} ms  (at most {:.0}: {verdict})", millis(time), millis(most));
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Returns the memory of this process; 0 where the system does not tell.
fn resident_megabytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1024.0
}
