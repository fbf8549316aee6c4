import { type Command, Option } from 'commander'
import type { LogFormat } from '../../src/runs/log/transcribe.ts'
import { helpEnd, WORKLOAD_HELP } from '../shared/help.ts'
import { wholeNumber, withCluster, withSettings } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

const FORMS = ['jsonl', 'csv', 'logs', 'artifacts'] as const satisfies readonly LogFormat[]

/** Declares the verb `collect`. */
export function declareCollect(program: Command, session: Session): void {
  withCluster(withSettings(program.command('collect')))
    .description('collect the logs of all observers of a workload')
    .argument('[workload...]', WORKLOAD_HELP)
    .option('-l, --selector <labels>', 'collect from pods with these labels, as in kubectl')
    .option(
      '-n, --namespace <name>',
      "the namespace of the pods (default: the context's namespace)",
    )
    .option('-f, --follow', 'collect until all observers have ended')
    .addOption(
      new Option(
        '-o, --output <format>',
        'the output format; "logs" keeps the logs unchanged, "artifacts" writes raw files of tools',
      )
        .choices(FORMS)
        .default('jsonl'),
    )
    .option('--to <path>', 'a file, or a folder for one file per log (default: standard output)')
    .option('--parallel <number>', 'the number of logs to read at a time', wholeNumber(1, 1000), 8)
    .addHelpText(
      'after',
      helpEnd({
        ok: 'all logs were collected',
        no: 'a log or a raw file, or a part of one, is missing',
        trouble: 'nothing was collected',
        examples: [
          'collect job/lammps --to lammps.jsonl',
          'collect minicluster/lammps -n hpc --follow --to lammps.jsonl',
          'collect -l app=train -o csv > train.csv',
          'collect jobset/train -o logs --to logs/',
          'collect job/lammps -o artifacts --to profiles/',
        ],
      }),
    )
    .action(async (words, options) => {
      session.keepHeapSmall()
      const { collect } = await import('./collect.ts')
      session.exitCode = await collect(words, options, session)
    })
}
