import { asText, type Fields, fieldsOrNone } from '../../core/kubernetes/json.ts'
import type { AttemptGroup } from '../attempts/attempt-groups.ts'
import { attemptsDocument, readAttempts } from '../attempts/attempts-document.ts'
import type { TimeOfRun } from './parts.ts'
import { readTimeDocument, timeDocument } from './time-document.ts'
import { timeSentence } from './time-sentence.ts'

/** Where the time of a run went until its logs were collected. */
export interface CollectedTime extends TimeOfRun {
  /** KIND/NAME as the user has named it, or the label selector. */
  readonly workload: string
  /** Whether the run had ended by then. */
  readonly isOver: boolean
  /** The attempts of the pods, as their status has them; empty if none was started again. */
  readonly attempts: readonly AttemptGroup[]
}

/** Returns the time for the description of a log. */
export function collectedDocument({ workload, isOver, attempts, ...time }: CollectedTime) {
  return { workload, isOver, ...timeDocument(time), attempts: attemptsDocument(attempts) }
}

/** Reads what `collectedDocument` returns; null if it has no workload, times or places. */
export function readCollected(fields: Fields | null): CollectedTime | null {
  const { workload, isOver, attempts } = fieldsOrNone(fields)
  const [name, time] = [asText(workload), readTimeDocument(fields)]
  if (name === undefined || time === null || time.places === 0) return null
  return { ...time, workload: name, isOver: isOver === true, attempts: readAttempts(attempts) }
}

/**
 * Returns the latest time of a run, whose logs may have been collected one after another; null if
 * they were collected as parts of several workloads.
 */
export function latestTime(times: readonly CollectedTime[]): CollectedTime | null {
  const [first] = times
  if (first === undefined || times.some(({ workload }) => workload !== first.workload)) return null
  return times.reduce((latest, time) => (time.to > latest.to ? time : latest))
}

/** Returns in one sentence where the time went; see `timeSentence`. */
export function collectedSentence(time: CollectedTime): string {
  return `${timeSentence(time, 'its creation', time.isOver)}.`
}

/** Returns a notice about the time that is not known; none if all is known. */
export function timeNotices(time: CollectedTime | null): readonly string[] {
  if (time === null || time.reasons.length === 0) return []
  return [`Where the time went is not known as a whole: ${time.reasons.join('; ')}.`]
}
