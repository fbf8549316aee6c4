import type { Command } from 'commander'
import { EXIT } from '../shared/errors.ts'
import { helpEnd } from '../shared/help.ts'
import { withBuiltInMetrics, withNamespaces } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `test`. */
export function declareTest(program: Command, session: Session): void {
  withBuiltInMetrics(
    withNamespaces(
      program
        .command('test')
        .description('compare the answers to recorded AdmissionReviews with golden files'),
    ),
  )
    .argument('<dir...>', 'folders of cases: NAME/review.json and NAME/answer.json')
    .option(
      '--namespaces <file>',
      'a file with the Namespaces of the pods (default: DIR/namespaces.yaml)',
    )
    .option('--update', 'write the answers to the golden files')
    .addHelpText(
      'after',
      helpEnd({
        no: 'an answer differs from its golden file',
        examples: ['test cases', 'test cases --catalog my-metrics --update'],
      }),
    )
    .action(async (folders, options) => {
      const { runFolders, formatTap } = await import('./test.ts')
      const results = await runFolders(folders, options)
      session.print({ lines: formatTap(results) })
      const isGood = results.every(({ outcome }) => outcome !== 'failed')
      session.exitCode = isGood ? EXIT.ok : EXIT.no
    })
}
