import { chooseRun } from '../report/assess.ts'
import type { CollectedRun } from '../report/gather.ts'
import { lossNotices } from '../report/notices.ts'
import type { OneFileFormat } from './format-names.ts'
import { CONVERSIONS } from './formats.ts'
import { incompleteNotices } from './stacks-of-pods.ts'

/** A converted run. */
export interface ConvertedRun {
  /** The parts of the file, each of which is made when those before it are written. */
  readonly parts: Iterable<string | Uint8Array>
  /** The notices about rows that are missing in the file, one sentence or two each. */
  readonly notices: readonly string[]
}

/**
 * Converts a run. Of several observers that have measured the same, only one is used, as in the
 * report.
 *
 * @param program the name and the version of the converting program
 * @throws NothingToConvert if the run has no rows that the format could show
 */
export function convertRun(
  collected: CollectedRun,
  format: OneFileFormat,
  program: string,
): ConvertedRun {
  const chosen = chooseRun(collected)
  const parts = CONVERSIONS[format](chosen, program)
  const notices = [...lossNotices(chosen.run), ...incompleteNotices(chosen)]
  return { parts, notices }
}
