import { type Command, InvalidArgumentError, Option } from 'commander'
import { helpEnd } from '../shared/help.ts'
import { withFollow, withRuns } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'
import { COMPARISON_FORMATS } from './formats.ts'

const EXAMPLES = [
  'compare job/lammps-before job/lammps-after -n hpc',
  'compare before.jsonl after.jsonl',
  'compare before-*.jsonl vs after-*.jsonl',
  'compare before-*.jsonl vs after-*.jsonl --fail-above 5%',
  'compare ranks-1.jsonl ranks-2.jsonl ranks-4.jsonl',
  'compare before-*.jsonl vs after-*.jsonl -o html --to page.html',
  'compare run/train-0b1f2c44 run/train-9c2d01aa --rows /rows',
  "compare before/ after/ -o json | jq '.comparisons[].headline'",
]

/** Declares the verb `compare`. */
export function declareCompare(program: Command, session: Session): void {
  withFollow(withRuns(program.command('compare')))
    .description('show runs side by side: their times, and why one of them is slower')
    .argument(
      '<run...>',
      'KIND/NAME of the cluster, a file or folder with the logs of a run, or run/NAME. Each is a ' +
        'side of its own, or the sides are separated by the word vs: run... vs run...',
    )
    .addOption(
      new Option('-o, --output <format>', 'the output format; html is a page')
        .choices(COMPARISON_FORMATS)
        .default('text'),
    )
    .option('--to <file>', 'the file to write (default: standard output)')
    .option('--title <text>', 'the title of the page')
    .addOption(
      new Option(
        '--fail-above <percent>',
        'exit with 1 if a side is slower than the first one by more than this, such as 5%',
      ).argParser(percentage),
    )
    .addHelpText(
      'after',
      helpEnd({
        ok: 'the runs were compared',
        no: 'a side did not finish, or is slower (--fail-above), or a log is missing',
        trouble: 'nothing can be compared',
        examples: EXAMPLES,
      }),
    )
    .action(async (paths, options) => {
      session.keepHeapSmall()
      const { compare } = await import('./compare.ts')
      session.exitCode = await compare(paths, options, session)
    })
}

/** Parses a percentage, such as 5% or 2.5, into a part of the whole. */
function percentage(text: string): number {
  const [, digits] = /^(\d{1,4}(?:\.\d{1,3})?) ?%?$/.exec(text) ?? []
  if (digits !== undefined) return Number(digits) / 100
  throw new InvalidArgumentError('It must be a percentage, for example 5% or 2.5%.')
}
