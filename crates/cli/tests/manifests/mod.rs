//! What manifests may say beyond what the types of Kubernetes' API hold to: words of fields that have few, and
//! kustomizations, of which no package here has types.

pub(crate) mod kustomization;
pub(crate) mod words;
