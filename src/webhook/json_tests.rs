//! What JSON texts mean.
