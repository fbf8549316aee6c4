import { basename } from 'node:path'

/** The name of the program that kubectl runs for `kubectl ridealong` (kubectl pkg/cmd/cmd.go). */
const PLUGIN = 'kubectl-ridealong'

/**
 * The name of the program that kubectl runs to complete `kubectl ridealong` (kubectl
 * pkg/cmd/plugin/plugin_completion.go).
 */
const PLUGIN_COMPLETION = 'kubectl_complete-ridealong'

/** The first argument with which the completion scripts of the shells call the program. */
const COMPLETE = '__complete'

/**
 * Returns the name by which the user called the program, for its help.
 *
 * @param path the path of the program, before any link is followed
 */
export function programName(path: string): string {
  return basename(path) === PLUGIN ? 'kubectl ridealong' : 'ridealong'
}

/**
 * Returns the words to complete if a shell or kubectl called the program for completion, otherwise
 * undefined.
 *
 * @param path the path of the program, before any link is followed
 */
export function wordsToComplete(
  path: string,
  [first, ...words]: readonly string[],
): readonly string[] | undefined {
  if (basename(path) === PLUGIN_COMPLETION) return first === undefined ? [] : [first, ...words]
  return first === COMPLETE ? words : undefined
}
