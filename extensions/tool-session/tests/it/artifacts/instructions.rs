//! The names of artifacts in the instructions of a request.

use std::sync::Arc;

use object_store::memory::InMemory;
use tool_runtime::{RunContext, prelude::*, request::ModelRequest, serde_json::json};
use tool_session::{InMemoryStore, SessionArtifacts, SharedArtifacts, tools::load_artifacts};

#[tokio::test]
async fn instructions_name_fifty_artifacts_and_count_the_others() {
    let run = || RunContext::new().with_app("shop").with_user("u-7");
    let artifacts = SharedArtifacts::new(InMemoryStore::new(), InMemory::new()).for_run(&run()).unwrap();
    let tools = Registry::builder().tool::<load_artifacts>().provide_per_run::<SessionArtifacts>();
    let tools = tools.build().unwrap();
    let mut saved = 0;
    for (count, more) in [
        (1, String::new()),
        (50, String::new()),
        (51, " 1 more are not listed here.".to_owned()),
        (60, " 10 more are not listed here.".to_owned()),
        (999, " 949 more are not listed here.".to_owned()),
        (1000, " At least 950 more are not listed here.".to_owned()),
        (1001, " At least 950 more are not listed here.".to_owned()),
    ] {
        while saved < count {
            artifacts.save(&format!("user:{saved:04}"), "text/plain", "x").await.unwrap();
            saved += 1;
        }
        let request = ModelRequest::new("neutral", json!({}), Arc::new(run().provide(artifacts.clone())));
        let tool = tools.get("load_artifacts").unwrap();
        tool.on_request(request.of_tool("load_artifacts")).await.unwrap();
        let names: Vec<_> = (0..count.min(50)).map(|number| format!("user:{number:04}")).collect();
        let expected = format!(
            "There are artifacts, whose names are here as JSON: {}.{more} Call `load_artifacts` before you answer about the \
             content of one of them.",
            json!(names)
        );
        assert_eq!(request.finish().1.instructions, [expected], "{count}"); // R24
    }
}
