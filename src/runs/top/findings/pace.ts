/** The least milliseconds between two turns, and their length compared with that of a turn. */
const MIN_MS = 1000
const LONGER = 20
/** The milliseconds from which a turn is long, so that nothing else should be done with it. */
const LONG_MS = 50

/**
 * Returns a function that does something now and then: after a turn, it does nothing for at least a
 * second, and for 20 times as long as the turn took. It returns whether it took a long turn.
 *
 * @param clock returns the time in milliseconds; undefined for a turn with every call
 */
export function createPace(clock: (() => number) | undefined): (turn: () => boolean) => boolean {
  let next = Number.NEGATIVE_INFINITY
  return (turn) => {
    if (clock === undefined) {
      turn()
      return false
    }
    const began = clock()
    if (began < next || !turn()) return false
    const ended = clock()
    next = ended + Math.max(MIN_MS, LONGER * (ended - began))
    return ended - began >= LONG_MS
  }
}
