import { type Command, Option } from 'commander'
import { RUN_ORDERS } from '../../src/runs/card/run-table.ts'
import { type HelpEnd, helpEnd } from '../shared/help.ts'
import { duration, withCluster } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'
import type { RunsFormat } from './runs.ts'

const FORMATS = ['text', 'wide', 'json', 'yaml'] as const satisfies readonly RunsFormat[]

/** Declares the verb `runs`. */
export function declareRuns(program: Command, session: Session): void {
  withCluster(program.command('runs'))
    .description('list the runs of observed pods, and what they used of what they requested')
    .argument('[workload...]', 'show the cards of these runs: KIND/NAME, or NAME')
    .option('--advice', 'print advised requests and limits of these runs, as parts of manifests')
    .option('-l, --selector <labels>', 'list only pods with these labels, as in kubectl')
    .option(
      '-n, --namespace <name>',
      "the namespace of the pods (default: the context's namespace)",
    )
    .option('-A, --all-namespaces', 'list the runs of all namespaces')
    .option('--since <time>', 'list only runs that started in this time, such as 24h', duration)
    .addOption(
      new Option('--sort <column>', 'the column to sort by').choices(RUN_ORDERS).default('started'),
    )
    .addOption(
      new Option('-o, --output <format>', 'the output format').choices(FORMATS).default('text'),
    )
    .addHelpText('after', helpEnd(HELP_END))
    .action(async (names, options) => {
      const { runs } = await import('./runs.ts')
      const { output, code } = await runs(names, options, session)
      session.print(output)
      session.exitCode = code
    })
}

const HELP_END: HelpEnd = {
  no: 'there are no runs, or advice is refused',
  examples: [
    'runs',
    'runs -A --since 24h --sort cores',
    'runs job/lammps -n hpc',
    'runs job/nightly-1 job/nightly-2 --advice',
    'runs -l team=chemistry -o json',
  ],
}
