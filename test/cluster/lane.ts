/**
 * A lane runs the tests of one cluster one after the other. Another lane, with another cluster, may
 * run in parallel.
 */
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Cluster } from './machine/cluster.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const MAX_SECONDS = 900

/** The folders of the tests: with pods that run, and with pods that are only admitted. */
export type TestFolder = 'with-node' | 'without-node'

/** Finds the tests (`NAME.test.ts`) in a folder, and returns their paths by name. */
export function findTests(folder: TestFolder): ReadonlyMap<string, string> {
  const root = fileURLToPath(new URL(folder, import.meta.url))
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()
  return new Map(
    files
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => [basename(file, '.test.ts'), join(root, file)]),
  )
}

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
    TAP_TIMEOUT: `${MAX_SECONDS}`,
  }
  const start = performance.now()
  const file = findTests(cluster.hasNode ? 'with-node' : 'without-node').get(name) ?? name
  const child = spawn(process.execPath, [file], {
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
