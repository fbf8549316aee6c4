import { basename } from 'node:path'

/** kubectl runs it for `kubectl ridealong` (kubectl pkg/cmd/cmd.go, DefaultPluginHandler). */
const PLUGIN = /^kubectl-ridealong$/

/**
 * What a person has called the program by, for its help.
 *
 * @param path of the program, before any link is followed: process.argv[1]
 */
export function programName(path = ''): string {
  return PLUGIN.test(basename(path)) ? 'kubectl ridealong' : 'ridealong'
}
