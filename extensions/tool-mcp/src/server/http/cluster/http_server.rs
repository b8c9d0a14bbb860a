//! A server over HTTP in its cluster.

use http::StatusCode;

use super::{Cluster, ClusterError};
use crate::server::{
    McpServer,
    http::{
        HttpAnswer, HttpConfig, HttpServer,
        refusal::{text_response, unavailable_response},
    },
};

impl McpServer {
    /// Returns the server with the key and the used states of the cluster, unless it has others.
    pub(in crate::server::http) fn with_cluster_defaults(mut self, config: &HttpConfig) -> Self {
        if let Some(cluster) = &config.cluster {
            self.key.get_or_insert_with(|| cluster.seal_key());
            self.used_states.get_or_insert_with(|| cluster.stores());
        }
        self
    }
}

impl HttpServer {
    /// Returns the answer to a request that failed with `response`: another process may have ended its session since it was admitted.
    pub(in crate::server::http) async fn session_refusal_or_answer(
        &self,
        response: HttpAnswer,
        session: Option<&str>,
    ) -> HttpAnswer {
        let (Some(cluster), Some(id)) = (&self.0.config.cluster, session) else { return response };
        let is_open = cluster.touch_session(id, self.0.config.idle_time).await;
        self.refusal_unless_open(is_open, session).await.unwrap_or(response)
    }

    /// Asks the cluster whether there is the session of a request, before anything is done for it.
    ///
    /// # Errors
    ///
    /// The answer to a request that is refused.
    pub(in crate::server::http) async fn admit_to_cluster(
        &self,
        cluster: &Cluster,
        session: Option<&str>,
    ) -> Result<(), HttpAnswer> {
        let is_open = cluster.admit_session(session, self.0.config.idle_time).await;
        self.refusal_unless_open(is_open, session).await.map_or(Ok(()), Err)
    }

    /// Returns the answer to a request that is refused, if it is.
    async fn refusal_unless_open(
        &self,
        is_open: Result<bool, ClusterError>,
        session: Option<&str>,
    ) -> Option<HttpAnswer> {
        match (is_open, session) {
            (Ok(true), _) => None,
            (Ok(false), session) => {
                if let Some(session) = session {
                    self.0.sessions.table.forget_ended_session(session).await;
                }
                Some(text_response(StatusCode::NOT_FOUND, "there is no such session"))
            }
            (Err(error), _) => {
                tracing::error!(%error, "a request is refused");
                let problem = "the database of the server does not answer; try again later";
                Some(unavailable_response(problem.to_owned()))
            }
        }
    }
}
