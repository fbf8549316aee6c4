import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Apiserver } from '../../../src/cluster/apiserver.ts'
import { isConflict } from '../../../src/cluster/refusal.ts'
import { asId, asText, type Fields, fieldsOrNone } from '../../../src/core/kubernetes/json.ts'
import { errorMessage } from '../../../src/lib/error-message.ts'
import { type Intervals, jittered } from '../backoff.ts'

/** A Lease that several replicas want and one has. */
export interface Lease {
  readonly isHeld: boolean
  /** What stands in the way of asking for it; undefined while nothing does. */
  readonly trouble: string | undefined
  /** Gives it up, so that the next need not wait. */
  stop(): Promise<void>
}

export interface LeaseOptions {
  readonly api: Apiserver
  /** The namespace and the name of a Lease that is there: `NAMESPACE/NAME`. */
  readonly lease: string
  readonly pace: Intervals
  /** Told whenever it is taken or lost, and by whom it is held. */
  onChange(isHeld: boolean, holder: string): void
  /** Called when trouble begins or changes, not at every attempt. */
  onTrouble(trouble: string): void
}

interface LeaseState {
  /** The resourceVersion that was seen last, and since when, by performance.now(). */
  seen: { readonly version: string; readonly at: number }
  heldUntil: number
  trouble: string | undefined
  /** What was told last. */
  wasHeld: boolean
}

/**
 * Asks for a Lease, and renews it for as long as it is had.
 *
 * The rules are those of client-go (tools/leaderelection/leaderelection.go): a Lease is another's until it
 * was seen not to change for as long as it says, by this machine's own clock; the times that are written in
 * it are for people, so clocks may differ. Every change carries the resourceVersion that it was decided on:
 * of two that take it one is refused. A holder that cannot renew it stops believing in it well before
 * anybody may take it, counted from before its last renewal was sent.
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
    // Another was first.
    if (isConflict(error)) return
    const trouble = errorMessage(error)
    if (trouble !== state.trouble) options.onTrouble(trouble)
    state.trouble = trouble
  }
  const follow = async () => {
    while (true) {
      await turn(options, identity, state).catch(recover)
      await sleep(jittered(pace.renewMs), undefined, { signal: stopped.signal, ref: false })
    }
  }
  // It ends only when it is stopped, and then with the turn that it is at.
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
      // Whoever waits for it has it in half a minute otherwise.
      await Promise.race([released.catch(() => {}), sleep(RELEASE_MS, undefined, { ref: false })])
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
  // As client-go bounds them (resourcelock/interface.go): what comes later is no use.
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

/** What has not changed was seen when it was seen first. */
function notice({ metadata }: Fields, state: LeaseState): void {
  const version = asText(fieldsOrNone(metadata).resourceVersion) ?? ''
  if (version !== state.seen.version) state.seen = { version, at: performance.now() }
}

/**
 * Whether a Lease is there to be taken or renewed.
 *
 * @param unchangedMs for how long it was seen as it is
 */
export function mayTake(spec: Fields, identity: string, unchangedMs: number): boolean {
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

/** A MicroTime, of which Kubernetes wants six places (apimachinery meta/v1/micro_time.go). */
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
