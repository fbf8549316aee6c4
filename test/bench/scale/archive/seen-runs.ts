import { connectApiserver } from '../../../../src/cluster/apiserver.ts'
import type { Access } from '../../../../src/cluster/cluster.ts'
import { pathOfResource } from '../../../../src/cluster/discovery.ts'
import { type Collection, startReflector } from '../../../../src/cluster/reflect/reflector.ts'
import { asText, type Fields, fieldsOrNone } from '../../../../src/core/kubernetes/json.ts'
import { readController } from '../../../../src/core/kubernetes/owner-reference.ts'
import { isOver, readPhase } from '../../../../src/runs/facts/run.ts'
import { LABEL } from './observed-jobs.ts'

/** The times at which watches have shown the end of a run, in milliseconds since 1970. */
interface Seen {
  podsEnded: number
  lastPodAt: number
  jobAt: number | undefined
  runAt: number | undefined
  /** Why the Run is not right; undefined if nothing is wrong with it. */
  problem: string | undefined
}

/** The end of a run, in seconds after the end of its last pod. */
export interface RunEnd {
  readonly job: number | undefined
  readonly run: number
}

/** What watches of pods and Runs have shown. */
export interface SeenRuns {
  /** The number of Runs that exist now. */
  readonly runs: number
  /** The highest number of pods and of Runs at the same time. */
  readonly mostPods: number
  readonly mostRuns: number
  /** The number of pods that exist now, and that were deleted. */
  readonly pods: number
  readonly gonePods: number
  /** Reports whether the ends of all pods of a Job were seen. */
  hasEnded(name: string, pods: number): boolean
  /** Notes that a Job was deleted. */
  noteDeleted(name: string): void
  /** Reports whether the final Run of each of these Jobs was seen. */
  hasAll(names: readonly string[]): boolean
  /**
   * Returns the ends of the Jobs, and a sentence for each Run that is not right.
   *
   * @param jobs the number of pods of each Job
   */
  ends(jobs: ReadonlyMap<string, number>): {
    readonly ends: readonly RunEnd[]
    readonly problems: readonly string[]
  }
  stop(): void
}

const PACE = {
  ...{ relistMs: 3_600_000, silenceMs: 90_000, answerMs: 60_000 },
  ...{ pauseMs: 500, longestPauseMs: 5000 },
}

/** Starts to watch the pods with the label of the Jobs, and all Runs. */
export function watchRuns(access: Access): SeenRuns {
  const seen = new Map<string, Seen>()
  const find = (name: string) => {
    const nothing = { podsEnded: 0, lastPodAt: 0, jobAt: undefined, runAt: undefined }
    const known = seen.get(name) ?? { ...nothing, problem: undefined }
    seen.set(name, known)
    return known
  }
  const ended = new Set<string>()
  const pods = countObjects((pod) => notePod(pod, find, ended))
  const runs = countObjects((run) => noteRun(run, find))
  return {
    get runs() {
      return runs.size
    },
    get mostRuns() {
      return runs.most
    },
    get pods() {
      return pods.size
    },
    get mostPods() {
      return pods.most
    },
    get gonePods() {
      return pods.gone
    },
    hasEnded: (name, expected) => find(name).podsEnded >= expected,
    noteDeleted: (name) => {
      find(name).jobAt = Date.now()
    },
    hasAll: (names) => names.every((name) => seen.get(name)?.runAt !== undefined),
    ends: (wanted) => judgeAll(wanted, find),
    stop: startWatches(access, pods.collection, runs.collection),
  }
}

/** Starts the watches, and returns the function that stops them. */
function startWatches(
  access: Access,
  pods: Collection<Fields>,
  runs: Collection<Fields>,
): () => void {
  const api = connectApiserver(access)
  const watches = [
    { apiVersion: 'v1', plural: 'pods', selector: LABEL, collection: pods },
    { apiVersion: 'ridealong.dev/v1alpha1', plural: 'runs', collection: runs },
  ].map(({ selector, collection, ...resource }) =>
    startReflector<Fields>({
      ...{ api, selector, pace: PACE, collection, itemOf: fieldsOrNone },
      path: pathOfResource({ ...resource, namespace: undefined }),
      onTrouble: (trouble) => process.stderr.write(`a watch of the benchmark: ${trouble}\n`),
    }),
  )
  return () => {
    for (const watch of watches) watch.stop()
    api.close()
  }
}

type Find = (name: string) => Seen

/** @param ended the UIDs of the pods whose end was seen */
function notePod({ metadata, status }: Fields, find: Find, ended: Set<string>): void {
  const owner = readController(fieldsOrNone(metadata).ownerReferences)
  if (owner === undefined || fieldsOrNone(status).phase !== 'Succeeded') return
  const seen = find(owner.name)
  const uid = asText(fieldsOrNone(metadata).uid) ?? ''
  if (ended.has(uid)) return
  ended.add(uid)
  seen.podsEnded += 1
  seen.lastPodAt = Date.now()
}

/**
 * kwok ends a container later than its recorded summary if the machine is busy, and the card says
 * so.
 */
const LATE_END = /: container app was observed for only \d+ of \d+ s$/

function noteRun({ spec, status }: Fields, find: Find): void {
  const found = fieldsOrNone(status)
  const phase = readPhase(found.phase)
  if (phase === undefined || !isOver(phase)) return
  const seen = find(asText(fieldsOrNone(fieldsOrNone(spec).workload).name) ?? '')
  seen.runAt ??= Date.now()
  const { observed, expected } = fieldsOrNone(found.pods)
  const { missing: sentences } = fieldsOrNone(found.card)
  const missing = Array.isArray(sentences)
    ? sentences.filter((sentence) => !LATE_END.test(String(sentence)))
    : sentences
  const facts = `${phase}, ${observed}/${expected} pods, missing: ${JSON.stringify(missing)}`
  const isRight = phase === 'Succeeded' && observed === expected && facts.endsWith('[]')
  seen.problem = isRight ? undefined : facts
}

function judgeAll(wanted: ReadonlyMap<string, number>, find: Find) {
  const all = [...wanted].map(([name, expected]) => judge(name, expected, find(name)))
  return {
    ends: all.flatMap(({ end }) => end ?? []),
    problems: all.flatMap(({ problem }) => problem ?? []),
  }
}

function judge(name: string, expected: number, seen: Seen) {
  const { runAt, jobAt, lastPodAt, podsEnded, problem } = seen
  if (runAt === undefined) return { problem: `${name} has no final Run` }
  const seconds = (at: number) => Math.max(at - lastPodAt, 0) / 1000
  const isWhole = podsEnded === expected
  const unseen = isWhole ? undefined : `${podsEnded} of ${expected} pods were seen to end`
  const said = problem ?? unseen
  return {
    end: { job: jobAt === undefined ? undefined : seconds(jobAt), run: seconds(runAt) },
    problem: said === undefined ? undefined : `${name}: ${said}`,
  }
}

/** Counts the objects of a watch. @param note is called with each state of an object */
function countObjects(note: (object: Fields) => void) {
  let present = new Set<string>()
  let [most, gone] = [0, 0]
  const uidOf = ({ metadata }: Fields) => asText(fieldsOrNone(metadata).uid) ?? ''
  const put = (object: Fields) => {
    present.add(uidOf(object))
    most = Math.max(most, present.size)
    note(object)
  }
  const collection: Collection<Fields> = {
    put,
    remove(object) {
      note(object)
      if (present.delete(uidOf(object))) gone += 1
    },
    settleAll(listed) {
      const before = present
      present = new Set()
      for (const object of listed) put(object)
      gone += [...before].filter((uid) => !present.has(uid)).length
    },
  }
  return {
    collection,
    get size() {
      return present.size
    },
    get most() {
      return most
    },
    get gone() {
      return gone
    },
  }
}
