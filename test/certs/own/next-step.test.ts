import fc from 'fast-check'
import t from 'tap'
import { isBundled, readBundle } from '../../../certs/own/bundle.ts'
import { makeOwnPair } from '../../../certs/own/make-pair.ts'
import { decideOwnStep, type OwnState } from '../../../certs/own/next-step.ts'
import { readOwnPair, type ValidPair } from '../../../certs/own/read-pair.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const DURATION_MS = 90 * DAY_MS
const NOW = Date.UTC(2026, 5, 1)
const NAMES = ['ridealong.ridealong-system.svc']
const SOURCES = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' }

/** Makes a valid pair at a time. */
async function pairAt(now: number, durationMs = DURATION_MS): Promise<ValidPair> {
  const texts = await makeOwnPair({ names: NAMES, now, durationMs })
  const pair = readOwnPair(texts, { names: NAMES, sources: SOURCES })
  if (pair.state !== 'valid') throw new Error(JSON.stringify(pair))
  return pair
}

const fresh = await pairAt(NOW)
const next = await pairAt(NOW)
const old = await pairAt(NOW - 46 * DAY_MS)
const expired = await pairAt(NOW - 91 * DAY_MS)
const ABSENT = { state: 'absent' } as const
const INVALID = { state: 'invalid', problem: 'tls.crt contains no valid certificate' } as const
const CURRENT = 'the certificate needs no renewal'

const bundleOf = (...pairs: readonly ValidPair[]) => readBundle(pairs.map(({ ca }) => ca).join(''))

const STATE: OwnState = {
  now: NOW,
  durationMs: DURATION_MS,
  current: fresh,
  next: ABSENT,
  bundles: [bundleOf(fresh), bundleOf(fresh), bundleOf(fresh)],
  trustedForMs: 0,
  settleMs: 10_000,
}

const all = (...pairs: readonly ValidPair[]) => [0, 1, 2].map(() => bundleOf(...pairs))

/** For each situation: the differences from a state that needs nothing, the step, the reason. */
const CASES: Readonly<Record<string, readonly [Partial<OwnState>, string, RegExp | string]>> = {
  'a fresh certificate that is trusted': [{}, 'none', CURRENT],
  'a configuration that does not exist': [{ bundles: undefined }, 'none', /does not exist/],
  'a configuration without webhooks': [{ bundles: [] }, 'none', /does not exist/],
  'a first installation': [
    { current: ABSENT, bundles: all() },
    'prepare',
    'there is no certificate',
  ],
  'a Secret that was deleted': [
    { current: ABSENT, bundles: all(old) },
    'prepare',
    'there is no certificate',
  ],
  'garbage in the Secret': [{ current: INVALID }, 'prepare', INVALID.problem],
  'a certificate of which less than half remains': [
    { current: old, bundles: all(old) },
    'prepare',
    /^less than half of the lifetime/,
  ],
  'a certificate that has expired': [
    { current: expired, bundles: all() },
    'prepare',
    /^the certificate expired at 2026-05-31/,
  ],
  'a certificate that was made by a clock that is years ahead': [
    { now: NOW - 400 * DAY_MS },
    'prepare',
    /^the certificate is valid only from 2026-05-31/,
  ],
  'a certificate with a longer lifetime than configured': [
    { durationMs: 10 * DAY_MS },
    'prepare',
    /valid for longer than the configured duration/,
  ],
  'a certificate that was made by a clock two hours ahead': [
    { now: NOW - 2 * HOUR_MS },
    'none',
    CURRENT,
  ],
  'a certificate that was made by a clock two hours behind': [
    { now: NOW + 2 * HOUR_MS },
    'none',
    CURRENT,
  ],
  'a next certificate that no caBundle verifies': [
    { next },
    'trust',
    /lacks the CA of a certificate/,
  ],
  'a next certificate that one of three caBundles does not verify': [
    { next, bundles: [...all(fresh, next).slice(1), bundleOf(fresh)] },
    'trust',
    /lacks the CA of a certificate/,
  ],
  'a next certificate that has just become trusted': [
    { next, bundles: all(fresh, next), trustedForMs: 9_999 },
    'none',
    /^waiting until every apiserver/,
  ],
  'a next certificate that every apiserver trusts': [
    { next, bundles: all(fresh, next), trustedForMs: 10_000 },
    'switch',
    /verifies the new certificate/,
  ],
  'a next certificate after the Secret had garbage': [
    { current: INVALID, next, bundles: all(next), trustedForMs: 10_000 },
    'switch',
    /verifies the new certificate/,
  ],
  'a next certificate that is too old to be used': [
    { current: old, next: old, bundles: all(old) },
    'prepare',
    /^less than half of the lifetime/,
  ],
  'a next pair that is garbage beside a fresh certificate': [{ next: INVALID }, 'none', CURRENT],
  'a next pair that is garbage beside an old certificate': [
    { current: old, next: INVALID, bundles: all(old) },
    'prepare',
    /^less than half of the lifetime/,
  ],
  'a caBundle that was removed': [{ bundles: all() }, 'trust', /lacks the CA of a certificate/],
  'an expired CA in caBundle': [
    { bundles: all(fresh, expired) },
    'trust',
    /more than certificates that are still valid/,
  ],
  'garbage in caBundle': [
    { bundles: [readBundle(`${fresh.ca}garbage`)] },
    'trust',
    /more than certificates that are still valid/,
  ],
  'an old CA that has not expired': [{ bundles: all(fresh, old) }, 'none', CURRENT],
  'an old CA that only one of two caBundles contains': [
    { bundles: [bundleOf(fresh, old), bundleOf(fresh)] },
    'trust',
    /more than certificates that are still valid/,
  ],
  'a caBundle in another order': [{ bundles: all(old, fresh) }, 'none', CURRENT],
}

for (const [situation, [change, kind, reason]] of Object.entries(CASES)) {
  t.test(`for ${situation}, the step is ${kind}`, async (t) => {
    const step = decideOwnStep({ ...STATE, ...change })
    t.equal(step.kind, kind)
    t.match(step.reason, reason)
  })
}

t.test('a new CA is added to the CAs that have not expired, the newest first', async (t) => {
  const state = { ...STATE, current: old, next, bundles: all(old, expired) }
  const step = decideOwnStep(state)
  t.strictSame(step.kind === 'trust' && step.bundle, [next.ca, old.ca])
  const after = { ...state, current: next, next: ABSENT, bundles: all(fresh, old) }
  const again = decideOwnStep(after)
  t.strictSame(again.kind === 'trust' && again.bundle, [next.ca, fresh.ca, old.ca])
})

t.test('caBundle has at most 16 CAs, and always those that are used', async (t) => {
  const many = await Promise.all([...Array(20).keys()].map((day) => pairAt(NOW - day * DAY_MS)))
  const step = decideOwnStep({ ...STATE, current: old, next, bundles: all(...many) })
  const bundle = step.kind === 'trust' ? step.bundle : []
  t.equal(bundle.length, 16)
  t.strictSame(bundle.slice(0, 2), [next.ca, old.ca])
  t.strictSame(
    bundle.slice(2),
    many.slice(0, 14).map(({ ca }) => ca),
    'the newest are kept',
  )
})

/** A model of the cluster: the Secret and the caBundle, and the pairs that two replicas use. */
interface Model {
  readonly state: OwnState
  readonly inUse: readonly (ValidPair | undefined)[]
  /** The pairs that the next steps make. */
  readonly unused: readonly ValidPair[]
}

/** Makes the next step, as the replica that holds the Lease does. */
function step(model: Model): Model {
  const { state, unused } = model
  const decided = decideOwnStep(state)
  const [made = next, ...others] = unused
  if (decided.kind === 'trust') {
    const bundle = readBundle(decided.bundle.join(''))
    return { ...model, state: { ...state, bundles: [bundle, bundle], trustedForMs: 0 } }
  }
  if (decided.kind === 'prepare')
    return { ...model, unused: others, state: { ...state, next: made, trustedForMs: 0 } }
  if (decided.kind === 'switch')
    return { ...model, state: { ...state, current: state.next, next: ABSENT } }
  return { ...model, state: { ...state, trustedForMs: 10_000 } }
}

function readBy(replica: number): (model: Model) => Model {
  return (model) => {
    const { current } = model.state
    if (current.state !== 'valid') return model
    return { ...model, inUse: model.inUse.with(replica, current) }
  }
}

const changed = (change: Partial<OwnState>) => (model: Model) => {
  return { ...model, state: { ...model.state, ...change } }
}

/** The events of a history: mostly steps and readings, sometimes a fault. */
const EVENTS: readonly ((model: Model) => Model)[] = [
  ...[step, step, step, readBy(0), readBy(1)],
  changed({ current: ABSENT, next: ABSENT }),
  changed({ current: INVALID }),
  changed({ next: INVALID }),
  // Another replica becomes the leader, and does not know since when the CA is trusted.
  changed({ trustedForMs: 0 }),
]

t.test('in every history, caBundle verifies the certificates that are in use', async (t) => {
  const unused = await Promise.all([...Array(12).keys()].map(() => pairAt(NOW)))
  const start: Model = {
    state: { ...STATE, current: ABSENT, bundles: all() },
    inUse: [undefined, undefined],
    unused,
  }
  let switched = 0
  const histories = fc.array(fc.constantFrom(...EVENTS), { minLength: 20, maxLength: 60 })
  fc.assert(
    fc.property(histories, (events) => {
      let model = start
      for (const event of events) {
        model = event(model)
        const { bundles = [] } = model.state
        const isTrusted = (pair: ValidPair) => bundles.every((each) => isBundled(each, pair.ca))
        if (!model.inUse.every((pair) => pair === undefined || isTrusted(pair))) return false
      }
      switched += model.inUse.some((pair) => pair !== undefined) ? 1 : 0
      return true
    }),
    { numRuns: 500 },
  )
  t.ok(switched > 100, 'in many histories, a certificate is used')
})
