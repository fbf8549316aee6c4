import t from 'tap'
import { asObjects } from '../../../../src/core/kubernetes/json.ts'
import { readNamespace } from '../../../../src/core/namespaces/namespace.ts'
import { ephemeral } from '../../../../src/pods/attach/ephemeral.ts'
import { podOf } from '../../core/build.ts'
import { ALLOWED, TOOLS } from '../../core/tools/build.ts'

t.test('a metric with a tool cannot be attached to a pod that runs', async (t) => {
  const namespace = readNamespace('hpc', { metadata: { labels: ALLOWED } })
  const location = { catalog: TOOLS, namespace }
  const attach = (metric: string) =>
    ephemeral(podOf(), { metric, targetContainer: undefined, options: new Map() }, location)
  t.strictSame(attach('cpu-profile'), {
    problem:
      'cpu-profile loads a library when the application starts, and this pod runs already;' +
      ' request cpu-profile with the annotation ridealong.dev/inject and create the pod again',
  })
  t.match(attach('perf-sysstat'), { target: 'app', container: { name: 'perf-sysstat' } })
})

t.test('a word for the default metrics is not the name of a metric to attach', async (t) => {
  const location = {
    catalog: { ...TOOLS, defaultMetrics: ['plain'] },
    namespace: readNamespace('hpc', {}),
  }
  for (const metric of ['true', 'enabled']) {
    const attached = ephemeral(podOf(), { metric, options: new Map() }, location)
    const problem = `attach needs the name of one metric, not "${metric}"`
    t.strictSame(attached, { problem: `${problem}; the default metrics are plain` })
  }
})

t.test('an attached observer ends with its target, whatever the restart policies', async (t) => {
  const spec = {
    restartPolicy: 'Never',
    initContainers: [{ name: 'proxy', image: 'p', restartPolicy: 'Always' }],
    containers: [{ name: 'app', image: 'a', restartPolicy: 'Always' }],
  }
  const location = { catalog: TOOLS, namespace: readNamespace('hpc', {}) }
  for (const targetContainer of ['app', 'proxy']) {
    const wish = { metric: 'perf-sysstat', targetContainer, options: new Map() }
    const attached = ephemeral(podOf({}, spec), wish, location)
    t.match(attached, { target: targetContainer })
    const { env } = 'container' in attached ? attached.container : {}
    const policy = asObjects(env).find(({ name }) => name === 'RIDEALONG_RESTART_POLICY')
    t.equal(policy?.value, 'Never')
  }
})
