import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { pod } from '../../src/runs/collect/pod.ts'
import { dataOf } from '../../src/runs/report/data-of.ts'
import { standIn, type World } from '../../stand-ins/pod-logs.ts'
import { run } from '../command.ts'

// Verbs that read runs of the cluster. The cluster is simulated.

const LOG = readFileSync(
  new URL('../../logs/perf-sysstat-head-format-generated.log', import.meta.url),
  'utf8',
)
const logsOf = (indexes: readonly number[]) =>
  Object.fromEntries(indexes.map((index) => [`lammps-${index}-abcde/perf-sysstat`, LOG]))
const WORLD: World = { pods: () => [0, 1].map((index) => pod({ index })), logs: logsOf([0, 1]) }

/** Runs the command in an empty folder, in which it writes its pages. */
async function place(t: Test, world: World) {
  const { kubeconfig } = await standIn(t, world)
  const root = t.testdir({ work: { job: {} }, temporary: {} })
  const folder = join(root, 'work')
  const [before, { TMPDIR }] = [process.cwd(), process.env]
  process.chdir(folder)
  process.env.TMPDIR = join(root, 'temporary')
  t.teardown(() => {
    process.chdir(before)
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  return { folder, run: (...words: string[]) => run([...words, '--kubeconfig', kubeconfig]) }
}

const temporaryFiles = () => readdirSync(tmpdir())

t.test('report collects a workload, prints the report and writes a page', async (t) => {
  const { folder, run } = await place(t, WORLD)
  for (const words of [['job/lammps'], ['Job/lammps', '--follow']]) {
    const { code, out, err } = await run('report', ...words)
    t.strictSame([code, err], [0, 'ridealong: wrote lammps.html\n'])
    t.match(out, /^Observers in hpc\nTook [\d.]+ s on 2 pods\./)
    const { pods, samples } = dataOf(readFileSync(join(folder, 'lammps.html'), 'utf8'))
    t.strictSame([pods, samples], [['0', '1'], 6])
  }
  t.match(await run('report', 'job', 'lammps', '--to', 'other.html'), { code: 0 })
  t.ok(existsSync('other.html'))
  t.strictSame(temporaryFiles(), [])
})

t.test('a report for programs, or of files, writes no page', async (t) => {
  const { run, folder } = await place(t, WORLD)
  const json = await run('report', 'job/lammps', '-o', 'json')
  t.match(JSON.parse(json.out), { kind: 'Findings', pods: [{ podIndex: '0' }, { podIndex: '1' }] })
  t.match(await run('report', 'job/lammps', '--to', '-'), { code: 0, err: '' })
  t.match(await run('report', 'job/lammps', '-o', 'html'), { code: 0, out: /^<!doctype html>/ })
  t.strictSame(readdirSync(folder), ['job'])
})

t.test('a run that goes on is reported so far, and a missing log is named', async (t) => {
  const running = { phase: 'Running', state: { running: {} } }
  const { run } = await place(t, {
    pods: () => [0, 1].map((index) => pod({ index, ...running })),
    logs: logsOf([0]),
  })
  const { code, out, err } = await run('report', 'job/lammps')
  t.equal(code, 1)
  t.match(out, /^.*\nHas taken \d+ s so far on 1 pod\./)
  t.match(err, /the log of hpc\/lammps-1-abcde\/perf-sysstat is missing or incomplete: /)
  t.match(await run('convert', 'job/lammps', '--format', 'chrome-trace'), { code: 1, out: /^\{/ })
  t.match(await run('compare', 'job/lammps', 'job/lammps'), { code: 1 })
})

t.test('a log of a run that goes on has no end, and the verdict does not miss it', async (t) => {
  const running = { phase: 'Running', state: { running: {} } }
  const begun = LOG.slice(0, LOG.lastIndexOf('METRICS OPERATOR TIMEPOINT'))
  const logs = Object.keys(logsOf([0, 1])).map((name) => [name, begun])
  const { run } = await place(t, {
    pods: () => [0, 1].map((index) => pod({ index, ...running })),
    logs: Object.fromEntries(logs),
  })
  const { code, out } = await run('report', 'job/lammps', '--to', '-')
  t.equal(code, 0)
  t.match(out, /^.*\nHas taken [\d.]+ s so far on 2 pods\. /)
  t.notMatch(out.split('\n\n')[0], /had not ended|its end is not known|missing/)
})

t.test('a run without a log is an error', async (t) => {
  const { run } = await place(t, { ...WORLD, logs: {} })
  const { code, out, err } = await run('report', 'job/lammps')
  t.strictSame([code, out], [2, ''])
  t.match(err, /ridealong: no log of job\/lammps could be read\n$/)
  t.strictSame(temporaryFiles(), [])
})

t.test('compare and convert read workloads of the cluster', async (t) => {
  const { run, folder } = await place(t, WORLD)
  const compared = await run('compare', 'job/lammps', 'jobs', 'lammps', '-o', 'json')
  t.equal(compared.code, 0, compared.err)
  t.match(JSON.parse(compared.out).sides, [{ runs: [{}] }, { runs: [{}] }])
  t.match(await run('convert', 'job/lammps', '--format', 'parquet', '--to', 'rows'), { code: 0 })
  t.match(readdirSync(join(folder, 'rows')), ['perf-sysstat.process.parquet'])
  t.match(await run('top', 'jobs', 'lammps', '--once'), { code: 0, out: /^0 .*\n1 /m })
  t.strictSame(temporaryFiles(), [])
})

t.test('several runs in one report, and words that name no run, are refused', async (t) => {
  const { run } = await place(t, WORLD)
  for (const [words, sentence] of [
    [
      ['job/a', 'job/b'],
      'report shows one run at a time, for example job/a; compare shows several',
    ],
    [['minicluter/a'], 'there is no file or folder minicluter/a (did you mean minicluster?); '],
    [['minicluter', 'a'], 'there is no file or folder minicluter (did you mean minicluster?); '],
    [
      ['lammps.jsonl'],
      'there is no file or folder lammps.jsonl; a run of the cluster is KIND/NAME',
    ],
    [['run/a'], 'there is no file run/a, and it is not known where the archive stores runs'],
  ] as const)
    t.match(await run('report', ...words), { code: 2, out: '', err: `ridealong: ${sentence}` })
})

/** Two Jobs of a CronJob, each with a pod. */
const JOBS = [29001234, 29001294].map((minutes, index) => {
  const uid = (number: number) => `00000000-0000-4000-8000-0000${number}`
  const kind = { apiVersion: 'batch/v1', kind: 'Job' }
  const job = { ...kind, name: `nightly-${minutes}`, uid: uid(minutes) }
  const cronJob = { ...kind, kind: 'CronJob', name: 'nightly', uid: uid(29000000) }
  const ownedBy = (owner: object) => ({ ownerReferences: [{ ...owner, controller: true }] })
  const { metadata, ...observed } = Object(pod({ index }))
  const started = `METADATA START {"owner":"Job/${job.name}",`
  return {
    job: { metadata: { name: job.name, uid: job.uid, ...ownedBy(cronJob) } },
    pod: { metadata: { ...metadata, ...ownedBy(job) }, ...observed },
    log: [`${metadata.name}/perf-sysstat`, LOG.replace('METADATA START {', started)] as const,
  }
})

t.test('the runs of a CronJob are several, however its kind is written', async (t) => {
  const { run } = await place(t, {
    pods: () => JOBS.map(({ pod }) => pod),
    logs: Object.fromEntries(JOBS.map(({ log }) => log)),
    others: {
      '/apis/batch/v1': {
        kind: 'APIResourceList',
        resources: [{ name: 'jobs', kind: 'Job', namespaced: true }],
      },
      '/apis/batch/v1/namespaces/hpc/jobs': {
        kind: 'PartialObjectMetadataList',
        metadata: {},
        items: JOBS.map(({ job }) => job),
      },
    },
  })
  for (const name of ['cronjob/nightly', 'cj/nightly', 'CronJobs.batch/nightly']) {
    const { code, err } = await run('report', name)
    t.equal(code, 2, name)
    t.match(err, /the logs are of several runs: .* of Job\/nightly-29001234/)
  }
})
