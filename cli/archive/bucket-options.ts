import { type Command, InvalidArgumentError, Option } from 'commander'
import { readText } from '../../src/lib/read-text.ts'
import { UsageError, usageError } from '../shared/errors.ts'
import { webUrl } from '../shared/options.ts'
import { connectBucket } from './storage/bucket/bucket-client.ts'
import { openBucketFolders } from './storage/bucket/bucket-folders.ts'
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
    .option('--bucket-region <region>', 'the region of the bucket', 'us-east-1')
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
 * @throws UsageError if a file cannot be read, or an option needs a bucket
 */
export async function openBucket(options: BucketArguments): Promise<RunFolders | undefined> {
  const { bucket: name, bucketCa } = options
  if (name === undefined) return withoutBucket(options)
  const client = connectBucket({
    ...{ name, endpoint: options.bucketEndpoint, region: options.bucketRegion },
    isInHost: options.bucketInHost === true,
    credentials: options.bucketCredentials,
    ca: bucketCa === undefined ? undefined : await readText(bucketCa).catch(usageError),
  })
  return openBucketFolders(client, options.bucketPrefix)
}

/** @throws UsageError if another option shows that the name of the bucket was forgotten */
function withoutBucket(options: BucketArguments): undefined {
  const { bucketEndpoint, bucketPrefix, bucketInHost, bucketCa } = options
  const isMeant = [bucketEndpoint, bucketInHost, bucketCa].some((value) => value !== undefined)
  if (isMeant || bucketPrefix !== '')
    throw new UsageError('the options of a bucket need --bucket, its name')
}

/** The rules of Amazon S3 for names (Amazon S3 User Guide, "Bucket naming rules"). */
function bucketName(text: string): string {
  if (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text)) return text
  throw new InvalidArgumentError('It must be the name of a bucket, such as ridealong-rows.')
}

/** Returns a prefix with one slash at its end; empty for the root of the bucket. */
function folderPrefix(text: string): string {
  const parts = text.split('/').filter((part) => part !== '')
  if (parts.every((part) => /^[\w!.*'()-]+$/.test(part) && !/^\.\.?$/.test(part)))
    return parts.map((part) => `${part}/`).join('')
  throw new InvalidArgumentError('It must be a path such as clusters/hpc.')
}
