import type { Command } from 'commander'
import { helpEnd } from '../shared/help.ts'
import { withCluster, withOutput, withSettings } from '../shared/options.ts'
import type { Session } from '../shared/session.ts'

/** Declares the verb `attach`. */
export function declareAttach(program: Command, session: Session): void {
  withOutput(withCluster(withSettings(program.command('attach'))))
    .description('observe a running pod with an ephemeral container')
    .argument('<pod>', 'the name of the pod')
    .requiredOption('--metric <metric>', 'the metric to collect (required)')
    .option('-n, --namespace <name>', "the namespace of the pod (default: the context's namespace)")
    .option('--target-container <name>', 'the container to observe')
    .option('--option <name=value...>', 'options of the metric, for example rate=5')
    .addHelpText(
      'after',
      [
        '',
        'An ephemeral container cannot be removed; it stays until the pod is deleted. If',
        'the pod does not share its process namespace, the observer is killed together',
        'with the target container, and the end of its log may be missing. To prevent',
        'this, let the observer end by itself after N samples: --option completions=N',
        '',
        'The image is that of the observers which the webhook adds in this namespace. To',
        'find it, attach creates a pod in a dry run, if you have the right to create',
        'pods. Otherwise it uses the catalog of the cluster, then the image of an',
        'observer in another pod of the namespace, then the built-in image.',
      ].join('\n'),
    )
    .addHelpText(
      'after',
      helpEnd({
        examples: [
          'attach lammps-0-x2x4k -n hpc --metric perf-sysstat',
          'attach db-0 --metric perf-sysstat --option rate=1 completions=60',
        ],
      }),
    )
    .action(async (pod, options) => {
      const [{ attach }, { shown }] = await Promise.all([
        import('./attach.ts'),
        import('../../src/pods/attach/show.ts'),
      ])
      session.print(shown(await attach(pod, options, session), options.output))
    })
}
