/** A value of a column with its time. */
export interface Point {
  /** Seconds since the first timepoint of the log. */
  readonly seconds: number
  readonly value: number
}

/** The most values of a series that are kept, evenly spread over the run. */
const MAX_POINTS = 128

/** Values over time of which only some are kept, so that a long run needs no more memory. */
export class Series {
  #points: Point[] = []
  #step = 1
  #count = 0

  /** Keeps every value, or after `MAX_POINTS` values every second one, and so on. */
  add(point: Point): void {
    if (this.#count % this.#step === 0) this.#points.push(point)
    this.#count += 1
    if (this.#points.length < MAX_POINTS) return
    this.#points = this.#points.filter((_, index) => index % 2 === 0)
    this.#step *= 2
  }

  get points(): readonly Point[] {
    return this.#points
  }
}
