//! What an end shows of itself, and what it demands of the other.

use super::{PROTOCOL, TlsError};
use crate::net::Address;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fmt;
use std::sync::Arc;

/// A certificate, the chain up to its root, and its private key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// From PEM: the chain with the own certificate first, and its key (PKCS #8, SEC1 or PKCS #1).
    ///
    /// # Errors
    /// When there is no certificate or no key, or what is there is no PEM.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| {
            TlsError::new(format!("the private key cannot be read: {error}; PEM is needed"))
        })?;
        Ok(Self { chain: certificates(chain)?, key })
    }
}

/// A private key is for nobody's eyes.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificates", &self.chain.len()).finish_non_exhaustive()
    }
}

/// Authorities whose certificates are believed.
#[derive(Clone, Debug)]
pub struct Roots(Arc<RootCertStore>);

impl Roots {
    /// From one or more certificates in PEM.
    ///
    /// # Errors
    /// When there is none, or one of them is no certificate.
    pub fn from_pem(pem: &[u8]) -> Result<Self, TlsError> {
        let mut store = RootCertStore::empty();
        for certificate in certificates(pem)? {
            store
                .add(certificate)
                .map_err(|error| TlsError::new(format!("a root cannot be used: {error}")))?;
        }
        Ok(Self(Arc::new(store)))
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if found.is_empty() => {
            Err(TlsError::new("no certificate was found; PEM with BEGIN CERTIFICATE is needed"))
        }
        Ok(found) => Ok(found),
        Err(error) => {
            Err(TlsError::new(format!("certificates cannot be read: {error}; PEM is needed")))
        }
    }
}

/// What a server demands of its clients.
#[derive(Clone, Debug)]
pub enum Clients {
    /// No certificate is asked for.
    Anonymous,
    /// A certificate is checked if a client has one.
    Optional(Roots),
    /// A client without a certificate from these authorities is refused.
    Required(Roots),
}

/// How a server speaks TLS. Cheap to clone; two are equal if one is the other's clone.
#[derive(Clone)]
pub struct TlsServer {
    pub(super) config: Arc<ServerConfig>,
}

impl TlsServer {
    /// A server that shows `identity` and demands of its clients what `clients` says.
    ///
    /// # Errors
    /// When key and certificate do not belong together, or are of a kind that is not supported.
    pub fn new(identity: Identity, clients: Clients) -> Result<Self, TlsError> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(unusable)?;
        let verifier =
            |roots: Roots| WebPkiClientVerifier::builder_with_provider(roots.0, provider());
        let refused = |error| TlsError::new(format!("the clients' roots cannot be used: {error}"));
        let builder = match clients {
            Clients::Anonymous => builder.with_no_client_auth(),
            Clients::Optional(roots) => {
                let verifier = verifier(roots).allow_unauthenticated().build().map_err(refused)?;
                builder.with_client_cert_verifier(verifier)
            }
            Clients::Required(roots) => {
                builder.with_client_cert_verifier(verifier(roots).build().map_err(refused)?)
            }
        };
        let mut config =
            builder.with_single_cert(identity.chain, identity.key).map_err(unusable)?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        // A resumed session would keep an identity beyond the end of its certificate.
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Self { config: Arc::new(config) })
    }
}

/// How a client speaks TLS. Cheap to clone; two are equal if one is the other's clone.
#[derive(Clone)]
pub struct TlsClient {
    pub(super) config: Arc<ClientConfig>,
    /// The name that the server must have, if it is not that of the address.
    server_name: Option<ServerName<'static>>,
}

impl TlsClient {
    /// A client that believes `roots`, and shows `identity` to a server that asks for one.
    ///
    /// # Errors
    /// When key and certificate do not belong together, or are of a kind that is not supported.
    pub fn new(roots: Roots, identity: Option<Identity>) -> Result<Self, TlsError> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(unusable)?
            .with_root_certificates(roots.0);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(Identity { chain, key }) => {
                builder.with_client_auth_cert(chain, key).map_err(unusable)?
            }
        };
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Self { config: Arc::new(config), server_name: None })
    }

    /// Demands that the server's certificate is for this DNS name or IP address, whatever its address
    /// is. Needed for a Unix socket, which has no name.
    ///
    /// # Errors
    /// When it is neither.
    pub fn with_server_name(mut self, name: &str) -> Result<Self, TlsError> {
        let parsed = ServerName::try_from(name.to_owned()).map_err(|_| {
            TlsError::new(format!("'{name}' found, a DNS name or an IP address is needed"))
        })?;
        self.server_name = Some(parsed);
        Ok(self)
    }

    /// The name that the certificate of the server at this address must have.
    pub(crate) fn name_at(&self, address: &Address) -> Result<ServerName<'static>, TlsError> {
        match (&self.server_name, address) {
            (Some(name), _) => Ok(name.clone()),
            (None, Address::Tcp(address)) => Ok(ServerName::from(address.ip())),
            (None, Address::Name(host, _)) => ServerName::try_from(host.clone())
                .map_err(|_| TlsError::new(format!("'{host}' found, a DNS name is needed"))),
            (None, Address::Unix(_)) => Err(TlsError::new(
                "a Unix socket has no name; TlsClient::with_server_name is needed",
            )),
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn unusable(error: rustls::Error) -> TlsError {
    TlsError::new(format!("certificate and key cannot be used: {error}"))
}

impl PartialEq for TlsServer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.config, &other.config)
    }
}

impl PartialEq for TlsClient {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.config, &other.config) && self.server_name == other.server_name
    }
}

impl Eq for TlsServer {}
impl Eq for TlsClient {}

impl fmt::Debug for TlsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsServer").finish_non_exhaustive()
    }
}

impl fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsClient").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}
