import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { standIn } from '../../stand-ins/pod-logs.ts'
import { run } from '../command.ts'

// The pods, Jobs and JobSet are recorded from a real cluster, on a machine that was so busy that
// the container runtime removed some cgroups before the observers read them for the last time.

// biome-ignore lint/suspicious/noExplicitAny: recorded objects.
function recorded(name: string): { items: any[] } {
  return JSON.parse(readFileSync(new URL(`../../logs/runs/${name}.json`, import.meta.url), 'utf8'))
}

const resources = (name: string, kind: string) => {
  return { kind: 'APIResourceList', resources: [{ name, kind, namespaced: true }] }
}

async function start(t: Test, pods: readonly object[] = recorded('pods').items) {
  const { kubeconfig } = await standIn(t, {
    pods: () => pods,
    logs: {},
    others: {
      '/apis/batch/v1': resources('jobs', 'Job'),
      '/apis/batch/v1/namespaces/runs/jobs': recorded('jobs'),
      '/apis/jobset.x-k8s.io/v1alpha2': resources('jobsets', 'JobSet'),
      '/apis/jobset.x-k8s.io/v1alpha2/namespaces/runs/jobsets': recorded('jobsets'),
    },
  })
  return (...words: string[]) => run(['runs', ...words, '-n', 'runs', '--kubeconfig', kubeconfig])
}

t.test('the table has a line for each run', async (t) => {
  const runs = await start(t)
  const { code, out } = await runs('--sort', 'run')
  t.equal(code, 0)
  const lines = out.trimEnd().split('\n')
  const cells = lines.map((line) => line.split(/ {2,}/).slice(0, 6))
  t.strictSame(cells, [
    ['RUN', 'PHASE', 'RANKS', 'TIME', 'CORES', 'MEMORY'],
    ['job/killed', 'Succeeded', '1/1', '7s', '0.017/-', '32Mi/32Mi'],
    ['job/plain', 'Succeeded', '1/1', '8s', '0.17/0.5', '5.51Mi/128Mi'],
    ['job/retried', 'Succeeded', '2/2', cells[3]?.[3], '-/1', '21.2Mi/128Mi'],
    ['jobset/train', 'Succeeded', '3/3', cells[4]?.[3], '-/0.6', '41.6Mi/64Mi'],
  ])
  t.match(lines[1], /killed-rvggh had container app killed: memory ran out \(limit 32 MiB\)$/)
  t.match(lines[3], /rank 1 failed: container app ended with exit code 3, and was tried again$/)
})

t.test('a card has at most 60 columns, and says what is missing', async (t) => {
  const runs = await start(t)
  const { code, out } = await runs('jobset/train')
  t.equal(code, 0)
  for (const line of out.split('\n')) t.ok(line.length <= 60, line)
  t.match(out, /^jobset\/train in namespace runs\n {2}phase +Succeeded\n/)
  t.match(out, /\n {2}ranks +3 of 3 observed\n/)
  t.match(out, /\nRole workers: 2 ranks\n {2}processors +\[#+\.+\] /)
  t.match(out, /\nMissing\n {2}- /)
  t.match(out, /\nAdvice .*\n {2}- {2}leader, none: /)
})

t.test('advice is a part of the manifest if all summaries are final', async (t) => {
  const { items } = recorded('pods')
  // The summaries are those of an observer that has read the cgroups at the end.
  const final = JSON.parse(
    JSON.stringify(items).replaceAll('\\"seconds\\":', '\\"final\\":true,\\"seconds\\":'),
  )
  const runs = await start(t, final)
  const refused = await runs('jobset/train', '--advice')
  t.equal(refused.code, 1)
  const [leader = '', workers = ''] = refused.out.split('---\n')
  t.match(
    leader,
    /^# no advice: train-leader-0-0-\w+: container app was observed for only 0 of 4 s$/m,
  )
  t.match(workers, /^# container app used 41.6 MiB \(memory peak of its cgroup, pod train-workers/m)
  t.match(workers, /^# percentile 100 of the pods, and a margin of 15 %$/m)
  const { spec, ...head } = parse(workers)
  t.match(head, {
    apiVersion: 'jobset.x-k8s.io/v1alpha2',
    kind: 'JobSet',
    metadata: { name: 'train' },
  })
  const [job] = spec.replicatedJobs
  t.equal(job.name, 'workers')
  t.match(job.template.spec.template.spec.containers, [
    { name: 'app', resources: { requests: { memory: '48Mi' }, limits: { memory: '48Mi' } } },
  ])
  const killed = await runs('killed', '--advice')
  t.match(killed, { code: 1, out: /^# container app needs at least 32 MiB \(memory peak/m })
})

t.test('hostile texts are escaped, and a message without a summary is missing', async (t) => {
  const { items } = recorded('pods')
  const pods = items.filter(({ metadata }) => metadata.name.startsWith('plain'))
  const [pod] = pods
  pod.status.initContainerStatuses[0].state.terminated.message = '\u001b[2J{"metric":'
  pod.status.phase = 'Failed'
  pod.status.reason = '\u001b[31mEvicted\nPHASE'
  const runs = await start(t, pods)
  for (const words of [
    [],
    ['job/plain'],
    ['-o', 'json'],
    ['-o', 'yaml'],
    ['job/plain', '--advice'],
  ]) {
    const { out } = await runs(...words)
    t.notMatch(out, '\u001b', words.join(' '))
    t.notMatch(out, /^PHASE$/m)
  }
  const [card] = JSON.parse((await runs('-o', 'json')).out)
  t.match(card.missing, [/the message of observer vitals is not the summary of an observer$/])
  t.match(card.cores, { used: null, requested: 0.5 })
})

t.test('the pods of several observers, or of none, are counted by rank', async (t) => {
  const { items } = recorded('pods')
  const pods = items.filter(({ metadata }) => metadata.name.startsWith('train-workers'))
  const [, second] = pods
  second.metadata.annotations['ridealong.dev/status'] = '{"outcome":"left","reason":"windows"}'
  const runs = await start(t, pods)
  const [card] = JSON.parse((await runs('-o', 'json')).out)
  t.match(card.ranks, { observed: 1, expected: 2 })
  for (const pod of pods) pod.metadata.annotations = {}
  const none = await (await start(t, pods))()
  t.match(none, { code: 1, out: '', err: /there are no observed pods in namespace runs/ })
})
