import { type Command, Option } from 'commander'
import { examples, withNamespaces } from '../shared/options.ts'
import { print } from '../shared/output.ts'
import type { Answered } from './review.ts'

const OUTPUTS = [
  'decision',
  'response',
  'patch',
  'pod',
  'diff',
] as const satisfies readonly Answered[]

/** Declares the verb `review`. */
export function declareReview(program: Command): void {
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
    .action(async (files, options) => (await import('./review.ts')).review(files, options, print))
}
