//! A small petstore.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// A server, which ends with this value.
pub(crate) struct Server {
    pub(crate) url: String,
    serving: JoinHandle<()>,
}

type Pets = Arc<Mutex<BTreeMap<u64, Value>>>;

pub(crate) async fn start() -> anyhow::Result<Server> {
    let routes = Router::new()
        .route("/openapi.yaml", get(async || super::DOCUMENT))
        .route("/v2/store/inventory", get(inventory))
        .route("/v2/pet", post(add))
        .route("/v2/pet/findByStatus", get(all))
        .route("/v2/pet/{id}", get(one))
        .with_state(Pets::default());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/v2", listener.local_addr()?);
    let serving = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, routes).await {
            eprintln!("the server ended: {error}");
        }
    });
    Ok(Server { url, serving })
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The number of pets by status, for callers with the key.
async fn inventory(State(pets): State<Pets>, headers: HeaderMap) -> (StatusCode, Json<Value>) {
    if headers.get("api_key").is_none_or(|key| key != super::KEY) {
        return (StatusCode::UNAUTHORIZED, Json(json!({ "message": "the key is missing or wrong" })));
    }
    let pets = pets.lock().unwrap_or_else(PoisonError::into_inner);
    let mut numbers = BTreeMap::<&str, u64>::new();
    for status in pets.values().filter_map(|pet| pet["status"].as_str()) {
        *numbers.entry(status).or_default() += 1;
    }
    (StatusCode::OK, Json(json!(numbers)))
}

async fn add(State(pets): State<Pets>, Json(mut pet): Json<Value>) -> Json<Value> {
    let mut pets = pets.lock().unwrap_or_else(PoisonError::into_inner);
    let id = pets.len() as u64 + 1;
    pet["id"] = json!(id);
    pets.insert(id, pet.clone());
    Json(pet)
}

async fn one(State(pets): State<Pets>, Path(id): Path<u64>) -> (StatusCode, Json<Value>) {
    let pets = pets.lock().unwrap_or_else(PoisonError::into_inner);
    match pets.get(&id) {
        Some(pet) => (StatusCode::OK, Json(pet.clone())),
        None => (StatusCode::NOT_FOUND, Json(json!({ "message": format!("there is no pet {id}") }))),
    }
}

async fn all(State(pets): State<Pets>) -> Json<Value> {
    let pets = pets.lock().unwrap_or_else(PoisonError::into_inner);
    Json(pets.values().cloned().collect())
}
