import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** What is said where nothing names a cluster. */
export const NO_CLUSTER =
  'no cluster: neither --kubeconfig nor KUBECONFIG names a file, and there is no ~/.kube/config'

/**
 * The kubeconfig that kubectl would read (client-go tools/clientcmd/loader.go): the one that is named, else
 * KUBECONFIG, which may name several, else ~/.kube/config.
 *
 * @returns undefined where there is none of these
 */
export function kubeconfigFile(named: string | undefined): string | undefined {
  const own = join(homedir(), '.kube', 'config')
  return named || process.env.KUBECONFIG || (existsSync(own) ? own : undefined)
}
