import { readText } from '../../../../src/lib/read-text.ts'
import { UsageError, usageError } from '../../../shared/errors.ts'
import { webUrl } from '../../../shared/options.ts'
import type { RunFolders } from '../run-folders.ts'
import { connectBucket } from './bucket-client.ts'
import { openBucketFolders } from './bucket-folders.ts'
import { bucketName, folderPrefix, regionName } from './bucket-names.ts'
import { type Credentials, verifyCredentials } from './credentials.ts'

/**
 * Opens a bucket with the rights of the user, which the environment has under the names of the AWS
 * CLI (AWS CLI User Guide, "Environment variables").
 *
 * @param url s3://BUCKET or s3://BUCKET/PREFIX
 * @throws UsageError with the part of the URL, or the variable, that is missing or not valid
 */
export async function openBucketOfUser(
  url: string,
  environment: NodeJS.ProcessEnv,
): Promise<RunFolders> {
  const [, name = '', path = ''] = /^s3:\/\/([^/]*)\/?(.*)$/is.exec(url) ?? []
  const [endpointName, endpoint] = firstOf(environment, 'AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL')
  const [regionVariable, region] = firstOf(environment, 'AWS_REGION', 'AWS_DEFAULT_REGION')
  const [, authority] = firstOf(environment, 'AWS_CA_BUNDLE')
  const credentials = readVariables(environment)
  const client = connectBucket({
    name: valid(`the bucket of ${url}`, name, bucketName),
    endpoint: endpoint && valid(endpointName, endpoint, webUrl),
    region: valid(regionVariable, region ?? 'us-east-1', regionName),
    isInHost: false,
    credentials: async () => credentials,
    ca: authority && (await readText(authority).catch(usageError)),
  })
  return openBucketFolders(client, valid(`the prefix of ${url}`, path, folderPrefix))
}

/** Returns the first of these variables that is set, with its name. */
function firstOf(environment: NodeJS.ProcessEnv, ...names: readonly [string, ...string[]]) {
  const name = names.find((one) => (environment[one] ?? '') !== '') ?? names[0]
  return [name, environment[name] || undefined] as const
}

/** Validates with the function for an option. */
function valid(place: string, text: string, parse: (text: string) => string): string {
  try {
    return parse(text)
  } catch (error) {
    throw new UsageError(`${place} is not valid. ${(error as Error).message}`)
  }
}

function readVariables(environment: NodeJS.ProcessEnv): Credentials {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN = '' } = environment
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY)
    throw new UsageError(
      'the bucket needs credentials: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if they ' +
        'expire, AWS_SESSION_TOKEN. `aws configure export-credentials --format env` prints them',
    )
  try {
    return verifyCredentials({
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      sessionToken: AWS_SESSION_TOKEN,
    })
  } catch (error) {
    usageError(error)
  }
}
