import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Followed } from '../../../certs/follow.ts'
import type { KeyPair } from '../../../certs/key-pair.ts'
import { isBundled } from '../../../certs/own/bundle.ts'
import { decideOwnStep, type OwnStep } from '../../../certs/own/next-step.ts'
import { type Apiserver, connectApiserver } from '../../../src/cluster/apiserver.ts'
import type { Access } from '../../../src/cluster/cluster.ts'
import { errorMessage } from '../../../src/lib/error-message.ts'
import { jittered, pauseInBackground } from '../../../src/lib/pause.ts'
import type { ReadinessCheck } from '../../status-app.ts'
import type { Intervals } from '../intervals.ts'
import { contend, type Lease } from '../lease/lease.ts'
import { type CertificateObjects, type Observation, observe } from './observe.ts'
import { createRenewal } from './renewal.ts'

/** The certificates that the webhook makes itself, and keeps in a Secret. */
export interface OwnCertificateOptions extends CertificateObjects {
  /** The Lease, as `NAMESPACE/NAME`, that selects the replica that renews the certificates. */
  readonly lease: string
  /** The lifetime of a certificate, in milliseconds. */
  readonly durationMs: number
}

export interface FollowOwnOptions {
  readonly own: OwnCertificateOptions
  readonly access: Access
  readonly pace: Intervals
  readonly registry: Registry
  readonly log: Logger
  onChange(keyPair: KeyPair): void
  /** Called when an error first occurs or its message changes. */
  onTrouble(trouble: string): void
}

/** The key pair of a server that makes its own certificates. */
export interface FollowedOwn extends Followed<KeyPair> {
  /** The checks of the replica that renews the certificates. */
  checks(): readonly ReadinessCheck[]
  stop(): Promise<void>
}

/** The key pair of a server that has no certificate yet. TLS handshakes fail until it has one. */
export const NO_KEY_PAIR: KeyPair = { cert: '', key: '', notAfter: new Date(0), revision: '' }

interface FollowState {
  current: KeyPair
  /** The problem of the last reading. */
  trouble: string | undefined
  /** The CA of the next pair, and when it was first seen in every caBundle. */
  trusted: { readonly ca: string; readonly at: number } | undefined
  /** Whether a renewal is in progress, so that the next reading should be soon. */
  isSoon: boolean
}

const START: FollowState = {
  current: NO_KEY_PAIR,
  trouble: 'the Secret has not been read yet',
  trusted: undefined,
  isSoon: true,
}

/**
 * Reads the Secret and the webhook configuration every few seconds, and uses a new key pair as soon
 * as the configuration verifies it. The replica that holds the Lease also renews the certificates
 * and writes the caBundle: after each reading, it makes at most one write.
 *
 * Both objects are polled, not watched: a GET needs no permission to list or watch Secrets. A key
 * pair that was once in use stays in use if the Secret is deleted, becomes invalid or cannot be
 * read.
 */
export function followOwnCertificates(options: FollowOwnOptions): FollowedOwn {
  const { own: ownObjects, access, pace, log, registry } = options
  const api = connectApiserver(access)
  const stop = new AbortController()
  const { signal: stopped } = stop
  const state: FollowState = { ...START }
  const lease = contendFor(api, options)
  const { durationMs } = ownObjects
  const renewal = createRenewal({ api, objects: ownObjects, durationMs, registry, log, stopped })
  const turn = async () => {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(pace.answerMs)])
    const seen = await observe(api, ownObjects, signal)
    adopt(seen, state, options)
    noticeTrust(seen, state)
    const step = nextStep(seen, state, options)
    if (lease.isHeld) await renewal.take(step, seen, signal)
    else renewal.rest()
    const isChanging = step.kind !== 'none' || seen.next.state === 'valid'
    state.isSoon = isChanging && renewal.trouble === undefined
  }
  const recover = (error: unknown) => {
    stopped.throwIfAborted()
    report(errorMessage(error), state, options)
  }
  const follow = async () => {
    while (true) {
      await turn().catch(recover)
      await pauseInBackground(jittered(pauseMs(state, pace)), stopped)
    }
  }
  // The loop ends only when it is stopped.
  follow().catch(() => {})
  return {
    get current() {
      return state.current
    },
    get trouble() {
      return state.trouble
    },
    checks: () => [
      { name: 'own-certificates', problem: lease.trouble ?? renewal.trouble, fatal: false },
    ],
    stop() {
      stop.abort()
      return lease.stop()
    },
  }
}

/** Competes for the Lease that selects the replica that renews the certificates. */
function contendFor(api: Apiserver, { own, pace, log }: FollowOwnOptions): Lease {
  const { lease } = own
  return contend({
    api,
    lease,
    pace,
    onChange: (isHeld, holder) => {
      const subject = isHeld ? 'this replica' : 'another replica'
      log.info({ lease, holder }, `${subject} renews the certificates`)
    },
    onTrouble: (trouble) =>
      log.warn({ lease, trouble }, 'cannot use the Lease for the certificates'),
  })
}

function pauseMs({ current, isSoon }: FollowState, pace: Intervals): number {
  return isSoon || current === NO_KEY_PAIR ? pace.certificateSoonMs : pace.certificateMs
}

/** Uses the current pair of the Secret, if every caBundle verifies it. */
function adopt(seen: Observation, state: FollowState, options: FollowOwnOptions): void {
  const { current: stored } = seen
  if (stored.state === 'invalid') {
    report(stored.problem, state, options)
    return
  }
  state.trouble = describeWait(seen, options.own)
  if (stored.state === 'absent' || state.trouble !== undefined) return
  if (stored.keyPair.revision === state.current.revision) return
  options.onChange(stored.keyPair)
  state.current = stored.keyPair
}

/** Describes why the current pair of the Secret must not be used yet; undefined if it may be. */
function describeWait(
  { current, bundles }: Observation,
  { secret, webhookConfiguration: name }: CertificateObjects,
): string | undefined {
  if (current.state !== 'valid') return `Secret ${secret} has no certificate yet`
  if (bundles === undefined) return `MutatingWebhookConfiguration ${name} does not exist`
  const isTrusted = bundles.every((bundle) => isBundled(bundle, current.ca))
  return isTrusted ? undefined : `caBundle of ${name} does not verify the certificate yet`
}

function report(trouble: string, state: FollowState, { onTrouble }: FollowOwnOptions): void {
  if (trouble !== state.trouble) onTrouble(trouble)
  state.trouble = trouble
}

/** Notes the time at which every caBundle was first seen to contain the CA of the next pair. */
function noticeTrust({ next, bundles }: Observation, state: FollowState): void {
  const ca = next.state === 'valid' ? next.ca : undefined
  const isTrusted = ca !== undefined && bundles?.every((bundle) => isBundled(bundle, ca))
  if (!isTrusted) state.trusted = undefined
  else if (state.trusted?.ca !== ca) state.trusted = { ca, at: performance.now() }
}

function nextStep(seen: Observation, { trusted }: FollowState, options: FollowOwnOptions): OwnStep {
  return decideOwnStep({
    ...seen,
    now: Date.now(),
    durationMs: options.own.durationMs,
    trustedForMs: trusted === undefined ? 0 : performance.now() - trusted.at,
    settleMs: options.pace.settleMs,
  })
}
