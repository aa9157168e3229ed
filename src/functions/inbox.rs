//! `inbox`: takes any delivery and answers with a receipt. What a source runs that has no function yet.

use crate::function::{Ctx, Failure, Function, Input};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::rc::Rc;

/// What came in, without its content.
#[derive(Debug, Serialize, Deserialize)]
struct Receipt {
    sha256: String,
    bytes: usize,
    content_type: Option<String>,
}

#[derive(Debug, Serialize)]
struct Taken {
    task_id: String,
    receipt: Receipt,
}

pub(super) fn function() -> Function {
    Function::new("inbox", inbox)
}

async fn inbox(ctx: Ctx, input: Input) -> Result<Taken, Failure> {
    let input = Rc::new(input);
    let receipt = ctx
        .step("receipt", move || {
            let input = Rc::clone(&input);
            async move { Ok(receipt(&input)) }
        })
        .await?;
    Ok(Taken {
        task_id: ctx.task_id().to_string(),
        receipt,
    })
}

fn receipt(input: &Input) -> Receipt {
    Receipt {
        sha256: super::hex(&Sha256::digest(&input.body)),
        bytes: input.body.len(),
        content_type: input.headers.get("content-type").map(str::to_owned),
    }
}
