/** The cluster of the runs that the docs show. */
import { run } from '../../cli/command.ts'
import { type Cluster, down, find, type Kind, MINORS, up } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'

const KIND: Kind = { minor: MINORS[0], hasNode: true }

export const say = (line: string) => process.stderr.write(`${line}\n`)

/**
 * Calls `work` with a cluster that has a node and deletes a namespace afterwards. A cluster that
 * runs already is used and kept.
 */
export async function onNode(namespace: string, work: (cluster: Cluster) => Promise<void>) {
  const found = await find(KIND)
  const cluster = found ?? (await up(KIND, say))
  try {
    await work(cluster)
  } finally {
    await kubectl(cluster, ['delete', 'namespace', namespace, '--wait=false', '--ignore-not-found'])
    if (found === undefined) await down(KIND, say)
  }
}

/** Runs a verb of the command. @throws Error if it fails */
export async function ridealong(...words: readonly string[]): Promise<void> {
  const { code, err } = await run(words)
  if (code !== 0) throw new Error(`ridealong ${words.join(' ')}: ${err}`)
}
