//! The properties, where the fuzz targets find them.

#[path = "../props/mod.rs"]
pub mod props;
