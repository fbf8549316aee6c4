import type { OwnStep } from '../../../certs/own/next-step.ts'
import type { OwnPair } from '../../../certs/own/own-pair.ts'
import type { Apiserver, Call } from '../../../src/cluster/apiserver.ts'
import { asObjects, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import {
  type CertificateObjects,
  CURRENT_KEYS,
  configurationPath,
  mapPair,
  NEXT_KEYS,
  type Observation,
  secretPath,
} from './observe.ts'

export interface ActOptions {
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
export async function act(
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
