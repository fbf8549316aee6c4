import { rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  BUCKET_PACE,
  type BucketClient,
  type BucketPace,
  connectBucket,
} from '../../../../../cli/archive/storage/bucket/bucket-client.ts'
import { freePort } from '../../../../free-ports.ts'
import { type BucketStandIn, type Fault, startBucket } from '../../../../stand-ins/bucket.ts'

const QUICK: BucketPace = { ...BUCKET_PACE, repeating: { pauseMs: 1, longestPauseMs: 1 } }

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
  [{ status: 301, code: 'PermanentRedirect' }, /: the region or the endpoint is not that of /, 1],
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

t.test('a request is repeated if the bucket fails for a moment', async (t) => {
  const { bucket, client } = await start(t)
  const faults: Fault[] = [{ status: 500, code: 'InternalError' }, 'reset']
  bucket.fault = () => faults.shift()
  const file = join(t.testdir({ file: 'whole' }), 'file')
  await client.put('namespace=a b/+&é', file)
  t.equal(await client.get('namespace=a b/+&é'), 'whole')
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
  const { credentials } = bucket.settings
  const client = connectBucket(bucket.settings, QUICK)
  writeFileSync(join(credentials, 'AWS_SECRET_ACCESS_KEY'), '\n')
  await t.rejects(client.get('key'), { message: /have an empty AWS_SECRET_ACCESS_KEY$/ })
  rmSync(join(credentials, 'AWS_SECRET_ACCESS_KEY'))
  const missing = /have no AWS_SECRET_ACCESS_KEY: no such file or directory \(ENOENT\)$/
  await t.rejects(client.get('key'), { message: missing })
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
