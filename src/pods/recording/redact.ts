import type { Catalog } from '../../core/catalog.ts'
import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import { hasCommandOfCatalog } from '../../core/rules/observer-difference.ts'
import { METADATA } from './redact-metadata.ts'
import { eachField, fields, items, type Redaction, redacted, taken, values } from './redaction.ts'

/** Names of controllers and nodes have this prefix; names of people do not. */
const OF_SYSTEM = /^system:/

const group: Redaction = (name) => (OF_SYSTEM.test(asText(name) ?? '') ? name : taken(name))

const PERSON = fields({
  username: taken,
  uid: taken,
  groups: items(group),
  extra: eachField((_key, said) => items(taken)(said)),
})

/** Redacts the user who creates a pod, unless the user is a system component. */
const userInfo: Redaction = (user) => {
  return OF_SYSTEM.test(asText(fieldsOrNone(user).username) ?? '') ? user : PERSON(user)
}

/**
 * Redacts the parts of a pod's AdmissionReview that may be secrets. Among them are the values of
 * variables, arguments, headers, annotations that belong to neither Ridealong nor Kubernetes, and
 * the identity of the person who creates the pod. The redaction changes neither the decision about
 * the pod nor the patch.
 *
 * @param catalog the catalog that the webhook serves; the command and args of its observers are
 * kept
 */
export function redactReview(review: Fields, catalog: Catalog): Fields {
  const pod = podRedaction(catalog)
  return redacted(review, fields({ request: fields({ userInfo, object: pod, oldObject: pod }) }))
}

const OBJECT = fields({ metadata: METADATA })

/** Redacts a Namespace, a LimitRange or a ResourceQuota, and removes its managedFields. */
export function redactObject(object: Fields): Fields {
  const { managedFields: _, ...metadata } = fieldsOrNone(object.metadata)
  return redacted({ ...object, metadata }, OBJECT)
}

// This file lists the fields of a core/v1 Pod that contain text chosen by a user, which may be a
// secret (kubernetes v1.36 staging/src/k8s.io/api/core/v1/types.go). Names are kept, including the
// names of Secrets and ConfigMaps.

/** A path or a plain name without characters that are special to a shell. */
const PROGRAM = /^[\w./+-]+$/

/**
 * Redacts the arguments of a command, which may be passwords. The program identifies the workload,
 * so it is kept if it is a plain path or name.
 */
const command: Redaction = (list) => {
  if (!Array.isArray(list)) return list
  const isProgram = typeof list[0] === 'string' && PROGRAM.test(list[0])
  return list.map((word, place) => (place === 0 && isProgram ? word : taken(word)))
}

/**
 * The values of RIDEALONG_MODE that src/core/plan.ts writes. A later review of the pod checks
 * whether the value is `container`.
 */
const MODES: readonly unknown[] = ['native', 'container']

/**
 * Redacts the value of a variable. RIDEALONG_MODE is kept only if Ridealong could have written its
 * value, because users can choose any name for a variable.
 */
const variable: Redaction = (entry) => {
  const { name, value } = fieldsOrNone(entry)
  const isOurs = name === 'RIDEALONG_MODE' && MODES.includes(value)
  return isOurs ? entry : fields({ value: taken })(entry)
}

const SECURITY_CONTEXT = fields({ windowsOptions: fields({ gmsaCredentialSpec: taken }) })

/** A probe or a lifecycle handler of a container. */
const HANDLER = fields({
  exec: fields({ command }),
  httpGet: fields({ path: taken, httpHeaders: items(fields({ value: taken })) }),
})

const COMMON = {
  env: items(variable),
  livenessProbe: HANDLER,
  readinessProbe: HANDLER,
  startupProbe: HANDLER,
  lifecycle: fields({ postStart: HANDLER, preStop: HANDLER }),
  securityContext: SECURITY_CONTEXT,
}

/**
 * Redacts containers. A container keeps its command and args if they are exactly those of an
 * observer in the catalog, because they then contain only information from the catalog. A status
 * annotation or a variable does not identify an observer: users can copy them to a pod with a
 * secret.
 */
function containersOf(catalog: Catalog): Redaction {
  const other = fields({ ...COMMON, command, args: items(taken) })
  const observer = fields(COMMON)
  return items((container) =>
    hasCommandOfCatalog(catalog, fieldsOrNone(container)) ? observer(container) : other(container),
  )
}

const VOLUMES = items(
  fields({
    csi: fields({ volumeAttributes: values }),
    flexVolume: fields({ options: values }),
    gitRepo: fields({ repository: taken }),
    ephemeral: fields({ volumeClaimTemplate: fields({ metadata: METADATA }) }),
  }),
)

/**
 * Returns the redaction of a pod.
 *
 * @param catalog the catalog whose observers keep their command and args
 */
function podRedaction(catalog: Catalog): Redaction {
  const containers = containersOf(catalog)
  return fields({
    metadata: METADATA,
    spec: fields({
      initContainers: containers,
      containers,
      ephemeralContainers: containers,
      volumes: VOLUMES,
      securityContext: SECURITY_CONTEXT,
    }),
  })
}
