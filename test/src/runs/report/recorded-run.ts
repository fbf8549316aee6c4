import { readdirSync, readFileSync } from 'node:fs'
import { readLog } from '../../../../src/runs/log/read.ts'
import { assessRun } from '../../../../src/runs/report/assess.ts'
import { addEntry, type CollectedRun, newRun } from '../../../../src/runs/report/gather.ts'
import { BUILT_IN_ROWS } from '../log/built-in.ts'

const RECORDED = new URL('../../../logs/verdict/', import.meta.url)

/** A log of a recorded run. */
export interface RecordedLog {
  /** POD.METRIC.log */
  readonly name: string
  readonly pod: string
  readonly metric: string
  readonly text: string
}

/** Returns the logs of a folder of test/logs/verdict. */
export function recordedLogs(folder: string): readonly RecordedLog[] {
  const url = new URL(`${folder}/`, RECORDED)
  const names = readdirSync(url).filter((name) => name.endsWith('.log'))
  return names.map((name) => {
    const [pod = '', metric = ''] = name.split('.')
    return { name, pod, metric, text: readFileSync(new URL(name, url), 'utf8') }
  })
}

/** Returns how the containers of a recorded run ended, by pod. */
export function recordedEnds(folder: string) {
  return JSON.parse(readFileSync(new URL(`${folder}/ended.json`, RECORDED), 'utf8'))
}

/**
 * Reads logs as a report does.
 *
 * @param ends how the containers ended, by pod, as `collect` knows it; missing if it does not
 */
export function readRecorded(logs: readonly RecordedLog[], ends = {}): CollectedRun {
  const run = newRun(BUILT_IN_ROWS)
  for (const { name, pod, text } of logs) {
    const ended = Object(ends)[pod] ?? null
    for (const entry of readLog(text, { source: name, ended }, BUILT_IN_ROWS)) addEntry(run, entry)
  }
  return run
}

/** Says how a recorded run went. @param metrics those whose logs are read; all if missing */
export function assessRecorded(
  folder: string,
  metrics: RegExp = /./,
  ends: object = recordedEnds(folder),
) {
  const logs = recordedLogs(folder).filter(({ metric }) => metrics.test(metric))
  return assessRun(readRecorded(logs, ends))
}
