//! Kustomizations by the fields that ours use, as <https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/>
//! documents them.

use serde::Deserialize;

/// A folder's file.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Kustomization {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// Manifests, by their paths from the folder.
    pub(crate) resources: Vec<String>,
    pub(crate) images: Vec<Image>,
}

/// Which image stands in for one of the manifests'.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Image {
    /// As manifests have it, without its tag.
    pub(crate) name: String,
    pub(crate) new_tag: String,
}
