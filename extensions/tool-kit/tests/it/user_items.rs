//! The items of users, in the artifacts of a store.

use std::{path::Path, sync::Arc};

use test_support::postgres::{new_schema, shared_url};
use tool_kit::{
    catalogue::{
        Catalogue, CatalogueChange, CatalogueListener, CatalogueSnapshot, Connector, ItemKind, ItemQuery,
        UserItemList, UserItems,
    },
    prompt::{Prompt, PromptDefinition, PromptFile, text_prompt},
    resource::StoredResource,
    session::ArtifactItems,
};
use tool_runtime::{
    BoxFuture, ErrorKind, RunContext,
    output::{Blob, Resource, ResourceBody},
    prelude::*,
};
use tool_session::{
    Artifacts, InMemoryStore, PostgresOptions, SessionStore, SharedArtifacts, SharedSessionStore,
    SqliteStore, UserKey, object_store::memory::InMemory,
};

fn prompt(name: &str, text: &str) -> PromptFile {
    PromptFile::parse(&format!("---\nname: {name}\n---\n{text}")).unwrap()
}

fn document(uri: &str, body: ResourceBody) -> Resource {
    Resource { uri: uri.to_owned(), mime_type: "text/csv".to_owned(), body }
}

fn text(text: &str) -> ResourceBody {
    ResourceBody::Text(text.to_owned())
}

fn user(name: &str) -> UserKey {
    UserKey::new("shop", name).unwrap()
}

fn run_of(name: &str) -> Arc<RunContext> {
    Arc::new(RunContext::new().with_app("shop").with_user(name))
}

async fn snapshot(catalogue: &Catalogue, name: &str) -> CatalogueSnapshot {
    catalogue.snapshot(&run_of(name)).await.unwrap()
}

async fn keys(catalogue: &Catalogue, name: &str) -> Vec<String> {
    let items = snapshot(catalogue, name).await.list(&ItemQuery::all()).items;
    items.iter().map(|item| item.key().to_owned()).collect()
}

fn greet() -> impl Prompt {
    text_prompt(PromptDefinition::new("greet").unwrap(), |_| Ok("Hello.".to_owned()))
}

/// A connector with a prompt.
struct Service;

impl Connector for Service {
    fn namespace(&self) -> &str {
        "service"
    }

    fn prompts<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Prompt>>, ToolError>> {
        Box::pin(async { Ok(vec![Arc::new(greet()) as Arc<dyn Prompt>]) })
    }
}

fn catalogue_of(items: &ArtifactItems) -> Catalogue {
    let catalogue = Catalogue::new();
    catalogue.set_user_items(items.clone()).unwrap();
    catalogue
}

fn told(listener: &mut CatalogueListener) -> Vec<CatalogueChange> {
    let events = std::iter::from_fn(|| listener.try_next().map(|event| event.unwrap()));
    let of_user = |event: tool_kit::catalogue::CatalogueEvent| {
        assert_eq!(event.namespace.as_deref(), Some("user"));
        event.change
    };
    events.map(of_user).collect()
}

/// The store and the items of one process.
struct Process {
    items: ArtifactItems,
    sessions: SharedSessionStore,
    artifacts: SharedArtifacts,
}

impl Process {
    /// A process with the bodies of its artifacts below `folder`.
    fn new(store: impl SessionStore + Artifacts + Clone + 'static, folder: &Path) -> Self {
        let artifacts = SharedArtifacts::in_folder(store.clone(), folder).unwrap();
        Self {
            items: ArtifactItems::new(artifacts.clone()),
            sessions: SharedSessionStore::new(store),
            artifacts,
        }
    }
}

#[tokio::test]
async fn items_of_a_user_are_found_last_and_belong_to_the_user_alone() {
    let items = ArtifactItems::new(SharedArtifacts::new(InMemoryStore::new(), InMemory::new()));
    let catalogue = catalogue_of(&items);
    items.save_prompt(&user("ada"), &prompt("greet", "Greet Ada.")).await.unwrap();
    items.save_resource(&user("ada"), &document("notes://Today", text("Buy milk."))).await.unwrap();
    items.save_prompt(&user("bob"), &prompt("insult", "Be rude.")).await.unwrap();
    assert_eq!(keys(&catalogue, "ada").await, ["user.greet", "notes://today#user"]); // U30
    assert_eq!(keys(&catalogue, "bob").await, ["user.insult"]); // U30
    assert!(keys(&catalogue, "eve").await.is_empty());
    let other_app = Arc::new(RunContext::new().with_app("bank").with_user("ada"));
    let other_app = catalogue.snapshot(&other_app).await.unwrap();
    assert_eq!(other_app.lookup("greet").unwrap_err().kind(), ErrorKind::NotFound);

    catalogue.add_prompt(greet()).unwrap();
    catalogue.connect(Service).unwrap();
    catalogue.add_resource(StoredResource::must_text("notes", "of the program"));
    let found = snapshot(&catalogue, "ada").await;
    assert_eq!(found.lookup("greet").unwrap().namespace(), "builtin"); // U18
    assert_eq!(found.lookup("user.greet").unwrap().namespace(), "user"); // U17 U30
    assert_eq!(found.lookup("notes://today").unwrap().key(), "notes://today#user"); // U18
    assert_eq!(found.list(&ItemQuery::all().in_namespace("user").of_kind(ItemKind::Tool)).count, 0); // U30
    catalogue.remove("greet").unwrap();
    assert_eq!(snapshot(&catalogue, "ada").await.lookup("greet").unwrap().key(), "service.greet"); // U18
    catalogue.disconnect("service").unwrap();
    assert_eq!(snapshot(&catalogue, "ada").await.lookup("greet").unwrap().key(), "user.greet"); // U18
}

#[tokio::test]
async fn changes_of_a_user_are_in_the_next_list_and_announced() {
    let items = ArtifactItems::new(SharedArtifacts::new(InMemoryStore::new(), InMemory::new()));
    let catalogue = catalogue_of(&items);
    let (ada, run) = (user("ada"), run_of("ada"));
    let mut listener = catalogue.subscribe();
    assert_eq!(items.save_prompt(&ada, &prompt("greet", "one")).await.unwrap().version, 1);
    assert_eq!(items.save_prompt(&ada, &prompt("greet", "two {{ .name }}")).await.unwrap().version, 2);
    assert_eq!(told(&mut listener).first(), Some(&CatalogueChange::Prompts)); // U30
    let found = snapshot(&catalogue, "ada").await;
    let greet = found.lookup("greet").unwrap().prompt().unwrap();
    assert_eq!(greet.render(&run, &json!({ "name": "Ada" })).await.unwrap().text(), "two Ada"); // U30

    told(&mut listener);
    items.save_resource(&ada, &document("notes://today", text("a,b"))).await.unwrap();
    assert_eq!(told(&mut listener), [CatalogueChange::Resources]); // U30
    let found = snapshot(&catalogue, "ada").await;
    let notes = found.lookup("notes://today").unwrap().resource().unwrap();
    items.save_resource(&ada, &document("NOTES://today", text("c,d"))).await.unwrap();
    let updated = CatalogueChange::Resource { uri: "notes://today".to_owned() };
    assert_eq!(told(&mut listener), [updated]); // U30
    assert_eq!(notes.read(&run).await.unwrap(), document("notes://today", text("c,d"))); // U42 U30
    assert_eq!(notes.mime_type(), "text/csv");
    let bytes = ResourceBody::Blob(Blob(b"\x89PNG\0".to_vec()));
    items.save_resource(&ada, &document("notes://today", bytes.clone())).await.unwrap();
    assert_eq!(notes.read(&run).await.unwrap().body, bytes);
    told(&mut listener);

    assert!(items.remove_resource(&ada, "NOTES://today").await.unwrap());
    assert_eq!(told(&mut listener), [CatalogueChange::Resources]); // U30
    assert_eq!(notes.read(&run).await.unwrap_err().kind(), ErrorKind::NotFound); // U30
    assert!(items.remove_prompt(&ada, "greet").await.unwrap());
    assert_eq!(told(&mut listener), [CatalogueChange::Prompts]); // U30
    let found = snapshot(&catalogue, "ada").await;
    assert_eq!(found.lookup("greet").unwrap_err().kind(), ErrorKind::NotFound); // U30
    assert!(!items.remove_prompt(&ada, "greet").await.unwrap());
    assert!(!items.remove_resource(&ada, "notes://today").await.unwrap());
    for uri in ["relative", "https://ada:secret@host/"] {
        let error = items.save_resource(&ada, &document(uri, text(""))).await.unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
    assert!(told(&mut listener).is_empty());
}

#[tokio::test]
async fn processes_with_one_file_of_sqlite_see_the_changes_of_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (file, bodies) = (folder.path().join("sessions.db"), folder.path().join("bodies"));
    let open = async || Process::new(SqliteStore::open(&file).await.unwrap(), &bodies);
    check_changes_of_other_process(open().await, open().await).await;
}

#[tokio::test]
async fn processes_with_one_database_of_postgres_see_the_changes_of_each_other() {
    let Some(url) = shared_url() else { return };
    let (folder, schema) = (tempfile::tempdir().unwrap(), new_schema());
    let open = async || {
        let options = PostgresOptions::new(&url).unwrap().schema(schema.clone()).unwrap();
        Process::new(options.open().await.unwrap(), folder.path())
    };
    check_changes_of_other_process(open().await, open().await).await;
}

async fn check_changes_of_other_process(one: Process, other: Process) {
    let Process { items: one, sessions, artifacts } = one;
    let other = other.items;
    let (in_one, in_other) = (catalogue_of(&one), catalogue_of(&other));
    one.save_prompt(&user("ada"), &prompt("greet", "Greet Ada.")).await.unwrap();
    one.save_prompt(&user("bob"), &prompt("greet", "Greet Bob.")).await.unwrap();
    other.save_resource(&user("ada"), &document("notes://today", text("Buy milk."))).await.unwrap();
    let expected = ["user.greet", "notes://today#user"];
    assert_eq!(keys(&in_one, "ada").await, expected); // U30
    assert_eq!(keys(&in_other, "ada").await, expected); // U30
    other.remove_prompt(&user("ada"), "greet").await.unwrap();
    assert_eq!(keys(&in_one, "ada").await, ["notes://today#user"]); // U30

    // The data of a user is deleted with the items.
    let found = snapshot(&in_other, "ada").await;
    let notes = found.lookup("notes://today").unwrap().resource().unwrap();
    sessions.delete_user("shop", "ada").await.unwrap();
    artifacts.sweep().await.unwrap();
    assert!(keys(&in_one, "ada").await.is_empty() && keys(&in_other, "ada").await.is_empty()); // U30
    assert_eq!(notes.read(&run_of("ada")).await.unwrap_err().kind(), ErrorKind::NotFound); // U30
    assert_eq!(keys(&in_other, "bob").await, ["user.greet"]);
}

#[tokio::test]
async fn an_item_that_cannot_be_read_costs_itself_with_a_diagnostic() {
    let artifacts = SharedArtifacts::new(InMemoryStore::new(), InMemory::new());
    let items = ArtifactItems::new(artifacts.clone());
    let catalogue = catalogue_of(&items);
    items.save_prompt(&user("ada"), &prompt("greet", "Greet Ada.")).await.unwrap();
    let stored = artifacts.for_user(&user("ada"));
    let long = "x".repeat(PromptFile::MAX_BYTES + 1);
    for (name, body) in [
        ("user:prompts/broken", "---\nname: [\n---\n"),
        ("user:prompts/endless", "{{"),
        ("user:prompts/long", &*long),
        ("user:prompts/other", "---\nname: greet\n---\nAnother one."),
        ("user:prompts/../greet", "Another one."),
        ("user:prompts/\u{1b}[31m", "Red."),
        ("user:resources/relative", "No URI."),
        ("user:report.txt", "An artifact, and no item."),
        ("user:prompts/plain", "From the name."),
    ] {
        stored.save(name, "text/plain", body.to_owned()).await.unwrap();
    }
    stored.save("user:prompts/bytes", "text/plain", vec![0xff]).await.unwrap();
    assert_eq!(keys(&catalogue, "ada").await, ["user.greet", "user.plain"]); // U30 U23
    let found = snapshot(&catalogue, "ada").await;
    let problems: Vec<_> = found.diagnostics().iter().map(|it| (it.code, &*it.message)).collect();
    assert_eq!(problems.len(), 8, "{problems:?}"); // U30
    assert!(problems.iter().all(|(code, it)| *code == "unusable_item" && !it.contains('\u{1b}')));
    for (name, problem) in [
        ("prompts/broken", "2:7"),
        ("prompts/endless", "1:"),
        ("prompts/long", "at most 1048576 bytes"),
        ("prompts/other", "it has the name `greet`"),
        ("prompts/bytes", "it is not UTF-8"),
        ("resources/relative", "no absolute URI"),
    ] {
        let found =
            problems.iter().find(|(_, it)| it.contains(&format!("the artifact `user:{name}` is left out")));
        assert!(found.is_some_and(|(_, it)| it.contains(problem)), "{name}: {found:?}"); // U30
    }
    assert!(snapshot(&catalogue, "bob").await.diagnostics().is_empty());
}

#[tokio::test]
async fn more_items_than_a_page_of_the_store_are_all_listed() {
    let items = ArtifactItems::new(SharedArtifacts::new(InMemoryStore::new(), InMemory::new()));
    for at in 0..1_001 {
        items.save_resource(&user("ada"), &document(&format!("notes://{at}"), text(""))).await.unwrap();
    }
    let found = snapshot(&catalogue_of(&items), "ada").await;
    assert_eq!(found.list(&ItemQuery::all()).count, 1_001);
}

enum Broken {
    Error,
    Panic,
}

impl UserItems for Broken {
    fn list<'a>(&'a self, _: &'a Arc<RunContext>) -> BoxFuture<'a, Result<UserItemList, ToolError>> {
        match self {
            Self::Error => Box::pin(async { Err(ToolError::failed("the store is down")) }),
            Self::Panic => panic!("no list"),
        }
    }
}

#[tokio::test]
async fn items_of_users_that_cannot_be_listed_cost_no_others() {
    let catalogue = Catalogue::new();
    catalogue.add_resource(StoredResource::must_text("notes", "of the program"));
    for (items, problem) in [(Broken::Error, "the store is down"), (Broken::Panic, "it panicked: no list")] {
        catalogue.set_user_items(items).unwrap();
        let found = snapshot(&catalogue, "ada").await;
        assert_eq!(found.list(&ItemQuery::all()).count, 1);
        let [diagnostic] = found.diagnostics() else { panic!("{:?}", found.diagnostics()) };
        assert_eq!(diagnostic.code, "unlisted_items");
        assert!(diagnostic.message.contains(problem), "{diagnostic}");
    }
}

#[tokio::test]
async fn items_that_were_replaced_announce_nothing() {
    let items = ArtifactItems::new(SharedArtifacts::new(InMemoryStore::new(), InMemory::new()));
    let catalogue = catalogue_of(&items);
    let mut listener = catalogue.subscribe();
    catalogue.set_user_items(Broken::Error).unwrap();
    assert_eq!(told(&mut listener), [CatalogueChange::Prompts, CatalogueChange::Resources]);
    items.save_prompt(&user("ada"), &prompt("greet", "Greet Ada.")).await.unwrap();
    assert!(told(&mut listener).is_empty());
}
