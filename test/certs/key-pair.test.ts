import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readKeyPair } from '../../certs/key-pair.ts'
import { makeAuthority } from '../../certs/make.ts'

const authority = await makeAuthority()
const issued = await authority.issue({ names: ['localhost'], days: 2 })
const other = await authority.issue({ names: ['localhost'] })

t.test('a key pair is read with its expiry time', async (t) => {
  const folder = t.testdir({ 'tls.crt': issued.cert, 'tls.key': issued.key })
  const pair = await readKeyPair(join(folder, 'tls.crt'), join(folder, 'tls.key'))
  t.equal(pair.cert, issued.cert)
  t.equal(pair.key, issued.key)
  t.equal(pair.notAfter.getTime(), Date.parse(new X509Certificate(issued.cert).validTo))
})

t.test('a chain is kept whole, and expires when its first certificate expires', async (t) => {
  const chain = `${issued.cert}\n${authority.ca}`
  const folder = t.testdir({ 'tls.crt': chain, 'tls.key': issued.key })
  const pair = await readKeyPair(join(folder, 'tls.crt'), join(folder, 'tls.key'))
  t.equal(pair.cert, chain)
  t.equal(pair.notAfter.getTime(), Date.parse(new X509Certificate(issued.cert).validTo))
})

t.test('a pair that is replaced between the reads of its files is read again', async (t) => {
  let reads = 0
  // The first read of the certificate still returns the old one. Its key is already replaced.
  const readFile = async (path: string) => {
    reads += 1
    if (path === 'tls.crt') return reads === 1 ? issued.cert : other.cert
    return other.key
  }
  const mocks = { 'node:fs/promises': { readFile } }
  const mocked: { readKeyPair: typeof readKeyPair } = await t.mockImport(
    '../../certs/key-pair.ts',
    mocks,
  )
  const { cert, key } = await mocked.readKeyPair('tls.crt', 'tls.key')
  t.strictSame({ cert, key }, { cert: other.cert, key: other.key })
})

t.test('the revision changes with the key and with the certificate', async (t) => {
  const folder = t.testdir({ 'tls.crt': issued.cert, 'tls.key': issued.key })
  const read = () => readKeyPair(join(folder, 'tls.crt'), join(folder, 'tls.key'))
  const { revision } = await read()
  t.equal((await read()).revision, revision)
  writeFileSync(join(folder, 'tls.key'), `${issued.key}\n`)
  const second = (await read()).revision
  t.not(second, revision)
  writeFileSync(join(folder, 'tls.crt'), `${issued.cert}\n`)
  t.not((await read()).revision, second)
})

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const rsaKey = rsa.export({ type: 'pkcs8', format: 'pem' }).toString()
const cut = (pem: string) => pem.slice(0, pem.length / 2)

const WRONG: readonly (readonly [string, Record<string, string>, RegExp])[] = [
  [
    'of another pair',
    { 'tls.crt': issued.cert, 'tls.key': other.key },
    /^the private key .*tls\.key does not belong to the certificate .*tls\.crt$/,
  ],
  [
    'of another algorithm',
    { 'tls.crt': issued.cert, 'tls.key': rsaKey },
    /^the private key .*tls\.key does not belong to the certificate .*tls\.crt$/,
  ],
  [
    'garbage',
    { 'tls.crt': issued.cert, 'tls.key': 'garbage' },
    /tls\.key contains no valid private key in PEM: ./,
  ],
  [
    'empty',
    { 'tls.crt': issued.cert, 'tls.key': '' },
    /tls\.key contains no valid private key in PEM: ./,
  ],
  [
    'cut off',
    { 'tls.crt': issued.cert, 'tls.key': cut(issued.key) },
    /tls\.key contains no valid private key in PEM: ./,
  ],
  [
    'a certificate',
    { 'tls.crt': issued.cert, 'tls.key': issued.cert },
    /tls\.key contains no valid private key in PEM: ./,
  ],
  ['missing', { 'tls.crt': issued.cert }, /ENOENT.*tls\.key/],
  [
    'valid, but the certificate is garbage',
    { 'tls.crt': 'garbage', 'tls.key': issued.key },
    /tls\.crt contains no valid certificate in PEM: ./,
  ],
  [
    'valid, but the certificate is cut off',
    { 'tls.crt': cut(issued.cert), 'tls.key': issued.key },
    /tls\.crt contains no valid certificate in PEM: ./,
  ],
  [
    'valid, but the certificate is a key',
    { 'tls.crt': issued.key, 'tls.key': issued.key },
    /tls\.crt contains no valid certificate in PEM: ./,
  ],
  ['valid, but the certificate is missing', { 'tls.key': issued.key }, /ENOENT.*tls\.crt/],
]

for (const [what, files, message] of WRONG) {
  t.test(`if the key is ${what}, the error names the invalid file`, async (t) => {
    const folder = t.testdir(files)
    const reading = readKeyPair(join(folder, 'tls.crt'), join(folder, 'tls.key'))
    const error = await reading.then(
      () => undefined,
      (error: Error) => error,
    )
    t.match(error?.message, message)
    t.notMatch(error?.message, issued.key.split('\n')[1], 'the error does not contain the key')
  })
}
