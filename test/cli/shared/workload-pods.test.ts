import t from 'tap'
import { findWorkloadPods } from '../../../cli/shared/workload-pods.ts'

t.test('a file in place of a workload is named, with the verbs that read files', async (t) => {
  const folder = t.testdir({ 'vitals.log': '' })
  for (const path of [folder, `${folder}/vitals.log`])
    await t.rejects(findWorkloadPods(path, {}), {
      name: 'UsageError',
      message: `${path} is a file or a folder; name a workload whose pods are in the cluster`,
    })
  await t.rejects(findWorkloadPods('runs/none.log', {}), {
    message: /^kind "runs" needs its API group/,
  })
})
