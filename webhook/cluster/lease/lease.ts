import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { isConflict } from '../../../src/cluster/api-error.ts'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { asId, asText, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { errorMessage } from '../../../src/lib/error-message.ts'
import { jittered, pauseInBackground } from '../../../src/lib/pause.ts'
import type { Intervals } from '../intervals.ts'

/** A Lease for which several replicas compete. At most one replica holds the Lease. */
export interface Lease {
  readonly isHeld: boolean
  /**
   * The error message of the last attempt to get or renew the Lease; undefined if that attempt had
   * no error, even if another replica holds the Lease. A conflict does not change this message.
   */
  readonly trouble: string | undefined
  /** Releases the Lease, so that the next replica does not have to wait until the Lease expires. */
  stop(): Promise<void>
}

export interface LeaseOptions {
  readonly api: Apiserver
  /** An existing Lease, as `NAMESPACE/NAME`. */
  readonly lease: string
  readonly pace: Intervals
  /** Called when this replica gets or loses the Lease, with the identity of the holder. */
  onChange(isHeld: boolean, holder: string): void
  /** Called when an error first occurs or its message changes, not at every attempt. */
  onTrouble(trouble: string): void
}

interface LeaseState {
  /** The last resourceVersion, and the time at which it was first seen, by performance.now(). */
  seen: { readonly version: string; readonly at: number }
  heldUntil: number
  trouble: string | undefined
  /** The value that was last reported to `onChange`. */
  wasHeld: boolean
}

/**
 * Tries to get a Lease, and renews it while this replica holds it.
 *
 * The rules are those of client-go (tools/leaderelection/leaderelection.go):
 * - A Lease of another holder may be taken only after it has not changed for its duration. The
 *   clock of this machine measures that time. The times in the Lease are only for people, so the
 *   clocks of the replicas may differ.
 * - Every update contains the resourceVersion that the replica read. If two replicas update the
 *   same version of the Lease, one update is rejected.
 * - A holder that cannot renew the Lease stops relying on it well before another replica may take
 *   it. The holder measures the time since just before it sent the last successful renewal.
 */
export function contend(options: LeaseOptions): Lease {
  const { pace } = options
  const stopped = new AbortController()
  const identity = `${hostname()}_${randomUUID()}`
  const state: LeaseState = {
    seen: { version: '', at: 0 },
    heldUntil: 0,
    trouble: undefined,
    wasHeld: false,
  }
  const recover = (error: unknown) => {
    stopped.signal.throwIfAborted()
    // Another replica changed the Lease first.
    if (isConflict(error)) return
    const trouble = errorMessage(error)
    if (trouble !== state.trouble) options.onTrouble(trouble)
    state.trouble = trouble
  }
  const follow = async () => {
    while (true) {
      await turn(options, identity, state).catch(recover)
      await pauseInBackground(jittered(pace.renewMs), stopped.signal)
    }
  }
  // The loop ends only after `stop` was called and the current attempt has ended.
  const ended = follow().catch(() => {})
  const isHeld = () => performance.now() < state.heldUntil
  return {
    get isHeld() {
      return isHeld()
    },
    get trouble() {
      return state.trouble
    },
    async stop() {
      stopped.abort()
      const released = ended.then(() => (isHeld() ? release(options, state) : undefined))
      // If the release fails, the next replica gets the Lease after half a minute.
      await Promise.race([released.catch(() => {}), pauseInBackground(RELEASE_MS)])
      state.heldUntil = 0
    },
  }
}

const leasePath = (lease: string) => {
  const [namespace, name] = lease.split('/')
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`
}

async function turn(
  { api, lease, pace, onChange }: LeaseOptions,
  identity: string,
  state: LeaseState,
): Promise<void> {
  const path = leasePath(lease)
  // The timeout of a request is half of the time for which the holder relies on the Lease, as in
  // client-go (tools/leaderelection/resourcelock/interface.go).
  const bounded = () => AbortSignal.timeout(pace.holdMs / 2)
  const found = await api.ask({ path, signal: bounded() })
  notice(found, state)
  const spec = fieldsOrNone(found.spec)
  const start = performance.now()
  const isHeld = mayTake(spec, identity, start - state.seen.at)
  if (isHeld) {
    const patch = buildPatch(spec, identity, state.seen.version, pace)
    const taken = await api.ask({ path, query: MANAGER, patch, signal: bounded() })
    notice(taken, state)
    state.heldUntil = start + pace.holdMs
  } else state.heldUntil = 0
  state.trouble = undefined
  if (isHeld === state.wasHeld) return
  state.wasHeld = isHeld
  onChange(isHeld, isHeld ? identity : (asText(spec.holderIdentity) ?? ''))
}

const MANAGER = { fieldManager: 'ridealong' } as const

/** Records when a resourceVersion was first seen. */
function notice({ metadata }: Fields, state: LeaseState): void {
  const version = asText(fieldsOrNone(metadata).resourceVersion) ?? ''
  if (version !== state.seen.version) state.seen = { version, at: performance.now() }
}

/**
 * Reports whether this replica may take or renew a Lease.
 *
 * @param unchangedMs the time since this replica last saw a change of the Lease, in milliseconds
 */
function mayTake(spec: Fields, identity: string, unchangedMs: number): boolean {
  const holder = asText(spec.holderIdentity) ?? ''
  const seconds = asId(spec.leaseDurationSeconds) ?? 0
  return holder === '' || holder === identity || unchangedMs > seconds * 1000
}

function buildPatch(
  spec: Fields,
  identity: string,
  resourceVersion: string,
  { leaseMs }: Intervals,
): Fields {
  const isNew = spec.holderIdentity !== identity
  const renewTime = now()
  const transitions = (asId(spec.leaseTransitions) ?? 0) + 1
  return {
    metadata: { resourceVersion },
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1000),
      renewTime,
      ...(isNew && { acquireTime: renewTime, leaseTransitions: transitions }),
    },
  }
}

/**
 * Returns the time as a MicroTime, which requires six decimal places (apimachinery
 * meta/v1/micro_time.go).
 */
function now(): string {
  return new Date().toISOString().replace('Z', '000Z')
}

const RELEASE_MS = 2000

function release({ api, lease }: LeaseOptions, { seen }: LeaseState): Promise<unknown> {
  const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: now() }
  const patch = { metadata: { resourceVersion: seen.version }, spec }
  return api.ask({
    path: leasePath(lease),
    query: MANAGER,
    patch,
    signal: AbortSignal.timeout(RELEASE_MS),
  })
}
