import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type BucketClient,
  connectBucket,
} from '../../../../../cli/archive/storage/bucket/bucket-client.ts'
import {
  SERVICE_PACE,
  type ServicePace,
} from '../../../../../cli/archive/storage/bucket/service.ts'
import { freePort } from '../../../../free-ports.ts'
import { type BucketStandIn, type Fault, startBucket } from '../../../../stand-ins/bucket.ts'

const QUICK: ServicePace = { ...SERVICE_PACE, repeating: { pauseMs: 1, longestPauseMs: 1 } }

interface World {
  readonly bucket: BucketStandIn
  readonly client: BucketClient
}

async function start(t: Test, pace = QUICK): Promise<World> {
  const bucket = await startBucket()
  const client = connectBucket(bucket.settings, pace)
  t.teardown(() => {
    client.close()
    bucket.close()
  })
  return { bucket, client }
}

/** What a bucket does, what the archive says, and how often it tries. */
const FAULTS: readonly (readonly [Fault, RegExp, number])[] = [
  [{ status: 404, code: 'NoSuchBucket' }, /: the bucket does not exist \(404 NoSuchBucket\)$/, 1],
  [{ status: 403, code: 'AccessDenied' }, /: the credentials lack a right; .*\(403 Acc/, 1],
  [{ status: 403, code: 'InvalidAccessKeyId' }, /: the access key is not known there \(403/, 1],
  [{ status: 403, code: 'SignatureDoesNotMatch' }, /: the secret access key does not belong/, 1],
  [{ status: 403, code: 'RequestTimeTooSkewed' }, /: the clock of this machine and that of /, 1],
  [
    { status: 301, code: 'PermanentRedirect', details: '<Endpoint>s3.eu.example</Endpoint>' },
    /: the bucket is in another region, or at another endpoint: s3\.eu\.example \(301 Perm/,
    1,
  ],
  [
    { status: 400, code: 'AuthorizationHeaderMalformed', details: '<Region>eu-north-1</Region>' },
    /: the bucket is in another region: eu-north-1 \(400 Auth/,
    1,
  ],
  [{ status: 400, code: 'RequestTimeout', message: 'not read' }, /: not read \(400 Request/, 3],
  [{ status: 404, code: '' }, /: unknown \(404\)$/, 1],
  [{ status: 403, code: 'New', message: 'a &lt;\u001b word' }, /: a <\\u001b word \(403 New\)$/, 1],
  [{ status: 503, code: 'SlowDown' }, /: too many requests \(503 SlowDown\)$/, 3],
  ['reset', /ECONNRESET|socket hang up/, 3],
  ['cut', /: aborted$/, 3],
  ['silence', /: no data for 0\.2 seconds$/, 3],
]

for (const [fault, message, attempts] of FAULTS) {
  const name = typeof fault === 'string' ? fault : fault.code
  t.test(`the message names the bucket and the reason: ${name}`, async (t) => {
    const { bucket, client } = await start(t, { ...QUICK, silenceMs: 200 })
    bucket.fault = () => fault
    await t.rejects(client.get('a/run.json'), { message })
    await t.rejects(client.list('a/').next(), { message: /^the bucket rows at http:\/\/127/ })
    t.equal(bucket.calls.filter((call) => call === 'GET a/run.json').length, attempts)
  })
}

/** Characters that are encoded in a URL, or only when it is signed. */
const KEY = "namespace=a b/+&é!'(~)*"

t.test('a request is repeated if the bucket fails for a moment', async (t) => {
  const { bucket, client } = await start(t)
  const faults: Fault[] = [{ status: 500, code: 'InternalError' }, 'reset']
  bucket.fault = () => faults.shift()
  const file = join(t.testdir({ file: 'whole' }), 'file')
  await client.put(KEY, file)
  t.equal(await client.get(KEY), 'whole')
  t.equal((await client.list(KEY).next()).value?.key, KEY)
})

t.test('a body that is cut on its way is no object', async (t) => {
  const { bucket, client } = await start(t)
  const { port } = new URL(bucket.settings.endpoint ?? '')
  const socket = connect(Number(port), '127.0.0.1')
  socket.end('PUT /rows/key HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf')
  await new Promise((resolve) => socket.on('close', resolve).resume())
  t.equal(await client.get('key'), undefined)
})

t.test('a service that does not run or has no credentials is named', async (t) => {
  const { bucket } = await start(t)
  const endpoint = `http://127.0.0.1:${await freePort()}`
  const away = connectBucket({ ...bucket.settings, endpoint }, QUICK)
  await t.rejects(away.get('key'), { message: /ECONNREFUSED/ })
  const { credentials } = bucket
  const client = connectBucket(bucket.settings, QUICK)
  writeFileSync(join(credentials, 'AWS_SECRET_ACCESS_KEY'), '\n')
  await t.rejects(client.get('key'), { message: /have an empty AWS_SECRET_ACCESS_KEY$/ })
  rmSync(join(credentials, 'AWS_SECRET_ACCESS_KEY'))
  const missing = /have no AWS_SECRET_ACCESS_KEY: no such file or directory \(ENOENT\)$/
  await t.rejects(client.get('key'), { message: missing })
  t.strictSame(bucket.calls, [])
})

t.test('no message has a part of the credentials', async (t) => {
  const { bucket, client } = await start(t)
  writeFileSync(join(bucket.credentials, 'AWS_SESSION_TOKEN'), 'secret\ntoken')
  const message =
    /: AWS_SESSION_TOKEN must have no spaces, line breaks and characters beyond ASCII$/
  await t.rejects(client.get('key'), { message })
  rmSync(join(bucket.credentials, 'AWS_SESSION_TOKEN'))
  writeFileSync(join(bucket.credentials, 'AWS_ACCESS_KEY_ID'), 'réader')
  await t.rejects(client.get('key'), { message: /: AWS_ACCESS_KEY_ID must have no spaces/ })
})

t.test('a key that no URL has names no other object', async (t) => {
  const { bucket, client } = await start(t)
  const object = { body: Buffer.from('whole'), type: '', modified: 0 }
  for (const key of ['a/../b', 'a/./b', 'a/..', 'a/..b', 'b']) bucket.objects.set(key, object)
  const listed: string[] = []
  for await (const { key } of client.list('a')) listed.push(key)
  t.strictSame(listed, ['a/..b'])
  await t.rejects(client.delete('a/../b'), { message: /: no URL has the key a\/\.\.\/b$/ })
  t.ok(bucket.objects.has('b'))
})

t.test('an object that is deleted already is no error', async (t) => {
  const { bucket, client } = await start(t)
  bucket.fault = () => ({ status: 404, code: 'NoSuchKey' })
  await client.delete('key')
  bucket.fault = () => ({ status: 404, code: 'NoSuchBucket' })
  await t.rejects(client.delete('key'), { message: /does not exist/ })
})

t.test('an object is read in parts, each of which is requested again if it is cut', async (t) => {
  const { bucket, client } = await start(t)
  const body = Buffer.alloc(20 * 2 ** 20, 'ab\n')
  bucket.objects.set('large', { body, type: '', modified: 0 })
  const faults = [undefined, 'cut', { status: 503, code: 'SlowDown' }] as const
  let request = 0
  bucket.fault = () => {
    request += 1
    return faults[request - 1]
  }
  const parts: Buffer[] = []
  for await (const part of client.read('large')) parts.push(part)
  t.ok(Buffer.concat(parts).equals(body))
  t.equal(parts.length, 3)
  t.equal(request, 5)
  await t.rejects(client.read('other').next(), { message: /: unknown \(404 NoSuchKey\)$/ })
})

t.test('a list that does not end is an error', async (t) => {
  const server = createServer((_request, response) =>
    response.end(
      '<ListBucketResult><IsTruncated>true</IsTruncated>' +
        '<NextContinuationToken>same</NextContinuationToken></ListBucketResult>',
    ),
  )
  const port = await freePort()
  await once(server.listen(port, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const { bucket } = await start(t)
  const endpoint = `http://127.0.0.1:${port}`
  const client = connectBucket({ ...bucket.settings, endpoint }, QUICK)
  await t.rejects(client.list('').next(), { message: /has no end$/ })
  client.close()
})

t.test('the name of a bucket in the host name needs a host name', async (t) => {
  const { bucket } = await start(t)
  t.throws(() => connectBucket({ ...bucket.settings, isInHost: true }), {
    message: 'rows.127.0.0.1 is not a host name: the name of the bucket must be in the path',
  })
})

t.test('a closed client ends its requests', async (t) => {
  const { bucket, client } = await start(t)
  bucket.fault = () => 'silence'
  const failed = t.rejects(client.get('key'))
  client.close()
  await failed
  await t.rejects(client.put('key', Buffer.from('late')))
  t.equal(bucket.objects.size, 0)
})
