import { basename } from 'node:path'

/**
 * Matches the program that kubectl runs for `kubectl ridealong` (kubectl pkg/cmd/cmd.go,
 * DefaultPluginHandler).
 */
const PLUGIN = /^kubectl-ridealong$/

/**
 * Returns the name by which the user called the program, for its help.
 *
 * @param path the path of the program, before any link is followed: process.argv[1]
 */
export function programName(path = ''): string {
  return PLUGIN.test(basename(path)) ? 'kubectl ridealong' : 'ridealong'
}
