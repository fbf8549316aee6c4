import { readdirSync, readFileSync } from 'node:fs'
import type { EndedContainer } from '../../../../src/runs/log/entry.ts'
import { transcribe } from '../../../../src/runs/log/transcribe.ts'
import { BUILT_IN_ROWS } from './built-in.ts'

const RECORDED = new URL('../../../logs/verdict/', import.meta.url)

/** The end of a container in the status of a pod. */
type Ended = readonly EndedContainer[] | null

/**
 * Returns the output of `collect` for the text of a recorded log.
 *
 * @param source the name of the log
 * @param ended how the containers of its pod ended
 */
export function collected(text: string, source: string, ended: Ended): string {
  const { push, end } = transcribe('jsonl', { source }, BUILT_IN_ROWS)
  const rows = text.split('\n').map(push)
  return [...rows, end({ message: null, ended, observedPods: null, time: null }).text].join('')
}

/** Returns the end of the observed container of a log, with an exit code. */
export function endedWith(text: string, exitCode: number): readonly EndedContainer[] {
  const [, container = ''] = /"container":"([^"]+)"/.exec(text) ?? []
  const reason = exitCode === 0 ? 'Completed' : 'Error'
  const how = { signal: null, finishedAt: null, restarted: false, deleted: false }
  return [{ container, reason, exitCode, ...how }]
}

/** A recorded log, as `collect --to FOLDER/` writes it. */
interface CollectedFile {
  /** POD.METRIC.jsonl */
  readonly name: string
  readonly text: string
}

/** Returns the logs of a folder of test/logs/verdict, with the status of their pods. */
export function collectedRun(folder: string): readonly CollectedFile[] {
  const url = new URL(`${folder}/`, RECORDED)
  const ended: Record<string, Ended> = JSON.parse(readFileSync(new URL('ended.json', url), 'utf8'))
  const logs = readdirSync(url).filter((name) => name.endsWith('.log'))
  return logs.map((name) => {
    const [pod = '', metric = ''] = name.split('.')
    const text = readFileSync(new URL(name, url), 'utf8')
    const rows = collected(text, `hpc/${pod}/${metric}`, ended[pod] ?? null)
    return { name: `${pod}.${metric}.jsonl`, text: rows }
  })
}
