import { type Command, Option } from 'commander'
import type { Answered } from './review/review.ts'
import { EXIT } from './shared/errors.ts'
import { examples, withNamespaces, withSettings } from './shared/options.ts'
import { print } from './shared/output.ts'

const OUTPUTS = [
  'decision',
  'response',
  'patch',
  'pod',
  'diff',
] as const satisfies readonly Answered[]

/** Declares the verb `review`. */
export function addReview(program: Command): void {
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
    .action(async (files, options) =>
      (await import('./review/review.ts')).review(files, options, print),
    )
}

/** Declares the verb `test`. */
export function addTest(program: Command): void {
  withNamespaces(program.command('test').description('compare answers with golden ones'))
    .argument('<dir>', 'a folder of cases: NAME/review.json with NAME/answer.json')
    .option('--namespaces <file>', 'the Namespaces (default: namespaces.yaml in the folder)')
    .option('--update', 'write the answers as the new golden ones')
    .addHelpText('after', examples('test cases', 'test cases --catalog metrics --update'))
    .action(async (dir, options) => {
      const { runCases, formatTap } = await import('./test/test.ts')
      const results = await runCases(dir, options)
      print({ lines: formatTap(results) })
      const isGood = results.every(({ outcome }) => outcome !== 'failed')
      process.exitCode = isGood ? EXIT.ok : EXIT.no
    })
}

/** Declares the verb `metrics`. */
export function addMetrics(program: Command): void {
  withSettings(program.command('metrics').description('show the catalog'))
    .argument('[name]', 'a metric, to see its options')
    .addOption(
      new Option('-o, --output <form>', 'how to print')
        .choices(['table', 'yaml', 'json'])
        .default('table'),
    )
    .addHelpText('after', examples('metrics', 'metrics perf-sysstat', 'metrics -o json'))
    .action(async (name, options) =>
      print(await (await import('./metrics/metrics.ts')).metrics(name, options)),
    )
}
