/** A thread of an answer: the names of its functions, or why there are none. */
export interface ThreadShape {
  readonly id?: number
  readonly stack?: readonly string[]
  /** The functions of Python. */
  readonly python?: readonly string[]
  readonly call?: string
  readonly state?: string
  readonly why?: string
  readonly cut?: boolean
}

export interface ProcessShape {
  readonly pid: number
  readonly parent?: number
  readonly program?: string
  readonly rank?: number
  readonly threads: readonly ThreadShape[]
}

/** Returns the output of the observer's command `stacks` for these processes. */
export function answerOf(processes: readonly ProcessShape[]): string {
  const names = [
    ...new Set(
      processes.flatMap(({ threads }) =>
        threads.flatMap(({ stack = [], python = [] }) => [...stack, ...python]),
      ),
    ),
  ]
  const numbersOf = (stack: readonly string[]) => stack.map((name) => names.indexOf(name))
  const lines = processes.map(({ pid, parent = null, program = 'lmp', rank = null, threads }) => ({
    ...{ pid, parent, program, container: 'app', rank, threads_left_out: 0 },
    threads: threads.map(
      ({ id = pid, stack, python, call = null, state = 'sleeps', why, cut }) => ({
        ...{ id, name: program, state, call },
        ...(python === undefined ? {} : { python: numbersOf(python), python_cut: false }),
        ...(stack === undefined
          ? { why: why ?? 'a signal would end this call, so the thread was not asked' }
          : { frames: numbersOf(stack), cut: cut ?? false }),
      }),
    ),
  }))
  const functions = names.map((name) => [name, name.startsWith('MPI_') ? 'libmpi.so.40' : 'lmp'])
  return [{ stacks: 1, functions }, ...lines, { end: true, processes_left_out: 0 }]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('')
}
