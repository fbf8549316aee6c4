/** An event of a trace, of which nothing is known yet. */
export type UncheckedEvent = Readonly<Record<string, unknown>>

const METADATA: Readonly<Record<string, string>> = {
  process_name: 'name',
  process_labels: 'labels',
  process_sort_index: 'sort_index',
  thread_name: 'name',
}

/**
 * Returns what is wrong with the events of a trace, by the rules of the Trace Event Format (Google
 * document 1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), for complete events, counters and
 * metadata: the fields of each event, in microseconds; that complete events of a thread do not
 * overlap; and that Perfetto can tell the threads apart, which it does by `tid` alone.
 */
export function problemsOf(events: readonly UncheckedEvent[]): readonly string[] {
  const wrong = events.flatMap((event) => {
    const problem = problemOf(event)
    return problem === undefined ? [] : `${problem}: ${JSON.stringify(event)}`
  })
  return [...wrong, ...unnamed(events), ...sharedThreads(events), ...overlaps(events)]
}

/** The fields that an event of each phase must have. */
const RULES: Readonly<Record<string, (event: UncheckedEvent, args: object) => boolean>> = {
  M: ({ name }, args) => (METADATA[String(name)] ?? 'no such metadata') in args,
  C: ({ ts }, args) => isCount(ts) && areNumbers(args),
  X: ({ ts, dur, tid }) => [ts, dur, tid].every(isCount),
}

function problemOf(event: UncheckedEvent): string | undefined {
  const { name, ph, pid, args } = event
  if (typeof name !== 'string' || name === '') return 'no name'
  if (!isCount(pid) || pid === 0) return 'wrong pid'
  if (typeof args !== 'object' || args === null) return 'no args'
  return RULES[String(ph)]?.(event, args) === true ? undefined : 'wrong fields'
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function areNumbers(args: object): boolean {
  const values = Object.values(args)
  return values.length > 0 && values.every(Number.isFinite)
}

function unnamed(events: readonly UncheckedEvent[]): readonly string[] {
  const named = events.flatMap(({ name, pid }) => (name === 'process_name' ? pid : []))
  const twice = named.length === new Set(named).size ? [] : ['a process has two names']
  const pids = new Set(events.map(({ pid }) => pid))
  return [...twice, ...[...pids].flatMap((pid) => (named.includes(pid) ? [] : `no name: ${pid}`))]
}

function sharedThreads(events: readonly UncheckedEvent[]): readonly string[] {
  const threads = new Map<unknown, unknown>()
  return events.flatMap(({ tid, pid }) => {
    if (tid === undefined) return []
    const first = threads.get(tid) ?? pid
    threads.set(tid, first)
    return first === pid ? [] : `the thread ${tid} is in two processes`
  })
}

function overlaps(events: readonly UncheckedEvent[]): readonly string[] {
  const ends = new Map<unknown, number>()
  return events.flatMap(({ ph, tid, ts, dur }) => {
    if (ph !== 'X') return []
    const before = ends.get(tid) ?? 0
    ends.set(tid, Number(ts) + Number(dur))
    return Number(ts) < before ? [`complete events of the thread ${tid} overlap at ${ts}`] : []
  })
}
