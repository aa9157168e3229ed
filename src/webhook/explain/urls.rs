//! Where the sender may have believed that it sends to.

use url::Url;

/// Other public addresses, and how to call them; none is the configured one.
pub(super) fn forms(
    configured: Option<&str>,
    target: &str,
    seen: Option<&str>,
) -> Vec<(&'static str, String)> {
    let mut out: Vec<(&'static str, String)> = Vec::new();
    let mut add = |says, other: String| {
        if Some(&*other) != configured && out.iter().all(|(_, known)| *known != other) {
            out.push((says, other));
        }
    };
    for (url, own) in [(configured, true), (seen, false)] {
        let Some(text) = url else { continue };
        let Ok(url) = Url::parse(text) else { continue };
        if !own {
            add("everything as in the URL of this request", text.to_owned());
        }
        let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
        let other = if scheme == "https" { "http" } else { "https" };
        add(
            if other == "http" {
                "http instead of https"
            } else {
                "https instead of http"
            },
            format!("{other}://{rest}"),
        );
        ports(&url, &mut add);
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (text, String::new()),
        };
        match path.strip_suffix('/') {
            Some(without) => add(
                "no slash at the end of the path",
                format!("{without}{query}"),
            ),
            None => add("a slash at the end of the path", format!("{path}/{query}")),
        }
        add("no query", path.to_owned());
        add(
            "the path and query of this request",
            format!("{}{target}", origin(&url)),
        );
        if own {
            let target_query = target
                .split_once('?')
                .map_or(String::new(), |(_, q)| format!("?{q}"));
            add("the query of this request", format!("{path}{target_query}"));
        }
    }
    out
}

/// Scheme, host and port as written in a URL.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn ports(url: &Url, add: &mut impl FnMut(&'static str, String)) {
    let Some(host) = url.host_str() else { return };
    let rest = &url[url::Position::BeforePath..];
    let scheme = url.scheme();
    if let Some(port) = url.port_or_known_default() {
        add("the port in it", format!("{scheme}://{host}:{port}{rest}"));
    }
    add("no port in it", format!("{scheme}://{host}{rest}"));
}
