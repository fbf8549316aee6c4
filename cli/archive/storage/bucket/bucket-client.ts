import { AwsV4Signer } from 'aws4fetch'
import { printable } from '../../../../src/core/text/printable.ts'
import { systemMessage } from '../../../../src/lib/error-message.ts'
import { type ListedObject, type ObjectPage, readObjectPage } from './bucket-xml.ts'
import type { Credentials } from './credentials.ts'
import type { ServiceAnswer } from './exchange.ts'
import {
  contentType,
  type MeasuredContent,
  measureContent,
  type ObjectContent,
} from './object-content.ts'
import { connectService, SERVICE_PACE, type ServiceRequest } from './service.ts'
import { ServiceError } from './service-error.ts'

/** A bucket of an object storage with the API of Amazon S3. */
export interface BucketSettings {
  readonly name: string
  /** The URL of the service; undefined for Amazon S3. */
  readonly endpoint: string | undefined
  readonly region: string
  /** Whether the name of the bucket is a part of the host name, and not of the path. */
  readonly isInHost: boolean
  /** Is called for each request. */
  readonly credentials: () => Promise<Credentials>
  /** The certificates that verify the one of the service, in PEM format, in place of the usual. */
  readonly ca: string | undefined
}

/**
 * A client of a bucket. Requests that fail for a reason that may pass are repeated twice. All
 * functions throw errors that name the bucket and the reason.
 */
export interface BucketClient {
  /** Writes an object as a whole, in place of one with the same key. */
  put(key: string, content: ObjectContent): Promise<void>
  /** Reads a small object; undefined if it does not exist. */
  get(key: string): Promise<string | undefined>
  /** Reads an object that is not empty, in parts. */
  read(key: string): AsyncGenerator<Buffer>
  /** Lists the objects whose keys begin with a prefix, except those that `canRequest` excludes. */
  list(prefix: string): AsyncGenerator<ListedObject>
  /** Lists the beginnings of keys up to the next `/` after a prefix. */
  listFolders(prefix: string): AsyncGenerator<string>
  /** Deletes an object; does nothing if it does not exist. */
  delete(key: string): Promise<void>
  /** Ends the requests that are under way. */
  close(): void
}

interface Call {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly key: string
  readonly query?: Query
  readonly headers?: Readonly<Record<string, string>>
  readonly content?: ObjectContent
}

/**
 * Creates a client of a bucket. aws4fetch, which has no dependencies, only signs the requests: the
 * clients that are in use either bring many packages (@aws-sdk/client-s3, minio), or return nothing
 * for a bucket that does not exist, as for an object that does not exist (s3mini 1.0.2).
 */
export function connectBucket(settings: BucketSettings, pace = SERVICE_PACE): BucketClient {
  const root = rootOf(settings)
  const service = connectService(root, settings.ca, pace)
  const ask = async (call: Call) => {
    const content = await measureContent(call.content ?? EMPTY)
    const credentials = await settings.credentials()
    return service.send(() => sign(settings, root, { call, content, credentials }))
  }
  const explain = inBucket(settings, root)
  const pages = listPages((query) =>
    ask({ method: 'GET', key: '', query })
      .then(({ body }) => readObjectPage(String(body)))
      .catch(explain),
  )
  return {
    async put(key, content) {
      await ask({ method: 'PUT', key, content }).catch(explain)
    },
    async get(key) {
      const answer = await ask({ method: 'GET', key }).catch(unlessMissing).catch(explain)
      return answer && String(answer.body)
    },
    read: (key) => readParts((headers) => ask({ method: 'GET', key, headers }).catch(explain)),
    async *list(prefix) {
      for await (const { objects } of pages({ prefix }))
        yield* objects.filter(({ key }) => canRequest(key))
    },
    async *listFolders(prefix) {
      for await (const { folders } of pages({ prefix, delimiter: '/' })) yield* folders
    },
    async delete(key) {
      await ask({ method: 'DELETE', key }).catch(unlessMissing).catch(explain)
    },
    close: service.close,
  }
}

const EMPTY = new Uint8Array()

interface RequestParts {
  readonly call: Call
  readonly content: MeasuredContent
  readonly credentials: Credentials
}

type Query = Readonly<Record<string, string>>

/** Returns a function that yields the parts of a list, which each name the next one. */
function listPages(read: (query: Query) => Promise<ObjectPage>) {
  return async function* (query: Query): AsyncGenerator<ObjectPage> {
    for (let token: Query = {}; ; ) {
      const page = await read({ 'list-type': '2', ...query, ...token })
      yield page
      if (page.next === undefined) return
      if (page.next === token['continuation-token'])
        throw new Error('the list of objects has no end')
      token = { 'continuation-token': page.next }
    }
  }
}

/** The maximum size of a part, which is in memory and is requested again if it is not whole. */
const PART_BYTES = 8 * 2 ** 20

/** Reads the parts of an object, all of the same version. @param read sends these headers */
async function* readParts(
  read: (headers: Readonly<Record<string, string>>) => Promise<ServiceAnswer>,
): AsyncGenerator<Buffer> {
  let version = {}
  for (let at = 0, end = 1; at < end; ) {
    const { headers, body } = await read({
      range: `bytes=${at}-${at + PART_BYTES - 1}`,
      ...version,
    })
    if (body.length === 0) throw new Error('the bucket has sent an empty part of an object')
    yield body
    at += body.length
    end = Number(/\/(\d+)$/.exec(headers['content-range'] ?? '')?.[1] ?? at)
    version = headers.etag === undefined ? {} : { 'if-match': headers.etag }
  }
}

/**
 * Returns the URL of the bucket.
 *
 * @throws an error if there is none
 */
function rootOf({ name, endpoint, region, isInHost }: BucketSettings): URL {
  const url = new URL(endpoint ?? amazonUrl('s3', region))
  const path = url.pathname.replace(/\/$/, '')
  const host = isInHost ? `${name}.${url.hostname}` : url.hostname
  url.hostname = host
  if (url.hostname !== host)
    throw new Error(`${host} is not a host name: the name of the bucket must be in the path`)
  url.pathname = isInHost ? path : `${path}/${name}`
  return url
}

/** The regions of China have a domain of their own (AWS General Reference, "S3 endpoints"). */
export function amazonUrl(service: 's3' | 'sts', region: string): string {
  return `https://${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
}

/**
 * Reports whether a URL can have this key. The segments `.` and `..` of a path are removed from it,
 * so a request would change another object.
 */
function canRequest(key: string): boolean {
  return !/\p{Cs}/u.test(key) && !/(^|\/)\.\.?(\/|$)/.test(key)
}

/**
 * Encodes a part of a URL as it is signed (RFC 3986, section 2.3). Some services verify the URL as
 * it was sent, without decoding it.
 */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

async function sign(
  { region }: BucketSettings,
  root: URL,
  { call, content, credentials }: RequestParts,
): Promise<ServiceRequest> {
  const { method, key, query = {} } = call
  const { bytes, sha256 } = content
  if (!canRequest(key)) throw new Error(`no URL has the key ${printable(key)}`)
  const url = new URL(root)
  const path = key.split('/').map(encode).join('/')
  url.pathname = `${root.pathname.replace(/\/$/, '')}/${path}`
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encode(value)}`)
  url.search = pairs.join('&')
  const body = method === 'PUT' ? { 'content-type': contentType(key) } : {}
  const signed = await new AwsV4Signer({
    ...credentials,
    method,
    region,
    service: 's3',
    url: url.href,
    headers: {
      ...body,
      ...call.headers,
      'x-amz-content-sha256': sha256,
      'user-agent': 'ridealong',
    },
  }).sign()
  const headers = { ...Object.fromEntries(signed.headers), 'content-length': bytes }
  return { method, url: signed.url, headers, content }
}

/**
 * An object that does not exist is no error, unlike a bucket, and a service that does not know
 * buckets. Some services answer so when an object is deleted again.
 */
function unlessMissing(error: unknown): undefined {
  if (!(error instanceof ServiceError && error.code === 'NoSuchKey')) throw error
}

function inBucket({ name }: BucketSettings, { origin }: URL): (error: unknown) => never {
  return (error) => {
    const message = `the bucket ${name} at ${origin}: ${systemMessage(error)}`
    throw new Error(message, { cause: error })
  }
}
