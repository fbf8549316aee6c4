import type { MissedPods } from '../../src/pods/manifest/missed-pods.ts'
import { EXIT, type ExitCode } from './errors.ts'
import type { Session } from './session.ts'

/** The result of a verb that edits manifests, and a note for each object that it did not change. */
export interface ManifestOutput {
  readonly output: string
  readonly notes: readonly string[]
  readonly exitCode: ExitCode
}

/**
 * Returns the exit code of a verb that changes or explains the pods of manifests: 1 if it has
 * missed pods.
 *
 * @param isAnyLeft whether an object of a known kind has no field that the verb can use
 * @param isStrict whether these objects, and objects of unknown kinds, count as missed
 */
export function exitCodeFor(
  { isAnyMissed, isAnyUnknown }: MissedPods,
  isAnyLeft: boolean,
  isStrict = false,
): ExitCode {
  return isAnyMissed || (isStrict && (isAnyUnknown || isAnyLeft)) ? EXIT.no : EXIT.ok
}

/**
 * Prints the documents to standard output and the notes to standard error, since the documents may
 * be piped to kubectl.
 */
export function printManifests(
  { output, notes, exitCode }: ManifestOutput,
  session: Session,
): void {
  for (const note of notes) session.say(note)
  session.print({ document: output })
  session.exitCode = exitCode
}
