//! Pages of Markdown, cut into what the tests look at.

use std::path::{Path, PathBuf};

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block {
    /// What a comment right before it says: `run`, `file: PATH`, `write: PATH`.
    pub(crate) marker: Option<String>,
    pub(crate) language: String,
    pub(crate) text: String,
    /// The line it begins at, from 1.
    pub(crate) line: usize,
}

#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All pages: those of the root and of `docs`.
pub(crate) fn pages() -> Vec<Page> {
    let mut paths: Vec<PathBuf> = [root(), root().join("docs")]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect();
    paths.sort();
    assert!(paths.len() > 8, "the documentation is there: {paths:?}");
    paths.into_iter().map(|path| Page { text: read(&path), path }).collect()
}

pub(crate) fn page(name: &str) -> Page {
    let path = root().join(name);
    Page { text: read(&path), path }
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Page {
    pub(crate) fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap().display().to_string()
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        let mut marker = None;
        for (n, line) in self.text.lines().enumerate() {
            match &mut open {
                Some(_) if line == "```" => blocks.extend(open.take()),
                Some(block) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                None => {
                    if let Some(language) = line.strip_prefix("```") {
                        let (marker, language) = (marker.take(), language.to_owned());
                        open = Some(Block { marker, language, text: String::new(), line: n + 1 });
                    } else if let Some(comment) = line.strip_prefix("<!-- ") {
                        marker = comment.strip_suffix(" -->").map(str::to_owned);
                    } else if !line.trim().is_empty() {
                        marker = None;
                    }
                }
            }
        }
        assert!(open.is_none(), "{}: a block is not closed", self.name());
        blocks
    }
}
