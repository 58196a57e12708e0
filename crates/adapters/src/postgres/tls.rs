//! TLS to the database.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::url::InvalidUrl;

/// Whom a connection is opened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Whoever answers: what is said is hidden from those who only listen.
    Anybody,
    /// Who has a certificate of a known authority, whatever its name.
    Authority,
    /// Who has a certificate of a known authority for the host's name.
    Name,
}

pub(super) fn client_config(
    trust: Trust,
    root_file: Option<&Path>,
) -> Result<ClientConfig, InvalidUrl> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| InvalidUrl::new(error.to_string()))?;
    let config = match trust {
        Trust::Anybody => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAnybody(provider))),
        Trust::Authority => {
            let roots = Arc::new(roots(root_file)?);
            let inner = WebPkiServerVerifier::builder_with_provider(roots, provider)
                .build()
                .map_err(|error| InvalidUrl::new(error.to_string()))?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AcceptAnyName(inner)))
        }
        Trust::Name => builder.with_root_certificates(roots(root_file)?),
    };
    Ok(config.with_no_client_auth())
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, InvalidUrl> {
    let mut store = RootCertStore::empty();
    match file {
        Some(file) if !is_system(file) => {
            let unreadable = |problem: String| {
                InvalidUrl::new(format!("sslrootcert {}: {problem}", file.display()))
            };
            let certificates =
                CertificateDer::pem_file_iter(file).map_err(|e| unreadable(e.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|e| unreadable(e.to_string()))?;
                store
                    .add(certificate)
                    .map_err(|e| unreadable(e.to_string()))?;
            }
        }
        _ => {
            // Single certificates that cannot be read are usual; that none can is an error.
            let found = rustls_native_certs::load_native_certs();
            let (_, _) = store.add_parsable_certificates(found.certs);
        }
    }
    if store.is_empty() {
        return Err(InvalidUrl::new(
            "no certificate authority is known to check the server by: name one with sslrootcert",
        ));
    }
    Ok(store)
}

/// Where the system's file of authorities may be given instead of a path, as libpq has it.
fn is_system(path: &Path) -> bool {
    path == Path::new("system")
}

/// Encrypts without asking who is there: `sslmode=prefer` and `require`.
#[derive(Debug)]
struct AcceptAnybody(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Checks the authority and not the name: `sslmode=verify-ca`.
#[derive(Debug)]
struct AcceptAnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AcceptAnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The name is checked last, after the chain was found to be good.
        match self
            .0
            .verify_server_cert(certificate, intermediates, name, ocsp, now)
        {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
