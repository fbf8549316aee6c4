import { type Command, Option } from 'commander'
import type { LogFormat } from '../../log/transcribe.ts'
import { examples, wholeNumber } from '../shared/options.ts'
import { say } from '../shared/output.ts'

const FORMS = ['jsonl', 'csv', 'logs'] as const satisfies readonly LogFormat[]

/** Declares the verb `collect`. */
export function declareCollect(program: Command): void {
  program
    .command('collect')
    .description("bring together the observers' logs of a workload")
    .argument('[workload]', 'KIND/NAME: a Job, MiniCluster, JobSet, MPIJob or Pod')
    .option('-l, --selector <labels>', 'the pods with these labels, instead of a workload')
    .option('-n, --namespace <name>', "the namespace (default: the context's)")
    .option('--kubeconfig <file>', 'how to reach the cluster (default: as kubectl finds it)')
    .option('--context <name>', 'a context of the kubeconfig')
    .option('-f, --follow', 'stay until the observers have ended')
    .addOption(
      new Option('-o, --output <form>', 'the form; logs are unchanged, but printable on a terminal')
        .choices(FORMS)
        .default('jsonl'),
    )
    .option('--to <path>', 'a file, or a folder for a file of each log (default: standard output)')
    .option('--parallel <logs>', 'logs to read at a time', wholeNumber(1, 1000), 16)
    .option('--catalog <dir>', 'a folder of Metric documents, added to the built-in ones')
    .option('--observer-image <image>', "the image of the built-in metrics' observers")
    .addHelpText(
      'after',
      examples(
        'collect job/lammps --to lammps.jsonl',
        'collect minicluster/lammps -n hpc --follow --to lammps.jsonl',
        'collect -l app=train -o csv > train.csv',
        'collect jobset/train -o logs --to logs/',
      ),
    )
    .action(async (workload, options) => {
      const { collect } = await import('./collect.ts')
      process.exitCode = await collect(workload, options, say)
    })
}
