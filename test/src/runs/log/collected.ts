import { transcribe } from '../../../../src/runs/log/transcribe.ts'
import { BUILT_IN_ROWS } from './built-in.ts'

/**
 * Returns the output of `collect` for the text of a recorded log.
 *
 * @param source the name of the log
 * @param exitCode the exit code with which the observed container ended
 */
export function collected(text: string, source: string, exitCode = 0): string {
  const { push, end } = transcribe('jsonl', { source }, BUILT_IN_ROWS)
  const rows = text.split('\n').map(push)
  const [, container = ''] = /"container":"([^"]+)"/.exec(text) ?? []
  const reason = exitCode === 0 ? 'Completed' : 'Error'
  const how = { signal: null, finishedAt: null, restarted: false, deleted: false }
  const ended = [{ container, reason, exitCode, ...how }]
  return [...rows, end({ message: null, ended, observedRanks: null }).text].join('')
}
