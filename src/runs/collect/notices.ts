import { NOT_COMPARED, type RunningObserver, sourceName } from './observers.ts'

/**
 * Returns a sentence for each notice about the containers of the observers, with its first log and
 * the number of other logs.
 *
 * @param problem the problem that prevented reading the cluster's catalog
 */
export function noticeSentences(
  observers: readonly RunningObserver[],
  problem: string | undefined,
): readonly string[] {
  const sourced = observers.flatMap((observer) =>
    observer.notices.map((notice) => ({ notice, source: sourceName(observer) })),
  )
  return [...Map.groupBy(sourced, ({ notice }) => notice)].map(([notice, [first, ...others]]) => {
    const more = others.length === 0 ? '' : ` and ${others.length} others`
    const why = notice === NOT_COMPARED ? `, ${WHY_NOT}: ${problem}` : ''
    return `${first?.source}${more}: ${notice}${why}`
  })
}

const WHY_NOT = "because the cluster's catalog could not be read (to name another, use --catalog)"
