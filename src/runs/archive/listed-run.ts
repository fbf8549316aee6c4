import type { UsedNumber } from '../card/card-numbers.ts'
import type { SpentTime } from '../time/parts.ts'

/** What an index says about a run. Thousands of them are in one file, so the texts are short. */
export interface ListedRun {
  /** The name of the object Run. */
  readonly name: string
  /** The kind and the name of the workload: `job/lammps`. */
  readonly workload: string
  /** Null if the object Run did not exist when the rows were stored. */
  readonly phase: string | null
  /** When its first container started, in seconds since 1970. */
  readonly started: number | null
  /** How long it took, in seconds. */
  readonly seconds: number | null
  /** Where its time went since the creation of its workload; null if that is not known. */
  readonly time: SpentTime | null
  /** The observed pods of the expected ones. */
  readonly pods: { readonly observed: number; readonly expected: number } | null
  readonly cores: UsedNumber
  /** In bytes: the memory peak of the pod that used the largest part of its memory. */
  readonly memory: UsedNumber
  /** The images of the containers of its pods, each once, at most eight. */
  readonly images: readonly string[]
  /** The first finding; null if there is none. */
  readonly finding: string | null
}

/** A run of an index, and where its files are. */
export interface StoredRun extends ListedRun {
  /** The folder of its rows, below that of the namespace: `date=2026-11-26/run=lammps-e37d7975`. */
  readonly path: string
  /** Whether the folder has the page of the report. */
  readonly hasPage: boolean
}
