/**
 * The domain of Ridealong's keys. In the key of an option, the domain follows the name of the
 * metric.
 */
export const DOMAIN = 'ridealong.dev'

/** The annotations that users write, other than the options (`METRIC.ridealong.dev/OPTION`). */
export const KEYS = {
  inject: 'ridealong.dev/inject',
  targetContainer: 'ridealong.dev/target-container',
  targetCommand: 'ridealong.dev/target-command',
  mode: 'ridealong.dev/mode',
  onError: 'ridealong.dev/on-error',
  pods: 'ridealong.dev/pods',
} as const

/** The option that selects the pods of a metric: `METRIC.ridealong.dev/pods`. */
export const PODS_OPTION = 'pods'

/** The annotation in which Ridealong records the result for a pod that requests metrics. */
export const STATUS_KEY = 'ridealong.dev/status'

/** The label with which an administrator grants a privilege to the observers in a namespace. */
export const PRIVILEGE_LABEL = 'ridealong.dev/privilege'

/** The label with which an administrator allows metrics with tools in a namespace. */
export const TOOLS_LABEL = 'ridealong.dev/tools'

/**
 * The label that Ridealong sets on namespaces that request metrics. The namespaceSelector of the
 * webhook `armed.ridealong.dev` requires this label.
 */
export const ARMED_LABEL = 'ridealong.dev/armed'

/**
 * The label with which an administrator chooses the release that handles the pods of a namespace:
 * the release with this revision, or the default release if the label is absent.
 */
export const REVISION_LABEL = 'ridealong.dev/revision'

/**
 * The label that Ridealong sets on a namespace for a few seconds after its revision changed. It
 * names the former revision. The namespaceSelector of the webhook `moved.ridealong.dev` requires
 * this label.
 */
export const MOVED_FROM_LABEL = 'ridealong.dev/moved-from'

/** Keys that Kubernetes defines. */
export const ENFORCE_LABEL = 'pod-security.kubernetes.io/enforce'
export const ENFORCE_VERSION_LABEL = 'pod-security.kubernetes.io/enforce-version'
export const MIRROR_KEY = 'kubernetes.io/config.mirror'
export const DEFAULT_CONTAINER_KEY = 'kubectl.kubernetes.io/default-container'
export const COMPLETION_INDEX_KEY = 'batch.kubernetes.io/job-completion-index'

/**
 * The maximum size of all annotations of an object in bytes of UTF-8, keys and values together
 * (kubernetes v1.36 apimachinery pkg/api/validation/objectmeta.go, TotalAnnotationSizeLimitB).
 */
export const ANNOTATIONS_LIMIT = 256 * 1024

/** The label with the name of a pod's LeaderWorkerSet. */
export const LEADER_WORKER_SET_KEY = 'leaderworkerset.sigs.k8s.io/name'

/** The label with the name of a pod's ModelServing, an object of the operator kthena. */
export const MODEL_SERVING_KEY = 'modelserving.volcano.sh/name'
