//! Where a step may send requests: the public internet, and nothing behind it.
//!
//! The URL parser (WHATWG rules, as the platform's own) first brings odd spellings of addresses, like
//! `0x7f.1` or `2130706433`, into their usual form; then the address itself is judged. A name that
//! resolves to a private address cannot be seen from here: the platform's resolver keeps requests of
//! Workers off private networks.

use std::net::{Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Reads a target and refuses what is not public. `allow_loopback` is for local builds.
///
/// # Errors
/// Says why it is refused, without repeating the URL.
///
/// ```
/// use onceward::http::target::allowed;
/// assert!(allowed("https://api.example.com/v1", false).is_ok());
/// assert!(allowed("http://0x7f.1/", false).is_err());
/// assert!(allowed("http://127.0.0.1:9000/", true).is_ok());
/// assert!(allowed("http://169.254.169.254/", true).is_err());
/// ```
pub fn allowed(url: &str, allow_loopback: bool) -> Result<Url, String> {
    let url = Url::parse(url).map_err(|e| format!("not a URL: {e}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "scheme {:?}: only http and https are sent",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a URL must not carry a user name or password".into());
    }
    let (private, loopback) = match url.host() {
        None => return Err("a URL needs a host".into()),
        Some(Host::Ipv4(ip)) => (is_private_v4(ip), ip.is_loopback()),
        Some(Host::Ipv6(ip)) => (is_private_v6(ip), ip.is_loopback()),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            let local = name == "localhost" || name.ends_with(".localhost");
            (local || !name.contains('.'), name == "localhost")
        }
    };
    if private && !(loopback && allow_loopback) {
        return Err("the target is not on the public internet".into());
    }
    Ok(url)
}

fn is_private_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_documentation()
        || a == 0
        // 224.0.0.0/4 is multicast, above it everything is reserved.
        || a >= 224
        // Carrier-grade NAT.
        || (a == 100 && (64..128).contains(&b))
        // Benchmarks.
        || (a == 198 && (b & 0xfe) == 18)
        // Protocol assignments and 6to4 relays.
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
}

fn is_private_v6(ip: Ipv6Addr) -> bool {
    // ::/96 and ::ffff:0:0/96 carry an IPv4 address; ::1 and :: are among them.
    if let Some(v4) = ip.to_ipv4() {
        return is_private_v4(v4);
    }
    let s = ip.segments();
    match s[0] {
        // NAT64 and 6to4 carry one as well.
        0x0064 | 0x2002 => true,
        // Teredo and documentation.
        0x2001 => s[1] == 0 || s[1] == 0x0db8,
        // Of all addresses, only 2000::/3 is public.
        first => !(0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_public_is_refused_in_every_spelling() {
        for url in [
            "http://[::ffff:169.254.169.254]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://017700000001/",
            "http://0.0.0.0/",
            "http://[::]/",
            "http://[::1]/",
            "http://100.64.0.1/",
            "http://10.1.2.3/",
            "http://172.16.0.1/",
            "http://192.168.1.1/",
            "http://198.18.0.1/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://localhost./",
            "http://a.localhost/",
            "http://intranet/",
            "http://user@example.com/",
            "http://user:pass@example.com/",
            "file:///etc/passwd",
            "ftp://example.com/",
            "HTTP://127.0.0.1/",
            "http://",
            "example.com",
        ] {
            assert!(allowed(url, false).is_err(), "{url}");
        }
    }

    #[test]
    fn what_is_public_is_allowed() {
        for url in [
            "https://api.example.com/x?y=1",
            "http://8.8.8.8/",
            "https://[2606:4700::1111]/",
            "HTTPS://Example.COM:8443/",
        ] {
            assert!(allowed(url, false).is_ok(), "{url}");
        }
    }

    #[test]
    fn loopback_can_be_allowed_and_nothing_else_with_it() {
        for url in [
            "http://127.0.0.1:1/",
            "http://localhost:1/",
            "http://[::1]:1/",
        ] {
            assert!(allowed(url, true).is_ok(), "{url}");
        }
        for url in [
            "http://169.254.169.254/",
            "http://10.0.0.1/",
            "http://0.0.0.0/",
            "http://u@127.0.0.1/",
        ] {
            assert!(allowed(url, true).is_err(), "{url}");
        }
    }
}
