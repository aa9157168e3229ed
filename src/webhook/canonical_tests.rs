//! One text for each value.
