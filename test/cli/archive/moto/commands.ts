import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { run } from '../../command.ts'
import { pathOf } from '../world.ts'
import { type Place, PREFIX } from './place.ts'
import { BUCKET } from './service.ts'

const nameOf = (pod: string) => `run/${pathOf(pod).replace(/^.*\/run=/, '')}`

/** Verifies that the commands read the same in the bucket and on the volume. */
export async function compareCommands(
  t: Test,
  { service, proxy, folder }: Place,
  [first, second]: readonly [string, string],
): Promise<void> {
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: service.accessKey,
    AWS_SECRET_ACCESS_KEY: service.secretKey,
    AWS_ENDPOINT_URL_S3: proxy.url,
  })
  const roots = [`s3://${BUCKET}/${PREFIX}`, join(folder, 'volume')]
  for (const [verb, pods] of [
    ['report', [first]],
    ['compare', [first, second]],
  ] as const) {
    const args = [verb, ...pods.map(nameOf), '-o', 'json', '--rows']
    const [bucket, volume] = await Promise.all(roots.map((rows) => run([...args, rows])))
    t.match(bucket, { code: 0, err: '' }, verb)
    t.ok((bucket?.out.length ?? 0) > 1000)
    t.equal(bucket?.out, volume?.out)
  }
  const args = ['convert', nameOf(first), '-n', 'hpc', '--format', 'parquet']
  const to = (index: number) => join(folder, `converted-${index}`)
  for (const [index, rows] of roots.entries())
    t.match(await run([...args, '--rows', rows, '--to', to(index)]), { code: 0 })
  const filesOf = (index: number) =>
    readdirSync(to(index)).map((name) => [name, readFileSync(join(to(index), name), 'latin1')])
  t.strictSame(filesOf(0), filesOf(1))
}
