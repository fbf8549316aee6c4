import { systemMessage } from '../../../../src/lib/error-message.ts'
import { readText } from '../../../../src/lib/read-text.ts'
import { readTime } from '../../../../src/lib/rfc3339.ts'
import { amazonUrl } from './bucket-client.ts'
import { parseXml, readElement } from './bucket-xml.ts'
import { type Credentials, verifyCredentials } from './credentials.ts'
import { measureContent } from './object-content.ts'
import { connectService, SERVICE_PACE, type ServiceRequest } from './service.ts'
import { ServiceError } from './service-error.ts'

/** Credentials for a token of a service account, from a security token service. */
export interface WebIdentity {
  /** The file with the token. It is read for each request, because the kubelet renews it. */
  readonly tokenFile: string
  /** The ARN of the role; undefined if the service derives the rights from the token. */
  readonly role: string | undefined
  /** The URL of the service. */
  readonly endpoint: string
  /** The certificates that verify the one of the service, in PEM format, in place of the usual. */
  readonly ca: string | undefined
}

/**
 * Returns the URL of the security token service of a bucket: that of Amazon in the region, or the
 * service of the bucket itself, as in MinIO and Ceph.
 */
export function tokenServiceUrl(endpoint: string | undefined, region: string): string {
  return endpoint ?? amazonUrl('sts', region)
}

/** Credentials are renewed when this share of their time has passed. */
const RENEWED_AT = 0.75

/** The minimum time until the next attempt to renew credentials that are valid. */
const MIN_PAUSE_MS = 60_000

interface Lease {
  readonly credentials: Credentials
  /** In milliseconds since 1970. */
  readonly renewAt: number
  readonly expiresAt: number
}

/**
 * Returns a function that returns credentials, and requests them if there are none yet, or if
 * they expire soon. If they cannot be renewed, those that are valid are used on.
 *
 * @throws the function: an error that names the role, the service and the reason
 */
export function withWebIdentity(
  identity: WebIdentity,
  pace = SERVICE_PACE,
  now = Date.now,
): () => Promise<Credentials> {
  const url = new URL(identity.endpoint)
  const service = connectService(url, identity.ca, pace)
  const request = async (): Promise<Lease> => {
    const start = now()
    const { body } = await service.send(() => requestFor(identity, url)).catch(explain(identity))
    const { expiresAt, credentials } = readCredentials(String(body), identity)
    return { credentials, expiresAt, renewAt: start + RENEWED_AT * (expiresAt - start) }
  }
  let lease: Lease | undefined
  let renewing: Promise<Lease> | undefined
  const renew = () => {
    renewing ??= request().finally(() => {
      renewing = undefined
    })
    return renewing
  }
  const keep = (valid: Lease | undefined) => (error: unknown) => {
    if (valid === undefined || now() >= valid.expiresAt) throw error
    return { ...valid, renewAt: now() + MIN_PAUSE_MS }
  }
  return async () => {
    if (lease === undefined || now() >= lease.renewAt) lease = await renew().catch(keep(lease))
    return lease.credentials
  }
}

/** AWS Security Token Service API Reference, "AssumeRoleWithWebIdentity". */
async function requestFor({ tokenFile, role }: WebIdentity, url: URL): Promise<ServiceRequest> {
  const token = await readText(tokenFile)
  const form = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    ...(role !== undefined && { RoleArn: role }),
    RoleSessionName: 'ridealong',
    WebIdentityToken: token.trim(),
  })
  const content = await measureContent(Buffer.from(form.toString()))
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': content.bytes,
    'user-agent': 'ridealong',
  }
  return { method: 'POST', url, headers, content }
}

function readCredentials(body: string, identity: WebIdentity) {
  const found = parseXml(body)?.getElementsByTagName('Credentials').item(0) ?? undefined
  const [accessKeyId, secretAccessKey, sessionToken = ''] = [
    'AccessKeyId',
    'SecretAccessKey',
    'SessionToken',
  ].map((name) => readElement(found, name))
  const expiresAt = readTime(readElement(found, 'Expiration'))
  if (!accessKeyId || !secretAccessKey || expiresAt === null)
    throw new Error(`${nameOf(identity)}: the response has no credentials`)
  const credentials = verifyCredentials({ accessKeyId, secretAccessKey, sessionToken })
  return { credentials, expiresAt }
}

function explain(identity: WebIdentity): (error: unknown) => never {
  return (error) => {
    throw new Error(`${nameOf(identity)}: ${reasonOf(error)}`, { cause: error })
  }
}

/** The role refuses a token whose issuer it knows: this error has another meaning in a bucket. */
function reasonOf(error: unknown): string {
  const isRefused = error instanceof ServiceError && error.code === 'AccessDenied'
  return isRefused
    ? `the role does not trust the service account of the token (${error.status} ${error.code})`
    : systemMessage(error)
}

function nameOf({ role, endpoint }: WebIdentity): string {
  const { origin } = new URL(endpoint)
  return role === undefined
    ? `the credentials for the token at ${origin}`
    : `the credentials of the role ${role} at ${origin}`
}
