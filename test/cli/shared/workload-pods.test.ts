import t from 'tap'
import { run } from '../command.ts'

t.test('a file in place of a workload is named, with the verbs that read files', async (t) => {
  const folder = t.testdir({ 'vitals.log': '' })
  for (const path of [folder, `${folder}/vitals.log`])
    for (const verb of ['stacks', 'collect'])
      t.match(await run([verb, path]), {
        code: 2,
        err: `${path} is a file or a folder; name a workload whose pods are in the cluster`,
      })
  t.match(await run(['collect', 'job', 'a', 'job/b']), {
    code: 2,
    err: 'ridealong: name one workload: job/a or job/b\n',
  })
  const { err } = await run(['stacks', 'runs/none.log'])
  t.match(err, /^ridealong: kind "runs" needs its API group/)
})
