import { copyFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { run } from '../machine/tools.ts'
import { createNamespace, runningCluster } from '../running.ts'

const MAIN = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url))

t.test('kubectl runs the command as its plugin', async (t) => {
  const { cluster, api } = await runningCluster(t)
  await createNamespace(t, api, 'plugin')
  // npm creates the same link when it installs the package.
  const folder = t.testdir({})
  symlinkSync(MAIN, join(folder, 'kubectl-ridealong'))
  const { FORCE_COLOR: _, ...others } = process.env
  const PATH = `${folder}:${dirname(process.execPath)}:${process.env.PATH}`
  const KUBECONFIG = join(folder, 'config')
  copyFileSync(cluster.kubeconfig, KUBECONFIG)
  const env = { ...others, PATH, KUBECONFIG }
  const kubectl = (...words: readonly string[]) =>
    run(join(cluster.programs, 'kubectl'), words, { env })

  t.match(await kubectl('ridealong', '--help'), /^Usage: kubectl ridealong /)
  t.match(await kubectl('ridealong', 'explain', '--help'), /\n {2}\$ kubectl ridealong explain /)
  const nobody = /ended with 2: ridealong: there is no pod\/nobody in namespace plugin$/
  await t.rejects(kubectl('ridealong', 'explain', 'pod/nobody', '-n', 'plugin'), nobody)
  await kubectl('config', 'set-context', '--current', '--namespace', 'plugin')
  await t.rejects(kubectl('ridealong', 'explain', 'pod/nobody'), nobody)
})
