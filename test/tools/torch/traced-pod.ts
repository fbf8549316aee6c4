import { chmodSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openFolder, podOf } from '../../observers/pod.ts'
import { CONTAINER, type Users, type WatchedPod, watchPod } from '../watched-pod.ts'

/**
 * Mounts the folder of the results, $0, at $0/torch-trace, as the target has it, and runs a
 * program. The program does not see the folder at $0. Needs root.
 */
const MOUNT =
  'mount --bind "$0" /mnt && mount -t tmpfs none "$0" && mkdir "$0/torch-trace" && ' +
  'mount --bind /mnt "$0/torch-trace" && exec "$@"'

/**
 * Starts a pod with the observer of torch-trace, and the variables of its tool in the target. If
 * root starts the programs of the target, they have the folder of the results at another path than
 * the observer.
 */
export async function tracedPod(
  t: Test,
  options: { readonly step: number; readonly steps: number },
  as: Users,
  mode: NodeJS.ProcessEnv = CONTAINER,
): Promise<WatchedPod> {
  const results = openFolder('ridealong-results-')
  chmodSync(results, 0o1777)
  t.teardown(() => rm(results, { recursive: true, force: true }))
  const folder = join(results, 'torch-trace')
  const pod = await watchPod(await podOf(t), {
    metric: 'torch-trace',
    settings: {
      ...mode,
      RIDEALONG_RESULTS: results,
      RIDEALONG_OPTION_STEP: String(options.step),
      RIDEALONG_OPTION_STEPS: String(options.steps),
    },
    tool: {
      KINETO_USE_DAEMON: '1',
      KINETO_IPC_SOCKET_DIR: folder,
      KINETO_ONDEMAND_TRACE_DIR: folder,
      KINETO_LOG_LEVEL: '4',
    },
    env: {},
    as,
  })
  if (as.target !== undefined) return pod
  const start = (...argv: readonly string[]) => pod.start('sh', '-c', MOUNT, results, ...argv)
  return { ...pod, start }
}
