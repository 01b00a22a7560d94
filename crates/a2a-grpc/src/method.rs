//! The methods of the service, and the messages they take and give.

use prost_reflect::{DescriptorPool, MessageDescriptor, MethodDescriptor};

use serde_json::Value;

use crate::{SERVICE, codec};

/// The descriptors could not be read: they were made of another file than this crate was built with.
#[derive(Debug, thiserror::Error)]
#[error("the messages of A2A cannot be read: {0}")]
pub struct Unreadable(String);

/// All methods of the service. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Methods(Vec<Method>);

/// One method. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Method(MethodDescriptor);

impl Methods {
    /// Reads the descriptors this crate was built with.
    pub fn read() -> Result<Self, Unreadable> {
        let bytes: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/a2a.bin"));
        let pool = DescriptorPool::decode(bytes).map_err(|error| Unreadable(error.to_string()))?;
        let service = pool
            .get_service_by_name(SERVICE)
            .ok_or_else(|| Unreadable(format!("there is no {SERVICE}")))?;
        Ok(Self(service.methods().map(Method).collect()))
    }

    /// The method of this name.
    pub fn named(&self, name: &str) -> Option<&Method> {
        self.0.iter().find(|method| method.name() == name)
    }

    /// Every method.
    pub fn iter(&self) -> impl Iterator<Item = &Method> {
        self.0.iter()
    }
}

impl Method {
    /// Its name, without the service's.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Whether it gives any number of messages.
    pub fn streams(&self) -> bool {
        self.0.is_server_streaming()
    }

    /// What it is called with, as JSON. What is no such message is refused with the reason.
    pub fn read(&self, message: &[u8]) -> Result<Value, String> {
        codec::read(&self.takes(), message)
    }

    pub(crate) fn takes(&self) -> MessageDescriptor {
        self.0.input()
    }

    pub(crate) fn gives(&self) -> MessageDescriptor {
        self.0.output()
    }
}
