//! Runs the example programs as children: on their scripts, and over HTTP against a local server.

mod programs;
