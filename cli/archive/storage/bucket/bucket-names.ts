import { InvalidArgumentError } from 'commander'

/** Validates the name of a bucket (Amazon S3 User Guide, "Bucket naming rules"). */
export function bucketName(text: string): string {
  if (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text) && !text.includes('..')) return text
  throw new InvalidArgumentError('It must be the name of a bucket, such as ridealong-rows.')
}

/** Validates a region, which is a part of the host name of Amazon S3. */
export function regionName(text: string): string {
  if (/^[\w-]{1,64}$/.test(text)) return text
  throw new InvalidArgumentError('It must be the name of a region, such as eu-central-1.')
}

/** Returns a prefix with one slash at its end; empty for the root of the bucket. */
export function folderPrefix(text: string): string {
  const parts = text.split('/').filter((part) => part !== '')
  if (parts.every((part) => /^[\w!.*'()-]+$/.test(part) && !/^\.\.?$/.test(part)))
    return parts.map((part) => `${part}/`).join('')
  throw new InvalidArgumentError('It must be a path such as clusters/hpc.')
}
