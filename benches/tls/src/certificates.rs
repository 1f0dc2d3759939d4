//! An authority and a certificate for `localhost`, made anew for each experiment.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::fs;
use std::path::{Path, PathBuf};

/// In PEM.
pub(crate) struct Certificates {
    pub(crate) root: String,
    pub(crate) chain: String,
    pub(crate) key: String,
}

const FILES: [&str; 3] = ["root.pem", "chain.pem", "key.pem"];

impl Certificates {
    pub(crate) fn new() -> Result<Self, String> {
        Self::make().map_err(|error| format!("cannot make certificates: {error}"))
    }

    fn make() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let issued =
            CertificateParams::new(["localhost".to_owned()])?.signed_by(&key, &authority)?;
        Ok(Self { root: authority.pem(), chain: issued.pem(), key: key.serialize_pem() })
    }

    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Self { root: read(FILES[0])?, chain: read(FILES[1])?, key: read(FILES[2])? })
    }
}

/// Where the servers read them; gone when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn with(certificates: &Certificates) -> Result<Self, String> {
        let folder =
            Self(std::env::temp_dir().join(format!("tailwater-tls-{}", std::process::id())));
        let texts = [&certificates.root, &certificates.chain, &certificates.key];
        fs::create_dir(&folder.0)
            .and_then(|()| {
                FILES
                    .iter()
                    .zip(texts)
                    .try_for_each(|(name, text)| fs::write(folder.0.join(name), text))
            })
            .map_err(|error| format!("{}: {error}", folder.0.display()))?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
