//! Addresses that a function may call: a URL.

use super::input::text;
use onceward::http::target::allowed;
use std::net::IpAddr;
use url::Host;

pub fn check(data: &[u8]) {
    let url = text(data);
    let Ok(public) = allowed(&url, false) else {
        // Loopback is all that the switch for local builds opens.
        if let Ok(local) = allowed(&url, true) {
            let host = local
                .host_str()
                .unwrap_or_default()
                .trim_end_matches('.')
                .to_owned();
            let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
            assert!(
                host == "localhost"
                    || ip.is_ok_and(|ip| ip.to_canonical().is_loopback() || is_old_loopback(ip)),
                "{host}"
            );
        }
        return;
    };
    assert!(matches!(public.scheme(), "http" | "https"));
    assert!(public.username().is_empty() && public.password().is_none());
    match public.host().expect("a host") {
        Host::Ipv4(ip) => assert!(is_public(IpAddr::V4(ip)), "{ip}"),
        Host::Ipv6(ip) => assert!(is_public(IpAddr::V6(ip)), "{ip}"),
        Host::Domain(name) => assert!(name.trim_end_matches('.').contains('.'), "{name}"),
    }
    assert_eq!(
        allowed(public.as_str(), false).as_ref(),
        Ok(&public),
        "its usual form as well"
    );
    assert_eq!(allowed(&url, true), Ok(public));
}

/// `::127.0.0.1`, a form that nobody uses any more.
fn is_old_loopback(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4().is_some_and(|ip| ip.is_loopback()))
}

/// Some of what is not public; written here once more, with the words of the standard library.
fn is_public(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            !(ip.is_private()
                || ip.is_loopback()
                || ip.is_link_local()
                || ip.is_unspecified()
                || ip.is_broadcast()
                || ip.is_multicast())
        }
        IpAddr::V6(ip) => {
            !(ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
                || ip.is_multicast())
        }
    }
}
