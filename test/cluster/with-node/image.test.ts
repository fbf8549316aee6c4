import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import manifest from '../../../package.json' with { type: 'json' }
import { NAMES } from '../../observers/program.ts'
import { IMAGES } from '../machine/images.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'

// The images must run as in the pods that the chart creates and that the webhook changes: as any
// user, with a read-only root file system, at the strictest Pod Security level.

const LOCK = fileURLToPath(new URL('../../../package-lock.json', import.meta.url))
const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url))

/** The part of npm's lock file that marks packages as development dependencies. */
interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: true }>>
}

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

  const list = 'id -u; cd /app/node_modules; ls -d * @*/*; touch x 2>&1 || true'
  const listed = (await outputOf('content', { image, command: ['sh', '-c', list] })).split('\n')
  t.equal(listed[0], '65532')
  t.match(listed.join('\n'), /touch: .*Read-only file system/)
  for (const name of Object.keys(manifest.dependencies)) {
    t.ok(listed.includes(name), `the image contains ${name}`)
  }
  const { packages }: Lock = JSON.parse(readFileSync(LOCK, 'utf8'))
  const isForUse = (name: string) => packages[`node_modules/${name}`]?.dev === undefined
  const modules = listed.filter((name) => existsSync(`${MODULES}/${name}/package.json`))
  t.strictSame(
    modules.filter((name) => !isForUse(name)),
    [],
    'the image contains no development dependency',
  )

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
