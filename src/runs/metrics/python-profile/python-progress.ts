import { rounded } from '../../../lib/round.ts'
import { maximum } from '../../../lib/statistics.ts'
import type { PodEvidence } from '../../evidence/run-evidence.ts'
import { type Affected, type FactUnits, listFacts } from '../../rules/rule.ts'
import { lastEnds, MIN_STARTING, type StuckFinder } from '../../rules/stuck.ts'
import type { PythonProcess } from '../../waiting/current-stacks.ts'
import { waitsByPod } from '../../waiting/waits-by-pod.ts'
import { MAIN_TIME, STACK_SECTIONS } from './current-stacks.ts'
import { describePython, describePythonNow } from './python-text.ts'
import {
  findStuckPython,
  type LatePython,
  pythonProcesses,
  type StuckPython,
  type WaitingPython,
} from './stuck-python.ts'

/** The seconds after which processes that wait for others are named. */
const MIN_UNCHANGED = 60
/** The times the longest time without a change before, after which they are named. */
const MIN_GAPS = 10

/**
 * Returns the processes of Python that make no progress, if that counts, with the late processes
 * that count.
 */
export function countedPython(stuck: StuckPython): readonly StuckPython[] {
  const { why, waiting, late, longestGap } = stuck
  const least = stuck.isBeginning ? MIN_STARTING : MIN_UNCHANGED
  const patience = Math.max(least, MIN_GAPS * longestGap)
  const isStill = ({ unchanged }: PythonProcess) => unchanged >= patience
  if (!waiting.every(({ process }) => isStill(process))) return []
  const still = late.filter(({ process }) => process.hasEnded || isStill(process))
  // A rank that computes is late as well. A process of a data loader that does is only slow.
  const named = still.length === 0 && why === 'python-late' ? late : still
  // The processes in one container wait for the same workers.
  const workers = new Map<readonly PythonProcess[], readonly PythonProcess[]>()
  const stillOf = (all: readonly PythonProcess[]) => {
    const known = workers.get(all) ?? all.filter(isStill)
    workers.set(all, known)
    return known
  }
  const counted = named.map((one) => ({ ...one, workers: stillOf(one.workers) }))
  return counted.length === 0 ? [] : [{ ...stuck, late: counted }]
}

const FACTS = {
  'time in the line': 's',
  'processes that wait': 'count',
  'processes that have not come': 'count',
  'longest time in a line before': 's',
} as const satisfies FactUnits

/** Makes a finding of each pod with a process that waits or is late. */
function affectedBy(stuck: StuckPython): readonly Affected[] {
  const { longestGap } = stuck
  return waitsByPod(stuck, ({ process }) => process.pod).map(({ pod, waiting, late }) => {
    const lost = maximum(waiting.map(({ process }) => process.unchanged))
    return {
      pod,
      things: [...late, ...waiting].map(({ process }) => nameOf(process)),
      lost,
      facts: listFacts(FACTS, {
        'time in the line': lost,
        'processes that wait': waiting.length,
        'processes that have not come': late.length,
        'longest time in a line before': longestGap > 0 ? longestGap : null,
      }),
    }
  })
}

function nameOf({ program, pid }: PythonProcess): string {
  return `${program ?? 'process'} (PID ${pid})`
}

function hasFailed(pod: PodEvidence): boolean {
  return lastEnds(pod).some(({ exitCode }) => exitCode !== 0)
}

function pythonDocument({ why, waiting, late, longestGap }: StuckPython) {
  return {
    why,
    waiting: waiting.map(waitingPythonDocument),
    late: late.map(latePythonDocument),
    unrecorded: null,
    longestGapSeconds: rounded(longestGap),
  }
}

function waitingPythonDocument({ process, line }: WaitingPython) {
  return { ...processDocument(process), pythonLine: line }
}

function latePythonDocument({ process, workers }: LatePython) {
  return { ...processDocument(process), loaders: workers.map(processDocument) }
}

function processDocument({ pod, program, pid, line, hasEnded, ...facts }: PythonProcess) {
  const { isRunning, unchanged } = facts
  const known = isRunning === null ? null : isRunning ? 'running' : 'waiting'
  return {
    podIndex: pod,
    program,
    pid,
    activity: hasEnded ? 'ended' : known,
    pythonLine: line,
    seconds: rounded(unchanged),
  }
}

/**
 * Finds the processes of Python that make no progress. Only the last stacks count, so a job that
 * goes on has none. For the comparison, see `findStuckPython`.
 */
export const PYTHON_STUCK = {
  needs: [{ ...MAIN_TIME, isTotal: true }],
  reads: [MAIN_TIME],
  facts: FACTS,
  condition:
    'Processes of Python wait if their main threads are in a call of PyTorch in which ranks wait ' +
    'for each other, and another process of the program is not, or in its data loader, and one ' +
    'of its processes loads a batch, and the stacks have not changed for at least 60 s (5 min ' +
    'for a job that begins) and ten times the longest such time before',
  source: 'the calls of Python: the sources of PyTorch',
  live: {
    isRead: (section) => STACK_SECTIONS.has(section),
    countsEnded: false,
  },
  find: ({ view, pods }) => {
    const failed = new Set(pods.filter(hasFailed).map(({ pod }) => pod))
    return findStuckPython(view(pythonProcesses), (pod) => failed.has(pod))
      .flatMap(countedPython)
      .map((stuck) => ({
        pods: affectedBy(stuck),
        describe: () => describePython(stuck),
        describeNow: () => describePythonNow(stuck),
        document: () => pythonDocument(stuck),
      }))
  },
} as const satisfies StuckFinder
