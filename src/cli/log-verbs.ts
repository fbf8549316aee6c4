import { type Command, Option } from 'commander'
import type { LogFormat } from '../log/transcribe.ts'
import type { Unit } from '../report/data.ts'
import { examples, wholeNumber } from './shared/options.ts'
import { print, say } from './shared/output.ts'

const FORMS = ['jsonl', 'csv', 'logs'] as const satisfies readonly LogFormat[]
const UNITS = ['auto', 'process', 'program'] as const satisfies readonly Unit[]

/** Declares the verb `collect`. */
export function addCollect(program: Command): void {
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
      const { collect } = await import('./collect/collect.ts')
      process.exitCode = await collect(workload, options, say)
    })
}

/** Declares the verb `report`. */
export function addReport(program: Command): void {
  program
    .command('report')
    .description('make one HTML page of collected logs, which works offline and prints')
    .argument('<file...>', 'what collect wrote (jsonl), or logs of observers; - is standard input')
    .option('--to <file>', 'the page (default: standard output)')
    .option('--title <text>', 'the title of the page')
    .addOption(new Option('--by <unit>', 'a line of the plots').choices(UNITS).default('auto'))
    .addHelpText(
      'after',
      examples(
        'report lammps.jsonl --to lammps.html',
        'report logs/*.log --title "LAMMPS on 64 nodes" --to lammps.html',
        'report - < perf-sysstat.log > page.html',
      ),
    )
    .action(async (files, options) =>
      (await import('./report/report.ts')).report(files, options, print),
    )
}
