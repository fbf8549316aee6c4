import { type Command, Option } from 'commander'
import { helpEnd } from '../shared/help.ts'
import { items, MISSED_PODS, withManifests } from '../shared/manifest-options.ts'
import { printManifests } from '../shared/manifest-output.ts'
import { withCatalogOfCluster } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `annotate`. */
export function declareAnnotate(program: Command, session: Session): void {
  withManifests(withCatalogOfCluster(program.command('annotate')))
    .description('add annotations to manifests, where operators copy them to their pods')
    .option(
      '--metric <metric,...>',
      'the metrics to request; true requests the default metrics (default: true)',
      items,
    )
    .option(
      '--pods <pods>',
      'the pods that get observers, such as 0-3,8 or every:16 or launcher (default: all)',
    )
    .addOption(
      new Option('--undo', 'remove the annotations of Ridealong').conflicts([
        'metric',
        'pods',
        'annotation',
      ]),
    )
    .addHelpText(
      'after',
      helpEnd({
        no: MISSED_PODS,
        examples: [
          'annotate -f job.yaml | kubectl apply -f -',
          'annotate -f . --metric io-sysstat --include Job',
          'annotate -f job.yaml --metric true,cpu-profile --pods every:16',
          'annotate -f all.yaml --include Namespace',
          'annotate -f all.yaml --crds crds/ --strict > annotated.yaml',
          'annotate --undo -f annotated.yaml > job.yaml',
        ],
      }),
    )
    .action(async (options) =>
      printManifests(await (await import('./annotate.ts')).annotate(options, session), session),
    )
}
