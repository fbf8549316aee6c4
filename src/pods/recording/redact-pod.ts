import type { Catalog } from '../../core/catalog.ts'
import { fieldsOrNone } from '../../core/kubernetes/json.ts'
import { hasCommandOfCatalog } from '../../core/rules/observer-difference.ts'
import { METADATA } from './redact-metadata.ts'
import { fields, items, type Redaction, taken, values } from './redaction.ts'

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
