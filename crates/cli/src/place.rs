//! Where runs are kept: `--store`.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::style::printable_line;

/// A store, by its address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file.
    Sqlite(PathBuf),
    /// A database.
    Postgres(String),
}

impl Place {
    /// What `--store` names; a file in the data directory, if it is not given.
    pub(crate) fn new(store: Option<&str>, data: &Path) -> Result<Self> {
        let Some(store) = store else { return Ok(Self::Sqlite(data.join("signoff.db"))) };
        Self::named("--store", store)
    }

    /// What an option names.
    pub(crate) fn named(option: &str, store: &str) -> Result<Self> {
        match store.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(Self::Postgres(store.to_owned()))
            }
            _ => {
                let shown = printable_line(&without_password(store));
                Err(Failure::usage(format!("{option}: `{shown}` is not a store"))
                    .hint("write sqlite:PATH or postgres://USER@HOST/DATABASE")
                    .into())
            }
        }
    }

    /// As people may see it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Sqlite(path) => path.display().to_string(),
            Self::Postgres(address) => {
                let address = without_password(address);
                let end = address.find('?').unwrap_or(address.len());
                printable_line(&address[..end])
            }
        }
    }
}

/// An address without the password in it, to be shown and typed again.
pub(crate) fn without_password(store: &str) -> String {
    let Some((scheme, rest)) = store.split_once("://") else { return store.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    // A password may have an `@` in it that was not written as %40.
    let at = rest[..end].rfind('@').or_else(|| rest.rfind('@'));
    let user = at.and_then(|at| rest[..at].split_once(':').map(|(user, _)| (user, at)));
    let bare = match user {
        Some((user, at)) => format!("{scheme}://{user}{}", &rest[at..]),
        None => store.to_owned(),
    };
    let Some((before, query)) = bare.split_once('?') else { return bare };
    let kept: Vec<&str> = query.split('&').filter(|it| !it.starts_with("password=")).collect();
    if kept.is_empty() { before.to_owned() } else { format!("{before}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::{Place, without_password};

    #[test]
    fn passwords_are_not_shown() {
        for (address, shown) in [
            ("postgres://me:secret@host/db", "postgres://me@host/db"),
            (
                "postgres://me:se@cret@host/db?sslmode=require",
                "postgres://me@host/db?sslmode=require",
            ),
            ("postgres://me:se/cret@host/db", "postgres://me@host/db"),
            ("postgres://me@host/db?password=secret&pool=3", "postgres://me@host/db?pool=3"),
            ("postgres://me@host/db?password=secret", "postgres://me@host/db"),
            ("postgres://host:5433/db", "postgres://host:5433/db"),
            ("sqlite:runs.db", "sqlite:runs.db"),
        ] {
            assert_eq!(without_password(address), shown);
            assert!(!without_password(address).contains("secret"));
        }
        let place = Place::new(Some("postgres://me:secret@host/db?pool=3"), "d".as_ref()).unwrap();
        assert_eq!(place.shown(), "postgres://me@host/db");
        let refused = Place::new(Some("mysql://me:secret@host/db"), "d".as_ref()).unwrap_err();
        assert!(!format!("{refused:?}").contains("secret"), "{refused:?}");
    }
}
