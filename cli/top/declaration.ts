import { type Command, Option } from 'commander'
import type { LineUnit } from '../../src/runs/top/ranks.ts'
import { type HelpEnd, helpEnd, WORKLOAD_HELP } from '../shared/help.ts'
import { wholeNumber, withCluster, withSettings } from '../shared/options.ts'
import type { TopFormat } from './top-options.ts'

const UNITS = ['rank', 'program'] as const satisfies readonly LineUnit[]
const FORMATS = ['table', 'json', 'csv'] as const satisfies readonly TopFormat[]

/** Declares the verb `top`. */
export function declareTop(program: Command): void {
  const command = withCluster(withSettings(program.command('top')))
    .description('show the ranks of a run while it runs, and what delays them')
    .argument('[workload]', WORKLOAD_HELP)
    .option('-l, --selector <labels>', 'show the pods with these labels, as in kubectl')
    .option(
      '-n, --namespace <name>',
      "the namespace of the pods (default: the context's namespace)",
    )
    .option('--context <name>', 'the context of the kubeconfig to use')
  withTable(command)
    .addHelpText('after', helpEnd(HELP_END))
    .action(async (workload, options) => {
      const { top } = await import('./top.ts')
      const code = await top(workload, options)
      // When the user quits the interactive table, requests to the apiserver may still be open.
      if (options.once) process.exitCode = code
      else process.exit(code)
    })
}

/** Adds the options for the lines and columns of the table, and for its output. */
function withTable(command: Command): Command {
  return command
    .option('--column <name...>', 'more measured columns of the catalog to show')
    .option('--sort <column>', 'the column to sort by at first (default: the wait for a CPU)')
    .addOption(
      new Option('--by <unit>', 'show one line for each rank or for each program of a rank')
        .choices(UNITS)
        .default('rank'),
    )
    .option('--once', 'print one table and exit, for scripts')
    .addOption(
      new Option('-o, --output <format>', 'the output format of --once')
        .choices(FORMATS)
        .default('table'),
    )
    .option(
      '--parallel <number>',
      'the most logs to follow at a time',
      wholeNumber(1, 10_000),
      2000,
    )
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
  ],
}
