//! Certificates for tests, made anew each time.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType, date_time_ymd,
};
use tailwater_rt::net::tls::{Clients, Identity, Roots, TlsClient, TlsServer};

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub(crate) struct Issued {
    pub(crate) chain: String,
    pub(crate) key: String,
}

impl Issued {
    pub(crate) fn identity(&self) -> Identity {
        Identity::from_pem(self.chain.as_bytes(), self.key.as_bytes()).unwrap()
    }
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots::from_pem(self.pem().as_bytes()).unwrap()
    }

    /// For a DNS name.
    pub(crate) fn issue(&self, name: &str) -> Issued {
        self.sign(CertificateParams::new([name.to_owned()]).unwrap())
    }

    /// For a DNS name and a URI.
    pub(crate) fn issue_with_uri(&self, name: &str, uri: &str) -> Issued {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.subject_alt_names.push(SanType::URI(uri.try_into().unwrap()));
        self.sign(params)
    }

    /// Its time is over.
    pub(crate) fn issue_expired(&self, name: &str) -> Issued {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 2, 1);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Issued {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Issued { chain: certificate.pem(), key: key.serialize_pem() }
    }

    /// A server called `localhost`.
    pub(crate) fn server(&self, clients: Clients) -> TlsServer {
        TlsServer::new(self.issue("localhost").identity(), clients).unwrap()
    }

    /// A client that looks for `localhost`.
    pub(crate) fn client(&self, identity: Option<Identity>) -> TlsClient {
        TlsClient::new(self.roots(), identity).unwrap().with_server_name("localhost").unwrap()
    }
}
