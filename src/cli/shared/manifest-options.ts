import { type Command, Option } from 'commander'
import type { ManifestFormat } from '../../manifest/print.ts'

const FORMS = ['yaml', 'json'] as const satisfies readonly ManifestFormat[]

/** Adds the options of every verb that edits manifests. */
export function withManifests(command: Command): Command {
  return command
    .requiredOption(
      '-f, --filename <file...>',
      'YAML or JSON, a folder of such, or - for standard input',
    )
    .option(
      '--annotation <key=value...>',
      "one of Ridealong's annotations, as perf-sysstat.ridealong.dev/rate=5",
    )
    .option('--include <kind,...>', 'print documents of these kinds alone', items)
    .addOption(
      new Option('-o, --output <form>', 'how to print (default: as it came)').choices(FORMS),
    )
}

/**
 * Parses the value of an option that is a comma-separated list, and appends the items to those of
 * earlier uses of the option.
 */
export function items(text: string, earlier: readonly string[] = []): readonly string[] {
  const found = text.split(',').map((item) => item.trim())
  return [...earlier, ...found.filter((item) => item !== '')]
}
