import { join } from 'node:path'
import type { Cluster } from './cluster.ts'
import { run } from './tools.ts'

/** Runs kubectl on a cluster, with the rights of an administrator. */
export function kubectl(
  { programs, kubeconfig }: Pick<Cluster, 'programs' | 'kubeconfig'>,
  words: readonly string[],
  input?: string,
): Promise<string> {
  const options = input === undefined ? {} : { input }
  return run(join(programs, 'kubectl'), ['--kubeconfig', kubeconfig, ...words], options)
}
