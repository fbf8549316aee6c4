import { type Command, Option } from 'commander'
import { EXCLUDED_NAMESPACES } from './settings.ts'

/** The options of every verb that answers as the webhook would. */
export function withSettings(command: Command): Command {
  return command
    .option('--catalog <dir>', 'a folder of Metric documents, added to the built-in ones')
    .option('--observer-image <image>', "the image of the built-in metrics' observers")
}

/** And those that say where pods are to run. */
export function withNamespaces(command: Command): Command {
  return withSettings(command).addOption(
    new Option(
      '--exclude-namespace <name...>',
      'namespaces that observers are kept out of',
    ).default(EXCLUDED_NAMESPACES),
  )
}

/** The help's last part. */
export function examples(...lines: readonly string[]): string {
  return ['', 'Examples:', ...lines.map((line) => `  $ ridealong ${line}`)].join('\n')
}
