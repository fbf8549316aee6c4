/** A sample of an instant vector. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: number
}

/** Returns the path and the parameters of a request that evaluates an expression now. */
export function queryPath(expression: string): string {
  return `/api/v1/query?${new URLSearchParams({ query: expression })}`
}

/**
 * Reads the answer of Prometheus to such a request.
 *
 * @throws if Prometheus refused the expression
 */
export function samplesIn(answer: unknown, expression: string): readonly Sample[] {
  const { status, error, data } = answer as Answer
  if (status !== 'success' || data === undefined) throw new Error(`${expression}: ${error}`)
  return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
}

interface Answer {
  readonly status: string
  readonly error?: string
  readonly data?: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>
      readonly value: readonly [number, string]
    }[]
  }
}
