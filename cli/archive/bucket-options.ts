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
import type { RunFolders } from './storage/run-folders.ts'

export interface BucketArguments {
  readonly bucket?: string
  readonly bucketEndpoint?: string
  readonly bucketRegion: string
  readonly bucketPrefix: string
  readonly bucketInHost?: true
  readonly bucketCredentials: string
  readonly bucketCa?: string
}

/** Adds the options for a bucket in which rows are stored. */
export function withBucket(command: Command): Command {
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
    .option(
      '--bucket-credentials <folder>',
      'a folder with the files AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if the credentials ' +
        'expire, AWS_SESSION_TOKEN',
      '/etc/ridealong/bucket',
    )
    .option('--bucket-ca <file>', 'the CA certificates of the S3 service, in PEM format')
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
  const settings: BucketSettings = {
    name,
    endpoint: options.bucketEndpoint,
    region: options.bucketRegion,
    isInHost: options.bucketInHost === true,
    credentials: () => readCredentials(options.bucketCredentials),
    ca: bucketCa === undefined ? undefined : await readText(bucketCa).catch(usageError),
  }
  return openBucketFolders(connect(settings), options.bucketPrefix)
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
  const { bucketEndpoint, bucketPrefix, bucketInHost, bucketCa } = options
  const isMeant = [bucketEndpoint, bucketInHost, bucketCa].some((value) => value !== undefined)
  if (isMeant || bucketPrefix !== '')
    throw new UsageError('the options of a bucket need --bucket, its name')
}
