//! `echo`: answers the body that it got, byte for byte.

use crate::function::{Answer, Ctx, Failure, Function, Headers, Input, Raw};

pub(super) fn function() -> Function {
    Function::new("echo", echo)
}

async fn echo(_ctx: Ctx, input: Input) -> Result<Raw, Failure> {
    let content_type = input.headers.get("content-type");
    let mut headers = Headers::default();
    headers.push(
        "content-type",
        content_type.unwrap_or("application/octet-stream"),
    );
    Ok(Raw(Answer {
        status: 200,
        headers,
        body: input.body,
    }))
}
