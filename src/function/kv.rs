//! The key-value store, as a step uses it.

use super::ctx::StepScope;
use super::host::CallError;
use crate::flow::kv::{KvCall, KvOp, KvReply, check, check_key};
use crate::types::Failure;

impl StepScope {
    /// Reads or changes a key. A change of this step that has happened already, before a crash, is not made
    /// again; a step makes one change of a key at most.
    ///
    /// # Errors
    /// Terminal (`kv_invalid`) for a key, a namespace, a time or a value that cannot be; retryable
    /// (`kv_unreachable`) if the key's object does not answer.
    ///
    /// ```
    /// use onceward::flow::kv::{KvOp, KvReply, KvType, KvWhen};
    /// use onceward::function::{Ctx, Failure, Function};
    /// use onceward::testing::Bench;
    /// async fn first(ctx: Ctx, order: String) -> Result<bool, Failure> {
    ///     let set = KvOp::Set { value: true.into(), kind: KvType::Boolean, ttl_ms: None, when: KvWhen::Missing };
    ///     ctx.step_scoped("mark", move |scope| {
    ///         let (order, set) = (order.clone(), set.clone());
    ///         async move { Ok(matches!(scope.kv("shop", &order, set).await?, KvReply::Set { .. })) }
    ///     })
    ///     .await
    /// }
    /// let mut bench = Bench::new(Function::new("first", first));
    /// for (key, wanted) in [("k1", "true"), ("k2", "false")] {
    ///     let input = onceward::types::Input { body: br#""order-1""#.to_vec(), ..Default::default() };
    ///     bench.deliver(key, input).unwrap();
    ///     bench.run_until_idle();
    ///     assert_eq!(bench.answer(key).unwrap().body, wanted.as_bytes());
    /// }
    /// ```
    pub async fn kv(&self, namespace: &str, key: &str, op: KvOp) -> Result<KvReply, Failure> {
        let changes = !matches!(op, KvOp::Get);
        let call = KvCall {
            namespace: namespace.to_owned(),
            key: key.to_owned(),
            op,
            mark: self.key().to_string(),
        };
        check(&call).map_err(invalid)?;
        self.count_message();
        let reply = self.host().kv(call).await;
        reply.map_err(|error| {
            let failure = unreachable(&format!("the key {key:?}"), &error);
            if changes {
                failure.with_unknown_effect()
            } else {
                failure
            }
        })
    }

    /// Keys of a namespace that begin with this, in order, 1,000 at most: as D1 knows them, some moments late.
    ///
    /// # Errors
    /// Terminal (`kv_invalid`) for a namespace that cannot be; retryable (`kv_unreachable`) if D1 does not
    /// answer.
    pub async fn kv_keys(&self, namespace: &str, prefix: &str) -> Result<Vec<String>, Failure> {
        check_key(namespace).map_err(|_| invalid(format!("{namespace:?} is no namespace")))?;
        self.count_message();
        let keys = self.host().kv_keys(namespace, prefix).await;
        keys.map_err(|error| unreachable(&format!("the list of {namespace:?}"), &error))
    }
}

fn invalid(why: String) -> Failure {
    Failure::terminal("kv_invalid", why).cut()
}

fn unreachable(what: &str, error: &CallError) -> Failure {
    let why = match error {
        CallError::Unreachable(why) => why.as_str(),
        CallError::Gone => "it is not there",
    };
    Failure::retryable(
        "kv_unreachable",
        format!("{what} could not be reached: {why}"),
    )
    .cut()
}
