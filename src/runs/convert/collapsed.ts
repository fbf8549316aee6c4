import { printable } from '../../core/text/printable.ts'
import { functionsOf, type RankStacks } from './rank-stacks.ts'

/**
 * Yields collapsed stacks, as flamegraph.pl and its relatives read them: one line for each stack,
 * with the rank, the program and the functions from the outermost to the innermost, separated by
 * semicolons, then a blank and a number. The number is the time in microseconds. A whole number is
 * read by all of these programs, and the rows have no smaller unit.
 *
 * The format has no escapes. In the names of ranks and programs, a semicolon becomes a colon, and
 * unprintable characters become escapes.
 */
export function* collapsedParts(stacks: readonly RankStacks[]): Generator<string> {
  for (const { rank, program, tree, seconds } of stacks) {
    const names = tree.names.map(frameName)
    const above = `${frameName(rank)};${frameName(program)}`
    for (const [frame, time] of seconds) {
      const functions = functionsOf(tree, frame).map((number) => names[number] ?? '')
      yield `${[above, ...functions].join(';')} ${Math.round(time * 1e6)}\n`
    }
  }
}

function frameName(name: string): string {
  return printable(name).replaceAll(';', ':')
}
