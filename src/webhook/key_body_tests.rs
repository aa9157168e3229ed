//! Keys in bodies, queries and of several parts.
