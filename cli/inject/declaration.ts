import type { Command } from 'commander'
import { helpEnd } from '../shared/help.ts'
import { items, MISSED_PODS, withManifests } from '../shared/manifest-options.ts'
import { printManifests } from '../shared/manifest-output.ts'
import { withCluster, withNamespaces } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `inject`. */
export function declareInject(program: Command, session: Session): void {
  withManifests(withCluster(withNamespaces(program.command('inject'))))
    .description('add observers to the pod templates of manifests, without a webhook')
    .option(
      '--metric <metric,...>',
      'the metrics for pod templates that request none; true requests the default metrics',
      items,
    )
    .option('-n, --namespace <name>', 'the namespace of objects without a namespace', 'default')
    .option('--namespaces <file>', 'a file with the Namespaces that are not among the manifests')
    .option('--offline', 'use the built-in catalog instead of the catalog of the cluster')
    .option('--undo', 'remove the observers that inject has added')
    .addHelpText(
      'after',
      helpEnd({
        no: MISSED_PODS,
        examples: [
          'inject -f job.yaml | kubectl apply -f -',
          'inject -f jobs/ --metric true,io-sysstat --include Job',
          'inject --undo -f injected.yaml > job.yaml',
        ],
      }),
    )
    .action(async (options) =>
      printManifests(await (await import('./inject.ts')).inject(options, session), session),
    )
}
