/** The least milliseconds between two turns, and their length compared with that of a turn. */
const LEAST_MS = 1000
const LONGER = 20

/**
 * Returns a function that does something now and then: after a turn, it does nothing for at least a
 * second, and for 20 times as long as the turn took.
 *
 * @param clock returns the time in milliseconds; undefined for a turn with every call
 */
export function createPace(clock: (() => number) | undefined): (turn: () => boolean) => void {
  let next = Number.NEGATIVE_INFINITY
  return (turn) => {
    if (clock === undefined) {
      turn()
      return
    }
    const began = clock()
    if (began < next || !turn()) return
    const ended = clock()
    next = ended + Math.max(LEAST_MS, LONGER * (ended - began))
  }
}
