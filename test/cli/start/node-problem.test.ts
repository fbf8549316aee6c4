import t from 'tap'
import { nodeProblem } from '../../../cli/start/node-problem.ts'

t.test('only versions from 22.19 are new enough', async (t) => {
  for (const version of ['v22.19.0', 'v22.20.1', 'v23.0.0', 'v24.21.0', 'v100.0.0'])
    t.equal(nodeProblem(version), undefined, version)
  for (const version of ['v10.24.1', 'v20.20.2', 'v22.9.0', 'v22.18.0']) {
    const sentence = `needs Node 22.19 or later; this is Node ${version}`
    t.equal(nodeProblem(version), sentence)
  }
})
