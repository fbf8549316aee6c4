/** Rules about the scan for missed pods, on pods that the webhook has answered. */
import assert from 'node:assert/strict'
import type { Decision, Injected, Observer } from '../../src/core/decision.ts'
import { findMissedPod, type Surroundings } from '../../src/core/missed/missed-pods.ts'
import type { Mode } from '../../src/core/request.ts'
import { type Json, mapOf, mapsOf } from './arbitrary.ts'

type Change = (container: Json) => readonly Json[]

/** Changes the containers of both lists. */
function withContainers(pod: Json, change: Change): Json {
  const { initContainers, containers, ...spec } = mapOf(pod.spec)
  const lists = Object.entries({ initContainers, containers }).flatMap(([name, list]) => {
    return Array.isArray(list) ? [[name, mapsOf(list).flatMap(change)]] : []
  })
  return { ...pod, spec: { ...spec, ...Object.fromEntries(lists) } }
}

/** Returns changes that stop the work of an observer, by the name of the change. */
function changesOf({ metric: { tool } }: Observer, mode: Mode): Readonly<Record<string, Change>> {
  return {
    'is missing': () => [],
    'has another image': (observer) => [{ ...observer, image: 'other' }],
    'has another command': (observer) => [{ ...observer, command: ['other'] }],
    ...(mode === 'native' && {
      'has no restartPolicy': ({ restartPolicy: _, ...observer }) => [observer],
    }),
    ...(tool && { 'has no volume': (observer) => [{ ...observer, volumeMounts: [] }] }),
  }
}

/** Returns pods with an altered observer or tool, by the name of the change. */
export function alteredPods({ observers, mode }: Injected, pod: Json): ReadonlyMap<string, Json> {
  const altered = observers.flatMap((observer) => {
    const { name } = observer.metric
    return Object.entries(changesOf(observer, mode)).map(([what, change]) => {
      const changed = withContainers(pod, (each) => (each.name === name ? change(each) : [each]))
      return [`${name} ${what}`, changed] as const
    })
  })
  const withoutVariables = (statusOf(pod).variables ?? []).map((name) => {
    const changed = withContainers(pod, (each) => {
      return [{ ...each, env: mapsOf(each.env).filter((entry) => entry.name !== name) }]
    })
    return [`variable ${name} is missing`, changed] as const
  })
  const unshared = { ...pod, spec: { ...mapOf(pod.spec), shareProcessNamespace: false } }
  return new Map([...altered, ...withoutVariables, ['the namespace is not shared', unshared]])
}

/** Changes that other webhooks make to pods and their containers, and that are not reported. */
export function withOthersWork(pod: Json): Json {
  const changed = withContainers(pod, (each) => {
    const volumeMounts = [...mapsOf(each.volumeMounts), { name: 'token', mountPath: '/token' }]
    const env = [...mapsOf(each.env), { name: 'ADDED', value: 'x' }]
    return [{ ...each, env, volumeMounts, imagePullPolicy: 'Always' }]
  })
  const spec = mapOf(changed.spec)
  const containers = [{ name: 'mesh', image: 'mesh' }, ...mapsOf(spec.containers)]
  return { ...changed, spec: { ...spec, containers } }
}

/** The fields of a status, as far as the rules read them. */
interface Status {
  readonly metrics?: readonly string[]
  readonly left?: unknown
  readonly variables?: readonly string[]
}

/** Returns the status that the webhook has written, and checks its length and its characters. */
export function statusOf(patched: Json): Status {
  const text = `${mapOf(mapOf(patched.metadata).annotations)['ridealong.dev/status']}`
  assert.ok(text.length <= 768)
  assert.ok(/^[\x20-\x7e]*$/.test(text))
  return JSON.parse(text)
}

/** A pod that the webhook has answered. */
interface Answered {
  readonly decision: Decision
  readonly received: Json
  readonly patched: Json
  readonly surroundings: Surroundings
}

/**
 * Checks that the scan reports a pod only for an observer without an image, if its status says so,
 * and for each observer that was altered later.
 */
export function checkScan({ decision, received, patched, surroundings }: Answered): void {
  const metadata = { ...mapOf(patched.metadata), name: 'lammps-0', uid: 'u' }
  const pod = { ...patched, metadata }
  const reasonOf = (each: Json) => findMissedPod(each, surroundings)?.reason
  // A status that the author of a pod has written may name observers that it does not have.
  const isForged = 'ridealong.dev/status' in mapOf(mapOf(received.metadata).annotations)
  // The apiserver sends only pods that are created.
  if (decision.outcome === 'left' && decision.reason !== 'not-create' && !isForged) {
    const isUnavailable = decision.reason === 'observer-unavailable'
    assert.equal(reasonOf(pod), isUnavailable ? decision.reason : undefined, decision.reason)
  }
  if (decision.outcome !== 'injected') return
  const isRecorded = mapsOf(statusOf(patched).left).some(({ reason }) => {
    return reason === 'observer-unavailable'
  })
  assert.ok(!isRecorded || decision.left.some(({ reason }) => reason === 'observer-unavailable'))
  const expected = isRecorded ? 'observer-unavailable' : undefined
  assert.equal(reasonOf(pod), expected)
  assert.equal(reasonOf(withOthersWork(pod)), expected, 'with the changes of other webhooks')
  for (const [change, altered] of alteredPods(decision, pod))
    assert.equal(reasonOf(altered), 'altered', change)
}
