import { convertRun } from '../../../../src/runs/convert/convert.ts'
import type { CollectedRun } from '../../../../src/runs/report/gather.ts'

/** An event of a trace in Chrome's format. */
export interface ShownEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur: number
  readonly args: Readonly<Record<string, number>>
}

const PROGRAM = 'ridealong 1.0'

/** Returns the trace of a run in Chrome's format, in the parts in which it is written. */
export function traceParts(run: CollectedRun): readonly string[] {
  return [...convertRun(run, 'chrome-trace', PROGRAM).parts].map(String)
}

/** Returns the events of the trace of a run. */
export function eventsOf(run: CollectedRun): readonly ShownEvent[] {
  return JSON.parse(traceParts(run).join('')).traceEvents
}

/** Returns the profile of a run for speedscope. */
export function speedscope(run: CollectedRun): string {
  return [...convertRun(run, 'speedscope', PROGRAM).parts].join('')
}

/** Returns the profile of a run for pprof. */
export function pprof(run: CollectedRun): Buffer {
  return Buffer.concat(
    [...convertRun(run, 'pprof', PROGRAM).parts].map((part) => Buffer.from(part)),
  )
}

/** Returns the names of the processes of a trace, by pid. */
export function namesOf(events: readonly ShownEvent[]): ReadonlyMap<number, unknown> {
  const named = events.filter(({ name }) => name === 'process_name')
  return new Map(named.map(({ pid, args }) => [pid, args.name]))
}
