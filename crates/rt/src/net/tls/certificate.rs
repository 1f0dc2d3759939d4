//! What a peer has shown of itself.

use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

/// A peer's own certificate. Its chain was checked against the roots, and the peer holds its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate {
    der: Vec<u8>,
    dns_names: Vec<String>,
    uris: Vec<String>,
}

impl Certificate {
    pub(super) fn new(der: &CertificateDer<'_>) -> Self {
        // rustls has parsed it already; without names a certificate is of no use for decisions, and of
        // no harm.
        let (dns_names, uris) = EndEntityCert::try_from(der).map_or_else(
            |_| (Vec::new(), Vec::new()),
            |parsed| {
                let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
                (
                    owned(parsed.valid_dns_names().collect()),
                    owned(parsed.valid_uri_names().collect()),
                )
            },
        );
        Self { der: der.to_vec(), dns_names, uris }
    }

    /// The whole certificate (X.509 in DER); at most 64 KiB, as rustls bounds its handshake.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// DNS names among its subject alternative names, wildcards included.
    #[must_use]
    pub fn dns_names(&self) -> &[String] {
        &self.dns_names
    }

    /// URIs among its subject alternative names, such as `spiffe://example.org/billing`.
    #[must_use]
    pub fn uris(&self) -> &[String] {
        &self.uris
    }
}
