/**
 * A lane runs the tests of one cluster one after the other. Another lane, with another cluster, may
 * run in parallel.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Cluster } from './machine/cluster.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const LONGEST_SECONDS = 900

/** The result of a test file. */
export interface Ended {
  readonly name: string
  readonly hasPassed: boolean
  readonly seconds: number
  /** The output of the test file on both streams, in TAP. */
  readonly output: string
}

/**
 * Runs test files by name on a cluster, in order, and reports each file as soon as it ends.
 *
 * @returns true if all files have passed
 */
export async function runLane(
  cluster: Cluster,
  names: readonly string[],
  onEnd: (ended: Ended) => void,
): Promise<boolean> {
  let hasPassed = true
  for (const name of names) {
    const ended = await runFile(cluster, name)
    onEnd(ended)
    hasPassed &&= ended.hasPassed
  }
  return hasPassed
}

/**
 * Runs a test file as a program, without tap's runner, so that each file writes its own TAP stream.
 */
function runFile(cluster: Cluster, name: string): Promise<Ended> {
  const env = {
    ...process.env,
    KUBECONFIG: cluster.kubeconfig,
    RIDEALONG_TEST_KUBERNETES: /\d+\.\d+/.exec(cluster.version)?.[0],
    RIDEALONG_TEST_NODE: cluster.hasNode ? 'yes' : 'no',
    TAP_TIMEOUT: `${LONGEST_SECONDS}`,
  }
  const start = performance.now()
  const folder = cluster.hasNode ? 'with-node' : 'without-node'
  const child = spawn(process.execPath, [`test/cluster/${folder}/${name}.test.ts`], {
    cwd: REPOSITORY,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => said.push(text))
  }
  return new Promise((resolve) => {
    const end = (code: number | null) =>
      resolve({
        name,
        hasPassed: code === 0,
        seconds: (performance.now() - start) / 1000,
        output: said.join(''),
      })
    child.once('error', () => end(null)).once('close', end)
  })
}
