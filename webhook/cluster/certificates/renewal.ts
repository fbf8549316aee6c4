import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { OwnStep } from '../../../certs/own/next-step.ts'
import type { OwnPair } from '../../../certs/own/own-pair.ts'
import { isConflict, isMissing } from '../../../src/cluster/api-error.ts'
import type { Apiserver, Call } from '../../../src/cluster/apiserver.ts'
import { asObjects, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { errorMessage } from '../../../src/lib/error-message.ts'
import {
  type CertificateObjects,
  CURRENT_KEYS,
  configurationPath,
  mapPair,
  NEXT_KEYS,
  type Observation,
  secretPath,
} from './observe.ts'

const STEPS = ['prepare', 'trust', 'switch'] as const
const OUTCOMES = ['done', 'overtaken', 'failed'] as const

/**
 * Makes the steps of renewals, and reports their outcomes in the log and in a Prometheus metric.
 */
export interface Renewal {
  /** The error of the last step; undefined if it succeeded, or if there is nothing to do. */
  readonly trouble: string | undefined
  /**
   * Makes one step. A step that another replica has made first is not an error.
   *
   * @throws only if the server stops
   */
  take(step: OwnStep, seen: Observation, signal: AbortSignal): Promise<void>
  /** Forgets the last error, because another replica now renews the certificates. */
  rest(): void
}

export interface RenewalOptions extends Omit<ActOptions, 'signal'> {
  readonly registry: Registry
  readonly log: Logger
  /** Aborted when the server stops. */
  readonly stopped: AbortSignal
}

/** Adds the Prometheus metric of the steps to a registry. */
export function createRenewal({ registry, log, stopped, ...options }: RenewalOptions): Renewal {
  const count = countSteps(registry)
  let trouble: string | undefined
  const fail = (kind: Step, reason: string, error: unknown) => {
    stopped.throwIfAborted()
    if (isConflict(error) || isMissing(error)) return count(kind, 'overtaken')
    count(kind, 'failed')
    const problem = `cannot ${VERBS[kind]}: ${errorMessage(error)}`
    if (problem !== trouble)
      log.error({ step: kind, reason, trouble: problem }, 'cannot renew the certificate')
    trouble = problem
  }
  return {
    get trouble() {
      return trouble
    },
    rest() {
      trouble = undefined
    },
    async take(step, seen, signal) {
      const { kind, reason } = step
      if (kind === 'none') {
        trouble = undefined
        return
      }
      try {
        await act(step, seen, { ...options, signal })
        trouble = undefined
        count(kind, 'done')
        log.info({ step: kind, reason }, DONE[kind])
      } catch (error) {
        fail(kind, reason, error)
      }
    },
  }
}

type Step = (typeof STEPS)[number]

const DONE: Readonly<Record<Step, string>> = {
  prepare: 'stored a new certificate, which is not used yet',
  trust: 'wrote caBundle',
  switch: 'the servers use the new certificate',
}

const VERBS: Readonly<Record<Step, string>> = {
  prepare: 'store a new certificate',
  trust: 'write caBundle',
  switch: 'switch to the new certificate',
}

function countSteps(registry: Registry) {
  const steps = new Counter({
    name: 'ridealong_own_certificate_steps_total',
    help: "Steps of renewals of the webhook's own certificates, by step and outcome",
    labelNames: ['step', 'outcome'] as const,
    registers: [registry],
  })
  for (const step of STEPS) for (const outcome of OUTCOMES) steps.inc({ step, outcome }, 0)
  return (step: Step, outcome: (typeof OUTCOMES)[number]): void => steps.inc({ step, outcome })
}

interface ActOptions {
  readonly api: Apiserver
  readonly objects: CertificateObjects
  /** The lifetime of a new certificate, in milliseconds. */
  readonly durationMs: number
  readonly signal: AbortSignal
}

/**
 * Makes the write of one step. Each change of an object contains the resourceVersion that was read,
 * so it fails with a conflict if another replica has changed the object since.
 *
 * @throws ApiError (409 or 404 if the object has changed or was deleted), or a network error
 */
async function act(
  step: OwnStep,
  seen: Observation,
  { api, objects, durationMs, signal }: ActOptions,
): Promise<void> {
  if (step.kind === 'none') return
  const change = await buildChange(step, seen, objects, durationMs)
  await api.ask({ ...change, signal })
}

type Change = Pick<Call, 'path' | 'query' | 'patch' | 'apply'>

const MANAGER = { fieldManager: 'ridealong' } as const

async function buildChange(
  step: OwnStep,
  seen: Observation,
  objects: CertificateObjects,
  durationMs: number,
): Promise<Change> {
  if (step.kind === 'trust') {
    const path = configurationPath(objects.webhookConfiguration)
    return { path, query: MANAGER, patch: trusting(seen.configuration ?? {}, step.bundle) }
  }
  const path = secretPath(objects.secret)
  const data = step.kind === 'prepare' ? await nextPair(objects, durationMs) : switched(seen)
  if (seen.secret !== undefined)
    return { path, query: MANAGER, patch: { metadata: version(seen.secret), data } }
  // Server-side apply creates the Secret. For this request, unlike for a POST, RBAC can restrict
  // the permission to create to one name: the authorization includes the name (apiserver
  // pkg/endpoints/handlers/patch.go, createAuthorizerAttributes).
  // It is not forced, so it fails with a conflict if there is a Secret again, and it has a pair.
  return { path, query: MANAGER, apply: newSecret(objects.secret, data) }
}

/** Returns the patch that writes a caBundle into every webhook. */
function trusting(configuration: Fields, bundle: readonly string[]): Fields {
  const caBundle = encode(bundle.join(''))
  // A merge patch replaces a list, so the patch contains the other fields as they were read.
  const webhooks = asObjects(configuration.webhooks).map((webhook) => {
    return { ...webhook, clientConfig: { ...fieldsOrNone(webhook.clientConfig), caBundle } }
  })
  return { metadata: version(configuration), webhooks }
}

function version({ metadata }: Fields): Fields {
  return { resourceVersion: fieldsOrNone(metadata).resourceVersion }
}

async function nextPair({ names }: CertificateObjects, durationMs: number): Promise<Fields> {
  // The library is loaded only by the replica that makes a certificate.
  const { makeOwnPair } = await import('../../../certs/own/make-pair.ts')
  return named(NEXT_KEYS, await makeOwnPair({ names, now: Date.now(), durationMs }))
}

/** Returns the change of a Secret that makes the next pair the current pair. */
function switched({ secret }: Observation): Fields {
  const data = fieldsOrNone(secret?.data)
  const moved = mapPair(NEXT_KEYS, (key) => String(data[key]))
  return {
    [CURRENT_KEYS.cert]: moved.cert,
    [CURRENT_KEYS.key]: moved.key,
    [CURRENT_KEYS.ca]: moved.ca,
    ...Object.fromEntries(Object.values(NEXT_KEYS).map((key) => [key, null])),
  }
}

function named(keys: OwnPair, pair: OwnPair): Fields {
  const { cert, key, ca } = mapPair(pair, encode)
  return { [keys.cert]: cert, [keys.key]: key, [keys.ca]: ca }
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** Returns a Secret of type kubernetes.io/tls, which must have tls.crt and tls.key. */
function newSecret(secret: string, data: Fields): Fields {
  const [namespace, name] = secret.split('/')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name, labels: { 'app.kubernetes.io/part-of': 'ridealong' } },
    type: 'kubernetes.io/tls',
    data: { [CURRENT_KEYS.cert]: '', [CURRENT_KEYS.key]: '', ...data },
  }
}
