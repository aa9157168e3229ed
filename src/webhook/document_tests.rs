//! What bodies hold.
