//! Tests of agents: on scripted models, and over HTTP with local servers.

mod runner;
