#!/usr/bin/env node
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { EXIT, sentenceOf, UsageError } from './errors.ts'
import { addAnnotate, addInject } from './manifest-verbs.ts'
import { metrics } from './metrics.ts'
import { examples, withNamespaces, withSettings } from './options.ts'
import { OUTPUTS, review } from './review.ts'
import { serve } from './serve.ts'
import { runCases, tapOf } from './test.ts'

const print = (text: string) => {
  process.stdout.write(text)
}

// Whoever reads the output may have enough of it, as `head` has: no fault, and nothing more to say.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.trouble)
})

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
  addInject(program)
  addAnnotate(program)
  addMetrics(program)
  return program
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
