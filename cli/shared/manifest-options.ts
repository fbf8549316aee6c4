import { type Command, Option } from 'commander'
import type { ManifestFormat } from '../../src/pods/manifest/print.ts'

const FORMS = ['yaml', 'json'] as const satisfies readonly ManifestFormat[]

/** The meaning of exit code 1 of the verbs that edit manifests. */
export const MISSED_PODS = 'pods of an object were not changed; the output is complete otherwise'

/** Adds the options for objects of unknown kinds. */
export function withUnknownKinds(command: Command): Command {
  return command
    .option(
      '--crds <file...>',
      'the CustomResourceDefinitions of unknown kinds: files, or a folder (default: those among ' +
        'the manifests, and those of the cluster, if one is configured)',
    )
    .option(
      '--strict',
      'also exit with 1 for an object of an unknown kind, or without a usable field for its pods',
    )
}

/** Adds the options of every verb that edits manifests. */
export function withManifests(command: Command): Command {
  return withUnknownKinds(command)
    .requiredOption(
      '-f, --filename <file...>',
      'manifests in YAML or JSON: files, a folder, or - for standard input (required)',
    )
    .option(
      '--annotation <key=value...>',
      'annotations of Ridealong, for example perf-sysstat.ridealong.dev/rate=5',
    )
    .option('--include <kind,...>', 'print only documents of these kinds', items)
    .addOption(
      new Option(
        '-o, --output <format>',
        'the output format (default: the format of the input)',
      ).choices(FORMS),
    )
}

/**
 * Parses the value of an option that is a comma-separated list, and appends the items to the items
 * of earlier uses of the option.
 */
export function items(text: string, earlier: readonly string[] = []): readonly string[] {
  const found = text.split(',').map((item) => item.trim())
  return [...earlier, ...found.filter((item) => item !== '')]
}
