//! Compiles the protocol's messages to a set of descriptors, without any program from outside.

use std::path::PathBuf;
use std::{env, fs};

use prost::Message as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/a2a.proto");
    let descriptors = protox::compile(["proto/a2a.proto"], ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?).join("a2a.bin");
    fs::write(out, descriptors.encode_to_vec())?;
    Ok(())
}
