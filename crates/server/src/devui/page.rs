//! The page itself: files that are read once, when the server starts. What a request asks for is looked up
//! among them, so no path of a request reaches the disk.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use axum::Router;
use axum::extract::{Path as InPath, State};
use axum::http::{HeaderName, HeaderValue, Uri, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use bytes::Bytes;

use crate::api::no_route;
use crate::app::App;

/// What is asked for where nothing is named.
const INDEX: &str = "index.html";
/// The most files, and how deep folders may be.
const MAX_FILES: usize = 500;
const MAX_DEPTH: usize = 8;
/// The most bytes of all files together.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// The files of a page.
#[derive(Clone, Default)]
pub struct Page {
    files: BTreeMap<String, (&'static str, Bytes)>,
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Page({} files)", self.files.len())
    }
}

/// Why a folder cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// What.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is no page.
    #[error("there is no index.html in {0}")]
    NoIndex(PathBuf),
    /// It is more than a page.
    #[error("{0} has too many files, too large ones, or too many folders in each other")]
    TooLarge(PathBuf),
}

impl Page {
    /// Reads all files of a folder. Links are left out.
    pub fn read(folder: &Path) -> Result<Self, PageError> {
        let mut page = Self::default();
        let mut bytes = 0;
        page.add(folder, "", &mut bytes, 0)?;
        if page.files.contains_key(INDEX) {
            Ok(page)
        } else {
            Err(PageError::NoIndex(folder.to_owned()))
        }
    }

    fn add(
        &mut self,
        folder: &Path,
        prefix: &str,
        bytes: &mut u64,
        depth: usize,
    ) -> Result<(), PageError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PageError::Read { path, source }
        };
        let too_large = || PageError::TooLarge(folder.to_owned());
        for found in std::fs::read_dir(folder).map_err(failed(folder))? {
            let found = found.map_err(failed(folder))?;
            let path = found.path();
            let Ok(name) = found.file_name().into_string() else { continue };
            let kind = found.file_type().map_err(failed(&path))?;
            let name = format!("{prefix}{name}");
            if kind.is_dir() {
                if depth >= MAX_DEPTH {
                    return Err(too_large());
                }
                self.add(&path, &format!("{name}/"), bytes, depth + 1)?;
            } else if kind.is_file() {
                *bytes += found.metadata().map_err(failed(&path))?.len();
                if self.files.len() >= MAX_FILES || *bytes > MAX_BYTES {
                    return Err(too_large());
                }
                let content = std::fs::read(&path).map_err(failed(&path))?;
                self.files.insert(name.clone(), (media(&name), content.into()));
            }
        }
        Ok(())
    }
}

/// The type of a file, by its name.
fn media(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Adds the routes of the page.
pub(super) fn routes(router: Router<App>) -> Router<App> {
    router
        // Its files have names that begin from where it is.
        .route("/devui", get(|| async { Redirect::permanent("/devui/") }))
        .route("/devui/", get(index))
        .route("/devui/{*path}", get(file))
}

async fn index(State(app): State<App>, uri: Uri) -> Response {
    found(&app, INDEX, uri).await
}

async fn file(State(app): State<App>, InPath(path): InPath<String>, uri: Uri) -> Response {
    found(&app, &path, uri).await
}

async fn found(app: &App, name: &str, uri: Uri) -> Response {
    let page = app.settings.page.as_deref();
    let Some((media, content)) = page.and_then(|page| page.files.get(name)) else {
        return no_route(uri).await.into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // Nobody's page may show it inside of its own, and have people press its buttons.
        (
            HeaderName::from_static("content-security-policy"),
            HeaderValue::from_static("frame-ancestors 'none'"),
        ),
    ];
    (headers, content.clone()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_whole_and_links_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert!(matches!(Page::read(&path.join("nope")), Err(PageError::Read { .. })));
        assert!(matches!(Page::read(path), Err(PageError::NoIndex(_))));
        std::fs::create_dir(path.join("assets")).unwrap();
        std::fs::write(path.join("index.html"), "<p>").unwrap();
        std::fs::write(path.join("assets/a.js"), "1").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", path.join("assets/link.txt")).unwrap();
        let page = Page::read(path).unwrap();
        let names: Vec<&str> = page.files.keys().map(String::as_str).collect();
        assert_eq!(names, ["assets/a.js", "index.html"]);
        assert_eq!(page.files["assets/a.js"].0, "text/javascript; charset=utf-8");
        let deep = path.join("a/".repeat(MAX_DEPTH + 1));
        std::fs::create_dir_all(deep).unwrap();
        assert!(matches!(Page::read(path), Err(PageError::TooLarge(_))));
    }
}
