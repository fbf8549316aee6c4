import { type Command, Option } from 'commander'
import type { StacksFormat } from '../../src/runs/stacks/show.ts'
import { helpEnd, WORKLOAD_HELP } from '../shared/help.ts'
import { withCluster, withSettings } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

const FORMATS = ['text', 'json'] as const satisfies readonly StacksFormat[]

/** Declares the verb `stacks`. */
export function declareStacks(program: Command, session: Session): void {
  withCluster(withSettings(program.command('stacks')))
    .description('show in which functions the ranks of a run are now, merged into groups')
    .argument('[workload...]', WORKLOAD_HELP)
    .option('-l, --selector <labels>', 'ask the pods with these labels, as in kubectl')
    .option(
      '-n, --namespace <name>',
      "the namespace of the pods (default: the context's namespace)",
    )
    .option('--threads', 'show all threads, and not only the first of each process')
    .option('--all', 'also show processes without a rank, such as launchers and shells')
    .option('--native', 'show native functions, also of threads that run Python')
    .option('--full', 'also show the functions before main and inside of MPI')
    .addOption(
      new Option('-o, --output <format>', 'the output format').choices(FORMATS).default('text'),
    )
    .addHelpText(
      'after',
      [
        '',
        'The stacks need observers of the metric cpu-profile, or of python-profile for',
        'programs in Python. With any other observer, only the calls in which the ranks',
        'sleep are shown. The verb runs a program in the container of an observer, for',
        'which you need the rights to create and get pods/exec.',
      ].join('\n'),
    )
    .addHelpText(
      'after',
      helpEnd({
        no: 'a process has neither a stack nor a known call',
        trouble: 'no pod has answered',
        examples: [
          'stacks job/lammps',
          'stacks minicluster/lammps -n hpc --threads',
          'stacks -l app=lammps -o json',
        ],
      }),
    )
    .action(async (words, options) => {
      const { stacks } = await import('./stacks.ts')
      session.exitCode = await stacks(words, options, session)
    })
}
