//! Chat Completions, as Ollama, llama.cpp's server, vLLM and many others speak it.

pub(crate) mod request;
pub(crate) mod stream;
