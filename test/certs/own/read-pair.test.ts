import { createPrivateKey, X509Certificate } from 'node:crypto'
import t from 'tap'
import { makeOwnPair } from '../../../certs/own/make-pair.ts'
import { readOwnPair } from '../../../certs/own/read-pair.ts'

const NAMES = ['ridealong.ridealong-system.svc', 'ridealong.ridealong-system']
const NOW = Date.UTC(2026, 5, 1)
const HOUR_MS = 60 * 60 * 1000
const SOURCES = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' }

const make = () => makeOwnPair({ names: NAMES, now: NOW, durationMs: 48 * HOUR_MS })
const [made, other] = await Promise.all([make(), make()])

const read = (texts: typeof made, names = NAMES) => readOwnPair(texts, { names, sources: SOURCES })

t.test('a new pair is valid, and its two certificates expire together', async (t) => {
  const pair = read(made)
  t.match(pair, { state: 'valid', notAfter: NOW + 48 * HOUR_MS, notBefore: NOW - 24 * HOUR_MS })
  const ca = new X509Certificate(made.ca)
  t.equal(ca.validToDate.getTime(), NOW + 48 * HOUR_MS)
  t.equal(ca.validFromDate.getTime(), NOW - 24 * HOUR_MS)
  t.equal(pair.state === 'valid' && pair.ca, ca.toString())
  t.equal(pair.state === 'valid' && pair.keyPair.cert, made.cert)
})

t.test('a pair has no private key of the CA', async (t) => {
  t.strictSame(Object.keys(made).sort(), ['ca', 'cert', 'key'])
  t.equal(new X509Certificate(made.ca).checkPrivateKey(createPrivateKey(made.key)), false)
})

t.test('a pair without any text is absent', async (t) => {
  t.strictSame(read({ cert: '', key: '', ca: '' }), { state: 'absent' })
})

const WRONG: Readonly<Record<string, readonly [typeof made, RegExp]>> = {
  'no certificate': [{ ...made, cert: '' }, /^tls\.crt contains no valid certificate in PEM/],
  garbage: [{ cert: 'a', key: 'b', ca: 'c' }, /^tls\.crt contains no valid certificate in PEM/],
  'no private key': [{ ...made, key: '' }, /^tls\.key contains no valid private key in PEM/],
  'the key of another certificate': [
    { ...made, key: other.key },
    /^the private key tls\.key does not belong to the certificate tls\.crt$/,
  ],
  'the CA of another certificate': [
    { ...made, ca: other.ca },
    /^ca\.crt has not issued the certificate tls\.crt$/,
  ],
  'no CA': [{ ...made, ca: '' }, /^ca\.crt contains no valid CA certificate in PEM$/],
  'a CA that is not a CA certificate': [
    { ...made, ca: made.cert },
    /^ca\.crt contains no valid CA certificate in PEM$/,
  ],
}

for (const [what, [texts, problem]] of Object.entries(WRONG)) {
  t.test(`a pair with ${what} is invalid, and the problem names the text`, async (t) => {
    t.match(read(texts), { state: 'invalid', problem })
  })
}

t.test('a certificate must be valid for every name', async (t) => {
  t.match(read(made, [...NAMES, 'elsewhere.ridealong-system.svc']), {
    state: 'invalid',
    problem: 'the certificate tls.crt is not valid for elsewhere.ridealong-system.svc',
  })
})
