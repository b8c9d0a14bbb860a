//! Independent mock servers.
