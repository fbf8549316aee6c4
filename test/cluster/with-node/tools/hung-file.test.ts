import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hangingMount, SILENCES, type Silence } from '../../../observers/ending/fuse.ts'
import { openFolder } from '../../../observers/pod.ts'
import type { Cluster } from '../../machine/cluster.ts'
import { DEBIAN_IMAGE, IMAGES } from '../../machine/images.ts'
import { kubectl } from '../../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../../running.ts'
import { until } from '../../until.ts'
import { startWebhook } from '../../webhook.ts'

// An observer reads a library of the application on a file system of FUSE whose server has stopped
// to answer. The pod completes and can be deleted: by itself if the server has not read the
// request, and otherwise after an administrator has aborted the connection.

const SPACE = 'hung-file'
const METRIC = 'reads-libraries'
const MODES = ['native', 'container'] as const

type Mode = (typeof MODES)[number]

/** The observer of cpu-profile reads the libraries of processes at each scan. */
const DOCUMENT = {
  apiVersion: 'ridealong.dev/v1alpha1',
  kind: 'Metric',
  metadata: { name: METRIC },
  spec: {
    description: 'the observer of cpu-profile, without its library',
    privilege: 'restricted',
    container: {
      image: IMAGES.observer,
      command: ['cpu-profile'],
      resources: { limits: { cpu: '100m', memory: '32Mi' } },
      // There is a scan every five seconds. The server is stopped before the next one.
      env: [{ name: 'RIDEALONG_OPTION_RATE', value: '30' }],
    },
  },
}

/** Maps the library when the test says so, and then waits until the test lets it end. */
const APP = `
until [ -e /control/map ]; do sleep 0.1; done
LD_PRELOAD=/hung/file exec sh -c ': >/control/mapped; read -r line </control/end; exit 0'`

function podWith(name: string, mode: Mode, folders: Readonly<Record<'hung' | 'control', string>>) {
  const mounts = Object.keys(folders).map((volume) => ({ name: volume, mountPath: `/${volume}` }))
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      annotations: { 'ridealong.dev/inject': METRIC, 'ridealong.dev/mode': mode },
    },
    spec: {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'app',
          image: DEBIAN_IMAGE,
          command: ['sh', '-c', `mkfifo /control/end; ${APP}`],
          volumeMounts: mounts,
        },
      ],
      volumes: Object.entries(folders).map(([volume, path]) => ({
        name: volume,
        hostPath: { path, type: 'Directory' },
      })),
    },
  }
}

/** Starts a pod whose observer waits for the server. */
async function startWaiting(t: Test, cluster: Cluster, silence: Silence, mode: Mode) {
  const name = `${mode}-${SILENCES.indexOf(silence)}`
  const folders = { hung: openFolder('ridealong-hung-'), control: openFolder('ridealong-control-') }
  const mount = hangingMount(folders.hung, silence)
  const { abort, remove } = await mount.mountHere()
  t.teardown(remove)
  const here = ['-n', SPACE]
  const logs = (container: string) => kubectl(cluster, ['logs', name, ...here, '-c', container])
  const pod = JSON.stringify(podWith(name, mode, folders))
  await kubectl(cluster, ['create', ...here, '-f', '-'], pod)
  await until('the observer has begun', async () => {
    return (await logs(METRIC).catch(() => '')).includes('METRICS OPERATOR COLLECTION START')
  })
  writeFileSync(join(folders.control, 'map'), '')
  const mapped = join(folders.control, 'mapped')
  await until('the library is mapped', async () => existsSync(mapped))
  mount.stop()
  await until('the observer has given up the file', async () => {
    return (await logs(METRIC)).includes('does not answer: functions have no names')
  })
  return { name, here, abort, endApp: () => writeFileSync(join(folders.control, 'end'), '\n') }
}

t.test('an observer whose file is never answered', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, SPACE)
  const catalog = t.testdir({ [`${METRIC}.yaml`]: JSON.stringify(DOCUMENT) })
  const webhook = await startWebhook(cluster, { words: ['--catalog', catalog], namespace: SPACE })
  t.teardown(webhook.remove)

  for (const silence of SILENCES) {
    for (const mode of MODES) {
      await t.test(`the pod completes, in mode ${mode}, if a server ${silence}`, async (t) => {
        const { name, here, abort, endApp } = await startWaiting(t, cluster, silence, mode)
        endApp()
        // The kernel keeps a process whose request the server has read, and so its container.
        if (silence === 'does not answer') abort()
        const completed = '--for=jsonpath={.status.phase}=Succeeded'
        await kubectl(cluster, ['wait', completed, `pod/${name}`, ...here, '--timeout=120s'])
        const found = await kubectl(cluster, ['get', 'pod', name, ...here, '-o', 'json'])
        const { status } = JSON.parse(found)
        const observers = [...(status.initContainerStatuses ?? []), ...status.containerStatuses]
        const observer = observers.find((container) => container.name === METRIC)
        t.match(observer, { state: { terminated: { exitCode: 0, reason: 'Completed' } } })
        await kubectl(cluster, ['delete', 'pod', name, ...here, '--wait=false'])
        await kubectl(cluster, ['wait', '--for=delete', `pod/${name}`, ...here, '--timeout=120s'])
      })
    }
  }
})
