import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { SERVICE_PACE } from '../../../../../cli/archive/storage/bucket/service.ts'
import {
  tokenServiceUrl,
  withWebIdentity,
} from '../../../../../cli/archive/storage/bucket/web-identity.ts'
import { freePort } from '../../../../free-ports.ts'

const QUICK = { ...SERVICE_PACE, repeating: { pauseMs: 1, longestPauseMs: 1 } }
const HOUR = 3_600_000
const ROLE = 'arn:aws:iam::111122223333:role/archive'

/** An answer of the stand-in: a status, and the body. */
type Answer = readonly [status: number, body: string]

const credentials = (key: string, expires: number): Answer => [
  200,
  `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
    <AssumeRoleWithWebIdentityResult><AssumedRoleUser><Arn>arn:aws:sts::1:x</Arn></AssumedRoleUser>
    <Credentials><AccessKeyId>${key}</AccessKeyId><SecretAccessKey>a/&amp;b</SecretAccessKey>
    <SessionToken>session==</SessionToken>
    <Expiration>${new Date(expires).toISOString()}</Expiration>
    </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
]

const refusal = (status: number, code: string, message = 'x'): Answer => [
  status,
  `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message>` +
    '</Error><RequestId>1</RequestId></ErrorResponse>',
]

/**
 * Starts a stand-in of a security token service, which cannot run here. It answers each request
 * with the next of the answers, and the last one for ever.
 */
async function start(t: Test, ...answers: readonly Answer[]) {
  const requests: Readonly<Record<string, string>>[] = []
  const server = createServer(async (request, response) => {
    const [status, body] = answers[Math.min(requests.length, answers.length - 1)] ?? [500, '']
    const form = Object.fromEntries(new URLSearchParams(await text(request)))
    requests.push({ ...form, call: `${request.method} ${request.url}` })
    response.writeHead(status).end(body)
  })
  const port = await freePort()
  await once(server.listen(port, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const tokenFile = join(t.testdir({ token: 'first.token\n' }), 'token')
  const clock = { now: 0 }
  const origin = `http://127.0.0.1:${port}`
  const identity = { tokenFile, role: ROLE, endpoint: `${origin}/sts`, ca: undefined }
  const get = withWebIdentity(identity, QUICK, () => clock.now)
  return { requests, tokenFile, clock, origin, identity, get }
}

t.test('credentials are requested once for a token, and renewed before they expire', async (t) => {
  const world = await start(t, credentials('first', HOUR), credentials('second', 2 * HOUR))
  const { requests, tokenFile, clock, get } = world
  t.strictSame(await Promise.all([get(), get()]), [
    { accessKeyId: 'first', secretAccessKey: 'a/&b', sessionToken: 'session==' },
    { accessKeyId: 'first', secretAccessKey: 'a/&b', sessionToken: 'session==' },
  ])
  t.strictSame(requests, [
    {
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: ROLE,
      RoleSessionName: 'ridealong',
      WebIdentityToken: 'first.token',
      call: 'POST /sts',
    },
  ])
  writeFileSync(tokenFile, 'second.token')
  clock.now = HOUR / 2
  t.match(await get(), { accessKeyId: 'first' })
  clock.now = 0.8 * HOUR
  t.match(await get(), { accessKeyId: 'second' })
  t.equal(requests.length, 2)
  t.equal(requests[1]?.WebIdentityToken, 'second.token')
})

t.test('a service that derives the rights from the token gets no role', async (t) => {
  const { identity, requests } = await start(t, credentials('first', HOUR))
  await withWebIdentity({ ...identity, role: undefined }, QUICK, () => 0)()
  t.notOk('RoleArn' in (requests[0] ?? {}))
})

t.test('valid credentials are used on if they cannot be renewed', async (t) => {
  const away = refusal(400, 'ExpiredTokenException')
  const { requests, clock, get } = await start(t, credentials('first', HOUR), away)
  await get()
  clock.now = 0.8 * HOUR
  t.match(await get(), { accessKeyId: 'first' })
  t.match(await get(), { accessKeyId: 'first' })
  t.equal(requests.length, 2, 'the service is not asked for each request')
  clock.now += 60_000
  await get()
  t.equal(requests.length, 3)
  clock.now = HOUR
  await t.rejects(get(), { message: /: the token has expired \(400 ExpiredTokenException\)$/ })
})

/** Answers, the messages, and how often the service is asked. */
const FAILURES: readonly (readonly [Answer, RegExp, number])[] = [
  [
    refusal(403, 'AccessDenied', 'Not authorized'),
    /: the role does not trust the service account of the token \(403 AccessDenied\)$/,
    1,
  ],
  [refusal(400, 'InvalidIdentityToken'), /: the service does not accept the token: its issuer/, 1],
  [refusal(400, 'MalformedPolicy', 'new'), /: new \(400 MalformedPolicy\)$/, 1],
  [refusal(400, 'IDPCommunicationError', 'late'), /: late \(400 IDPCommunicationError\)$/, 3],
  [[503, ''], /: the service refuses the request \(503\)$/, 3],
  [[200, '<html></html>'], /: the response has no credentials$/, 1],
  [[200, 'no XML'], /: the response has no credentials$/, 1],
  [credentials('', HOUR), /: the response has no credentials$/, 1],
]

for (const [answer, message, attempts] of FAILURES)
  t.test(`the message names the role and the service: ${message}`, async (t) => {
    const { get, origin, requests } = await start(t, answer)
    const error: Error = await get().then(
      () => new Error('there are credentials'),
      (error) => error,
    )
    t.match(error.message, message)
    t.ok(error.message.startsWith(`the credentials of the role ${ROLE} at ${origin}: `))
    t.equal(requests.length, attempts)
  })

t.test('a token that cannot be read is named', async (t) => {
  const { get, tokenFile, requests } = await start(t, credentials('first', HOUR))
  rmSync(tokenFile)
  await t.rejects(get(), { message: new RegExp(`: cannot read ${tokenFile}: no such file`) })
  t.strictSame(requests, [])
})

t.test('the service is that of Amazon, or of the bucket', async (t) => {
  t.equal(tokenServiceUrl(undefined, 'eu-central-1'), 'https://sts.eu-central-1.amazonaws.com')
  t.equal(tokenServiceUrl(undefined, 'cn-north-1'), 'https://sts.cn-north-1.amazonaws.com.cn')
  t.equal(tokenServiceUrl('https://minio:9000', 'us-east-1'), 'https://minio:9000')
})
