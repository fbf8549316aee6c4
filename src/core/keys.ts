/** What every key of ours has before its slash, alone or behind a metric's name. */
export const DOMAIN = 'ridealong.dev'

/** The annotations that people write: the whole user interface, with `METRIC.ridealong.dev/OPTION`. */
export const KEYS = {
  inject: 'ridealong.dev/inject',
  targetContainer: 'ridealong.dev/target-container',
  targetCommand: 'ridealong.dev/target-command',
  mode: 'ridealong.dev/mode',
  onError: 'ridealong.dev/on-error',
} as const

/** The annotation that Ridealong writes on every pod that asked. */
export const STATUS_KEY = 'ridealong.dev/status'

/** The label that an administrator writes on a namespace: what observers there may need. */
export const PRIVILEGE_LABEL = 'ridealong.dev/privilege'

/** The label that Ridealong keeps on a namespace that asks, for the webhook's namespaceSelector. */
export const ARMED_LABEL = 'ridealong.dev/armed'

/** Kubernetes's own. */
export const ENFORCE_LABEL = 'pod-security.kubernetes.io/enforce'
export const MIRROR_KEY = 'kubernetes.io/config.mirror'
export const DEFAULT_CONTAINER_KEY = 'kubectl.kubernetes.io/default-container'
export const COMPLETION_INDEX_KEY = 'batch.kubernetes.io/job-completion-index'

/**
 * The bytes of UTF-8 that all annotations of an object take at most, keys and values together
 * (kubernetes v1.36 apimachinery pkg/api/validation/objectmeta.go, TotalAnnotationSizeLimitB).
 */
export const ANNOTATIONS_LIMIT = 256 * 1024
