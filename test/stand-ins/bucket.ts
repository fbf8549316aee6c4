import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { BucketSettings } from '../../cli/archive/storage/bucket/bucket-client.ts'
import { readCredentials } from '../../cli/archive/storage/bucket/credentials.ts'
import { freePort } from '../free-ports.ts'

/** What a bucket does with a request: it sends no answer, a part of it, or an error. */
export type Fault =
  | 'silence'
  | 'cut'
  | 'reset'
  | {
      readonly status: number
      readonly code: string
      readonly message?: string
      /** More elements. */
      readonly details?: string
    }

/** A bucket in memory. It has no object of a request whose body is not whole. */
export interface BucketStandIn {
  readonly settings: BucketSettings
  /** The folder with the files of the credentials. */
  readonly credentials: string
  readonly objects: Map<string, StoredObject>
  /** The methods and keys of the requests that were answered, with their query. */
  readonly calls: string[]
  /** Decides what happens to a request; undefined for an answer as usual. */
  fault: (method: string, key: string) => Fault | undefined
  close(): void
}

export interface StoredObject {
  readonly body: Buffer
  readonly type: string
  readonly modified: number
}

const NAME = 'rows'
/** The number of keys in a part of a list. */
const PAGE = 3

/** Starts a bucket `rows`, and writes the files with its credentials to a temporary folder. */
export async function startBucket(): Promise<BucketStandIn> {
  const server = createServer((request, response) => {
    answer(standIn, request, response).catch(() => response.destroy())
  })
  const port = await freePort()
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const credentials = mkdtempSync(join(tmpdir(), 'ridealong-bucket-'))
  writeFileSync(join(credentials, 'AWS_ACCESS_KEY_ID'), 'reader\n')
  writeFileSync(join(credentials, 'AWS_SECRET_ACCESS_KEY'), 'secret\n')
  const standIn: BucketStandIn = {
    settings: {
      ...{ name: NAME, endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1' },
      ...{ isInHost: false, credentials: () => readCredentials(credentials), ca: undefined },
    },
    credentials,
    objects: new Map(),
    calls: [],
    fault: () => undefined,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return standIn
}

async function answer(
  standIn: BucketStandIn,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '', 'http://localhost')
  const key = decodeURIComponent(url.pathname).slice(`/${NAME}/`.length)
  const method = request.method ?? ''
  const body = await buffer(request)
  const fault = isSigned(request, body) ? standIn.fault(method, key) : UNSIGNED
  standIn.calls.push(`${method} ${key}${url.search}`)
  if (fault === 'silence') return
  if (fault === 'reset') {
    request.socket.resetAndDestroy()
    return
  }
  if (fault === 'cut') {
    response.writeHead(200, { 'content-length': 1000 }).write('<ListBucketResult>')
    setTimeout(() => response.destroy(), 20)
    return
  }
  if (fault !== undefined) {
    response.writeHead(fault.status).end(errorOf(fault))
    return
  }
  const type = request.headers['content-type'] ?? ''
  const { range } = request.headers
  send(standIn, response, { method, key, url, range, object: { body, type, modified: Date.now() } })
}

/** The characters of a URL that are not encoded when it is signed. */
const SIGNED_URL = /^\/[\w.~%/-]*(\?[\w.~%=&-]*)?$/

const UNSIGNED = { status: 403, code: 'AccessDenied', message: 'not signed' }

/** Reports whether the hash in the signed headers is that of the body. */
function isSigned({ url = '', headers }: IncomingMessage, body: Buffer): boolean {
  const hash = createHash('sha256').update(body).digest('hex')
  const scope = /^AWS4-HMAC-SHA256 Credential=reader\/\d{8}\/us-east-1\/s3\/aws4_request, /
  const isWhole = headers['x-amz-content-sha256'] === hash
  return isWhole && SIGNED_URL.test(url) && scope.test(headers.authorization ?? '')
}

function errorOf({ code, message = 'unknown', details = '' }: Exclude<Fault, string>): string {
  const elements = `<Code>${code}</Code><Message>${message}</Message>${details}`
  return `<?xml version="1.0"?><Error>${elements}</Error>`
}

interface Asked {
  readonly method: string
  readonly key: string
  readonly url: URL
  readonly range: string | undefined
  readonly object: StoredObject
}

function send({ objects }: BucketStandIn, response: ServerResponse, asked: Asked): void {
  const { method, key, url, object } = asked
  if (method === 'PUT') objects.set(key, object)
  if (method === 'DELETE') objects.delete(key)
  if (method !== 'GET') {
    response.writeHead(method === 'PUT' ? 200 : 204).end()
    return
  }
  if (key === '') response.end(listOf(objects, url.searchParams))
  else sendObject(response, objects.get(key), asked)
}

function sendObject(
  response: ServerResponse,
  found: StoredObject | undefined,
  { range }: Asked,
): void {
  if (found === undefined) response.writeHead(404).end(errorOf({ status: 404, code: 'NoSuchKey' }))
  else if (range === undefined) response.end(found.body)
  else sendPart(response, found.body, range)
}

function sendPart(response: ServerResponse, body: Buffer, range: string): void {
  const [, first = 0, last = 0] = (/^bytes=(\d+)-(\d+)$/.exec(range) ?? []).map(Number)
  const part = body.subarray(first, last + 1)
  const place = `bytes ${first}-${first + part.length - 1}/${body.length}`
  response.writeHead(206, { 'content-range': place, etag: '"version"' }).end(part)
}

/** Returns a part of the keys with a prefix, as ListObjectsV2 does. */
function listOf(objects: BucketStandIn['objects'], query: URLSearchParams): string {
  const [prefix, after] = [query.get('prefix') ?? '', query.get('continuation-token') ?? '']
  const delimiter = query.get('delimiter')
  const own = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort()
  const all = delimiter === null ? own : own.map((key) => upTo(key, delimiter, prefix.length))
  const keys = [...new Set(all)].filter((key) => key > after)
  const listed = keys.slice(0, PAGE).map((key) => {
    const modified = new Date(objects.get(key)?.modified ?? 0).toISOString()
    const text = key.replaceAll('&', '&amp;')
    if (!objects.has(key)) return `<CommonPrefixes><Prefix>${text}</Prefix></CommonPrefixes>`
    return `<Contents><Key>${text}</Key><LastModified>${modified}</LastModified></Contents>`
  })
  const next =
    keys.length > PAGE
      ? `<NextContinuationToken>${keys[PAGE - 1]?.replaceAll('&', '&amp;')}</NextContinuationToken>`
      : ''
  const truncated = `<IsTruncated>${keys.length > PAGE}</IsTruncated>`
  const content = `${truncated}${next}${listed.join('')}`
  return `<?xml version="1.0"?>\n<ListBucketResult>${content}</ListBucketResult>`
}

/** Returns a key up to the next delimiter, with it. */
function upTo(key: string, delimiter: string, start: number): string {
  const at = key.indexOf(delimiter, start)
  return at < 0 ? key : key.slice(0, at + delimiter.length)
}
