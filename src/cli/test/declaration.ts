import type { Command } from 'commander'
import { EXIT } from '../shared/errors.ts'
import { examples, withNamespaces } from '../shared/options.ts'
import { print } from '../shared/output.ts'

/** Declares the verb `test`. */
export function declareTest(program: Command): void {
  withNamespaces(program.command('test').description('compare answers with golden ones'))
    .argument('<dir>', 'a folder of cases: NAME/review.json with NAME/answer.json')
    .option('--namespaces <file>', 'the Namespaces (default: namespaces.yaml in the folder)')
    .option('--update', 'write the answers as the new golden ones')
    .addHelpText('after', examples('test cases', 'test cases --catalog metrics --update'))
    .action(async (dir, options) => {
      const { runCases, formatTap } = await import('./test.ts')
      const results = await runCases(dir, options)
      print({ lines: formatTap(results) })
      const isGood = results.every(({ outcome }) => outcome !== 'failed')
      process.exitCode = isGood ? EXIT.ok : EXIT.no
    })
}
