import t from 'tap'
import { indexNamespaces } from '../../src/namespaces/namespace-file.ts'
import { turnEnd } from '../../webhook/turn.ts'
import { ASKING, JSON_TYPE, makeApp, reviewOf } from './server.ts'

t.test(
  'all calls in a turn of the event loop get the same promise, and the next turn has another',
  async (t) => {
    const first = turnEnd()
    t.equal(turnEnd(), first)
    await first
    const second = turnEnd()
    t.not(second, first)
    await second
  },
)

t.test(
  'calls that arrive together are all decided before the first answer is written',
  async (t) => {
    const steps: string[] = []
    const { find } = indexNamespaces([])
    const namespaces = {
      find: (...asked: Parameters<typeof find>) => {
        steps.push('answer')
        return find(...asked)
      },
    }
    const { app } = await makeApp(t, { namespaces })
    app.addHook('onSend', async () => {
      steps.push('write')
    })
    await app.ready()
    const payload = JSON.stringify(reviewOf(ASKING))
    const call = () =>
      app.inject({ method: 'POST', url: '/mutate/pods', headers: JSON_TYPE, payload })
    const answers = await Promise.all([call(), call(), call()])
    for (const { statusCode, body } of answers) {
      t.equal(statusCode, 200)
      t.ok(JSON.parse(body).response.patch)
    }
    t.strictSame(steps, ['answer', 'answer', 'answer', 'write', 'write', 'write'])
  },
)
