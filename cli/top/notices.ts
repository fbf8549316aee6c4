import { noticeSentences } from '../../src/runs/collect/notices.ts'
import type { WorkloadPods } from '../../src/runs/collect/workload-pods.ts'
import type { LiveRun } from './live-run.ts'
import type { LogStream } from './log-streams.ts'

/**
 * Lists what is missing from the table or may be wrong in it, as short texts.
 *
 * @param problem why the pods could not be listed; undefined if the last list succeeded
 */
export function listNotices(
  run: LiveRun,
  found: WorkloadPods,
  problem: string | undefined,
): readonly string[] {
  const streams = run.streams()
  const unobserved = run.unobserved()
  return [
    ...(problem === undefined ? [] : [`the pods cannot be listed: ${problem}`]),
    ...(found.incomplete === undefined ? [] : [found.incomplete]),
    ...brokenNotices(streams),
    ...boundNotices(streams),
    ...unmatchedNotices(streams),
    ...run.undescribed().map((metric) => `the catalog does not describe the rows of ${metric}`),
    ...(unobserved === 0 ? [] : [`${count(unobserved, 'pod')} without observers`]),
    ...noticeSentences(
      streams.map(({ observer }) => observer),
      found.problem,
    ),
  ]
}

function brokenNotices(streams: readonly LogStream[]): readonly string[] {
  const broken = streams.filter(({ problem, isGone }) => problem !== undefined && !isGone)
  const [first] = broken
  if (first === undefined) return []
  const { pod, container } = first.observer
  return [`${count(broken.length, 'log')} cannot be read: ${pod}/${container}: ${first.problem}`]
}

function boundNotices(streams: readonly LogStream[]): readonly string[] {
  const unread = streams.filter((stream) => stream.hasStarted && !stream.isRead && !stream.isOver)
  const followed = streams.filter(({ isFollowed }) => isFollowed)
  if (unread.length === 0 || followed.length === 0) return []
  return [`${count(unread.length, 'log')} not followed (to follow more, use --parallel)`]
}

function unmatchedNotices(streams: readonly LogStream[]): readonly string[] {
  const wrong = streams.filter(({ log }) => log.unmatched().lines > 0)
  const [first] = wrong
  if (first === undefined) return []
  const { pod, container } = first.observer
  const words = `lines of ${count(wrong.length, 'log')} do not match the description of their rows`
  return [`${words}; the first: ${pod}/${container}: ${first.log.unmatched().reason}`]
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`
}
