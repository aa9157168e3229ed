use super::*;

/// Every reference leads somewhere.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get("$ref") {
                found.push(target.clone());
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn references_lead_somewhere() {
    let schema = schema();
    let mut found = Vec::new();
    references(&schema, &mut found);
    assert!(found.len() > 50);
    for target in found {
        let name = target.strip_prefix("#/$defs/").expect("a definition");
        assert!(schema["$defs"][name].is_object(), "{name}");
    }
}

#[test]
fn aliases_and_older_names_are_in_it() {
    let schema = schema();
    let names = schema["$defs"]["task"]["properties"]["type"]["enum"]
        .as_array()
        .expect("names");
    assert!(names.contains(&json!("io.kestra.plugin.core.tasks.kv.Get")));
    assert_eq!(
        schema["$defs"]["retry"]["properties"]["maxAttempt"]["deprecated"],
        json!(true)
    );
    assert_eq!(schema["additionalProperties"], json!(false));
}
