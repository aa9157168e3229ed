//! What a page is made of, and who gets which form of it.

use super::*;

fn accept(value: &str) -> Headers {
    [("Accept", value)].into_iter().collect()
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).expect("UTF-8")
}

#[test]
fn markdown_is_for_who_asks_for_it() {
    let html = [
        "",
        "*/*",
        "text/*",
        "text/html",
        "application/json",
        "text/html,application/xhtml+xml,*/*;q=0.8",
        "text/markdown;q=0.5, text/html",
        "text/markdown;q=0",
        "text/markdown;q=0.4, text/html;q=0.41",
    ];
    for value in html {
        assert_eq!(wanted(&accept(value)), Form::Html, "{value}");
    }
    let markdown = [
        "text/markdown",
        "TEXT/Markdown; charset=utf-8",
        "text/markdown, text/html;q=0.9",
        "text/markdown, */*;q=0.1",
        "text/markdown;q=0.25, text/html;q=0.2",
        "text/markdown;q=nonsense",
    ];
    for value in markdown {
        assert_eq!(wanted(&accept(value)), Form::Markdown, "{value}");
    }
    assert_eq!(wanted(&Headers::default()), Form::Html);
}

#[test]
fn every_page_is_a_whole_document_that_loads_nothing() {
    let codes = Code::ALL.iter();
    let pages = codes.map(|code| of_error(*code, &Headers::default()));
    for page in pages.chain([of_errors(&Headers::default())]) {
        let shown = text(&page);
        for part in [
            "<!doctype html>",
            "<html lang=\"en\">",
            "name=\"viewport\"",
            "content=\"light dark\"",
            "color-scheme:light dark",
            ":focus-visible",
            "<main id=\"main\">",
            "<h1>",
        ] {
            assert!(shown.contains(part), "{part} is missing: {shown}");
        }
        for part in ["<script", "src=", "http:", "<link", " style=", ".md\""] {
            assert!(!shown.contains(part), "{part}: {shown}");
        }
        let get = |name| page.headers.get(name).unwrap_or_default().to_owned();
        assert_eq!(get("x-content-type-options"), "nosniff");
        assert_eq!(get("content-language"), "en");
        assert_eq!(get("vary"), "Accept");
        let style = shown
            .split("<style>")
            .nth(1)
            .and_then(|rest| rest.split("</style>").next())
            .expect("a style");
        let hash = STANDARD.encode(Sha256::digest(style));
        let csp = get("content-security-policy");
        assert!(csp.starts_with("default-src 'none'"), "{csp}");
        assert!(csp.contains(&format!("style-src 'sha256-{hash}'")), "{csp}");
        assert!(!csp.contains("unsafe"), "{csp}");
    }
}

#[test]
fn the_index_leads_to_every_page() {
    let index = text(&of_errors(&Headers::default()));
    for code in Code::ALL {
        let link = format!("<a href=\"/errors/{code}\">{code}</a>");
        assert!(index.contains(&link), "{link}");
    }
    let plain = of_errors(&accept("text/markdown"));
    assert_eq!(text(&plain), INDEX);
    assert_eq!(plain.headers.get("content-security-policy"), None);
}

#[test]
fn what_looks_like_html_is_shown_as_text() {
    let page = show(
        "<b>",
        "# <i>a</i>\n\n<script>x</script>\n\n[a](https://example.com/b.md) [c](d/e.md)\n",
        &Headers::default(),
        60,
    );
    let shown = text(&page);
    assert!(
        shown.contains("<title>&lt;b&gt; · Onceward</title>"),
        "{shown}"
    );
    assert!(
        !shown.contains("<script") && !shown.contains("<i>"),
        "{shown}"
    );
    assert!(
        shown.contains("href=\"https://example.com/b.md\""),
        "{shown}"
    );
    assert!(shown.contains("href=\"d/e.md\""), "{shown}");
    assert_eq!(
        page.headers.get("cache-control"),
        Some("public, max-age=60")
    );
}
