//! Gateways that are declared in the configuration of the deployment, without Rust: the variable
//! `ONCEWARD_GATEWAYS`, as `[vars.ONCEWARD_GATEWAYS.NAME]` in `wrangler.toml`.

use super::Gateway;
use crate::config::ConfigProblem;
use serde::Deserialize as _;
use serde_json::Value;

/// Reads all gateways that are declared; everything that is wrong with any of them.
pub(in crate::config) fn declared(table: &Value) -> (Vec<Gateway>, Vec<ConfigProblem>) {
    let Value::Object(entries) = table else {
        let problem =
            "wanted a table of gateways by name, as [vars.ONCEWARD_GATEWAYS.NAME] in wrangler.toml";
        return (
            Vec::new(),
            vec![ConfigProblem::new("ONCEWARD_GATEWAYS", problem)],
        );
    };
    let (mut gateways, mut problems) = (Vec::new(), Vec::new());
    for (name, entry) in entries {
        match one(name, entry) {
            Ok(gateway) => gateways.push(gateway),
            Err(fault) => {
                problems.push(ConfigProblem::new(format!("gateway {name}"), fault));
            }
        }
    }
    (gateways, problems)
}

fn one(name: &str, entry: &Value) -> Result<Gateway, String> {
    let Value::Object(fields) = entry else {
        return Err("wanted a table".to_owned());
    };
    let mut fields = fields.clone();
    if fields.insert("name".into(), name.into()).is_some() {
        return Err("its name is that of its table; leave `name` out".to_owned());
    }
    Gateway::deserialize(Value::Object(fields)).map_err(|error| error.to_string())
}
