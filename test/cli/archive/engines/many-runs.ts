import { type KeptFacts, type KeptRun, logId } from '../../../../cli/archive/storage/kept-logs.ts'
import { openRunStorage } from '../../../../cli/archive/storage/stored-runs.ts'
import { VOLUME_FILES } from '../../../../cli/archive/storage/volume-files.ts'
import { openVolumeFolders } from '../../../../cli/archive/storage/volume-folders.ts'
import { writeRows } from '../../../../cli/archive/storage/write-run.ts'
import { makeRunCard } from '../../../../src/runs/card/run-card.ts'
import type { RunPod } from '../../../../src/runs/facts/pod-facts.ts'
import type { PodHistory } from '../../../../src/runs/facts/pod-history.ts'
import type { Run } from '../../../../src/runs/facts/run.ts'
import { BUILT_IN_ROWS } from '../../../src/runs/log/built-in.ts'
import { endedObserver } from '../observers.ts'

export const PODS = 4
export const REQUESTED = 8
/** The node whose ranks come last, where the run has one. */
export const SLOW = 'node-3'
const NODES = 5
const BLOCKS = 3

/** Facts about a generated run. Its numbers follow from its index. */
export interface GeneratedRun {
  readonly namespace: string
  readonly workload: string
  readonly name: string
  /** In milliseconds since 1970, in November 2026. */
  readonly started: number
  readonly seconds: number
  /** The seconds in which the image of each pod is pulled. */
  readonly pulling: number
  /** CPU seconds of all pods. */
  readonly cpu: number
  readonly image: string
  /** The nodes by pod. */
  readonly nodes: readonly string[]
  /** The seconds of each rank in a block of collective calls. */
  readonly inMpi: readonly number[]
}

export function generatedRun(index: number): GeneratedRun {
  const nodes = Array.from({ length: PODS }, (_, rank) => `node-${(index + rank) % NODES}`)
  const seconds = 60 + (index % 17) * 10
  const workload = `solver-${index % 13}`
  return {
    ...{ workload, seconds, nodes, pulling: 5 + (index % 11) * 3 },
    namespace: index % 4 === 0 ? 'ml' : 'hpc',
    name: `${workload}-${String(index).padStart(8, '0')}`,
    started: Date.UTC(2026, 10, 1 + (index % 30), 12),
    cpu: PODS * seconds * (0.5 + (index % 3) / 4),
    image: `registry.example/solver:${index % 3}`,
    inMpi: nodes.map((node, rank) => (node === SLOW ? 0.125 : rank === 0 ? 0.375 : 0.5)),
  }
}

/** Stores runs as the archive does, without pages. */
export async function writeArchive(root: string, runs: readonly GeneratedRun[]): Promise<void> {
  const storage = await openRunStorage({
    ...{ root, files: VOLUME_FILES, folders: openVolumeFolders(root, VOLUME_FILES) },
    writer: {
      rows: (run) => writeRows(VOLUME_FILES, run, BUILT_IN_ROWS),
      page: async () => 'no page',
      close: async () => {},
    },
  })
  for (const generated of runs) {
    const run: KeptRun = {
      ...{ key: JSON.stringify([generated.name]), title: generated.workload },
      ...{ namespace: generated.namespace, name: generated.name },
    }
    for (const index of generated.nodes.keys()) await keepLog(storage.logs, run, generated, index)
    const logs = await storage.logs.read(run)
    await storage.store({ run, logs, card: makeRunCard(asRun(generated), Date.now()) })
    await storage.logs.remove(run)
  }
  await storage.writeIndexes(Date.now())
  await storage.close()
}

async function keepLog(
  logs: Awaited<ReturnType<typeof openRunStorage>>['logs'],
  run: KeptRun,
  generated: GeneratedRun,
  pod_index: number,
): Promise<void> {
  const { namespace, nodes, started, image } = generated
  const observer = {
    ...endedObserver(`${run.name}-${pod_index}`, 'mpi-trace'),
    ...{ namespace, node: nodes[pod_index] ?? null, pod_index: String(pod_index) },
  }
  const facts: KeptFacts = { observer, started, images: [image], isDone: true, problem: null }
  await logs.writeFacts(run, logId(observer), facts)
  const file = await logs.open(run, logId(observer), 0)
  await file.append(Buffer.from(logOf(generated, pod_index))).finally(() => file.close())
}

/** Returns the log of mpi-trace with the blocks of a rank. */
function logOf({ started, inMpi }: GeneratedRun, rank: number): string {
  const metadata = { pods: 1, metricName: 'mpi-trace', metricOptions: { rate: 5 } }
  const rows = Array.from({ length: BLOCKS }, (_, block) => ({
    ...{ time: new Date(started).toISOString(), section: 'block', container: 'app' },
    ...{ program: 'solver', pid: 7, mpi_rank: rank, communicator: 'world' },
    ...{ first: block * 4, collectives: 4, mpi_seconds: inMpi[rank] },
  }))
  return [
    `METADATA START ${JSON.stringify(metadata)}`,
    'METADATA END',
    'METRICS OPERATOR COLLECTION START',
    ...rows.map((row) => JSON.stringify(row)),
    'METRICS OPERATOR COLLECTION END\n',
  ].join('\n')
}

function asRun(generated: GeneratedRun): Run {
  const pods = generated.nodes.map((_, index) => asPod(generated, index))
  return {
    ...{ namespace: generated.namespace, word: 'job', group: 'batch', apiVersion: 'batch/v1' },
    ...{ kind: 'Job', name: generated.workload, uid: generated.name, revision: null },
    ...{ phase: 'Succeeded', pods, podCounts: { observed: PODS, expected: PODS } },
    ...{ begun: null, hasLostPods: false, lostPods: 0 },
  }
}

const NO_AMOUNTS = { cpu: null, memory: null }

function asPod(generated: GeneratedRun, pod_index: number) {
  const { name, namespace, image, started, seconds, pulling, cpu } = generated
  const use = {
    ...{ seconds, cpu: cpu / PODS, cpuLimit: null, periods: null, throttledPeriods: null },
    ...{ throttled: null, runDelay: null, storage: null, memoryPeak: 2 ** 20 },
    ...{ memoryLimit: null, oomKills: 0, isFinal: true },
  }
  const requests = { cpu: REQUESTED / PODS, memory: 2 ** 30 }
  const app = { name: 'app', image, requests, limits: NO_AMOUNTS, ended: [], lifetime: null, use }
  return {
    ...{
      namespace,
      name: `${name}-${pod_index}`,
      uid: `${name}-${pod_index}`,
      controller: undefined,
    },
    ...{
      revision: null,
      role: '',
      pod_index: String(pod_index),
      phase: 'Succeeded',
      wasDeleted: false,
    },
    ...{ isGone: false, reason: null, node: null, created: started - pulling * 1000, started },
    ...{ ended: started + seconds * 1000, isObserved: true, containers: [app] },
    ...{ restartAttempt: 0, indexFailures: 0, history: historyOf(generated) },
    ...{ podRequests: NO_AMOUNTS, podLimits: NO_AMOUNTS, missing: [] },
  } satisfies RunPod
}

function historyOf({ started, seconds, pulling }: GeneratedRun): PodHistory {
  const scheduled = started - pulling * 1000
  return {
    marks: [
      { part: 'scheduling', event: 'it was scheduled', at: scheduled },
      { part: 'preparing', event: 'its application started first', at: started },
    ],
    starts: [{ name: 'app', first: started, last: started, restarts: 0, runs: [] }],
    deleted: null,
    ended: started + seconds * 1000,
  }
}
