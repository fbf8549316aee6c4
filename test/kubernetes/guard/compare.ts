/** Compares the chart's guard with the scan, on generated pods. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { parseAllDocuments } from 'yaml'
import { buildGoProgram } from '../../cluster/machine/go-program.ts'
import { type Json, mapOf } from '../../properties/arbitrary.ts'
import {
  answer,
  CATALOG,
  type PartialCall,
  partialCalls,
} from '../../properties/partial-injection.ts'
import { alteredPods, withOthersWork } from '../../properties/scan-rules.ts'

const MODULE = fileURLToPath(new URL('.', import.meta.url))
const TEMPLATE = new URL('../../../charts/ridealong/templates/guard.yaml', import.meta.url)

/** A pod, and the messages that the guard should have about it. */
interface Expected {
  readonly what: string
  readonly object: Json
  readonly namespaceObject: Json
  readonly messages: readonly string[]
}

const UNANSWERED = ['the pod requests observers, but the Ridealong webhook did not answer']
const ALTERED = ['an observer was removed or altered after Ridealong added it']

/** The guard does not compare observers with the catalog; another policy does. */
const OF_CATALOG = /has another (image|command)$/

const STATUS = 'ridealong.dev/status'

/** Returns the spec of the guard. Its expressions contain no parts of the template. */
function guardSpec(): unknown {
  const text = readFileSync(TEMPLATE, 'utf8').replaceAll(/\{\{.*\}\}/g, '')
  return parseAllDocuments(text)[0]?.toJS().spec
}

function hasStatus({ metadata }: Json): boolean {
  return STATUS in mapOf(mapOf(metadata).annotations)
}

/** Returns the pods that can result from a call, each as the apiserver sends it to the guard. */
function podsOf({ call, conditions }: PartialCall): readonly Expected[] {
  const { reviewed, pod, patched } = answer(call.body, { ...conditions, catalog: CATALOG })
  const { decision } = reviewed
  const of = (what: string, object: Json, messages: readonly string[] = []): Expected => {
    return { what, object, namespaceObject: { metadata: {}, ...mapOf(call.namespace) }, messages }
  }
  const word = 'reason' in decision ? decision.reason : decision.outcome
  // The author of a pod may write any status. The guard is not asked about a denied pod, and only
  // about pods that are created.
  if (hasStatus(pod) || decision.outcome === 'denied' || word === 'not-create') return []
  const isMissed = hasStatus(patched) && word !== 'mirror-pod'
  const answered = [of(word, patched), ...(isMissed ? [of('not answered', pod, UNANSWERED)] : [])]
  if (decision.outcome !== 'injected') return answered
  const altered = [...alteredPods(decision, patched)].map(([change, object]) => {
    return of(change.replace(/^\S+ /, ''), object, OF_CATALOG.test(change) ? [] : ALTERED)
  })
  return [...answered, of('changed by others', withOthersWork(patched)), ...altered]
}

/** Returns a pod as the apiserver decodes it: no field is null, and annotations are strings. */
function decoded(pod: Json): Json {
  const { annotations, ...metadata } = mapOf(pod.metadata)
  const kept = Object.entries(mapOf(annotations)).filter(([, value]) => typeof value === 'string')
  const changed = { ...pod, metadata: { ...metadata, annotations: Object.fromEntries(kept) } }
  return JSON.parse(JSON.stringify(changed, (_, value) => value ?? undefined))
}

/** Evaluates the guard for pods, and returns its messages. */
function evaluate(folder: string, pods: readonly Expected[]): readonly (readonly string[])[] {
  const input = pods.map(({ object, namespaceObject }) => {
    return JSON.stringify({ object: decoded(object), namespaceObject })
  })
  const options = { input: input.join('\n'), encoding: 'utf8', maxBuffer: 2 ** 30 } as const
  const ran = spawnSync(join(folder, 'guard'), [join(folder, 'guard.json')], options)
  if (ran.status !== 0) throw new Error(`guard: ${ran.error?.message ?? ran.stderr}`)
  return ran.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

function isAsExpected(messages: readonly string[], expected: readonly string[]): boolean {
  const isSame = messages.every((message, index) => message.startsWith(expected[index] ?? '\n'))
  return isSame && messages.length === expected.length
}

/** The number of reviews from which pods are made at once. Their texts take 200 MB. */
const CHUNK = 5_000

/** The result of a comparison. */
interface Compared {
  /** How many pods had each outcome, reason or change. */
  readonly counts: ReadonlyMap<string, number>
  /** The pods about which the guard has other messages, of one chunk of reviews. */
  readonly wrong: readonly (Expected & { readonly found: readonly string[] })[]
}

/**
 * Evaluates the guard for the pods of generated reviews: as the webhook answers them, without an
 * answer, and altered in each way. Ends after the first chunk of reviews with a wrong message.
 *
 * @param folder an empty folder for the program
 */
export function compareGuard(folder: string, reviews: number, seed: number): Compared {
  buildGoProgram(MODULE, join(folder, 'guard'))
  writeFileSync(join(folder, 'guard.json'), JSON.stringify(guardSpec()))
  const counts = new Map<string, number>()
  for (let done = 0; done < reviews; done += CHUNK) {
    const numRuns = Math.min(CHUNK, reviews - done)
    const pods = fc.sample(partialCalls, { numRuns, seed: seed + done }).flatMap(podsOf)
    for (const { what } of pods) counts.set(what, (counts.get(what) ?? 0) + 1)
    const found = evaluate(folder, pods)
    const all = pods.map((pod, index) => ({ ...pod, found: found[index] ?? [] }))
    const wrong = all.filter((pod) => !isAsExpected(pod.found, pod.messages))
    if (wrong.length > 0) return { counts, wrong }
  }
  return { counts, wrong: [] }
}
