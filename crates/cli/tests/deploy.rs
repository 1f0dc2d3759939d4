//! `deploy/`: manifests by the published types of Kubernetes' API, their command lines by real processes, and the array of
//! Slurm by a shell.

use crate::common::{Folder, Serving, TAILWATER};
use crate::manifests::kustomization::{Image, Kustomization};
use crate::manifests::words;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SERVICES: [&str; 4] = ["hdsearch", "router", "setalgebra", "recommend"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The documents of a file.
fn documents(path: &str) -> Vec<Value> {
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"));
    let read =
        |part: &str| serde_saphyr::from_str(part).unwrap_or_else(|why| panic!("{path}: {why}"));
    text.split("\n---\n").map(read).collect()
}

/// Every manifest, with the file that has it.
fn all() -> Vec<(String, Value)> {
    let files = SERVICES.iter().flat_map(|name| {
        ["tiers", "load"].map(|file| format!("deploy/kubernetes/{name}/{file}.yaml"))
    });
    let sweep = ["sweep", "merge/merge"];
    let sweep = sweep.map(|file| format!("deploy/kubernetes/sweep/{file}.yaml"));
    let with_file = |file: String| documents(&file).into_iter().map(move |it| (file.clone(), it));
    files.chain(sweep).flat_map(with_file).collect()
}

/// What a document has that its type does not: fields that are unknown, misspelt, or of another form. Also what it lacks and its
/// type needs.
fn lost<T: DeserializeOwned + Serialize>(document: &Value) -> Vec<String> {
    match serde_json::from_value::<T>(document.clone()) {
        Err(why) => vec![why.to_string()],
        Ok(typed) => {
            let mut missing = Vec::new();
            let back = serde_json::to_value(typed).expect("it was read from JSON");
            differences(document, &back, "", &mut missing);
            missing
        }
    }
}

/// Paths of `said` that are not in `back`, and of fields that `back` has alone. What is needed and lacking the types read as
/// nothing, and write it so. What need not be there they leave out.
fn differences(said: &Value, back: &Value, at: &str, missing: &mut Vec<String>) {
    match (said, back) {
        (Value::Object(said), Value::Object(back)) => {
            for (key, value) in said {
                let other = back.get(key).unwrap_or(&Value::Null);
                differences(value, other, &format!("{at}.{key}"), missing);
            }
            let lacking = back.keys().filter(|key| !said.contains_key(*key));
            missing.extend(lacking.map(|key| format!("{at}.{key} is needed")));
        }
        (Value::Array(said), Value::Array(back)) if said.len() == back.len() => {
            for (index, (value, other)) in said.iter().zip(back).enumerate() {
                differences(value, other, &format!("{at}[{index}]"), missing);
            }
        }
        _ if said == back => {}
        // An empty object, as emptyDir has it, may come back as one or not at all.
        (Value::Object(empty), Value::Null) if empty.is_empty() => {}
        _ => missing.push(format!("{at}: {said}")),
    }
}

fn lost_of(document: &Value) -> Vec<String> {
    match (document["apiVersion"].as_str(), document["kind"].as_str()) {
        (Some("v1"), Some("Service")) => lost::<Service>(document),
        (Some("v1"), Some("PersistentVolumeClaim")) => lost::<PersistentVolumeClaim>(document),
        (Some("apps/v1"), Some("Deployment")) => lost::<Deployment>(document),
        (Some("apps/v1"), Some("StatefulSet")) => lost::<StatefulSet>(document),
        (Some("batch/v1"), Some("Job")) => lost::<Job>(document),
        (Some("networking.k8s.io/v1"), Some("NetworkPolicy")) => lost::<NetworkPolicy>(document),
        other => vec![format!("found {other:?}, which no type here has")],
    }
}

#[test]
fn every_manifest_is_of_the_published_api() {
    let all = all();
    assert_eq!(all.len(), 4 * (5 + 1) + 3);
    for (file, document) in &all {
        assert_eq!(lost_of(document), [""; 0], "{file}");
        assert_eq!(words::unknown(document), [""; 0], "{file}");
    }
}

#[test]
fn a_word_that_a_field_does_not_have_is_found() {
    let [job] = &documents("deploy/kubernetes/router/load.yaml")[..] else { panic!("a job") };
    let with = |field: &str, word: &str| {
        let mut job = job.clone();
        *job.pointer_mut(field).unwrap_or_else(|| panic!("no {field}")) = word.into();
        job
    };
    for (field, word) in [
        ("/spec/template/spec/restartPolicy", "Nevver"),
        // A job's pods may not be restarted for ever, as those of others are.
        ("/spec/template/spec/restartPolicy", "Always"),
        ("/spec/template/spec/securityContext/seccompProfile/type", "RuntimeDefalt"),
        ("/spec/completionMode", "indexed"),
        ("/spec/podFailurePolicy/rules/0/action", "FailPod"),
    ] {
        let job = with(field, word);
        let [found] = &words::unknown(&job)[..] else { panic!("{word}: one is found") };
        assert!(found.contains(&format!(": {word}; one of [")), "{found}");
        assert_eq!(lost_of(&job), [""; 0], "the types of the API take any text");
    }
    let mut job = job.clone();
    job["spec"]["template"]["spec"]["dnsPolicy"] = "Default".into();
    let found = words::unknown(&job);
    assert_eq!(found.len(), 1, "a field that no list has is looked up: {found:?}");
}

#[test]
fn a_field_that_the_api_does_not_have_is_found() {
    let mut document = documents("deploy/kubernetes/router/tiers.yaml").remove(1);
    document["spec"]["template"]["spec"]["containers"][0]["arguments"] = Value::Array(Vec::new());
    assert_eq!(lost_of(&document), [".spec.template.spec.containers[0].arguments: []"]);
    document["spec"]["replicas"] = "four".into();
    assert_eq!(lost_of(&document).len(), 1);
}

#[test]
fn a_field_that_the_api_needs_and_a_manifest_lacks_is_found() {
    let leaves = documents("deploy/kubernetes/router/tiers.yaml").remove(1);
    for (object, field) in [
        ("/spec", "selector"),
        ("/spec", "template"),
        ("/spec/template/spec", "containers"),
        ("/spec/template/spec/containers/0", "name"),
        ("/spec/template/spec/containers/0/volumeMounts/0", "mountPath"),
        ("/spec/template/spec/volumes/0", "name"),
    ] {
        let mut lacking = leaves.clone();
        let of = lacking.pointer_mut(object).and_then(Value::as_object_mut).expect("an object");
        assert!(of.remove(field).is_some(), "{object} has {field}");
        let found = lost_of(&lacking);
        let needed = format!(".{field} is needed");
        assert!(found.len() == 1 && found[0].ends_with(&needed), "{found:?}");
    }
}

/// The document of a folder's `kustomization.yaml`.
fn kustomization(folder: &str) -> Value {
    let mut found = documents(&format!("{folder}/kustomization.yaml"));
    assert_eq!(found.len(), 1, "{folder}");
    found.remove(0)
}

#[test]
fn what_a_kustomization_says_is_documented_and_what_it_names_is_there() {
    for folder in SERVICES.iter().chain(&["sweep", "sweep/merge"]) {
        let folder = format!("deploy/kubernetes/{folder}");
        let read = serde_json::from_value(kustomization(&folder));
        let Kustomization { api_version, kind, resources, images } =
            read.unwrap_or_else(|why| panic!("{folder}: {why}"));
        assert_eq!((&*api_version, &*kind), ("kustomize.config.k8s.io/v1beta1", "Kustomization"));
        let manifest = |file: &String| fs::read_to_string(root().join(&folder).join(file));
        let manifests: Result<String, _> = resources.iter().map(manifest).collect();
        let manifests = manifests.unwrap_or_else(|why| panic!("{folder}: {why}"));
        assert!(!images.is_empty(), "{folder}");
        for Image { name, new_tag } in images {
            let is_asked_for = manifests.contains(&format!("image: {name}:"));
            assert!(is_asked_for && !new_tag.is_empty(), "{folder}: {name}");
        }
    }
}

#[test]
fn a_field_that_no_kustomization_has_is_found() {
    let sound = kustomization("deploy/kubernetes/router");
    let why = |unsound: Value| match serde_json::from_value::<Kustomization>(unsound) {
        Ok(read) => panic!("it was taken: {read:?}"),
        Err(why) => why.to_string(),
    };
    let mut misspelt = sound.clone();
    misspelt["resource"] = misspelt["resources"].take();
    assert!(why(misspelt).contains("unknown field `resource`"));
    let mut misspelt = sound.clone();
    misspelt["images"][0]["newtag"] = "0.1.0".into();
    assert!(why(misspelt).contains("unknown field `newtag`"));
    let mut other = sound;
    other["images"][0]["newTag"] = 0.1.into();
    assert!(why(other).contains("expected a string"));
}

#[test]
fn the_image_is_built_without_what_git_ignores() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("a list");
    let left_out = read(".containerignore");
    for line in read(".gitignore").lines().chain([".git"]) {
        // A name without a slash is one in any folder for git, and one at the top for an image.
        let needed = line.strip_prefix('/').map_or_else(|| format!("**/{line}"), str::to_owned);
        let is_there = left_out.lines().any(|it| it == needed || it == line);
        assert!(is_there, ".containerignore lacks {needed}");
    }
}

/// The one of this kind.
fn of_kind<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    documents.iter().find(|it| it["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// A pod's first container, or its first before that.
fn container<'a>(document: &'a Value, list: &str) -> &'a Value {
    &document["spec"]["template"]["spec"][list][0]
}

fn words(container: &Value, key: &str) -> Vec<String> {
    let text = |it: &Value| it.as_str().expect("text").to_owned();
    container[key].as_array().expect("a list").iter().map(text).collect()
}

fn arguments(document: &Value) -> Vec<String> {
    words(container(document, "containers"), "args")
}

#[test]
fn names_and_numbers_fit_each_other() {
    for name in SERVICES {
        let documents = documents(&format!("deploy/kubernetes/{name}/tiers.yaml"));
        let leaves = of_kind(&documents, "StatefulSet");
        let pods = leaves["spec"]["replicas"].as_u64().expect("a number");
        let scenario = fs::read_to_string(root().join(format!("scenarios/{name}.toml")));
        let nodes = format!("nodes = {pods}\n");
        assert!(scenario.expect("its scenario").contains(&nodes), "{name}: {nodes}");
        let service = leaves["spec"]["serviceName"].as_str().expect("a name");
        let own = leaves["metadata"]["name"].as_str().expect("a name");
        let called: Vec<String> =
            (0..pods).map(|pod| format!("{own}-{pod}.{service}:7000")).collect();
        let downstream = format!("--downstream=leaf={}", called.join(","));
        assert!(arguments(of_kind(&documents, "Deployment")).contains(&downstream), "{downstream}");
        for document in &documents {
            let template = &document["spec"]["template"]["metadata"]["labels"];
            let wanted = document["spec"]["selector"]["matchLabels"].as_object();
            let matches =
                wanted.is_none_or(|wanted| wanted.iter().all(|(key, it)| template[key] == *it));
            assert!(matches, "{name}: a selector finds no pod of its own: {document}");
        }
    }
}

/// A change of one is a change of all: they differ by the service's name and by the memory that they ask for.
#[test]
fn services_differ_by_name_and_memory_alone() {
    for file in ["tiers", "load"] {
        let alike = |name: &str| {
            let text =
                fs::read_to_string(root().join(format!("deploy/kubernetes/{name}/{file}.yaml")));
            let text = text.expect("a manifest").replace(name, "NAME");
            let lines =
                text.lines().filter(|line| !line.starts_with('#') && !line.contains("memory:"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let distinct: BTreeSet<_> = SERVICES.map(alike).into();
        assert_eq!(distinct.len(), 1, "{file}.yaml");
    }
}

/// What a container of the manifests is told, on this machine: its scenario is `scenario`, and it listens on a free port.
fn here(arguments: Vec<String>, scenario: &Path, node: &str) -> Vec<String> {
    let here = |argument: String| {
        if argument.starts_with("--scenario=/scenarios/") {
            return format!("--scenario={}", scenario.display());
        }
        argument.replace("0.0.0.0:7000", "127.0.0.1:0").replace("$(NODE)", node)
    };
    arguments.into_iter().map(here).collect()
}

fn serve(folder: &Folder, arguments: &[String]) -> Serving {
    let (verb, flags) = arguments.split_first().expect("a verb");
    assert_eq!(verb, "serve");
    let flags = flags.iter().filter(|flag| !flag.starts_with("--slo="));
    let flags: Vec<&str> = flags.map(String::as_str).collect();
    let data = folder.0.join("data").display().to_string();
    Serving::start(&[&flags[..], &["--data", &data]].concat())
}

/// What a container with a command of its own runs, in a root where the program is found by name.
fn started(container: &Value, changed: impl Fn(String) -> String, data: &Path) -> Command {
    let mut line = words(container, "command");
    line.extend(words(container, "args"));
    let line: Vec<String> = line.into_iter().map(changed).collect();
    let programs = Path::new(TAILWATER).parent().expect("a folder").display().to_string();
    let path = std::env::var("PATH").expect("a path");
    // The first container waits for as long as one does not answer.
    let mut command = Command::new("timeout");
    command
        .arg("120")
        .args(&line)
        .env("PATH", format!("{programs}:{path}"))
        .env("TAILWATER_DATA", data);
    command
}

/// As `kubectl logs` has it: both streams in one.
fn log_of(mut command: Command) -> (Option<i32>, String) {
    let (mut log, end) = std::io::pipe().expect("a pipe");
    command.stdout(end.try_clone().expect("a pipe")).stderr(end);
    let mut child = command.spawn().expect("it starts");
    // It holds the pipe's other end, too.
    drop(command);
    let mut text = String::new();
    log.read_to_string(&mut text).expect("text");
    (child.wait().expect("it ends").code(), text)
}

#[test]
fn the_manifests_commands_serve_and_ask() {
    let folder = Folder::new("deploy");
    let text = fs::read_to_string(root().join("scenarios/setalgebra.toml")).expect("a scenario");
    let text =
        text.replace("text = \"auto\"", "text = \"generated\"\ndocuments = 1000\nqueries = 200");
    let scenario = folder.write("setalgebra.toml", &text);
    let tiers = documents("deploy/kubernetes/setalgebra/tiers.yaml");
    let leaf = |node: u32| {
        let arguments = arguments(of_kind(&tiers, "StatefulSet"));
        serve(&folder, &here(arguments, &scenario, &node.to_string()))
    };
    let leaves: Vec<Serving> = (0..4).map(leaf).collect();
    let at_leaves = |mut text: String| {
        for (node, leaf) in leaves.iter().enumerate() {
            assert_eq!(leaf.nodes, std::slice::from_ref(&leaf.address), "one node in each process");
            let name = format!("setalgebra-leaf-{node}.setalgebra-leaf:7000");
            text = text.replace(&name, &leaf.address);
        }
        text
    };
    let called = here(arguments(of_kind(&tiers, "Deployment")), &scenario, "");
    let midtier = serve(&folder, &called.into_iter().map(at_leaves).collect::<Vec<_>>());
    let told = folder.0.join("termination-log");
    let changed = |text: String| {
        let text = at_leaves(text).replace("setalgebra:7000", &midtier.address);
        let text = text.replace("/scenarios/setalgebra.toml", &scenario.display().to_string());
        let text = text.replace("/dev/termination-log", &told.display().to_string());
        let text = text.replace("--duration=30s", "--duration=500ms").replace("=1000", "=100");
        text.replace("--slo=5ms", "--slo=60s")
    };
    let [load] = &documents("deploy/kubernetes/setalgebra/load.yaml")[..] else { panic!("a job") };
    let data = folder.0.join("data-of-load");
    let (code, said) = log_of(started(container(load, "initContainers"), changed, &data));
    assert_eq!((code, &*said), (Some(0), ""), "the first container");
    let asked = |index: &str| {
        let mut command = started(container(load, "containers"), changed, &data);
        command.env("JOB_COMPLETION_INDEX", index);
        let (code, log) = log_of(command);
        let told = fs::read_to_string(&told).expect("a message");
        let result: Value =
            serde_json::from_str(&log).unwrap_or_else(|why| panic!("{why}: {log}: {told}"));
        (code, result, told)
    };
    let (code, result, told) = asked("0");
    let run = &result["runs"][0];
    assert!(told.contains("tailwater: preparing data in"), "{code:?}: {told}");
    // Left out where there was none.
    assert_eq!(run["wrong_answers"].as_u64().unwrap_or(0), 0, "{told}");
    assert!(run["fates"]["ok"].as_u64() > Some(0), "{run}");

    let (_, other, _) = asked("1");
    let file = |name: &str, result: &Value| folder.write(name, &result.to_string());
    let loads = [file("load-0.json", &result), file("load-1.json", &other)];
    // One after the other: told, and not counted.
    let output = Command::new(TAILWATER).args(["merge", "--json"]).args(&loads).output();
    let output = output.expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("no run is valid"), "{said}");
    let merged: Value = serde_json::from_slice(&output.stdout).expect("a result");
    let answered = |of: &Value| {
        let fates = &of["runs"][0]["fates"];
        fates["ok"].as_u64().expect("a count") + fates["late"].as_u64().expect("a count")
    };
    assert_eq!(answered(&merged), answered(&result) + answered(&other));
    assert_eq!(merged["runs"][0]["clients"], 2 * run["clients"].as_u64().expect("a number"));
    let p999 = |of: &Value| of["runs"][0]["p999_us"].as_f64().expect("a number");
    let within = p999(&result).min(p999(&other))..=p999(&result).max(p999(&other));
    assert!(within.contains(&p999(&merged)), "{merged}");
}

#[test]
fn a_load_whose_time_is_past_or_far_asks_nothing() {
    let serving = Serving::start(&["--controller", "none"]);
    let connect = format!("--connect={}", serving.address);
    for (at, why) in [("1000", "which was past"), ("99999999999", "more than a day")] {
        let at_option = format!("--at={at}");
        let load = ["load", &*connect, "--rate=100", "--duration=100ms", &*at_option];
        let output = Command::new(TAILWATER).args(load).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let told = format!("--at is {at}, {why}");
        assert!(output.status.code() == Some(2) && said.contains(&told), "{said}");
    }
}

/// Whatever the load's program ends with is final: no second try hides it.
#[test]
fn a_load_that_fails_fails_its_job() {
    for name in SERVICES {
        let [job] = &documents(&format!("deploy/kubernetes/{name}/load.yaml"))[..] else {
            panic!("a job")
        };
        assert_eq!(job["spec"]["template"]["spec"]["restartPolicy"], "Never", "{name}");
        let rules = job["spec"]["podFailurePolicy"]["rules"].as_array().expect("rules");
        let failing = rules.iter().find(|rule| rule["action"] == "FailJob").expect("a rule");
        let on = &failing["onExitCodes"];
        assert_eq!(on["containerName"], container(job, "containers")["name"], "{name}");
        assert_eq!((&on["operator"], &on["values"]), (&"NotIn".into(), &vec![0].into()), "{name}");
    }
}

/// A node's memory and disk are bounded against each of them, before the load's own container, too.
#[test]
fn every_container_and_volume_has_a_bound() {
    let all = all();
    let pods: Vec<_> = all
        .iter()
        .map(|(file, document)| (file, &document["spec"]["template"]["spec"]))
        .filter(|(_, pod)| pod["containers"].as_array().is_some_and(|list| !list.is_empty()))
        .collect();
    // Front, leaf and load of each service, the sweep and its merge.
    assert_eq!(pods.len(), 3 * SERVICES.len() + 2);
    for (file, pod) in pods {
        let lists = ["initContainers", "containers"].map(|list| pod[list].as_array());
        for container in lists.into_iter().flatten().flatten() {
            let resources = &container["resources"];
            let (limit, request) =
                (&resources["limits"]["memory"], &resources["requests"]["memory"]);
            assert!(limit.is_string() && limit == request, "{file}: {resources}");
        }
        for volume in pod["volumes"].as_array().into_iter().flatten() {
            let bound = volume["emptyDir"].is_null() || volume["emptyDir"]["sizeLimit"].is_string();
            assert!(bound, "{file}: {volume}");
        }
    }
}

#[test]
fn a_node_that_the_tier_does_not_have_is_refused() {
    let scenario = root().join("scenarios/setalgebra.toml");
    let mut command = Command::new(TAILWATER);
    command.args(["serve", "--tier", "leaf", "--node", "4", "--scenario"]).arg(&scenario);
    let data = Folder::new("deploy-node");
    let output = command.arg("--data").arg(&data.0).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the tier leaf has 4 nodes; 0 to 3 is needed"), "{said}");
}

const SWEPT: &str = "
slo = \"400us\"
duration = \"20ms\"
repetitions = 2
server.service = { distribution = \"exponential\", mean = \"10us\" }
clients.count = 10
demand.of_capacity = [0.5, 1.2]
controller = [{ name = \"none\" }, { name = \"breakwater\" }]
";

/// A task of the array, as Slurm starts it.
fn task(number: u32, shards: &str, scenario: &Path, out: &Path) -> Output {
    let mut command = Command::new("sh");
    command.arg(root().join("deploy/slurm/sweep.sh")).arg(scenario).arg(out);
    command.env("TAILWATER", TAILWATER).env("SLURM_ARRAY_TASK_ID", number.to_string());
    // Of a task that is submitted again alone.
    command.env("SLURM_ARRAY_TASK_COUNT", "1").env("SLURM_ARRAY_TASK_MIN", number.to_string());
    command.env("TAILWATER_SHARDS", shards).output().expect("there is a shell")
}

#[test]
fn a_task_of_slurm_refuses_what_is_not_its_own() {
    let folder = Folder::new("deploy-slurm-refuses");
    let scenario = folder.write("swept.toml", SWEPT);
    let out = folder.0.join("sweep");
    let refused = |output: &Output, needed: &str| {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(needed), "{said}");
    };
    refused(&task(3, "", &scenario, &out), "no number of shards was found");
    refused(&task(3, "3", &scenario, &out), "I from 0 to N");
    let first = task(1, "3", &scenario, &out);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let result = out.join("shard-1/result.json");
    let written = fs::read(&result).expect("a result");
    refused(&task(1, "2", &scenario, &out), "the result of shard 1/3; 1/2 is to be written");
    assert_eq!(fs::read(&result).expect("a result"), written, "it was refused, and written over");
    let none = Command::new("sh").arg(root().join("deploy/slurm/sweep.sh")).output();
    let none = none.expect("there is a shell");
    assert!(String::from_utf8_lossy(&none.stderr).contains("sbatch --array"), "{none:?}");
}

#[test]
fn a_slurm_array_finds_what_one_machine_does() {
    let folder = Folder::new("deploy-slurm");
    let scenario = folder.write("swept.toml", SWEPT);
    let out = folder.0.join("sweep");
    // One is submitted again: it writes its own shard, and no other.
    for number in [0, 1, 2, 1] {
        let output = task(number, "3", &scenario, &out);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    let shards: Vec<PathBuf> = (0..3).map(|shard| out.join(format!("shard-{shard}"))).collect();
    let (merged, whole) = (json(&["merge"], &shards), json(&["run", "--on", "sim"], &[scenario]));
    assert_eq!(merged, whole);
}

/// What it prints with these words, in JSON.
fn json(arguments: &[&str], paths: &[PathBuf]) -> String {
    let output = Command::new(TAILWATER).args(arguments).args(paths).arg("--json").output();
    let output = output.expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_manifests_of_a_sweep_find_what_one_machine_does() {
    let folder = Folder::new("deploy-sweep");
    // Eight pairs of demand and controller, one for each pod.
    let swept = SWEPT.replace("[0.5, 1.2]", "[0.5, 0.8, 1.0, 1.2]");
    let scenario = folder.write("swept.toml", &swept);
    let out = folder.0.join("out");
    let run = |file: &str, shard: u64| {
        let documents = documents(&format!("deploy/kubernetes/sweep/{file}.yaml"));
        let here = |argument: String| {
            let argument = argument.replace("$(SHARD)", &shard.to_string());
            let argument =
                argument.replace("/scenarios/controllers.toml", &scenario.display().to_string());
            // Words have it at their start or after a flag's name.
            match argument.split_once("/out/") {
                Some((flag, rest)) => format!("{flag}{}/{rest}", out.display()),
                None => argument,
            }
        };
        let line: Vec<String> =
            arguments(of_kind(&documents, "Job")).into_iter().map(here).collect();
        let output = Command::new(TAILWATER).args(&line).output().expect("the program starts");
        assert!(output.status.success(), "{line:?}: {}", String::from_utf8_lossy(&output.stderr));
        of_kind(&documents, "Job")["spec"]["completions"].as_u64()
    };
    let pods = run("sweep", 0).expect("a number of pods");
    for shard in 1..pods {
        run("sweep", shard);
    }
    run("merge/merge", 0);
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("a result");
    let merged = read(&fs::read_to_string(out.join("whole/result.json")).expect("a result"));
    let whole = read(&json(&["run", "--on", "sim"], &[scenario]));
    assert!(merged["runs"].as_array().is_some_and(|runs| runs.len() == 16), "{merged}");
    assert_eq!(merged["runs"], whole["runs"]);
}
