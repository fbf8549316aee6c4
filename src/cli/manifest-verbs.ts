import { type Command, Option } from 'commander'
import type { ManifestFormat } from '../manifest/print.ts'
import type { VerbOutput } from './inject/inject.ts'
import { examples, withNamespaces, withSettings } from './shared/options.ts'
import { print, say } from './shared/output.ts'

const FORMS = ['yaml', 'json'] as const satisfies readonly ManifestFormat[]

/** The options of a verb that edits manifests. */
function withManifests(command: Command): Command {
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

/** Adds `inject`. */
export function addInject(program: Command): void {
  withManifests(withNamespaces(program.command('inject')))
    .description('put observers into the pod templates of manifests, without a webhook')
    .option('--metrics <name,...>', 'what is asked for where the pod template does not say', items)
    .option('-n, --namespace <name>', 'of objects that do not say theirs', 'default')
    .option('--namespaces <file>', 'the Namespaces, where they are not among the documents')
    .option('--undo', 'take out again what inject has put in')
    .addHelpText(
      'after',
      examples(
        'inject -f job.yaml | kubectl apply -f -',
        'inject -f manifests/ --metrics perf-sysstat,io-sysstat --include Job,JobSet',
        'inject --undo -f injected.yaml > job.yaml',
      ),
    )
    .action(async (options) => show(await (await import('./inject/inject.ts')).inject(options)))
}

/** Adds `annotate`. */
export function addAnnotate(program: Command): void {
  withManifests(withSettings(program.command('annotate')))
    .description('write annotations where operators copy them to their pods')
    .requiredOption('--metric <name,...>', 'what is asked for', items)
    .addHelpText(
      'after',
      examples(
        'annotate -f minicluster.yaml --metric perf-sysstat | kubectl apply -f -',
        'annotate -f all.yaml --metric io-sysstat --annotation ridealong.dev/target-command=lmp',
        'annotate -f all.yaml --metric perf-sysstat --include Namespace',
      ),
    )
    .action(async (options) =>
      show(await (await import('./annotate/annotate.ts')).annotate(options)),
    )
}

/** Notes stand apart from the result, which may go to kubectl. */
function show({ output, notes }: VerbOutput): void {
  for (const note of notes) say(note)
  print({ document: output })
}

function items(text: string, earlier: readonly string[] = []): readonly string[] {
  const found = text.split(',').map((item) => item.trim())
  return [...earlier, ...found.filter((item) => item !== '')]
}
