//! Tasks that send requests.

use super::super::fields::Fields;
use super::super::reader::Reader;
use super::super::spec::{About, Kind, PropertySpec, TypeSpec, ignored, may, need, refused};
use crate::flow::model::{Http, HttpOptions, Property, Work};
use serde_json::Value;

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

const AUTH: &[PropertySpec] = &[
    need("type", Kind::Word(&["BASIC", "BEARER"]), "How."),
    may("username", Kind::Text, "User of `BASIC`."),
    may("password", Kind::Text, "Password of `BASIC`."),
    may("token", Kind::Text, "Token of `BEARER`."),
];

const TIMEOUT: &[PropertySpec] = &[
    may("readIdleTimeout", Kind::Duration, "Of the whole exchange."),
    ignored("connectTimeout"),
];

const OPTIONS: &[PropertySpec] = &[
    may(
        "allowFailed",
        Kind::Truth,
        "Whether a status from 400 on is an answer as well.",
    ),
    may(
        "allowedResponseCodes",
        Kind::Items,
        "Statuses that are answers though they are from 400 on.",
    ),
    may("auth", Kind::Object(AUTH), "Who sends it."),
    may("basicAuthUser", Kind::Text, "The same as `auth.username`."),
    may(
        "basicAuthPassword",
        Kind::Text,
        "The same as `auth.password`.",
    ),
    may("timeout", Kind::Object(TIMEOUT), "How long it may take."),
    may(
        "readTimeout",
        Kind::Duration,
        "The same as `timeout.readIdleTimeout`.",
    )
    .or(&["readIdleTimeout"]),
    ignored("connectTimeout"),
    ignored("connectionPoolIdleTimeout"),
    ignored("defaultCharset"),
    ignored("logLevel"),
    ignored("logs"),
    ignored("maxContentLength"),
    refused(
        "followRedirects",
        "redirects are followed as the platform does.",
    ),
    refused("proxy", "requests leave from the platform's own network."),
    refused("ssl", "certificates are always checked."),
];

/// The types.
pub static HTTP: &[TypeSpec<Work>] = &[
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.core.http.Request",
            aliases: &["io.kestra.plugin.fs.http.Request"],
            doc: "An HTTP request; outputs `code`, `body`, `headers`, `uri`.",
            properties: &[
                need("uri", Kind::Text, "The address."),
                may("method", Kind::Choice(METHODS), "`GET` if there is none."),
                may("headers", Kind::Map, "Fields."),
                may("params", Kind::Map, "Query."),
                may("contentType", Kind::Text, "Type of the body."),
                may("body", Kind::Any, "A text as it is; anything else as JSON."),
                may("formData", Kind::Map, "A form."),
                may("options", Kind::Object(OPTIONS), "More."),
                may(
                    "allowFailed",
                    Kind::Truth,
                    "The same as `options.allowFailed`.",
                ),
                refused("encryptBody", "outputs are not encrypted one by one."),
            ],
        },
        build: request,
    },
    TypeSpec {
        about: About {
            name: "io.kestra.plugin.notifications.slack.SlackIncomingWebhook",
            aliases: &[
                "io.kestra.plugin.slack.SlackIncomingWebhook",
                "io.kestra.plugin.slack.notifications.SlackIncomingWebhook",
            ],
            doc: "A message to Slack: an `http.Request` with `POST` and JSON.",
            properties: &[
                need("url", Kind::Text, "The address."),
                may(
                    "payload",
                    Kind::Any,
                    "The message: JSON, as a text or as it is.",
                ),
                may("messageText", Kind::Text, "The same as `payload.text`."),
                may("options", Kind::Object(OPTIONS), "More."),
            ],
        },
        build: slack,
    },
];

fn request(fields: &mut Fields, reader: &mut Reader<'_>) -> Work {
    let mut options = options(fields, reader);
    options.allow_failed = options
        .allow_failed
        .or_else(|| fields.property("allowFailed"));
    if fields.wrote("body") && fields.wrote("formData") {
        let at = fields.at_of("formData");
        let path = fields.path_of("formData");
        reader.problem(at, &path, "A request has either `body` or `formData`.");
    }
    Work::Http(Http {
        uri: fields.needed("uri"),
        method: fields.property("method"),
        headers: fields.property("headers"),
        params: fields.property("params"),
        content_type: fields.property("contentType"),
        body: fields.property("body"),
        form_data: fields.property("formData"),
        options,
    })
}

fn slack(fields: &mut Fields, reader: &mut Reader<'_>) -> Work {
    let text = fields.property("messageText");
    if fields.wrote("payload") == fields.wrote("messageText") {
        let detail = "Either `payload` or `messageText` is needed.";
        reader.problem(fields.at, &fields.path, detail);
    }
    let message = text.map(|text| match text {
        Property::Literal(text) => Property::Literal(serde_json::json!({ "text": text })),
        other => Property::Map(vec![("text".to_owned(), other)]),
    });
    let literal = |text: &str| Some(Property::Literal(Value::String(text.to_owned())));
    Work::Http(Http {
        uri: fields.needed("url"),
        method: literal("POST"),
        headers: None,
        params: None,
        content_type: literal("application/json"),
        body: fields.property("payload").or(message),
        form_data: None,
        options: options(fields, reader),
    })
}

fn options(fields: &mut Fields, reader: &mut Reader<'_>) -> HttpOptions {
    let Some(mut given) = fields.fields("options") else {
        return HttpOptions::default();
    };
    let mut timeout = given.fields("timeout");
    let timeout = timeout
        .as_mut()
        .and_then(|timeout| timeout.property("readIdleTimeout"));
    let (basic, bearer) = credentials(&mut given, reader);
    HttpOptions {
        allow_failed: given.property("allowFailed"),
        allowed_codes: given.property("allowedResponseCodes"),
        basic,
        bearer,
        timeout: timeout.or_else(|| given.property("readTimeout")),
    }
}

type Basic = Option<(Property, Property)>;

fn credentials(given: &mut Fields, reader: &mut Reader<'_>) -> (Basic, Option<Property>) {
    let user = given.property("basicAuthUser");
    let old = user.zip(given.property("basicAuthPassword"));
    let Some(mut auth) = given.fields("auth") else {
        return (old, None);
    };
    let wanted: &[&str] = match auth.text("type").as_deref() {
        Some("BASIC") => &["username", "password"],
        Some(_) => &["token"],
        None => return (old, None),
    };
    for name in wanted.iter().filter(|name| !auth.wrote(name)) {
        let detail = format!("`{name}` is missing; this type of `auth` needs it.");
        reader.problem(auth.at, &auth.path, detail);
    }
    let user = auth.property("username");
    let basic = user.zip(auth.property("password"));
    match wanted.len() {
        2 => (basic, None),
        _ => (None, auth.property("token")),
    }
}
