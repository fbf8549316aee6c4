import { Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { AwsV4Signer } from 'aws4fetch'
import { systemMessage } from '../../../../src/lib/error-message.ts'
import { type Backoff, backoffMs, jittered, pause } from '../../../../src/lib/pause.ts'
import { BucketError, isTemporary, readBucketError } from './bucket-error.ts'
import { type ListedObject, readObjectPage } from './bucket-xml.ts'
import { readCredentials } from './credentials.ts'
import { exchange } from './exchange.ts'
import { contentType, measureContent, type ObjectContent } from './object-content.ts'

/** A bucket of an object storage with the API of Amazon S3. */
export interface BucketSettings {
  readonly name: string
  /** The URL of the service; undefined for Amazon S3. */
  readonly endpoint: string | undefined
  readonly region: string
  /** Whether the name of the bucket is a part of the host name, and not of the path. */
  readonly isInHost: boolean
  /** The folder of the credentials. See `readCredentials`. */
  readonly credentials: string
  /** The certificates that verify the one of the service, in PEM format, in place of the usual. */
  readonly ca: string | undefined
}

/** Timeouts of requests to a bucket, and the pauses between attempts, in milliseconds. */
export interface BucketPace {
  /** The longest time without data. */
  readonly silenceMs: number
  /** The longest time for a request. */
  readonly longestMs: number
  readonly repeating: Backoff
}

export const BUCKET_PACE: BucketPace = {
  silenceMs: 30_000,
  longestMs: 1_800_000,
  repeating: { pauseMs: 250, longestPauseMs: 2000 },
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
  /** Lists the objects whose keys begin with a prefix. */
  list(prefix: string): AsyncGenerator<ListedObject>
  /** Deletes an object; does nothing if it does not exist. */
  delete(key: string): Promise<void>
  /** Ends the requests that are under way. */
  close(): void
}

interface Call {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly key: string
  readonly query?: Readonly<Record<string, string>>
  readonly content?: ObjectContent
}

/**
 * Creates a client of a bucket. aws4fetch, which has no dependencies, only signs the requests: the
 * clients that are in use either bring many packages (@aws-sdk/client-s3, minio), or return nothing
 * for a bucket that does not exist, as for an object that does not exist (s3mini 1.0.2).
 */
export function connectBucket(settings: BucketSettings, pace = BUCKET_PACE): BucketClient {
  const root = rootOf(settings)
  const isPlain = root.protocol === 'http:'
  const agent = new (isPlain ? PlainAgent : SecureAgent)({ keepAlive: true, timeout: 5000 })
  const closed = new AbortController()
  const connection = { agent, ca: settings.ca, signal: closed.signal }
  const sendOnce = async (call: Call) => {
    const content = await measureContent(call.content ?? EMPTY)
    const { method, url, headers } = await sign(settings, root, call, content)
    const request = isPlain ? plainRequest : secureRequest
    const options = { ...connection, method, headers }
    const { status, body } = await exchange(() => request(url, options), content, pace)
    if (status < 200 || status > 299) throw readBucketError(status, body)
    return body
  }
  const ask = (call: Call) => repeat(() => sendOnce(call), pace, closed.signal)
  const explain = inBucket(settings, root)
  const send = (call: Call) => ask(call).catch(explain)
  return {
    async put(key, content) {
      await send({ method: 'PUT', key, content })
    },
    get: (key) => ask({ method: 'GET', key }).catch(unlessMissing).catch(explain),
    async *list(prefix) {
      let next: string | undefined
      do {
        const token = next === undefined ? {} : { 'continuation-token': next }
        const query = { 'list-type': '2', prefix, ...token }
        const page = readObjectPage(await send({ method: 'GET', key: '', query }))
        yield* page.objects
        next = page.next
      } while (next !== undefined)
    },
    async delete(key) {
      await send({ method: 'DELETE', key })
    },
    close() {
      closed.abort()
      agent.destroy()
    },
  }
}

const EMPTY = new Uint8Array()

/** Returns the URL of the bucket. */
function rootOf({ name, endpoint, region, isInHost }: BucketSettings): URL {
  const url = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`)
  const path = url.pathname.replace(/\/$/, '')
  if (isInHost) url.hostname = `${name}.${url.hostname}`
  url.pathname = isInHost ? path : `${path}/${name}`
  return url
}

async function sign(
  { region, credentials }: BucketSettings,
  root: URL,
  { method, key, query = {} }: Call,
  { bytes, sha256 }: { readonly bytes: number; readonly sha256: string },
) {
  const url = new URL(root)
  const path = key.split('/').map(encodeURIComponent).join('/')
  url.pathname = `${root.pathname.replace(/\/$/, '')}/${path}`
  url.search = String(new URLSearchParams(query))
  const body = method === 'PUT' ? { 'content-type': contentType(key) } : {}
  const signed = await new AwsV4Signer({
    ...(await readCredentials(credentials)),
    ...{ method, region, service: 's3', url: url.href },
    headers: { ...body, 'x-amz-content-sha256': sha256, 'user-agent': 'ridealong' },
  }).sign()
  const headers = { ...Object.fromEntries(signed.headers), 'content-length': bytes }
  return { method, url: signed.url, headers }
}

/** The most attempts of a request, including the first one. */
const ATTEMPTS = 3

async function repeat<Result>(
  send: () => Promise<Result>,
  { repeating }: BucketPace,
  signal: AbortSignal,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send()
    } catch (error) {
      if (attempt === ATTEMPTS || signal.aborted || !isTemporary(error)) throw error
      await pause(jittered(backoffMs(repeating, attempt - 1)), signal)
    }
  }
}

/** A bucket that does not exist is an error, unlike an object. */
function unlessMissing(error: unknown): undefined {
  const isMissing = error instanceof BucketError && error.status === 404
  if (!isMissing || error.code === 'NoSuchBucket') throw error
}

function inBucket({ name }: BucketSettings, { origin }: URL): (error: unknown) => never {
  return (error) => {
    const message = `the bucket ${name} at ${origin}: ${systemMessage(error)}`
    throw new Error(message, { cause: error })
  }
}
