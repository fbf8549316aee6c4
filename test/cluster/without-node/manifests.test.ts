import t from 'tap'
import { ALLOWED, injected, textOf, undone } from '../../src/pods/manifest/build.ts'
import { kubectl } from '../machine/kubectl.ts'
import { createNamespace, runningCluster } from '../running.ts'

// Tests of the output of `ridealong inject` for metrics with tools, in a real apiserver.

const POD = `apiVersion: v1
kind: Pod
metadata: {name: a, namespace: tooled, annotations: {ridealong.dev/inject: cpu-profile}}
spec:
  containers:
  - {name: app, image: a, env: [{name: LD_PRELOAD, value: /own.so}]}
`

t.test('the apiserver accepts a pod with a tool, except from server-side apply', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'tooled')
  const manifest = textOf(injected(POD, {}, ALLOWED))
  const dryRun = ['--dry-run=server', '-f', '-']
  const send = (...words: readonly string[]) =>
    kubectl(cluster, [...words, ...dryRun, '-o', 'json'], manifest)
  for (const words of [['create'], ['apply']]) {
    const { metadata, spec } = JSON.parse(await send(...words))
    t.match(metadata.annotations['ridealong.dev/status'], '"variables":["LD_PRELOAD"')
    t.match(spec.initContainers, [{ name: 'cpu-profile-install' }, { name: 'cpu-profile' }])
    t.match(spec.containers[0].env, [
      { name: 'LD_PRELOAD', value: '/own.so' },
      { name: 'LD_PRELOAD', value: '$(LD_PRELOAD):/opt/ridealong/cpu-profile/loader.so' },
      { name: 'CPUPROFILE' },
    ])
    const pod = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec })
    const { initContainers, containers, volumes } = JSON.parse(undone(pod)).spec
    t.equal(initContainers, undefined)
    t.strictSame(containers[0].env, [{ name: 'LD_PRELOAD', value: '/own.so' }])
    t.notMatch(JSON.stringify([containers, volumes]), 'ridealong')
  }
  await t.rejects(send('apply', '--server-side'), { message: /duplicate entries for key/ })
})
