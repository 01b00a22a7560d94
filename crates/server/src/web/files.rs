//! The files of the page, and how they are sent.

use std::io::Write as _;
use std::sync::LazyLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use signoff_store::hex_sha256;

/// The file that every address of the page gives.
pub(super) const INDEX: &str = "/index.html";
/// The files, by where they are.
pub(super) const NAMES: [&str; 4] = [INDEX, "/app.js", "/app.css", "/favicon.svg"];

// `npm run build` in `web/` writes them.
static FILES: [(&str, &[u8]); NAMES.len()] = [
    ("text/html; charset=utf-8", include_bytes!("../../../../web/dist/index.html")),
    ("text/javascript; charset=utf-8", include_bytes!("../../../../web/dist/app.js")),
    ("text/css; charset=utf-8", include_bytes!("../../../../web/dist/app.css")),
    ("image/svg+xml", include_bytes!("../../../../web/dist/favicon.svg")),
];

/// A file as it is sent.
pub(super) struct File {
    pub(super) media: &'static str,
    pub(super) body: Bytes,
    pub(super) gzip: Bytes,
    /// Changes with the content.
    pub(super) tag: String,
}

static PACKED: LazyLock<Vec<File>> = LazyLock::new(|| FILES.iter().map(pack).collect());

/// A file by its name.
pub(super) fn packed(name: &str) -> Option<&'static File> {
    let index = NAMES.iter().position(|known| *known == name)?;
    PACKED.get(index)
}

fn pack((media, body): &(&'static str, &'static [u8])) -> File {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail; if it did, an empty answer would say so.
    let gzip = encoder.write_all(body).and_then(|()| encoder.finish()).unwrap_or_default();
    let tag = format!("W/\"{}\"", hex_sha256(body).chars().take(16).collect::<String>());
    File { media, body: Bytes::from_static(body), gzip: gzip.into(), tag }
}
