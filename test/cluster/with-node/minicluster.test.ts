import t, { type Test } from 'tap'
import { collect, reportSoFar } from '../collected.ts'
import type { Cluster } from '../machine/cluster.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createMiniCluster, waitForMiniCluster } from '../operators/mini-cluster.ts'
import { startOperators } from '../operators/start.ts'
import { installChart } from '../release/installed-chart.ts'
import { createNamespace, runningCluster } from '../running.ts'

// Runs a complete MiniCluster: the Flux Operator creates two pods, their Flux brokers form an
// instance, and LAMMPS runs with one rank in each pod. The image runs as root, and the pods set no
// user.

const NAME = 'ridealong-minicluster'
const SPACE = 'minicluster'
const HERE = ['-n', SPACE]

const ANNOTATIONS = {
  'ridealong.dev/inject': 'perf-sysstat',
  'ridealong.dev/target-command': 'lmp',
  'perf-sysstat.ridealong.dev/rate': '1',
}

/** The largest relative difference between the bytes that LAMMPS wrote and the observer's count. */
const TOLERANCE = 0.03

interface Pod {
  readonly pod_index: string
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: a Pod as the apiserver serves it.
  readonly object: any
  /** The output of the container of the application. */
  readonly output: string
}

async function podsOf(cluster: Cluster): Promise<readonly Pod[]> {
  const words = ['get', 'pods', ...HERE, '-l', 'job-name=lammps', '-o', 'json']
  const { items } = JSON.parse(await kubectl(cluster, words))
  // biome-ignore lint/suspicious/noExplicitAny: a Pod as the apiserver serves it.
  const pods = items.map(async (object: any) => {
    const { name, labels } = object.metadata
    const output = await kubectl(cluster, ['logs', name, ...HERE, '-c', 'lammps'])
    const index = labels['batch.kubernetes.io/job-completion-index']
    return { pod_index: index, name, object, output }
  })
  return (await Promise.all<Pod>(pods)).sort((a, b) => a.pod_index.localeCompare(b.pod_index))
}

function wasObserved(t: Test, { object, output }: Pod): void {
  const { metadata, spec, status } = object
  t.equal(status.phase, 'Succeeded')
  t.equal(spec.securityContext?.runAsUser, undefined, 'the pod sets no user')
  t.match(JSON.parse(metadata.annotations['ridealong.dev/status']), {
    outcome: 'injected',
    metrics: ['perf-sysstat'],
    shareProcessNamespace: 'false',
    counters: 'all',
  })
  const names = spec.initContainers.map(({ name }: { readonly name: string }) => name)
  t.strictSame(names, ['flux-view', 'perf-sysstat'], 'the observer starts after flux-view')
  for (const { name, restartCount } of [
    ...status.initContainerStatuses,
    ...status.containerStatuses,
  ]) {
    t.equal(restartCount, 0, `${name} was never restarted`)
  }
  t.notMatch(output, /Return value for follower worker/, 'the Flux broker joined at once')
}

/** Returns the size of the file that LAMMPS wrote, which `wc -c` printed at the end of rank 0. */
function bytesOfDump([first]: readonly Pod[]): number {
  return Number(/(\d+) \/tmp\/dump\.lj/.exec(first?.output ?? '')?.[1])
}

const isOfLammps = ({ program }: { readonly program?: string }) => program === 'lmp'

t.test('LAMMPS in a MiniCluster of the Flux Operator is observed', async (t) => {
  const setting = await runLammps(t)

  await t.test('both pods were injected, and LAMMPS ran in both pods', (t) =>
    bothPodsRan(t, setting),
  )

  await t.test('each pod has rows only for its lmp process', (t) => podsHaveOwnRows(t, setting))

  await t.test('no I/O counter of LAMMPS is null', (t) => countersAreComplete(t, setting))

  await t.test('the observer counts the bytes of the file that LAMMPS wrote', (t) =>
    countsWrittenBytes(t, setting),
  )

  await t.test('collect and report show both pods', (t) => resultsShowBothPods(t, setting))
})

async function runLammps(t: Test) {
  const { cluster, api } = await runningCluster(t)
  await installChart(t, cluster, api, NAME)
  await startOperators(t, cluster, api, ['flux-operator'])
  await createNamespace(t, api, SPACE)
  await createMiniCluster(cluster, SPACE, { annotations: ANNOTATIONS, seconds: 30 })
  await reportSoFar(cluster, SPACE, 'minicluster/lammps')
  await waitForMiniCluster(cluster, SPACE)
  const pods = await podsOf(cluster)
  const { rows, page } = await collect(t, cluster, SPACE, 'minicluster/lammps')
  const logs = rows.filter(({ kind }) => kind === 'log')
  const processes = rows.filter(({ kind }) => kind === 'process')
  return { pods, processes, logs, page }
}

type Setting = Awaited<ReturnType<typeof runLammps>>

function bothPodsRan(t: Test, { pods }: Setting): void {
  t.strictSame(
    pods.map(({ pod_index }) => pod_index),
    ['0', '1'],
  )
  for (const pod of pods) wasObserved(t, pod)
  t.match(pods[0]?.output, /Loop time of .* on 2 procs/)
  t.end()
}

function podsHaveOwnRows(t: Test, { processes }: Setting): void {
  const seen = new Set(processes.map(({ pod_index, program }) => `${pod_index} ${program}`))
  t.strictSame([...seen].sort(), ['0 lmp', '1 lmp'])
  t.equal(new Set(processes.map(({ pod_index, pid }) => `${pod_index} ${pid}`)).size, 2)
  for (const index of ['0', '1']) {
    const podRows = processes.filter((row) => row.pod_index === index)
    t.equal(
      new Set(podRows.map(({ timepoint }) => timepoint)).size,
      podRows.length,
      'each timepoint has one row',
    )
    t.ok(podRows.length > 5, `pod ${index} has ${podRows.length} rows`)
    t.ok(podRows.some(({ percent_cpu }) => percent_cpu > 0))
  }
  t.end()
}

function countersAreComplete(t: Test, { processes, logs }: Setting): void {
  for (const row of processes) {
    const { pod_index, timepoint, kb_rd_s, kb_wr_s, kb_ccwr_s, fd_nr } = row
    const isRead = [kb_rd_s, kb_wr_s, kb_ccwr_s, fd_nr].every(Number.isFinite)
    t.ok(isRead, `pod ${pod_index} has all counters at timepoint ${timepoint}`)
  }
  for (const { metadata } of logs) t.equal(metadata.counters, 'all')
  t.end()
}

function countsWrittenBytes(t: Test, { pods, logs }: Setting): void {
  const bytes = bytesOfDump(pods)
  t.ok(bytes > 10_000_000, `the file has ${bytes} bytes`)
  const { summary } = logs.find(({ pod_index }) => pod_index === '0')
  const { bytes_written: written } = summary.find(isOfLammps)
  t.ok(Math.abs(written - bytes) <= bytes * TOLERANCE, `${written} of ${bytes} bytes were counted`)
  t.end()
}

function resultsShowBothPods(t: Test, { logs, page }: Setting): void {
  t.strictSame(
    logs.map(({ pod_index, notices, cuts }) => ({ pod_index, notices, cuts })),
    ['0', '1'].map((pod_index) => ({ pod_index, notices: [], cuts: [] })),
  )
  t.strictSame(page.pods, ['0', '1'])
  t.strictSame(page.programs, ['lmp'])
  t.strictSame(page.notices, [])
  t.strictSame(
    page.rows.map(({ pod, program }) => `${pod} ${program}`),
    ['0 lmp', '1 lmp'],
  )
  t.end()
}
