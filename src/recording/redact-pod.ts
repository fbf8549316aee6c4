import type { Catalog } from '../core/catalog.ts'
import { fieldsOrNone } from '../core/kubernetes/json.ts'
import { hasCommandOfCatalog } from '../core/rules/observer-difference.ts'
import { METADATA } from './redact-metadata.ts'
import { fields, items, type Redaction, taken, values } from './redaction.ts'

// The places of a core/v1 Pod that hold a text of a user's choice which may be a secret (kubernetes v1.36
// staging/src/k8s.io/api/core/v1/types.go). Names, also those of Secrets and ConfigMaps, stay.

/** A path or a plain name, and nothing that a shell would read. */
const PROGRAM = /^[\w./+-]+$/

/** Of a command its program stays, which says what the pod is; its arguments may be a password. */
const command: Redaction = (list) => {
  if (!Array.isArray(list)) return list
  const isProgram = typeof list[0] === 'string' && PROGRAM.test(list[0])
  return list.map((word, place) => (place === 0 && isProgram ? word : taken(word)))
}

/** The values of RIDEALONG_MODE that src/core/plan.ts writes; decisions read them again. */
const MODES: readonly unknown[] = ['native', 'container']

/** A name that begins like ours proves nothing: only a value that we wrote stays. */
const variable: Redaction = (entry) => {
  const { name, value } = fieldsOrNone(entry)
  const isOurs = name === 'RIDEALONG_MODE' && MODES.includes(value)
  return isOurs ? entry : fields({ value: taken })(entry)
}

const SECURITY_CONTEXT = fields({ windowsOptions: fields({ gmsaCredentialSpec: taken }) })

/** A probe, or what is called at the start and the end of a container. */
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
 * Redacts containers. An observer is recognised by its command and args, so they stay where they are
 * those of the catalog, which says nothing that is not in the catalog. A container that differs in one
 * word is redacted: its status or a variable could be copied beside a secret.
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
 * Makes the redaction of a pod.
 *
 * @param catalog whose observers keep their command and args
 */
export function podRedaction(catalog: Catalog): Redaction {
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
