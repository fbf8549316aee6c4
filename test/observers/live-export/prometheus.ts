import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { folderOf } from '../../cluster/machine/tools.ts'
import { freePort } from '../../free-ports.ts'
import { until } from '../../until.ts'
import { queryPath, type Sample, samplesIn } from './query.ts'

const PROGRAM = join(await folderOf('prometheus'), 'prometheus')

/** The reason to skip the tests with Prometheus, or false. In CI, the tests always run. */
export const withoutPrometheus =
  existsSync(PROGRAM) || process.env.CI === 'true'
    ? false
    : 'Prometheus is not built: run `npm run chart:programs` (needs Go)'

/** A Prometheus that receives OTLP. */
export interface Prometheus {
  /** The endpoint for the settings of the live export. */
  readonly endpoint: string
  /** Evaluates an expression now. @throws if Prometheus refuses the expression */
  query(expression: string): Promise<readonly Sample[]>
}

/** Starts a Prometheus that ends when the test ends, with the given configuration. */
export async function startPrometheus(t: Test, configuration: string): Promise<Prometheus> {
  const folder = t.testdir({ 'prometheus.yml': configuration })
  const address = `127.0.0.1:${await freePort()}`
  const log: Buffer[] = []
  const child = spawn(PROGRAM, [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
    '--web.enable-otlp-receiver',
  ])
  child.stderr.on('data', (part) => log.push(part))
  t.teardown(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
  })
  await until('Prometheus is ready', async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended: ${Buffer.concat(log)}`)
    return fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  return {
    endpoint: `http://${address}/api/v1/otlp`,
    query: async (expression) => {
      const answer = await fetch(`http://${address}${queryPath(expression)}`)
      return samplesIn(await answer.json(), expression)
    },
  }
}
