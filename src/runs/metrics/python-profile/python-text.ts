import { durationText } from '../../../lib/duration.ts'
import { maximum, minimum } from '../../../lib/statistics.ts'
import { numberList, podsText, podText } from '../../rules/sentence.ts'
import { sinceText } from '../../rules/stuck.ts'
import type { PythonProcess } from '../../waiting/current-stacks.ts'
import { largestFirst, nameGroups } from '../../waiting/named-groups.ts'
import type { LatePython, StuckPython, WaitingPython } from './stuck-python.ts'

/** Describes processes of Python that made no progress when a log ended. Returns sentences. */
export function describePython(stuck: StuckPython): string {
  const since = stuck.waiting.map(({ process: { seconds, unchanged } }) => seconds - unchanged)
  return describe(sinceText(minimum(since) ?? 0), stuck)
}

/** Describes processes of Python that make no progress now, for how long. Returns sentences. */
export function describePythonNow(stuck: StuckPython): string {
  const longest = maximum(stuck.waiting.map(({ process }) => process.unchanged)) ?? 0
  return describe(`For ${durationText(longest)}`, stuck)
}

function describe(beginning: string, stuck: StuckPython): string {
  const { why, waiting, late } = stuck
  const isAlone = isAloneInPod([...waiting, ...(why === 'python-late' ? late : [])])
  if (why === 'python-loader') {
    const [verb, loaders] = waiting.length === 1 ? ['waits', 'its data loader'] : LOADERS
    const all = `${namesText(waiting, isAlone)} ${verb} for ${loaders}`
    return [`${beginning}, ${all}.`, ...workerTexts(late.map(({ process }) => process))].join(' ')
  }
  const all = `${beginning}, ${waitsText(waiting, isAlone)}.`
  return [all, ...lateTexts(late, isAlone)].join(' ')
}

const LOADERS = ['wait', 'their data loaders'] as const

type Placed = { readonly process: PythonProcess }

/** Reports whether no two processes are in the same pod, so that its name names the process. */
function isAloneInPod(all: readonly Placed[]): boolean {
  return new Set(all.map(({ process }) => process.pod)).size === all.length
}

function namesText(all: readonly Placed[], isAlone: boolean): string {
  if (isAlone) return podsText(all.map(({ process }) => process.pod))
  const pods = Map.groupBy(all, ({ process }) => process.pod)
  const { texts, others } = nameGroups(pods, (first, own) => {
    const pids = numberList(own.map(({ process }) => String(process.pid)))
    return `${own.length === 1 ? 'process' : 'processes'} ${pids} of ${podText(first.process.pod)}`
  })
  return others === 0 ? texts.join(', ') : `${texts.join(', ')} and ${others} more`
}

function waitsText(waiting: readonly WaitingPython[], isAlone: boolean): string {
  const groups = largestFirst(Map.groupBy(waiting, ({ line }) => line))
  const { texts, others } = nameGroups(groups, ({ line }, own) => {
    return `${namesText(own, isAlone)} ${own.length === 1 ? 'waits' : 'wait'} in ${line}`
  })
  const more = others === 0 ? '' : `, and ${others} more in other lines`
  return `${texts.join(', ')}${more}`
}

/** Describes the late processes, together if they are in the same line. */
function lateTexts(late: readonly LatePython[], isAlone: boolean): readonly string[] {
  const groups = Map.groupBy(late, (one) => activityText(one, true))
  const { texts, others } = nameGroups(groups, (first, own) => {
    const isOnly = own.length === 1
    const verb = isOnly ? 'has not come: it' : 'have not come: they'
    return `${capitalized(namesText(own, isAlone))} ${verb} ${activityText(first, isOnly)}.`
  })
  // The late processes of one container have the same workers.
  const loaders = new Set(late.map((one) => one.workers))
  const workers = workerTexts([...loaders].flat())
  const more = others === 1 ? '1 more has not come.' : `${others} more have not come.`
  return [...texts, ...(others > 0 ? [more] : []), ...workers]
}

function activityText({ process, workers }: LatePython, isOnly: boolean): string {
  if (process.hasEnded) return isOnly ? 'has ended' : 'have ended'
  if (workers.length > 0)
    return isOnly ? 'waits for its data loader' : 'wait for their data loaders'
  return `${verbOf(process, isOnly)} in ${process.line}`
}

function verbOf({ isRunning }: PythonProcess, isOnly: boolean): string {
  if (isRunning === null) return isOnly ? 'is' : 'are'
  if (isRunning) return isOnly ? 'runs' : 'run'
  return isOnly ? 'waits' : 'wait'
}

/** Describes the processes of data loaders, together if they are in the same line. */
function workerTexts(workers: readonly PythonProcess[]): readonly string[] {
  const groups = Map.groupBy(workers, ({ line }) => line)
  return nameGroups(groups, (first, { length: count }) => {
    const name =
      count === 1 ? `Process ${first.pid} of the data loader` : `${count} processes of data loaders`
    return `${name} ${verbOf(first, count === 1)} in ${first.line}.`
  }).texts
}

/** The name of a pod does not change at the beginning of a sentence. */
function capitalized(text: string): string {
  return text.replace(/^(pods?|process|processes) /, (noun) => {
    return `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`
  })
}
