import { existsSync } from 'node:fs'
import { didYouMean } from '../../src/core/text/similar.ts'
import { joinNames, readWorkload, STORED_RUN } from '../../src/runs/collect/workload.ts'
import { KIND_WORDS } from '../../src/runs/collect/workload-kinds.ts'
import { UsageError } from '../shared/errors.ts'
import { STANDARD_INPUT } from '../shared/run-input.ts'

/** A run, or a part of one, that the user has named. */
export interface NamedRun {
  /** A workload of the cluster, a run that an archive has stored, or a file or folder. */
  readonly from: 'cluster' | 'storage' | 'files'
  /** KIND/NAME, run/NAME or a path; `STANDARD_INPUT` for standard input. */
  readonly name: string
}

/**
 * Finds out what words name: KIND/NAME or KIND NAME, run/NAME, files and folders. A file or folder
 * precedes a workload and a stored run of the same name.
 *
 * @throws UsageError if a word is nothing of this
 */
export function readRunNames(words: readonly string[]): readonly NamedRun[] {
  return joinNames(words, existsSync).map(readRunName)
}

/** @throws UsageError if there are several runs, of which a workload or a stored run is one */
export function mustBeOneRun(runs: readonly NamedRun[], verb: string): void {
  const several = runs.length > 1 && runs.some(({ from }) => from !== 'files')
  if (!several) return
  const [first] = runs
  throw new UsageError(
    `${verb} shows one run at a time, for example ${first?.name}; compare shows several`,
  )
}

function readRunName(name: string): NamedRun {
  if (name === STANDARD_INPUT || existsSync(name)) return { from: 'files', name }
  const [kind = '', ...others] = name.split('/')
  const isPair = others.length === 1 && others[0] !== ''
  if (isPair && kind === STORED_RUN) return { from: 'storage', name }
  if (isPair && !('problem' in readWorkload(name))) return { from: 'cluster', name }
  const meant = others.length > 1 ? '' : didYouMean(kind.toLowerCase(), KIND_WORDS)
  throw new UsageError(
    `there is no file or folder ${name}${meant}; a run of the cluster is KIND/NAME, such as ` +
      'job/lammps, and one of an archive is run/NAME',
  )
}
