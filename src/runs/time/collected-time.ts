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

/** Reports whether a time is later than another one: after the end of the run, or until later. */
export function isLater(time: CollectedTime, other: CollectedTime): boolean {
  return time.isOver === other.isOver ? time.to > other.to : time.isOver
}

/**
 * Returns the time of a run; null if its logs were collected as parts of several workloads.
 *
 * @param times the latest ones, by workload
 */
export function onlyTime(times: ReadonlyMap<string, CollectedTime>): CollectedTime | null {
  const [first = null, ...others] = times.values()
  return others.length === 0 ? first : null
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
