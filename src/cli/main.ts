#!/usr/bin/env node
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { EXIT, sentenceOf, UsageError } from './errors.ts'
import { metrics } from './metrics.ts'
import { OUTPUTS, review } from './review.ts'
import { serve } from './serve.ts'
import { EXCLUDED_NAMESPACES } from './settings.ts'
import { runCases, tapOf } from './test.ts'

const print = (text: string) => {
  process.stdout.write(text)
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
  addDoctor(program)
  addDisarm(program)
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

function withCluster(command: Command): Command {
  return command.option(
    '--kubeconfig <file>',
    'the cluster (default: KUBECONFIG, else the one around this pod)',
  )
}

function addServe(program: Command): void {
  withCluster(withNamespaces(program.command('serve').description('answer the apiserver')))
    .requiredOption('--cert <file>', 'certificate, PEM; followed, so that it can be renewed')
    .requiredOption('--key <file>', "the certificate's private key, PEM")
    .addOption(
      new Option(
        '--namespaces <file>',
        'instead of a cluster: Namespaces, LimitRanges, ResourceQuotas, as kubectl get -o yaml prints',
      ).conflicts('kubeconfig'),
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
    .addHelpText(
      'after',
      examples(
        'serve --cert tls.crt --key tls.key',
        'serve --cert tls.crt --key tls.key --namespaces ns.yaml',
      ),
    )
    .action(serve)
}

function addReview(program: Command): void {
  withNamespaces(program.command('review').description('answer recorded AdmissionReviews'))
    .argument('<file...>', 'AdmissionReviews, JSON; - is standard input')
    .option(
      '--namespaces <file>',
      'the Namespaces that the pods are created in, with their LimitRanges and ResourceQuotas',
    )
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

// The verbs that speak to a cluster load its client when they are called: it takes 90 MB.

function addDoctor(program: Command): void {
  withCluster(program.command('doctor').description('check that the apiserver gets answers'))
    .option('--status-url <url>', "the webhook's status port, to ask it too; http or tcp")
    .addHelpText('after', examples('doctor', 'doctor --status-url http://localhost:8080'))
    .action(async (options) => {
      const { doctor, linesOf } = await import('./doctor.ts')
      const findings = await doctor(options)
      print(linesOf(findings))
      const isGood = findings.every(({ problem }) => problem === undefined)
      process.exitCode = isGood ? EXIT.ok : EXIT.no
    })
}

function addDisarm(program: Command): void {
  withCluster(program.command('disarm').description('take away what would outlive an installation'))
    .option('--webhook-configuration <name>', 'the MutatingWebhookConfiguration, taken away first')
    .option('--cluster-role-binding <name>', 'the right to set the label, taken away next')
    .option('--namespace <name>', 'where the certificates are')
    .option('--certificate <name...>', 'a Certificate, and the Secret of its name, taken away last')
    .addHelpText('after', examples('disarm', 'disarm --webhook-configuration ridealong'))
    .action(async (options) => (await import('./disarm.ts')).disarm(options, print))
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

// Whoever reads may have read enough, as `| head` does.
process.stdout.on('error', () => process.exit(process.exitCode))

try {
  await buildProgram().parseAsync()
} catch (error) {
  process.exitCode = EXIT.trouble
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.trouble
  else if (error instanceof UsageError) process.stderr.write(`ridealong: ${error.message}\n`)
  else process.stderr.write(`ridealong: a defect of ours: ${sentenceOf(error)}\n`)
}
