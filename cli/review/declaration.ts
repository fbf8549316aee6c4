import { type Command, Option } from 'commander'
import { helpEnd } from '../shared/help.ts'
import { withNamespaces } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'
import type { Answered } from './review.ts'

const OUTPUTS = [
  'decision',
  'response',
  'patch',
  'pod',
  'diff',
] as const satisfies readonly Answered[]

/** Declares the verb `review`. */
export function declareReview(program: Command, session: Session): void {
  withNamespaces(
    program.command('review').description('answer recorded AdmissionReviews as the webhook would'),
  )
    .argument('<file...>', 'AdmissionReviews in JSON; - for standard input')
    .option('--namespaces <file>', 'a file with the Namespaces of the pods')
    .addOption(
      new Option('-o, --output <part>', 'the part of the answer to print')
        .choices(OUTPUTS)
        .default('decision'),
    )
    .addHelpText(
      'after',
      helpEnd({
        examples: [
          'review pod.json',
          'review --output diff --namespaces ns.yaml reviews/*.json',
          'review --output response - < pod.json | jq .response.allowed',
        ],
      }),
    )
    .action(async (files, options) => (await import('./review.ts')).review(files, options, session))
}
