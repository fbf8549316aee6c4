//! The resource of the exported values: the pod that is measured, with the attributes of
//! OpenTelemetry's semantic conventions (<https://opentelemetry.io/docs/specs/semconv/resource/>).

/// The attributes of a resource, in the order in which they are sent. Attributes whose value is
/// unknown are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Names and values.
    pub attributes: Vec<(&'static str, String)>,
    /// The completion index of the pod in its Job. Empty if the pod has no
    /// completion index. All points have the index as an attribute, unless it is empty.
    pub pod_index: String,
}

/// The kinds of owners whose names have an attribute.
const OWNERS: [(&str, &str); 6] = [
    ("Job", "k8s.job.name"),
    ("ReplicaSet", "k8s.replicaset.name"),
    ("StatefulSet", "k8s.statefulset.name"),
    ("DaemonSet", "k8s.daemonset.name"),
    ("CronJob", "k8s.cronjob.name"),
    ("Deployment", "k8s.deployment.name"),
];

impl Resource {
    /// Reads the resource from the environment. `text` returns the value of a variable, which is
    /// empty if it is not set.
    ///
    /// The service is the owner of the pod, such as a Job, or the pod itself. The instance is
    /// unique for each observer, so that the values of two observers of one pod never mix.
    pub fn read(metric: &str, text: impl Fn(&str) -> String) -> Self {
        let (namespace, pod) = (text("POD_NAMESPACE"), text("POD_NAME"));
        let owner = text("RIDEALONG_OWNER");
        let (kind, owner) = owner.split_once('/').unwrap_or_default();
        let service = [owner, &pod, metric]
            .into_iter()
            .find(|name| !name.is_empty());
        let instance: Vec<&str> = [namespace.as_str(), pod.as_str(), metric]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        let mut attributes = vec![
            ("service.name", service.unwrap_or_default().to_owned()),
            ("service.namespace", namespace.clone()),
            ("service.instance.id", instance.join(".")),
            ("k8s.namespace.name", namespace),
            ("k8s.pod.name", pod),
            ("k8s.pod.uid", text("POD_UID")),
            ("k8s.node.name", text("NODE_NAME")),
        ];
        let owners = OWNERS.iter().filter(|(name, _)| *name == kind);
        attributes.extend(owners.map(|(_, attribute)| (*attribute, owner.to_owned())));
        attributes.retain(|(_, value)| !value.is_empty());
        Self {
            attributes,
            pod_index: text("JOB_COMPLETION_INDEX"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Resource {
        Resource::read("perf-sysstat", |name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map_or(String::new(), |(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_service_is_the_owner_of_the_pod() {
        let resource = read(&[
            ("POD_NAME", "lammps-0-x"),
            ("POD_NAMESPACE", "hpc"),
            ("POD_UID", "1-2"),
            ("RIDEALONG_OWNER", "Job/lammps"),
            ("JOB_COMPLETION_INDEX", "0"),
        ]);
        let expected = [
            ("service.name", "lammps"),
            ("service.namespace", "hpc"),
            ("service.instance.id", "hpc.lammps-0-x.perf-sysstat"),
            ("k8s.namespace.name", "hpc"),
            ("k8s.pod.name", "lammps-0-x"),
            ("k8s.pod.uid", "1-2"),
            ("k8s.job.name", "lammps"),
        ];
        let found: Vec<_> = resource
            .attributes
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(resource.pod_index, "0");
    }

    #[test]
    fn a_pod_without_an_owner_is_its_own_service() {
        assert_eq!(
            read(&[("POD_NAME", "one")]).attributes[0],
            ("service.name", "one".to_owned())
        );
        assert_eq!(
            read(&[]).attributes,
            [
                ("service.name", "perf-sysstat".to_owned()),
                ("service.instance.id", "perf-sysstat".to_owned())
            ]
        );
        let other = read(&[("RIDEALONG_OWNER", "MPIJob/mpi")]);
        assert_eq!(other.attributes[0], ("service.name", "mpi".to_owned()));
        assert_eq!(other.attributes.len(), 2);
    }
}
