//! Pages for people: one per error and one per policy. They are written in Markdown and shown as HTML;
//! who asks for `text/markdown` gets the text.
//!
//! They run no script, load nothing, and follow the reader's choice of light or dark.

use super::code::Code;
use crate::types::{Answer, Headers};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, html};
use sha2::{Digest, Sha256};

/// The list of all errors.
const INDEX: &str = include_str!("../../docs/errors/README.md");
/// Seconds that a page of an error may be kept: it changes with a release only.
const ERRORS_MAX_AGE_S: u32 = 3_600;

/// System colours, so that light and dark are the reader's; wide tables scroll by themselves.
const STYLE: &str = "\
:root{color-scheme:light dark;--soft:color-mix(in srgb,CanvasText 9%,Canvas)}\
body{font:1rem/1.6 system-ui,sans-serif;max-width:44rem;margin:0 auto;padding:1rem;overflow-wrap:break-word}\
h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.15rem;margin-top:1.75rem}\
code{font:.92em ui-monospace,monospace;background:var(--soft);padding:.1em .3em;border-radius:.25em}\
pre{background:var(--soft);padding:.75rem;overflow-x:auto;border-radius:.4em}pre code{background:none;padding:0}\
table{display:block;overflow-x:auto;border-collapse:collapse}\
th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--soft)}\
a{text-underline-offset:.15em}:focus-visible{outline:3px solid Highlight;outline-offset:2px}\
.skip{position:absolute;left:-100vw}.skip:focus{left:1rem;background:Canvas;padding:.25rem}\
nav{display:flex;flex-wrap:wrap;gap:0 1.25rem;border-bottom:1px solid var(--soft);padding-bottom:.5rem}";

/// How a page is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Html,
    Markdown,
}

/// The page of an error, for `GET /errors/{code}`.
///
/// ```
/// use onceward::http::{code::Code, page};
/// use onceward::types::Headers;
/// let shown = page::of_error(Code::KeyReused, &Headers::default());
/// assert_eq!(shown.headers.get("content-type"), Some("text/html; charset=utf-8"));
/// let text: Headers = [("Accept", "text/markdown")].into_iter().collect();
/// assert_eq!(page::of_error(Code::KeyReused, &text).body, Code::KeyReused.page().as_bytes());
/// ```
pub fn of_error(code: Code, headers: &Headers) -> Answer {
    show(code.as_str(), code.page(), headers, ERRORS_MAX_AGE_S)
}

/// The list of all errors, for `GET /errors`.
pub fn of_errors(headers: &Headers) -> Answer {
    show("Errors", INDEX, headers, ERRORS_MAX_AGE_S)
}

/// A page from its Markdown, in the form that `Accept` asks for.
///
/// ```
/// use onceward::http::page::show;
/// use onceward::types::Headers;
/// let page = show("Hello", "# Hello\n\nSee [errors](README.md).\n", &Headers::default(), 60);
/// let html = String::from_utf8(page.body).unwrap();
/// assert!(html.contains("<h1>Hello</h1>") && html.contains("<a href=\"/errors\">"));
/// ```
pub fn show(title: &str, markdown: &str, headers: &Headers, max_age_s: u32) -> Answer {
    let form = wanted(headers);
    let (kind, body) = match form {
        Form::Html => ("text/html; charset=utf-8", document(title, markdown)),
        Form::Markdown => ("text/markdown; charset=utf-8", markdown.to_owned()),
    };
    let mut fields = Headers::default();
    fields.push("content-type", kind);
    fields.push("content-language", "en");
    fields.push("cache-control", format!("public, max-age={max_age_s}"));
    fields.push("vary", "Accept");
    fields.push("x-content-type-options", "nosniff");
    fields.push("referrer-policy", "no-referrer");
    if form == Form::Html {
        fields.push("content-security-policy", csp());
    }
    Answer {
        status: 200,
        headers: fields,
        body: body.into_bytes(),
    }
}

/// Nothing may be loaded or run; the one style is known by its hash.
fn csp() -> String {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

fn document(title: &str, markdown: &str) -> String {
    let mut main = String::new();
    html::push_html(
        &mut main,
        Parser::new_ext(markdown, Options::ENABLE_TABLES).map(linked),
    );
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} · Onceward</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the text</a>\n\
         <nav aria-label=\"Pages\"><a href=\"/errors\">All errors</a> <a href=\"/policy\">All policies</a></nav>\n\
         <main id=\"main\">\n{main}</main>\n</body>\n</html>\n"
    )
}

/// Pages lie beside each other in the folder, and below `/errors` here. Text that looks like HTML is text.
fn linked(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let dest_url = match dest_url.strip_suffix(".md") {
                Some("README") => CowStr::Borrowed("/errors"),
                Some(name) if !name.contains(['/', ':']) => format!("/errors/{name}").into(),
                _ => dest_url,
            };
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            })
        }
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// HTML, unless Markdown is asked for by name and HTML is not wanted more (RFC 9110, 12.5.1).
fn wanted(headers: &Headers) -> Form {
    let fields = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("accept"));
    let (mut markdown, mut html) = (0, 0);
    for range in fields.flat_map(|(_, value)| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(weight).unwrap_or(1_000);
        match kind.as_str() {
            "text/markdown" => markdown = markdown.max(weight),
            "text/html" => html = html.max(weight),
            _ => {}
        }
    }
    if markdown > 0 && markdown >= html {
        Form::Markdown
    } else {
        Form::Html
    }
}

/// `q=0.5` as thousandths; a weight that can't be read counts as none.
fn weight(parameter: &str) -> Option<u32> {
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let (whole, rest) = value.trim().split_once('.').unwrap_or((value.trim(), ""));
    let thousandths: u32 = format!("{rest:0<3}").get(..3)?.parse().ok()?;
    let whole: u32 = whole.parse().ok()?;
    Some((whole.min(1) * 1_000 + thousandths).min(1_000))
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
