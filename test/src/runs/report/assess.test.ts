import { readFileSync } from 'node:fs'
import t from 'tap'
import { readLog } from '../../../../src/runs/log/read.ts'
import { chooseRun } from '../../../../src/runs/report/assess.ts'
import { reportModel } from '../../../../src/runs/report/data.ts'
import { addEntry, type CollectedRun, newRun } from '../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'
import {
  addTorchLog,
  everySeconds,
  torchLines,
  torchLog,
} from '../metrics/torch-collectives/torch-log.ts'

const RECORDED = [
  'nccl-python/train.nccl-ras.log',
  'nccl-python/train.python-profile.log',
  'nccl-python/train.vitals.log',
  'mpi/mpi-trace-imbalanced-0.log',
  'profiles/cpu-profile-lammps-0.log',
  'findings/perf-sysstat-throttled.log',
]
const ENDED = [
  {
    ...{ container: 'app', reason: 'Error', exitCode: 1, signal: null, finishedAt: null },
    ...{ restarted: false, deleted: false },
  },
]

/** Adds the recorded logs of a pod. Only the output of `collect` has the facts about the pod. */
function addRecorded(run: CollectedRun, folder: string): void {
  for (const path of RECORDED) {
    const text = readFileSync(new URL(`../../../logs/${path}`, import.meta.url), 'utf8')
    const source = `${folder}/${path}`
    const pod = { namespace: 'hpc', pod: 'job-0', node: 'node-1', pod_index: '0' }
    const facts = folder === 'collected' && { ended: ENDED, podLimits: { cpu: 2, memory: null } }
    for (const entry of readLog(text, { source, ...pod }, BUILT_IN_ROWS))
      addEntry(run, entry.kind === 'log' ? { ...entry, ...facts } : entry)
  }
}

/** Adds the logs of two ranks of PyTorch, the second of which is late. */
function addTorch(run: CollectedRun, folder: string): void {
  for (const rank of [0, 1]) {
    const called = everySeconds(30, 5, { from: 2 * rank })
    addTorchLog(run, rank, `${folder}/torch-${rank}`, torchLog(torchLines({ rank, called })))
  }
}

/** Returns all that is reachable from a value: the keys and values of objects, maps and lists. */
function reachable(value: unknown, seen = new Set<unknown>()): ReadonlySet<unknown> {
  if (seen.has(value)) return seen
  seen.add(value)
  if (value instanceof Map) for (const part of [...value].flat()) reachable(part, seen)
  else if (typeof value === 'object' && value !== null)
    for (const part of Object.values(value)) reachable(part, seen)
  return seen
}

function readTwice(folders: readonly string[]) {
  const run = newRun(BUILT_IN_ROWS)
  for (const folder of folders) {
    addRecorded(run, folder)
    addTorch(run, folder)
  }
  return run
}

t.test('no part of the evidence has rows of a copy', async (t) => {
  const { run, copies } = chooseRun(readTwice(['collected', 'again']))
  t.equal(copies.size, RECORDED.length + 2)
  const names = [...reachable(run.evidence)].filter(
    (one): one is string => typeof one === 'string' && one.includes('again/'),
  )
  t.strictSame(names, [])
})

/** Returns what a report shows, except for notices and for where the logs are. */
function shownOf(folders: readonly string[]) {
  const { pods, found, page } = reportModel(readTwice(folders), 'process')
  const shown = { pods, found, page: { ...page, samples: null, notices: null } }
  return JSON.parse(JSON.stringify(shown).replaceAll('again/', 'collected/'))
}

t.test('a report of logs and their copies is that of the logs', async (t) => {
  const once = shownOf(['collected'])
  t.match(once.found.findings.map(({ rule }: { rule: string }) => rule).sort(), [
    'container-failed',
    'late-in-torch-collectives',
    'no-progress',
  ])
  t.strictSame(shownOf(['collected', 'again']), once)
  // The first logs are kept, and they do not say how the pod ended.
  t.strictSame(shownOf(['again', 'collected']), once)
})
