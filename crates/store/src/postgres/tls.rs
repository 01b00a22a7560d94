//! TLS to a database elsewhere. A certificate is always checked.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::StoreError;

/// Trusts the certificates in a file, or those that this machine trusts.
pub(super) fn connector(roots: Option<&Path>) -> Result<MakeRustlsConnect, StoreError> {
    let trusted = match roots {
        Some(path) => from_file(path)?,
        None => of_this_machine(),
    };
    let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Failed(format!("TLS: {error}")))?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn from_file(path: &Path) -> Result<RootCertStore, StoreError> {
    let cannot = |problem: &dyn std::fmt::Display| {
        StoreError::Failed(format!("sslrootcert {}: {problem}", path.display()))
    };
    let mut trusted = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| cannot(&error))? {
        let certificate = certificate.map_err(|error| cannot(&error))?;
        trusted.add(certificate).map_err(|error| cannot(&error))?;
    }
    if trusted.is_empty() {
        return Err(cannot(&"there is no certificate in it"));
    }
    Ok(trusted)
}

fn of_this_machine() -> RootCertStore {
    let mut trusted = RootCertStore::empty();
    trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if trusted.is_empty() {
        // A container may have none.
        trusted.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    }
    trusted
}
