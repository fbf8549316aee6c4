import { join } from 'node:path'
import t from 'tap'
import { type BucketArguments, openBucket } from '../../../cli/archive/bucket-options.ts'
import { freePort } from '../../free-ports.ts'

const DEFAULTS: BucketArguments = {
  bucketRegion: 'us-east-1',
  bucketPrefix: '',
  bucketCredentials: '/etc/ridealong/bucket',
}

t.test(
  'options of a bucket without its name, or of a token without its file, are errors',
  async (t) => {
    const needsBucket = { name: 'UsageError', message: /need --bucket, its name$/ }
    for (const others of [
      { bucketEndpoint: 'https://minio:9000' },
      { bucketPrefix: 'hpc/' },
      { bucketInHost: true },
      { bucketCa: 'ca.crt' },
      { bucketToken: 'token' },
    ] as const)
      await t.rejects(openBucket({ ...DEFAULTS, ...others }), needsBucket)
    const needsToken = { name: 'UsageError', message: /need --bucket-token, the file of a token$/ }
    for (const others of [{ bucketRole: 'arn:aws:iam::1:role/x' }, { bucketSts: 'https://sts' }])
      await t.rejects(openBucket({ ...DEFAULTS, bucket: 'rows', ...others }), needsToken)
    t.equal(await openBucket(DEFAULTS), undefined)
  },
)

t.test('the credentials are those of the folder, or those for the token', async (t) => {
  const folder = t.testdir({ token: 'token' })
  const endpoint = `http://127.0.0.1:${await freePort()}`
  const read = async (others: Partial<BucketArguments>) => {
    const options = { ...DEFAULTS, bucket: 'rows', bucketEndpoint: endpoint, ...others }
    return (await openBucket(options))?.readFile('x')
  }
  await t.rejects(read({ bucketCredentials: folder }), {
    message: /the credentials have no AWS_ACCESS_KEY_ID/,
  })
  await t.rejects(read({ bucketToken: join(folder, 'token'), bucketRole: 'arn:x' }), {
    message: `the credentials of the role arn:x at ${endpoint}: `,
  })
  const sts = `http://127.0.0.1:${await freePort()}`
  await t.rejects(read({ bucketToken: join(folder, 'none'), bucketSts: sts }), {
    message: new RegExp(`the credentials for the token at ${sts}: cannot read ${folder}/none: `),
  })
})
