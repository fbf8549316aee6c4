import { joinLogs, type LogJoin } from '../../input/join-logs.ts'
import { readAttempt } from '../../log/attempt.ts'
import type { Entry } from '../../log/entry.ts'
import { addEntry, type CollectedRun, newRun } from '../gather.ts'

interface EarlierLogs {
  readonly join: LogJoin
  /** The file that is read. */
  file: string
}

/**
 * Returns a function that adds the entries of other attempts to those of a run, by the numbers in
 * the names of their logs. They are never added to the run itself: the program began again.
 */
export function readEarlier(run: CollectedRun): (file: string, entry: Entry) => void {
  const joins = new Map<number, EarlierLogs>()
  return (file, entry) => {
    const attempt = readAttempt(entry.source ?? '')?.attempt
    if (attempt === undefined) return
    const logs = joins.get(attempt) ?? { join: joinLogs(), file: '' }
    joins.set(attempt, logs)
    const own = pushEntry(logs, file, entry)
    if (own !== undefined) addEntry(earlierRun(run, attempt), own)
  }
}

function pushEntry(logs: EarlierLogs, file: string, entry: Entry): Entry | undefined {
  if (logs.file !== file) logs.join.begin(file)
  logs.file = file
  return logs.join.push(entry)
}

function earlierRun({ earlier, descriptions }: CollectedRun, attempt: number): CollectedRun {
  const known = earlier.get(attempt) ?? newRun(descriptions)
  earlier.set(attempt, known)
  return known
}
