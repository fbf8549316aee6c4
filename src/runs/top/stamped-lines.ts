/** The lines of a log that is read over several connections, one after another. */
export interface StampedLines {
  /** Prepares for a new connection, whose first lines may have been read already. */
  readonly begin: () => void
  /** Reads a part of the log and calls `take` for each line that is complete and new. */
  readonly push: (text: string, take: TakeLine) => void
  /**
   * The time from which the next connection must read; undefined before the first line. It is in
   * whole seconds, because older versions of Kubernetes drop the fraction (`sinceTime`, metav1.Time
   * in staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/time.go).
   */
  readonly since: () => string | undefined
}

/** @param at when the line was written, in milliseconds since 1970; NaN if it is not known */
export type TakeLine = (line: string, at: number) => void

/**
 * The most characters of a line. An observer does not write longer lines, so they are dropped, as
 * in the live export (observer/crates/otlp/src/lines.rs).
 */
const MAX_LENGTH = 2 ** 20

/**
 * The time that the kubelet writes before each line: RFC 3339 with nanoseconds, and a blank
 * (kubernetes staging/src/k8s.io/cri-client/pkg/logs/logs.go).
 */
const STAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) /

/** A time as whole seconds and the nanoseconds after them. */
interface Stamp {
  readonly seconds: number
  readonly nanoseconds: number
}

interface LinesState {
  rest: string
  isTooLong: boolean
  /** The time of the last line that was taken, as it was written. */
  last: string
  /** How many lines with the last time were taken. */
  sameTaken: number
  /** Whether lines are compared with the last one, because the connection is new. */
  isReplay: boolean
  /** How many lines with the last time the new connection has sent. */
  sameSeen: number
}

/**
 * Reads the lines of a log that the kubelet writes with the time of each line. A connection begins
 * at a whole second, so its first lines repeat earlier ones, which are recognized by their time.
 */
export function readStampedLines(): StampedLines {
  const state: LinesState = {
    rest: '',
    isTooLong: false,
    last: '',
    sameTaken: 0,
    isReplay: false,
    sameSeen: 0,
  }
  return {
    begin: () => {
      state.rest = ''
      state.isTooLong = false
      state.isReplay = state.last !== ''
      state.sameSeen = 0
    },
    push: (text, take) => pushText(state, text, take),
    since: () => {
      const stamp = parseStamp(state.last)
      if (stamp === undefined) return undefined
      return new Date(stamp.seconds * 1000).toISOString().replace('.000Z', 'Z')
    },
  }
}

function pushText(state: LinesState, text: string, take: TakeLine): void {
  let from = 0
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
    const line = `${state.rest}${text.slice(from, end)}`
    from = end + 1
    state.rest = ''
    if (!state.isTooLong) pushLine(state, line, take)
    state.isTooLong = false
  }
  state.rest += text.slice(from)
  if (state.rest.length <= MAX_LENGTH) return
  state.rest = ''
  state.isTooLong = true
}

function pushLine(state: LinesState, line: string, take: TakeLine): void {
  const end = line.indexOf(' ') + 1
  const stamp = end > 0 && STAMP.test(line.slice(0, end)) ? line.slice(0, end) : ''
  if (state.isReplay && isKnown(state, stamp)) return
  state.isReplay = false
  state.sameTaken = stamp === state.last ? state.sameTaken + 1 : 1
  if (stamp !== '') state.last = stamp
  take(stamp === '' ? line : line.slice(end), stamp === '' ? Number.NaN : Date.parse(stamp.trim()))
}

/**
 * Reports whether a line of a new connection was already taken. The kubelet stores a long line in
 * parts. If a connection begins at a second between two parts, the rest of the line has no time,
 * and counts as already taken.
 */
function isKnown(state: LinesState, stamp: string): boolean {
  const [own, last] = [parseStamp(stamp), parseStamp(state.last)]
  if (own === undefined || last === undefined) return true
  const order = own.seconds - last.seconds || own.nanoseconds - last.nanoseconds
  if (order !== 0) return order < 0
  state.sameSeen += 1
  return state.sameSeen <= state.sameTaken
}

function parseStamp(text: string): Stamp | undefined {
  const [, time, fraction = '', zone] = STAMP.exec(text) ?? []
  if (time === undefined) return undefined
  const seconds = Date.parse(`${time}${zone}`) / 1000
  return { seconds, nanoseconds: Number(fraction.padEnd(9, '0')) }
}
