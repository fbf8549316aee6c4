import t, { type Test } from 'tap'
import { PROVIDED } from '../../charts/values.ts'
import { kubectl } from '../machine/kubectl.ts'
import { CHART, helm, NO_WAIT, type Release } from '../release/helm.ts'
import { createNamespace, runningCluster } from '../running.ts'
import { until } from '../until.ts'

// The definition and the Runs outlive the release that has installed them.

const SPACE = 'archive-kept'
const CRD = 'crd/runs.ridealong.dev'

/** Nothing but the archive has to be removed. Its pods do not run without a node. */
const VALUES = [
  ...PROVIDED,
  ...['removal.enabled=false', 'guard.enabled=false', 'imageHolder.enabled=false'],
  ...['arming.repair=false', 'webhook.replicas=1'],
].flatMap((value) => ['--set', value])

const RUN = {
  apiVersion: 'ridealong.dev/v1alpha1',
  kind: 'Run',
  metadata: { name: 'lammps-12345678', namespace: SPACE },
  spec: {
    workload: { apiVersion: 'batch/v1', kind: 'Job', name: 'lammps', uid: '12345678' },
  },
}

t.test('Runs stay when the archive or its release is removed', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const [first, second] = ['archive-first', 'archive-second'].map((name) => ({ cluster, name }))
  if (first === undefined || second === undefined) return
  for (const name of [SPACE, first.name, second.name]) await createNamespace(t, api, name)
  t.teardown(() => kubectl(cluster, ['delete', CRD, '--ignore-not-found']))
  const isKept = async (t: Test, when: string) => {
    const found = await kubectl(cluster, ['get', 'rrun', '-n', SPACE, '-o', 'name'])
    t.equal(found.trim(), 'run.ridealong.dev/lammps-12345678', when)
  }
  const accounts = async ({ name }: Release) => {
    const words = ['get', 'serviceaccounts', '-n', name, '-o', 'name']
    return (await kubectl(cluster, words)).includes('-archive')
  }
  const set = (release: Release, verb: 'install' | 'upgrade', isEnabled: boolean) =>
    helm(release, verb, [CHART, ...VALUES, '--set', `archive.enabled=${isEnabled}`, NO_WAIT])

  await set(first, 'install', false)
  t.notOk(await accounts(first), 'without the archive, there is only the definition')
  await kubectl(cluster, ['wait', '--for=condition=established', CRD])
  await kubectl(cluster, ['create', '-f', '-'], JSON.stringify(RUN))
  await set(first, 'upgrade', true)
  t.ok(await accounts(first))
  await set(first, 'upgrade', false)
  t.notOk(await accounts(first))
  await isKept(t, 'after the archive is disabled')
  await helm(first, 'uninstall', [NO_WAIT])
  await isKept(t, 'after the release is removed')
  await set(second, 'install', true)
  t.ok(await accounts(second), 'another release can have the archive')
  await isKept(t, 'with another release')
  const owner = `release-name=${second.name} meta.helm.sh/release-namespace=${second.name}`
  const words = `annotate ${CRD} --overwrite meta.helm.sh/${owner}`.split(' ')
  await kubectl(cluster, words)
  await set(second, 'upgrade', true)
  await helm(second, 'uninstall', [NO_WAIT])
  await until('the release is removed', async () => !(await accounts(second)))
  await isKept(t, 'after the release that has adopted the definition is removed')
})
