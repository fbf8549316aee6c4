import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeAuthority, writeKeyPair } from '../../certs/make.ts'

const NAMES = ['ridealong.ridealong-system.svc', 'localhost', '127.0.0.1', '::1']

t.test('a certificate uses ECDSA P-256, and matches its key', async (t) => {
  const { cert, key } = await (await makeAuthority()).issue({ names: NAMES })
  const certificate = new X509Certificate(cert)
  t.equal(certificate.publicKey.asymmetricKeyType, 'ec')
  t.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  t.match(key, /^-----BEGIN PRIVATE KEY-----\n/)
  t.equal(certificate.checkPrivateKey(createPrivateKey(key)), true)
})

t.test('a certificate is valid only for the given names and addresses', async (t) => {
  const { cert } = await (await makeAuthority()).issue({ names: NAMES })
  const certificate = new X509Certificate(cert)
  t.ok(certificate.checkHost('ridealong.ridealong-system.svc', { subject: 'never' }))
  t.ok(certificate.checkHost('localhost', { subject: 'never' }))
  t.ok(certificate.checkIP('127.0.0.1'))
  t.ok(certificate.checkIP('::1'))
  t.notOk(certificate.checkHost('example.com'))
  t.notOk(certificate.checkHost('127.0.0.1', { subject: 'never' }), 'an address is not a DNS name')
  t.notOk(certificate.checkIP('127.0.0.2'))
  t.match(certificate.subjectAltName, 'DNS:localhost')
  t.match(certificate.subjectAltName, 'IP Address:127.0.0.1')
})

t.test('a certificate is for servers, and cannot sign certificates', async (t) => {
  const { cert } = await (await makeAuthority()).issue({ names: NAMES })
  const certificate = new X509Certificate(cert)
  t.equal(certificate.ca, false)
  t.strictSame(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1'], 'the only usage is serverAuth')
})

t.test('a certificate is verified only by the CA that issued it', async (t) => {
  const [authority, other] = await Promise.all([makeAuthority(), makeAuthority()])
  const { cert } = await authority.issue({ names: NAMES })
  const certificate = new X509Certificate(cert)
  const ca = new X509Certificate(authority.ca)
  t.equal(ca.ca, true)
  t.equal(ca.verify(ca.publicKey), true, 'the CA certificate is self-signed')
  t.equal(certificate.checkIssued(ca), true)
  t.equal(certificate.verify(ca.publicKey), true)
  t.equal(certificate.verify(new X509Certificate(other.ca).publicKey), false)
})

t.test('a certificate is valid for the given days, from at least five minutes ago', async (t) => {
  const authority = await makeAuthority()
  for (const days of [1, 7]) {
    const before = Date.now()
    const { cert } = await authority.issue({ names: NAMES, days })
    const { validFrom, validTo } = new X509Certificate(cert)
    const life = Date.parse(validTo) - before
    const day = 24 * 60 * 60 * 1000
    t.ok(life > days * day - 2000 && life < days * day + 60_000, `valid until ${validTo}`)
    t.ok(
      Date.parse(validFrom) <= before - 5 * 60 * 1000,
      'valid for a client whose clock is behind',
    )
  }
})

t.test('an expired certificate can be created, and its start is before its end', async (t) => {
  const { cert } = await (await makeAuthority()).issue({ names: NAMES, days: -1 })
  const { validFrom, validTo } = new X509Certificate(cert)
  t.ok(Date.parse(validTo) < Date.now())
  t.ok(Date.parse(validFrom) < Date.parse(validTo))
})

t.test('two certificates for the same names have different serial numbers and keys', async (t) => {
  const authority = await makeAuthority()
  const made = [await authority.issue({ names: NAMES }), await authority.issue({ names: NAMES })]
  const [one, other] = made.map(({ cert }) => new X509Certificate(cert))
  t.not(one?.serialNumber, other?.serialNumber)
  t.not(made[0]?.key, made[1]?.key)
})

t.test('files have the names of a TLS Secret, and only the owner can read the key', async (t) => {
  const folder = join(t.testdir({}), 'new', 'certs')
  const authority = await makeAuthority()
  await writeKeyPair(folder, authority, { names: NAMES })
  t.strictSame(readdirSync(folder).sort(), ['ca.crt', 'tls.crt', 'tls.key'])
  t.equal(readFileSync(join(folder, 'ca.crt'), 'utf8'), authority.ca)
  const certificate = new X509Certificate(readFileSync(join(folder, 'tls.crt')))
  t.ok(certificate.checkPrivateKey(createPrivateKey(readFileSync(join(folder, 'tls.key')))))
  t.equal(statSync(join(folder, 'tls.key')).mode & 0o777, 0o600)
})
