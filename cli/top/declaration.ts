import { type Command, InvalidArgumentError, Option } from 'commander'
import type { LineUnit } from '../../src/runs/top/pods.ts'
import { type HelpEnd, helpEnd, RUN_HELP } from '../shared/help.ts'
import { wholeNumber, withRuns } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'
import type { TopFormat } from './top-options.ts'

const UNITS = ['pod', 'program'] as const satisfies readonly LineUnit[]
const FORMATS = ['table', 'json', 'csv'] as const satisfies readonly TopFormat[]

/** Declares the verb `top`. */
export function declareTop(program: Command, session: Session): void {
  const command = withRuns(program.command('top'))
    .description(
      'show how a run goes, its pods and what delays them, while it runs or from recorded logs',
    )
    .argument('[run...]', RUN_HELP)
    .option('-l, --selector <labels>', 'show the pods with these labels, as in kubectl')
  withTable(command)
    .addHelpText('after', helpEnd(HELP_END))
    .action(async (words, options) => {
      const { top } = await import('./top.ts')
      session.exitCode = await top(words, options, session)
    })
}

/** Adds the options for the lines and columns of the table, and for its output. */
function withTable(command: Command): Command {
  return command
    .option('--column <name...>', 'more measured columns of the catalog to show')
    .option('--sort <column>', 'the column to sort by at first (default: the wait for a CPU)')
    .addOption(
      new Option('--by <unit>', 'show one line for each pod or for each program of a pod')
        .choices(UNITS)
        .default('pod'),
    )
    .option('--once', 'print one table and exit, for scripts')
    .addOption(
      new Option('-o, --output <format>', 'the output format of --once, or of recorded logs')
        .choices(FORMATS)
        .default('table'),
    )
    .option(
      '--parallel <number>',
      'the most logs to follow at a time',
      wholeNumber(1, 10_000),
      2000,
    )
    .option(
      '--speed <factor>',
      'how many times as fast as the run recorded logs are shown (default: two timepoints a ' +
        'second, and two minutes in all at most)',
      positiveNumber,
    )
}

function positiveNumber(text: string): number {
  const value = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : 0
  if (value > 0) return value
  throw new InvalidArgumentError('It must be a number above 0, such as 10 or 0.5.')
}

const HELP_END: HelpEnd = {
  ok: 'the user quit, or all logs were read',
  no: 'with --once: a log cannot be read',
  trouble: 'no log can be read',
  examples: [
    'top job/lammps',
    'top minicluster/lammps -n hpc --by program',
    'top job/lammps --column percent_wait majflt_s --sort majflt_s',
    'top job/lammps --once -o json',
    'top lammps.jsonl',
    'top logs/ --speed 10',
    'top lammps.jsonl -o json | jq .verdict',
  ],
}
