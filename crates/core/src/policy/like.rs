//! Texts that are like others: paths by a pattern, addresses by their host.

/// The longest pattern, in bytes.
pub(super) const MAX_PATTERN: usize = 512;

/// Whether a path fits a pattern: `*` and `?` stand for anything but `/`, `**` between two of them for any folders. A path
/// that leads upwards fits none.
pub(super) fn path_fits(pattern: &str, path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    if path.contains('\\') || parts.contains(&"..") {
        return false;
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    // For each part of the pattern: up to which parts of the path all before it fit.
    let mut fits = vec![false; parts.len() + 1];
    fits[0] = true;
    for wanted in pattern {
        let mut next = vec![false; parts.len() + 1];
        if wanted == "**" {
            let mut before = false;
            for (at, fit) in fits.iter().enumerate() {
                before |= fit;
                next[at] = before;
            }
        } else {
            for (at, part) in parts.iter().enumerate() {
                next[at + 1] = fits[at] && part_fits(wanted, part);
            }
        }
        fits = next;
    }
    fits.last().copied().unwrap_or(false)
}

/// Whether a part of a path fits.
fn part_fits(pattern: &str, part: &str) -> bool {
    let (pattern, part): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), part.chars().collect());
    let (mut p, mut at, mut star) = (0, 0, None);
    while at < part.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, at));
                p += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == part[at] => {
                p += 1;
                at += 1;
            }
            // What the last star stands for is one longer.
            _ => match star {
                Some((before, from)) => {
                    star = Some((before, from + 1));
                    (p, at) = (before + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|rest| *rest == '*')
}

/// The host of an address with a scheme. What could be read in two ways has none.
pub(super) fn host_of(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.chars().all(|digit| digit.is_ascii_digit()) => host,
        Some(_) => return None,
        None => authority,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_';
    (!host.is_empty() && host.chars().all(plain))
        .then(|| host.trim_end_matches('.').to_ascii_lowercase())
}

/// Whether a host is this one, or, with `*.` before it, one below it.
pub(super) fn host_fits(pattern: &str, host: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    match pattern.strip_prefix("*.") {
        Some(above) => {
            host.strip_suffix(above).is_some_and(|below| below.len() > 1 && below.ends_with('.'))
        }
        None => pattern == host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_fit_patterns() {
        for (pattern, path) in [
            ("reports/*.md", "reports/sales.md"),
            ("reports/**", "reports/2026/may/a.md"),
            ("**/*.rs", "src/a/b.rs"),
            ("**/*.rs", "b.rs"),
            ("a/**/z", "a/z"),
            ("a/**/z", "a/b/c/z"),
            ("?.txt", "é.txt"),
            ("a*b*c", "aXXbYYc"),
        ] {
            assert!(path_fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("reports/*.md", "reports/2026/sales.md"),
            ("reports/**", "reports/../secret"),
            ("reports/**", "other/a"),
            ("reports/*", "reports/..\\secret"),
            ("**/*.rs", "b.rsx"),
            ("a*b*c", "aXXbYY"),
            ("?.txt", ".txt"),
            ("", "a"),
        ] {
            assert!(!path_fits(pattern, path), "{pattern} {path}");
        }
        // What would take for ever by trying everything is told at once.
        assert!(!part_fits(&format!("{}x", "*a".repeat(100)), &"a".repeat(5_000)));
        assert!(!path_fits(&vec!["**"; 200].join("/x/"), &"y/".repeat(2_000)));
    }

    #[test]
    fn addresses_have_a_host_or_none() {
        assert_eq!(host_of("https://API.Example.com:8080/x?y").as_deref(), Some("api.example.com"));
        assert_eq!(host_of("ftp://example.com.").as_deref(), Some("example.com"));
        for odd in [
            "example.com/x",
            "https://good.com@evil.com/",
            "https://good.com\\@evil.com/",
            "https://good.com:x@evil.com/",
            "https://[::1]/",
            "https:///x",
            "https://a b/",
        ] {
            assert_eq!(host_of(odd), None, "{odd}");
        }
        assert!(
            host_fits("example.com", "example.com")
                && host_fits("*.Example.com", "a.b.example.com")
        );
        assert!(
            !host_fits("*.example.com", "example.com")
                && !host_fits("*.example.com", "evilexample.com")
        );
        assert!(!host_fits("example.com", "a.example.com"));
    }
}
