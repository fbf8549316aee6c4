import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { run } from '../command.ts'
import { recorded, startRecordedRuns } from '../runs/recorded-runs.ts'

const LOG = readFileSync(new URL('../../../docs/examples/vitals.log', import.meta.url), 'utf8')
const DOCUMENT = readFileSync(
  new URL('../../../docs/report.md', import.meta.url),
  'utf8',
).replaceAll('\n', ' ')
const LOGS = Object.fromEntries(
  recorded('pods').items.map(({ metadata }) => [`${metadata.name}/vitals`, LOG]),
)

/** Returns a function that runs the command for the recorded runs. */
async function start(t: Test, pods = recorded('pods').items, changed = {}) {
  const { kubeconfig, asked } = await startRecordedRuns(t, pods, LOGS, changed)
  const ask = (...words: string[]) => run([...words, '-n', 'runs', '--kubeconfig', kubeconfig])
  return { ask, asked }
}

const SENTENCE =
  '17 s since its creation, mean of 2 pods: 5.5 s after its application ended, ' +
  '4.5 s lost to 1 restart, 4 s running, 2 s for volumes, the network and the first image, ' +
  '1 s until its pod was created.'

t.test('the report says where the time of a run went, as its card does', async (t) => {
  const { ask, asked } = await start(t)
  const page = join(t.testdir({}), 'page.html')
  const { code, out, err } = await ask('report', 'job/retried', '--to', page)
  t.equal(code, 0, err)
  t.equal(out.split('\n')[2], SENTENCE)
  t.ok(DOCUMENT.includes(SENTENCE), 'the document has this sample')
  t.match(readFileSync(page, 'utf8'), `</p>\n<p id="time">${SENTENCE}</p>\n`)
  const ofJob = asked.filter((path) => path.includes('/jobs'))
  t.match(ofJob, [/fieldSelector=metadata.name%3Dretried/], 'other Jobs are not listed')
  const { time } = JSON.parse((await ask('report', 'job/retried', '-o', 'json')).out)
  const [card] = JSON.parse((await ask('runs', 'job/retried', '-o', 'json')).out)
  t.strictSame(time, {
    ...{ sentence: SENTENCE, workload: 'job/retried', isOver: true },
    ...card.time,
    attempts: card.attempts,
    reasons: time.reasons,
  })
})

t.test(
  'the running time is divided if it is nearly all that the efficiency is about',
  async (t) => {
    const { ask } = await start(t)
    const whole = JSON.parse((await ask('report', 'job/plain', '-o', 'json')).out)
    const { sentence, seconds, running, reasons } = whole.time
    t.match(sentence, /^11 s since its creation: 8 s running \(at most [\d.]+ s computing, /)
    const states = Object.values<number | null>(running.seconds)
    t.ok(
      Math.abs(states.reduce((sum: number, one) => sum + (one ?? 0), 0) - seconds.running) < 1e-4,
    )
    t.equal(running.isLimit, true)
    t.strictSame(reasons, [])
    const retried = JSON.parse((await ask('report', 'job/retried', '-o', 'json')).out)
    t.match(retried.time, { running: null, reasons: [/^the running time is not divided: /] })
  },
)

t.test('what collect writes has the time, and a log has none', async (t) => {
  const { ask } = await start(t)
  const folder = t.testdir({})
  for (const to of ['run.jsonl', 'rows/']) {
    await ask('collect', 'job/retried', '--to', join(folder, to))
    const { out } = await run(['report', join(folder, to)])
    t.equal(out.split('\n')[2], SENTENCE)
  }
  await ask('collect', 'job/retried', '-o', 'logs', '--to', join(folder, 'logs/'))
  const { out } = await run(['report', join(folder, 'logs'), '-o', 'json'])
  t.equal(JSON.parse(out).time, null)
})

t.test('without the right to list the controller, the time is not known', async (t) => {
  const denied = { code: 403, message: 'jobs.batch is forbidden' }
  const { ask } = await start(t, undefined, { '/apis/batch/v1/namespaces/runs/jobs': denied })
  const { code, out, err } = await ask('report', 'job/retried', '-o', 'json')
  t.match([code, JSON.parse(out).time], [0, null])
  t.notMatch(err, 'jobs.batch')
})

t.test('a missing time is in the notes, and a run that goes on has a time so far', async (t) => {
  const { items } = recorded('pods')
  const pods = items.filter(({ metadata }) => metadata.name.startsWith('plain'))
  const [{ status }] = pods
  status.phase = 'Running'
  status.containerStatuses[0].state = { running: {} }
  const jobs = recorded('jobs')
  for (const job of jobs.items) job.status = { startTime: job.status.startTime }
  const { ask } = await start(t, pods, { '/apis/batch/v1/namespaces/runs/jobs': jobs })
  const { time, notices } = JSON.parse((await ask('report', 'job/plain', '-o', 'json')).out)
  t.match(time, { isOver: false, sentence: / so far since its creation: 2 s .*, .* not known\.$/ })
  t.match(
    notices.at(-1),
    /^Where the time went is not known as a whole: plain-\w+: its status does not have the time/,
  )
})

t.test('the pods of several runs have no common time', async (t) => {
  const { ask } = await start(t)
  const { out } = await ask('collect', '-l', 'batch.kubernetes.io/job-name')
  const entries = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const logs = entries.filter(({ kind }) => kind === 'log')
  t.ok(logs.length > 2 && logs.every(({ time }) => time === null))
})
