//! The machine by itself, with the shapes that its cells are written in.
pub mod flow {
    //! What objects of keys and locks are told.
    pub mod kv;
    pub mod lock;
}
pub mod limits;
pub mod protocol;
pub mod store;
pub mod types;

/// What `store` writes.
pub mod http {
    pub mod document;
    mod frame;
    pub mod object_call;
    mod object_reply;
    pub mod waiting;
    pub mod words;
}
