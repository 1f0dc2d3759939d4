//! Fields of text that have few words. The types of the API take any text there, and a server refuses others.

use serde_json::Value;

/// Where such fields are, by kind and path from its end, and their words by the API's reference.
const FEW: [(&str, &str, &[&str]); 13] = [
    ("Deployment", ".template.spec.restartPolicy", &["Always"]),
    ("Job", ".template.spec.restartPolicy", &["Never", "OnFailure"]),
    ("StatefulSet", ".template.spec.restartPolicy", &["Always"]),
    ("Job", ".spec.completionMode", &["Indexed", "NonIndexed"]),
    ("Job", ".rules[].action", &["Count", "FailIndex", "FailJob", "Ignore"]),
    ("Job", ".onExitCodes.operator", &["In", "NotIn"]),
    ("Job", ".onPodConditions[].status", &["True", "False", "Unknown"]),
    // Any condition may be named; these a pod gets by itself.
    (
        "Job",
        ".onPodConditions[].type",
        &["ContainersReady", "DisruptionTarget", "Initialized", "PodScheduled", "Ready"],
    ),
    ("StatefulSet", ".spec.podManagementPolicy", &["OrderedReady", "Parallel"]),
    ("NetworkPolicy", ".policyTypes[]", &["Egress", "Ingress"]),
    // An address would be one of a cluster of its own.
    ("Service", ".spec.clusterIP", &["None"]),
    (
        "PersistentVolumeClaim",
        ".accessModes[]",
        &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"],
    ),
    ("", ".seccompProfile.type", &["Localhost", "RuntimeDefault", "Unconfined"]),
];

/// Paths that end so have any text: a name, a place, a size, a command line. So have labels, whatever they are called.
const ANY: [&str; 17] = [
    ".apiVersion",
    ".kind",
    ".name",
    ".serviceName",
    ".containerName",
    ".claimName",
    ".image",
    ".args[]",
    ".command[]",
    ".fieldPath",
    ".mountPath",
    ".port",
    ".cpu",
    ".memory",
    ".storage",
    ".sizeLimit",
    // A capability of the container's runtime, or all of them.
    ".capabilities.drop[]",
];

/// What holds labels.
const LABELS: [&str; 3] = [".labels.", ".matchLabels.", ".spec.selector."];

/// Words that the API does not have. A field of text that neither list has is one of them, so that a new one is looked up.
pub(crate) fn unknown(document: &Value) -> Vec<String> {
    let kind = document["kind"].as_str().unwrap_or_default();
    let mut found = Vec::new();
    each_text(document, "", &mut |path, text| {
        let is_of = |of: &str| of.is_empty() || of == kind;
        let few = FEW.iter().find(|(of, end, _)| is_of(of) && path.ends_with(end));
        let has_labels = LABELS.iter().any(|part| path.contains(part));
        match few {
            Some((_, _, words)) if !words.contains(&text) => {
                found.push(format!("{path}: {text}; one of {words:?} is needed"));
            }
            None if !has_labels && !ANY.iter().any(|end| path.ends_with(end)) => {
                found.push(format!("{path}: {text}; which words has it by the API's reference?"));
            }
            _ => {}
        }
    });
    found
}

/// Gives each text with its path, in which elements of lists are alike.
fn each_text(value: &Value, path: &str, take: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => take(path, text),
        Value::Array(all) => all.iter().for_each(|it| each_text(it, &format!("{path}[]"), take)),
        Value::Object(all) => {
            all.iter().for_each(|(key, it)| each_text(it, &format!("{path}.{key}"), take));
        }
        _ => {}
    }
}
