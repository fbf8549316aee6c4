import { type Command, Option } from 'commander'
import { readText } from '../../src/lib/read-text.ts'
import { UsageError, usageError } from '../shared/errors.ts'
import { webUrl } from '../shared/options.ts'
import {
  type BucketClient,
  type BucketSettings,
  connectBucket,
} from './storage/bucket/bucket-client.ts'
import { openBucketFolders } from './storage/bucket/bucket-folders.ts'
import { bucketName, folderPrefix, regionName } from './storage/bucket/bucket-names.ts'
import { readCredentials } from './storage/bucket/credentials.ts'
import { tokenServiceUrl, withWebIdentity } from './storage/bucket/web-identity.ts'
import type { RunFolders } from './storage/run-folders.ts'

export interface BucketArguments {
  readonly bucket?: string
  readonly bucketEndpoint?: string
  readonly bucketRegion: string
  readonly bucketPrefix: string
  readonly bucketInHost?: true
  readonly bucketCredentials: string
  readonly bucketToken?: string
  readonly bucketRole?: string
  readonly bucketSts?: string
  readonly bucketCa?: string
}

/** Adds the options for a bucket in which rows are stored. */
export function withBucket(command: Command): Command {
  return withCredentials(withPlace(command)).option(
    '--bucket-ca <file>',
    'the CA certificates of the S3 service, in PEM format',
  )
}

function withPlace(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--bucket <name>',
        'store the rows in this bucket of an S3 service; --storage keeps logs until then',
      ).argParser(bucketName),
    )
    .addOption(
      new Option('--bucket-endpoint <url>', 'the S3 service (default: Amazon S3)').argParser(
        webUrl,
      ),
    )
    .addOption(
      new Option('--bucket-region <region>', 'the region of the bucket')
        .argParser(regionName)
        .default('us-east-1'),
    )
    .addOption(
      new Option('--bucket-prefix <prefix>', 'the folder in the bucket; of this archive only')
        .argParser(folderPrefix)
        .default(''),
    )
    .option('--bucket-in-host', 'name the bucket in the host name instead of the path of URLs')
}

function withCredentials(command: Command): Command {
  return command
    .option(
      '--bucket-credentials <folder>',
      'a folder with the files AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if the credentials ' +
        'expire, AWS_SESSION_TOKEN',
      '/etc/ridealong/bucket',
    )
    .addOption(
      new Option(
        '--bucket-token <file>',
        'a token of a service account, for which a security token service (STS) returns ' +
          'credentials',
      ).conflicts('bucketCredentials'),
    )
    .option('--bucket-role <arn>', 'the role of these credentials; Amazon requires one')
    .addOption(
      new Option(
        '--bucket-sts <url>',
        'the STS (default: that of Amazon in the region, otherwise --bucket-endpoint)',
      ).argParser(webUrl),
    )
}

/**
 * Opens the bucket that the options name; returns undefined if they name none. The bucket is not
 * requested yet.
 *
 * @throws UsageError if a file cannot be read, an option needs a bucket, or the endpoint cannot
 * have the name of the bucket in its host name
 */
export async function openBucket(options: BucketArguments): Promise<RunFolders | undefined> {
  const { bucket: name, bucketCa } = options
  if (name === undefined) return withoutBucket(options)
  const ca = bucketCa === undefined ? undefined : await readText(bucketCa).catch(usageError)
  const settings: BucketSettings = {
    name,
    endpoint: options.bucketEndpoint,
    region: options.bucketRegion,
    isInHost: options.bucketInHost === true,
    credentials: credentialsOf(options, ca),
    ca,
  }
  return openBucketFolders(connect(settings), options.bucketPrefix)
}

/** @throws UsageError if an option needs a token */
function credentialsOf(options: BucketArguments, ca: string | undefined) {
  const { bucketToken: tokenFile, bucketRole: role, bucketSts } = options
  if (tokenFile === undefined) {
    if (role !== undefined || bucketSts !== undefined)
      throw new UsageError(
        '--bucket-role and --bucket-sts need --bucket-token, the file of a token',
      )
    return () => readCredentials(options.bucketCredentials)
  }
  const { bucketEndpoint, bucketRegion } = options
  const endpoint = bucketSts ?? tokenServiceUrl(bucketEndpoint, bucketRegion)
  return withWebIdentity({ tokenFile, role, endpoint, ca })
}

function connect(settings: BucketSettings): BucketClient {
  try {
    return connectBucket(settings)
  } catch (error) {
    usageError(error)
  }
}

/** @throws UsageError if another option shows that the name of the bucket was forgotten */
function withoutBucket(options: BucketArguments): undefined {
  const { bucketEndpoint, bucketPrefix, bucketInHost, bucketCa, bucketToken } = options
  const others = [bucketEndpoint, bucketInHost, bucketCa, bucketToken]
  const isMeant = others.some((value) => value !== undefined)
  if (isMeant || bucketPrefix !== '')
    throw new UsageError('the options of a bucket need --bucket, its name')
}
