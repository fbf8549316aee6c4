import type { SectionColumns } from '../../evidence/evidence.ts'
import { type MetricStore, ofLogs } from '../../evidence/stores.ts'
import type { Sample } from '../../log/columns.ts'
import { countIn, numberIn, secondsSince1970, textIn } from '../../log/typed-cells.ts'
import { isBeginning } from '../../profiles/python-waits.ts'
import type { CurrentStack, CurrentStacks } from '../../waiting/current-stacks.ts'

/** The metric whose rows have the stacks of Python. */
export const PYTHON_METRIC = 'python-profile'

/** The time of the main threads of each process. */
export const MAIN_TIME = {
  metric: PYTHON_METRIC,
  section: 'process',
  columns: ['main_seconds'],
} as const satisfies SectionColumns

/** The sections whose rows say where the main threads of processes are. */
export const STACK_SECTIONS: ReadonlySet<string> = new Set(['now', 'process'])

/** Keeps the facts from the rows of python-profile. */
export const PYTHON_STORE: MetricStore<CurrentStacks> = {
  metric: PYTHON_METRIC,
  create: () => new Map(),
  add: addCurrentStack,
  keepLogs: ofLogs,
  join: (all) => new Map(all.flatMap((stacks) => [...stacks])),
  stacks: (stacks) => stacks,
  forgetEnded: (stacks, last) => {
    if (stacks.size < MANY_PROCESSES) return stacks
    return new Map([...stacks].filter(([, one]) => !one.hasEnded && one.seconds >= last))
  },
}

/** The number of processes from which those that have ended are forgotten while a log grows. */
const MANY_PROCESSES = 256

/** The most processes of which those that have ended are kept as well. */
const MAX_PROCESSES = 10_000

/** Adds a row of the stacks now, or of a process that has ended. Ignores other rows. */
export function addCurrentStack(stacks: CurrentStacks, section: string, sample: Sample): void {
  const key = `${sample.source} ${sample.pid}`
  if (section === 'process' && sample.state === 'ended') addEnd(stacks, key, sample)
  if (section !== 'now' || sample.threads !== 'main') return
  const stack = stackIn(sample, stacks.get(key))
  if (stack !== undefined) stacks.set(key, stack)
}

function addEnd(stacks: CurrentStacks, key: string, sample: Sample): void {
  const known = stacks.get(key)
  if (known === undefined) return
  if (stacks.size > MAX_PROCESSES) stacks.delete(key)
  else stacks.set(key, { ...known, hasEnded: true, endedAt: secondsSince1970(sample) })
}

/** @param last the stack in the row before with this process id */
function stackIn(sample: Sample, last: CurrentStack | undefined): CurrentStack | undefined {
  const { source, pid, stack, seconds } = sample
  if (typeof stack !== 'string' || typeof pid !== 'number') return undefined
  const before = last?.hasEnded === true ? undefined : last
  const at = secondsSince1970(sample)
  const unchanged = countIn(sample.unchanged)
  const frames = stack.split(';')
  return {
    source: source ?? '',
    container: textIn(sample.container),
    program: textIn(sample.program),
    pid,
    frames,
    line: frames.at(-1) ?? '',
    isRunning: sample.activity === null ? null : sample.activity === 'running',
    unchanged,
    longestGap: longestGapUntil(before, unchanged),
    firstAt: before === undefined ? at : before.firstAt,
    at,
    seconds,
    interval: before === undefined ? numberIn(sample.interval) : seconds - before.seconds,
    hasEnded: false,
    endedAt: null,
  }
}

/** The time of a stack that has changed since the row before counts. */
function longestGapUntil(before: CurrentStack | undefined, unchanged: number): number {
  if (before === undefined) return 0
  const { longestGap } = before
  const hasChanged = unchanged < before.unchanged && !isBeginning(before)
  return hasChanged ? Math.max(longestGap, before.unchanged) : longestGap
}
