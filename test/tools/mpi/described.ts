import { readFileSync } from 'node:fs'

const SOURCE = readFileSync(new URL('../../../observer/mpi/calls.h', import.meta.url), 'utf8')

/** A function of MPI that the recorder describes. */
export interface Described {
  /** The name without MPI_. */
  readonly name: string
  /** The name of the function for Fortran, without mpi_ and the underscore; null if none. */
  readonly fortran: string | null
}

/** The functions of MPI that observer/mpi/calls.h describes, with their large-count forms. */
export const DESCRIBED: readonly Described[] = [
  ...SOURCE.matchAll(/^CALL(_C|_L)?\((\w+), (\w+),/gm),
].flatMap(([, kind, name = '', lower = '']) => {
  const small = { name, fortran: kind === '_C' ? null : lower }
  return kind === '_L' ? [small, { name: `${name}_c`, fortran: null }] : [small]
})
