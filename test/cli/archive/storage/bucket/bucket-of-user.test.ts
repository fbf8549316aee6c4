import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { findRunFiles } from '../../../../../cli/archive/storage/stored-run-files.ts'
import { report } from '../../../../../cli/report/report.ts'
import { freePort } from '../../../../free-ports.ts'
import { type BucketStandIn, startBucket } from '../../../../stand-ins/bucket.ts'
import { run } from '../../../command.ts'
import { createHost, createSession } from '../../../host.ts'

const FOLDER = 'clusters/hpc/namespace=hpc/date=2026-01-02/run=lammps-11111111'
const LOG = new URL('../../../../logs/all-metrics/lammps-0.vitals.log', import.meta.url)

/** Starts a bucket with a run, which the variables of the environment name. */
async function start(t: Test): Promise<BucketStandIn> {
  const bucket = await startBucket()
  t.teardown(bucket.close)
  const rows = gzipSync(readFileSync(LOG))
  for (const [name, body] of [
    ['rows.jsonl.gz', rows],
    ['run.json', Buffer.from('{}')],
  ] as const)
    bucket.objects.set(`${FOLDER}/${name}`, { body, type: '', modified: 0 })
  setVariables(t, {
    AWS_ACCESS_KEY_ID: 'reader',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_SESSION_TOKEN: '',
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL_S3: bucket.settings.endpoint ?? '',
    AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
    AWS_CA_BUNDLE: '',
  })
  return bucket
}

function setVariables(t: Test, variables: Readonly<Record<string, string>>): void {
  const before = { ...process.env }
  Object.assign(process.env, variables)
  t.teardown(() => {
    for (const name of Object.keys(variables)) delete process.env[name]
    Object.assign(process.env, before)
  })
}

const ROWS = 's3://rows/clusters/hpc/'

t.test('a run in a bucket is read with the rights of the user', async (t) => {
  const bucket = await start(t)
  const found = await findRunFiles('run/lammps-1', { rows: ROWS }, createHost())
  const [file] = found
  if (typeof file !== 'object') throw new Error('the run was not found')
  t.equal(file.name, `s3://rows/${FOLDER}/rows.jsonl.gz`)
  const reports: string[] = []
  for (const [files, rows] of [
    [['run/lammps-1'], { rows: ROWS, namespace: 'hpc' }],
    [[LOG.pathname], {}],
  ] as const) {
    const session = createSession()
    await report(files, { output: 'json', by: 'auto', title: 'x', ...rows }, session)
    reports.push(session.out())
  }
  t.ok((reports[0] ?? '').length > 1000)
  t.equal(reports[0], reports[1]?.replaceAll('lammps-0.vitals.log', 'rows.jsonl.gz'))

  bucket.objects.delete(`${FOLDER}/rows.jsonl.gz`)
  await t.rejects(text(file.open()), /NoSuchKey/)
  const args = ['convert', 'run/lammps-1', '--rows', ROWS, '--to', 'x.speedscope.json']
  const { code, err } = await run(args)
  t.equal(code, 2)
  t.match(err, /^ridealong: cannot read s3:\/\/rows\/.*\/rows\.jsonl\.gz: the bucket rows at http/)
})

t.test('a message says why a run cannot be read from a bucket', async (t) => {
  const bucket = await start(t)
  const find = (input = 'run/lammps-1', rows = ROWS) => findRunFiles(input, { rows }, createHost())
  await t.rejects(find('run/other'), {
    message: `there is no file run/other, and ${ROWS} has no run whose name begins with other`,
  })
  await t.rejects(
    find('run/a', 's3://Rows'),
    /^the bucket of s3:\/\/Rows is not valid\. It must be/,
  )
  await t.rejects(find('run/a', 's3://rows/a b'), /^the prefix of s3:\/\/rows\/a b is not valid\. /)
  for (const [status, code, message] of [
    [404, 'NoSuchBucket', /^cannot read s3:\/\/rows\/.*: the bucket does not exist \(404/],
    [403, 'AccessDenied', /: the credentials lack a right; .* list and get them \(403/],
    [403, 'InvalidAccessKeyId', /: the access key is not known there \(403/],
  ] as const) {
    bucket.fault = () => ({ status, code })
    await t.rejects(find(), { message })
  }
  setVariables(t, { AWS_ENDPOINT_URL_S3: '', AWS_ENDPOINT_URL: 'localhost:9000' })
  await t.rejects(find(), { message: /^AWS_ENDPOINT_URL is not valid\. It must be a URL/ })
  setVariables(t, { AWS_ENDPOINT_URL: `http://127.0.0.1:${await freePort()}` })
  await t.rejects(find(), { message: /ECONNREFUSED/ })
  setVariables(t, { AWS_SECRET_ACCESS_KEY: '' })
  await t.rejects(find(), {
    message: /^the bucket needs credentials: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and/,
  })
})
