//! The web page of this server: files that are part of the binary, at addresses of its own.
//!
//! The page is built from `web/` and the result is committed (`web/dist`), so a plain `cargo build` has it. It is one
//! program that draws whatever its address says; every such address gives the same file. What is no address of the
//! page is answered as before: an unknown route is an error in JSON.

mod files;

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use self::files::{File, packed};
use crate::app::App;

/// The addresses that the page draws. `web/src/route.svelte.ts` has the same list.
const ADDRESSES: [&str; 11] = [
    "/",
    "/requests/{id}",
    "/runs",
    "/runs/{id}",
    "/runs/{id}/steps/{step}",
    "/runs/{id}/entries/{entry}",
    "/compare/{run}/{other}",
    "/workflows",
    "/workflows/{id}",
    "/audit",
    "/policy",
];

/// What the page may do: its own files, this server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Adds the page to the routes.
pub(crate) fn with_page(mut router: Router<App>) -> Router<App> {
    for address in ADDRESSES {
        router = router.route(address, get(|headers| file(files::INDEX, headers)));
    }
    for name in files::NAMES {
        router = router.route(name, get(move |headers| file(name, headers)));
    }
    router
}

/// Whether something at this path is the page: it is no secret, and there before anybody has signed in.
pub(crate) fn is_page(path: &str) -> bool {
    files::NAMES.contains(&path) || ADDRESSES.iter().any(|address| fits(address, path))
}

fn fits(address: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (address.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(part), Some(word)) if part == word => {}
            (Some(part), Some(word)) if part.starts_with('{') && !word.is_empty() => {}
            _ => return false,
        }
    }
}

async fn file(name: &'static str, asked: HeaderMap) -> Response {
    let Some(File { media, body, gzip, tag }) = packed(name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let known = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let fresh = known.is_some_and(|tags| tags.split(',').any(|it| it.trim() == tag));
    let zipped = asked
        .get(header::ACCEPT_ENCODING)
        .and_then(|taken| taken.to_str().ok())
        .is_some_and(|taken| taken.split(',').any(takes_gzip));
    let mut response = match (fresh, zipped) {
        (true, _) => StatusCode::NOT_MODIFIED.into_response(),
        (false, true) => gzip.clone().into_response(),
        (false, false) => body.clone().into_response(),
    };
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(header::CONTENT_TYPE, media);
    // Its name is always the same, so it is asked for anew each time, and mostly not sent.
    set(header::CACHE_CONTROL, "no-cache");
    set(header::VARY, "accept-encoding");
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "no-referrer");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    if zipped && !fresh {
        set(header::CONTENT_ENCODING, "gzip");
    }
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn takes_gzip(coding: &str) -> bool {
    let mut parts = coding.split(';').map(str::trim);
    parts.next().is_some_and(|it| it.eq_ignore_ascii_case("gzip"))
        && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_page_are_the_page() {
        for page in ["/", "/app.js", "/runs", "/runs/run_1", "/runs/run_1/steps/2", "/compare/a/b"]
        {
            assert!(is_page(page), "{page}");
        }
        for other in [
            "/v1/runs",
            "/runs/",
            "/runs/a/b",
            "/health",
            "/openapi.json",
            "/app.js/",
            "//",
            "/compare/a/",
        ] {
            assert!(!is_page(other), "{other}");
        }
    }

    #[test]
    fn what_is_packed_is_what_is_asked_for() {
        use std::io::Read as _;
        for name in files::NAMES {
            let file = packed(name).unwrap();
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(&file.gzip[..]).read_to_end(&mut unpacked).unwrap();
            assert_eq!(unpacked, file.body, "{name}");
        }
        assert!(takes_gzip("gzip") && takes_gzip(" gzip;q=0.5") && !takes_gzip("gzip;q=0"));
    }
}
