import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import {
  type BucketClient,
  connectBucket,
} from '../../../../cli/archive/storage/bucket/bucket-client.ts'
import { freePort } from '../../../free-ports.ts'
import { kubeconfigOf } from '../../../stand-ins/kubeconfig.ts'
import { start } from '../../command.ts'
import { startWorld, type World } from '../world.ts'
import { type BucketProxy, startProxy } from './proxy.ts'
import { allowUnsigned, BUCKET, type BucketService, installMoto, startMoto } from './service.ts'

export interface Place {
  readonly world: World
  readonly service: BucketService
  readonly proxy: BucketProxy
  readonly folder: string
  /** A client of the service itself. */
  readonly client: BucketClient
}

export async function startPlace(t: Test): Promise<Place | string> {
  const service = await startService()
  if (typeof service === 'string') return service
  t.teardown(service.stop)
  const proxy = await startProxy(service.port)
  t.teardown(proxy.close)
  const folder = t.testdir({ credentials: {}, token: 'token', bucket: {}, volume: {} })
  const world = await startWorld(t)
  writeFileSync(join(folder, 'kubeconfig'), kubeconfigOf(world.server, world.ca))
  writeFileSync(join(folder, 'credentials/AWS_ACCESS_KEY_ID'), service.accessKey)
  writeFileSync(join(folder, 'credentials/AWS_SECRET_ACCESS_KEY'), service.secretKey)
  const client = connectBucket({
    ...{ name: BUCKET, endpoint: `http://127.0.0.1:${service.port}`, region: 'us-east-1' },
    ...{ isInHost: false, ca: undefined },
    credentials: async () => ({
      ...{ accessKeyId: service.accessKey, secretAccessKey: service.secretKey, sessionToken: '' },
    }),
  })
  t.teardown(() => client.close())
  return { world, service, proxy, folder, client }
}

async function startService(): Promise<BucketService | string> {
  const { BUCKET_PORT, AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env
  if (BUCKET_PORT !== undefined)
    return {
      ...{ port: Number(BUCKET_PORT), stop: async () => {} },
      ...{ accessKey: AWS_ACCESS_KEY_ID, secretKey: AWS_SECRET_ACCESS_KEY, identity: undefined },
    }
  const moto = installMoto()
  return 'reason' in moto ? moto.reason : startMoto(moto.folder)
}

export interface RunningArchive {
  readonly child: ChildProcess
  readonly exited: Promise<unknown>
  /** Returns the log. */
  log(): string
  stop(): Promise<void>
}

/**
 * Starts the archive with its rows in the bucket, or on a volume. With moto, its credentials are
 * those of a role.
 */
export async function startArchive(
  { folder, proxy, service: { identity } }: Place,
  storage: 'bucket' | 'volume',
): Promise<RunningArchive> {
  const port = await freePort()
  const bucket = ['--bucket', BUCKET, '--bucket-endpoint', proxy.url, '--bucket-prefix', PREFIX]
  const credentials =
    identity === undefined
      ? ['--bucket-credentials', join(folder, 'credentials')]
      : [
          ...['--bucket-token', join(folder, 'token'), '--bucket-role', identity.role],
          ...['--bucket-sts', identity.url],
        ]
  if (identity !== undefined) await allowUnsigned(identity.url)
  const child = start([
    ...['archive', '-n', 'hpc', '--kubeconfig', join(folder, 'kubeconfig')],
    ...['--status-port', String(port), '--host', '127.0.0.1', '--storage', join(folder, storage)],
    ...['--keep', '900000h', '--keep-runs', '1000', '--log-level', 'warn'],
    ...(storage === 'bucket' ? [...bucket, ...credentials] : []),
  ])
  const stderr = child.stderr === null ? undefined : text(child.stderr)
  let log = ''
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    log += part
  })
  const exited = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  return {
    ...{ child, exited },
    log: () => log,
    async stop() {
      child.kill()
      await exited
      if ((await stderr) !== '') throw new Error(`the archive has said: ${await stderr}`)
    },
  }
}

export type Objects = ReadonlyMap<string, string>

/** Characters that are signed in another form than they are sent. */
export const PREFIX = "it's/(hpc)!/"

/** Returns the content of all objects of the archive, by their paths. */
export async function readObjects({ client }: Place): Promise<Objects> {
  const objects = new Map<string, string>()
  for await (const { key } of client.list(PREFIX)) {
    const parts: Buffer[] = []
    for await (const part of client.read(key)) parts.push(part)
    objects.set(key.slice(PREFIX.length), Buffer.concat(parts).toString('latin1'))
  }
  return objects
}

/** Returns the content of all files of the archive on the volume, by their paths. */
export function readVolume({ folder }: Place): Objects {
  const root = join(folder, 'volume')
  const paths = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'latin1')]))
}
