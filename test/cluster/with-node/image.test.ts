import t from 'tap'
import manifest from '../../../package.json' with { type: 'json' }
import { NAMES } from '../../observers/program.ts'
import { IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'

// The images must run as in the pods that the chart creates and that the webhook changes: as any
// user, with a read-only root file system, at the strictest Pod Security level.

const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' }
const SECURITY = {
  runAsNonRoot: true,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}

function podOf(name: string, container: object) {
  const spec = {
    restartPolicy: 'Never',
    containers: [
      { name: 'app', imagePullPolicy: 'Never', securityContext: SECURITY, ...container },
    ],
  }
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec })
}

t.test('the images run as any user, with a read-only root file system', async (t) => {
  const { cluster, api } = await runningCluster(t)
  const space = ['-n', 'image']
  await createNamespace(t, api, 'image', { labels: RESTRICTED })
  const outputOf = async (name: string, container: object) => {
    await kubectl(cluster, ['apply', ...space, '-f', '-'], podOf(name, container))
    const done = '--for=jsonpath={.status.phase}=Succeeded'
    await kubectl(cluster, ['wait', done, `pod/${name}`, ...space, '--timeout=300s'])
    return kubectl(cluster, ['logs', name, ...space])
  }
  const image = IMAGES.webhook
  const version = await outputOf('command', { image, args: ['--version'] })
  t.equal(version.trim(), manifest.version, 'the entrypoint of the image is ridealong')

  const list = 'id -u; cd /app; ls; ls dist; touch x 2>&1 || true'
  const listed = (await outputOf('content', { image, command: ['sh', '-c', list] })).split('\n')
  t.strictSame(listed.slice(0, 2), ['65532', 'dist'], 'the image contains only the built command')
  t.match(listed.join('\n'), /touch: .*Read-only file system/)
  for (const name of ['ridealong.cjs', 'ridealong.cdx.json', 'licences.txt']) {
    t.ok(listed.includes(name), `the image contains ${name}`)
  }

  const outputs = await Promise.all(
    NAMES.map((name) =>
      outputOf(`observer-${name}`, {
        image: IMAGES.observer,
        command: [name, '--version'],
        securityContext: { ...SECURITY, runAsUser: 4321, runAsGroup: 4321 },
      }),
    ),
  )
  for (const output of outputs) t.equal(output.trim(), manifest.version)
})
