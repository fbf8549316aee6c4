import type { Command } from 'commander'
import { items, withManifests } from '../shared/manifest-options.ts'
import { printManifests } from '../shared/manifest-output.ts'
import { examples, withNamespaces } from '../shared/options.ts'

/** Declares the verb `inject`. */
export function declareInject(program: Command): void {
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
    .action(async (options) => printManifests(await (await import('./inject.ts')).inject(options)))
}
