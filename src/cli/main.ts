#!/usr/bin/env node
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { FORMS } from '../log/transcribe.ts'
import { UNITS } from '../report/data.ts'
import { collect } from './collect.ts'
import { EXIT, sentenceOf, UsageError } from './errors.ts'
import { metrics } from './metrics.ts'
import { report } from './report.ts'
import { OUTPUTS, review } from './review.ts'
import { serve } from './serve.ts'
import { EXCLUDED_NAMESPACES } from './settings.ts'
import { runCases, tapOf } from './test.ts'

const print = (text: string) => {
  process.stdout.write(text)
}
const say = (sentence: string) => {
  process.stderr.write(`ridealong: ${sentence}\n`)
}

/** Builds the command line. Each verb is thin: it hands its options to a function and prints. */
function buildProgram(): Command {
  const program = new Command('ridealong')
    .description('Observers that ride along in pods another operator owns')
    .version(manifest.version)
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
  addServe(program)
  addReview(program)
  addTest(program)
  addMetrics(program)
  addCollect(program)
  addReport(program)
  return program
}

/** The options of every verb that answers as the webhook would. */
function withSettings(command: Command): Command {
  return command
    .option('--catalog <dir>', 'a folder of Metric documents, added to the built-in ones')
    .option('--observer-image <image>', "the image of the built-in metrics' observers")
}

function withNamespaces(command: Command): Command {
  return withSettings(command).addOption(
    new Option(
      '--exclude-namespace <name...>',
      'namespaces that observers are kept out of',
    ).default(EXCLUDED_NAMESPACES),
  )
}

function addServe(program: Command): void {
  withNamespaces(program.command('serve').description('answer the apiserver'))
    .requiredOption('--cert <file>', 'certificate, PEM; followed, so that it can be renewed')
    .requiredOption('--key <file>', "the certificate's private key, PEM")
    .requiredOption(
      '--namespaces <file>',
      'the Namespaces, as kubectl get namespaces -o yaml prints',
    )
    .option('--host <address>', 'address to listen on', '::')
    .option('--port <port>', 'HTTPS, for the apiserver', wholeNumber(0, 65535), 8443)
    .option(
      '--status-port <port>',
      'HTTP: /healthz, /readyz, /metrics',
      wholeNumber(0, 65535),
      8080,
    )
    .option(
      '--drain-quiet <seconds>',
      'close when no call came for so long',
      wholeNumber(0, 600),
      5,
    )
    .option('--drain-limit <seconds>', 'close after so long at the latest', wholeNumber(0, 600), 50)
    .addOption(
      new Option('--log-level <level>', 'the least that is logged')
        .choices(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info'),
    )
    .addHelpText('after', examples('serve --cert tls.crt --key tls.key --namespaces ns.yaml'))
    .action(serve)
}

function addReview(program: Command): void {
  withNamespaces(program.command('review').description('answer recorded AdmissionReviews'))
    .argument('<file...>', 'AdmissionReviews, JSON; - is standard input')
    .option('--namespaces <file>', 'the Namespaces that the pods are created in')
    .addOption(
      new Option('-o, --output <what>', 'what to print').choices(OUTPUTS).default('decision'),
    )
    .addHelpText(
      'after',
      examples(
        'review pod.json',
        'review --output diff --namespaces ns.yaml reviews/*.json',
        'review --output response - < pod.json | jq .response.allowed',
      ),
    )
    .action((files, options) => review(files, options, print))
}

function addTest(program: Command): void {
  withNamespaces(program.command('test').description('compare answers with golden ones'))
    .argument('<dir>', 'a folder of cases: NAME/review.json with NAME/answer.json')
    .option('--namespaces <file>', 'the Namespaces (default: namespaces.yaml in the folder)')
    .option('--update', 'write the answers as the new golden ones')
    .addHelpText('after', examples('test cases', 'test cases --catalog metrics --update'))
    .action(async (dir, options) => {
      const results = await runCases(dir, options)
      print(tapOf(results))
      const isGood = results.every(({ outcome }) => outcome !== 'failed')
      process.exitCode = isGood ? EXIT.ok : EXIT.no
    })
}

function addMetrics(program: Command): void {
  withSettings(program.command('metrics').description('show the catalog'))
    .argument('[name]', 'a metric, to see its options')
    .addOption(
      new Option('-o, --output <form>', 'how to print')
        .choices(['table', 'yaml', 'json'])
        .default('table'),
    )
    .addHelpText('after', examples('metrics', 'metrics perf-sysstat', 'metrics -o json'))
    .action(async (name, options) => print(await metrics(name, options)))
}

function addCollect(program: Command): void {
  program
    .command('collect')
    .description("bring together the observers' logs of a workload")
    .argument('[workload]', 'KIND/NAME: a Job, MiniCluster, JobSet, MPIJob or Pod')
    .option('-l, --selector <labels>', 'the pods with these labels, instead of a workload')
    .option('-n, --namespace <name>', "the namespace (default: the context's)")
    .option('--kubeconfig <file>', 'how to reach the cluster (default: as kubectl finds it)')
    .option('--context <name>', 'a context of the kubeconfig')
    .option('-f, --follow', 'stay until the observers have ended')
    .addOption(new Option('-o, --output <form>', 'the form').choices(FORMS).default('jsonl'))
    .option('--to <path>', 'a file, or a folder for a file of each log (default: standard output)')
    .option('--parallel <logs>', 'logs to read at a time', wholeNumber(1, 1000), 16)
    .option('--catalog <dir>', 'a folder of Metric documents, added to the built-in ones')
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
      process.exitCode = await collect(workload, options, say)
    })
}

function addReport(program: Command): void {
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
    .action((files, options) => report(files, options, print))
}

function examples(...lines: readonly string[]): string {
  return ['', 'Examples:', ...lines.map((line) => `  $ ridealong ${line}`)].join('\n')
}

function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
    if (value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`)
  }
}

try {
  await buildProgram().parseAsync()
} catch (error) {
  process.exitCode = EXIT.trouble
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.trouble
  else if (error instanceof UsageError) process.stderr.write(`ridealong: ${error.message}\n`)
  else process.stderr.write(`ridealong: a defect of ours: ${sentenceOf(error)}\n`)
}
