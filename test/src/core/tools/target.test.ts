import t from 'tap'
import { findToolTarget } from '../../../../src/core/tools/target.ts'

const named = (name: string, restartPolicy?: string) => ({ name, restartPolicy })

t.test('the target is an ordinary container or a native sidecar', async (t) => {
  const [app, other] = [named('app'), named('other')]
  const [setup, proxy] = [named('setup'), named('proxy', 'Always')]
  const spec = { initContainers: [setup, proxy], containers: [app, other] }
  t.strictSame(findToolTarget(spec, 'app'), { container: app, list: 'containers', index: 0 })
  t.strictSame(findToolTarget(spec, 'other'), { container: other, list: 'containers', index: 1 })
  t.strictSame(findToolTarget(spec, 'proxy'), {
    container: proxy,
    list: 'initContainers',
    index: 1,
  })
  for (const none of ['setup', 'nobody', '', '__proto__']) {
    t.equal(findToolTarget(spec, none), undefined, none)
  }
})

t.test('of containers with the same name, the target is the one that runs', async (t) => {
  const app = named('app')
  const list = 'containers'
  for (const first of [named('app'), named('app', 'Never'), named('app', 'Always')]) {
    const spec = { initContainers: [first], containers: [app] }
    t.strictSame(findToolTarget(spec, 'app'), { container: app, list, index: 0 })
  }
  const twice = [named('app'), named('app', 'Always')]
  t.equal(findToolTarget({ initContainers: twice }, 'app')?.index, 1)
})

t.test('a spec without lists of containers has no target', async (t) => {
  for (const list of [undefined, null, 'app', {}, [null, 'app', 7, ['app']]]) {
    t.equal(findToolTarget({ initContainers: list, containers: list }, 'app'), undefined)
  }
})
