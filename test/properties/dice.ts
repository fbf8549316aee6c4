/** Choices at random, and the first of each as soon as nothing is left to throw. */
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

  pick<T extends readonly unknown[]>(...choices: T): T[number] {
    return choices[this.number(choices.length)]
  }

  /** Nothing most of the time: once in so many, one of the choices. */
  seldom<T extends readonly unknown[]>(oneIn: number, ...choices: T): T[number] | undefined {
    return this.number(oneIn) === oneIn - 1 ? this.pick(...choices) : undefined
  }
}
