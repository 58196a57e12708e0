//! Whom a connection trusts, by `sslmode`: against a server that does nothing but
//! the handshake, and then refuses by name.

use std::path::PathBuf;
use std::sync::Arc;

use lessor_adapters::postgres::{PgDatabase, PgSettings};
use lessor_domain::cause::chain;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What the server says to who has come through the handshake.
const REFUSAL: &str = "the handshake is done";

struct Server {
    port: u16,
    authority: PathBuf,
}

/// A server whose certificate is for this name, by an authority of its own.
async fn server(name: &str) -> Server {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()])
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let file = std::env::temp_dir().join(format!("lessor-test-{}-{port}.pem", std::process::id()));
    std::fs::write(&file, authority.pem()).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // SSLRequest: length 8, then the code.
                let mut request = [0; 8];
                stream.read_exact(&mut request).await?;
                stream.write_all(b"S").await?;
                let mut stream = acceptor.accept(stream).await?;
                // The startup message, then: ErrorResponse.
                let asked = stream.read(&mut [0; 1024]).await?;
                assert_ne!(asked, 0, "the client went away");
                let fields = format!("SFATAL\0VFATAL\0C28000\0M{REFUSAL}\0\0");
                let length = u32::try_from(fields.len() + 4).unwrap();
                stream.write_all(b"E").await?;
                stream.write_all(&length.to_be_bytes()).await?;
                stream.write_all(fields.as_bytes()).await?;
                stream.shutdown().await
            });
        }
    });
    Server {
        port,
        authority: file,
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.authority);
    }
}

/// Whether the client goes through with the handshake.
async fn trusts(server: &Server, parameters: &str) -> bool {
    let url = format!(
        "postgres://lessor@localhost:{}/lessor?{}",
        server.port,
        parameters.replace("CA", server.authority.to_str().unwrap())
    );
    let database = PgDatabase::new(&PgSettings::new(url)).unwrap();
    let error = chain(&database.ping().await.unwrap_err()).to_string();
    assert!(
        error.contains(REFUSAL) || error.contains("certificate"),
        "{error}"
    );
    error.contains(REFUSAL)
}

#[tokio::test]
async fn sslmode_decides_who_is_trusted() {
    let named = server("localhost").await;
    let misnamed = server("elsewhere.example").await;
    for (parameters, trusts_named, trusts_misnamed) in [
        ("sslmode=prefer", true, true),
        ("sslmode=require", true, true),
        ("sslmode=verify-ca&sslrootcert=CA", true, true),
        ("sslmode=verify-full&sslrootcert=CA", true, false),
    ] {
        assert_eq!(
            trusts(&named, parameters).await,
            trusts_named,
            "{parameters}"
        );
        assert_eq!(
            trusts(&misnamed, parameters).await,
            trusts_misnamed,
            "{parameters}"
        );
    }
    // An authority that the client was not told of.
    let other = misnamed.authority.to_str().unwrap();
    for mode in ["verify-ca", "verify-full"] {
        assert!(!trusts(&named, &format!("sslmode={mode}&sslrootcert={other}")).await);
    }
}

#[tokio::test]
async fn who_must_be_encrypted_does_not_speak_in_the_clear() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // Says that it has no TLS, and nothing else.
            let mut request = [0; 8];
            if stream.read_exact(&mut request).await.is_ok() {
                let _ = stream.write_all(b"N").await;
            }
        }
    });
    let url = format!("postgres://lessor@localhost:{port}/lessor?sslmode=require");
    let database = PgDatabase::new(&PgSettings::new(url)).unwrap();
    let error = chain(&database.ping().await.unwrap_err()).to_string();
    assert!(error.contains("does not support TLS"), "{error}");
}
