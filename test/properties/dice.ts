/**
 * Makes choices that a list of random numbers determines. After the last number of the list, the
 * first choice is always made.
 */
export class Dice {
  readonly #throws: readonly number[]
  #at = 0

  constructor(throws: readonly number[]) {
    this.#throws = throws
  }

  number(below: number): number {
    const thrown = this.#throws[this.#at] ?? 0
    this.#at += 1
    return thrown % below
  }

  pick<const T extends readonly unknown[]>(...choices: T): T[number] {
    return choices[this.number(choices.length)]
  }

  /** Returns one of the choices in one of `oneIn` cases, and undefined in the others. */
  seldom<T extends readonly unknown[]>(oneIn: number, ...choices: T): T[number] | undefined {
    return this.number(oneIn) === oneIn - 1 ? this.pick(...choices) : undefined
  }
}
